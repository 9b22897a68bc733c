"""Values that differ from run to run, as names: ``{{workspace}}`` on disk, the live path on the wire.

``Placeholders(values).fill`` undoes ``extract`` exactly, for any text: what looks like a placeholder already is stored as
``{{literal:name}}``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

T = TypeVar("T")

_NAMED = re.compile(r"\{\{((?:literal:)*)([A-Za-z][\w-]*)\}\}")
_LITERAL = "literal:"


class Placeholders:
    """Names for the values of one run; a path also goes by the name of the folder that Claude Code makes of it."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values: dict[str, str] = {}
        self._learn(values)

    def add(self, name: str, value: str) -> None:
        self._learn({name: value})

    def _learn(self, values: Mapping[str, str]) -> None:
        for name, value in values.items():
            if not value.strip("/"):
                continue  # an empty value, or the root folder, is everywhere
            self._values[name] = value
            if value.startswith("/"):
                self._values[f"{name}_slug"] = re.sub(r"[^A-Za-z0-9]", "-", value)
        self._names = {value: name for name, value in reversed(self._values.items())}
        self._pattern = _any_of(self._names)

    def extract(self, value: T) -> T:
        """The value with each live value in its strings replaced by its name, at any depth."""
        return _walk(value, self._extract)  # type: ignore[no-any-return]

    def fill(self, value: T) -> T:
        """The value with each name replaced by its live value; names that nobody knows stay."""
        return fill(value, self._values)

    def _extract(self, text: str) -> str:
        if "{{" in text:
            text = _NAMED.sub(lambda found: f"{{{{{_LITERAL}{found[1]}{found[2]}}}}}", text)
        return (
            self._pattern.sub(lambda found: f"{{{{{self._names[found[0]]}}}}}", text)
            if self._values
            else text
        )


def fill(value: T, values: Mapping[str, str]) -> T:
    """The value with each ``{{name}}`` in its strings replaced, at any depth."""

    def replacement(found: re.Match[str]) -> str:
        literals, name = found[1], found[2]
        if literals:
            return f"{{{{{literals.removeprefix(_LITERAL)}{name}}}}}"
        return values.get(name, found[0])

    return _walk(value, lambda text: _NAMED.sub(replacement, text) if "{{" in text else text)  # type: ignore[no-any-return]


def _any_of(values: Mapping[str, str]) -> re.Pattern[str]:
    """Any of the values, the longest first, where it is not part of a longer name: ``/tmp/a`` is not in ``/tmp/ab``."""
    alternatives = "|".join(re.escape(value) for value in sorted(values, key=len, reverse=True))
    return re.compile(rf"(?<![\w.-])(?:{alternatives})(?![\w-]|\.\w)")


def _walk(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(key): _walk(item, change) for key, item in value.items()}
    if isinstance(value, list):
        return [_walk(item, change) for item in value]
    return value
