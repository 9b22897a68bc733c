"""Any value in terms of JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

_DEEPEST = 100


def _same(text: str) -> str:
    return text


def to_plain(value: Any, text: Callable[[str], str] = _same) -> Any:
    """The value in terms of JSON, each string passed through ``text``.

    Nothing makes it fail, because details and metadata are the user's own: an object that JSON has no form for becomes its
    text, a broken character a question mark, and what contains itself ends in dots.
    """
    return _plain(value, text, _DEEPEST)


def _plain(value: Any, text: Callable[[str], str], depth: int) -> Any:  # noqa: PLR0911 - one for each kind of value
    def inner(item: Any) -> Any:
        return _plain(item, text, depth - 1) if depth else "…"

    match value:
        case None | bool() | float():
            return value
        case int():
            return value if -(2**63) <= value < 2**64 else str(value)
        case str():
            return text(value).encode("utf-8", "replace").decode()
        case msgspec.Struct():
            return {name: inner(item) for name, item in _fields(value)}
        case Mapping():
            return {inner(_describe(key)): inner(item) for key, item in value.items()}
        case bytes():
            return inner(value.decode("utf-8", "replace"))
        case Sequence():
            return [inner(item) for item in value]
        case set() | frozenset():
            return sorted(map(inner, value), key=repr)
    return inner(_describe(value))


def _fields(struct: msgspec.Struct) -> Iterator[tuple[str, Any]]:
    """Name and value of each field; of the many small structs only those that say something."""
    for name in struct.__struct_fields__:
        value = getattr(struct, name)
        if value is not None or not struct.__struct_config__.omit_defaults:
            yield name, value


def _describe(value: object) -> str:
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - a user's object may do anything, the record is written all the same
        return f"<{type(value).__name__}>"
