"""Values that differ from run to run, as names: ``{{workspace}}`` on disk, the live path on the wire."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

T = TypeVar("T")


def fill(value: T, values: Mapping[str, str]) -> T:
    """The value with each ``{{name}}`` in its strings replaced, at any depth."""
    return _walk(value, values)  # type: ignore[no-any-return]


def _walk(value: Any, values: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        if "{{" in value:
            for name, live in values.items():
                value = value.replace("{{" + name + "}}", live)
        return value
    if isinstance(value, dict):
        return {_walk(key, values): _walk(item, values) for key, item in value.items()}
    if isinstance(value, list):
        return [_walk(item, values) for item in value]
    return value
