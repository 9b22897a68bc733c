"""Deep comparison of arguments: JSON values against plain values and operators.

Booleans and numbers never equal each other, 1 equals 1.0, tuples count as lists. Lists are compared item by item and must
have the same length in every mode; the mode decides which keys of a dict may be missing, at every depth:

- ``exact``: the same keys;
- ``superset``: the actual dict has at least the expected keys;
- ``subset``: the actual dict has at most the expected keys.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from roadtest.errors import UsageError
from roadtest.matching.operators import Operator, SamePath, operator_from_object, operator_named

KeyMode = Literal["exact", "subset", "superset"]
Path = tuple[str | int, ...]


_SCALARS = frozenset({str, int, bool, type(None)})
"""The types of values that are the same where Python says so; a float may be NaN."""

_PLAIN = _SCALARS | {float}


class Absent:
    """Stands for the value of a key that is not there."""

    def __repr__(self) -> str:
        return "(absent)"


ABSENT = Absent()


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where a call is not as expected; ``path`` is dotted, as in ``edits.0.old_string``."""

    path: str
    expected: Any
    actual: Any


def prepare(value: Any, where: str) -> Any:
    """Turn what a user wrote into plain JSON values and operators; a value that cannot match anything is an error."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, dict):
        return _prepare_dict(value, where)
    if isinstance(value, list | tuple):
        return [prepare(item, f"{where}.{index}") for index, item in enumerate(value)]
    return value if isinstance(value, Operator) else operator_from_object(value, where)


def _prepare_dict(value: dict[Any, Any], where: str) -> Any:
    operators = [key for key in value if isinstance(key, str) and key.startswith("$")]
    if operators and len(value) > 1:
        raise UsageError(
            f"{where}: {operators[0]!r} stands beside other keys, an operator stands alone.",
            hint='to expect a value that really has such keys write {"$literal": {...}}',
        )
    if operators == ["$literal"]:
        return _prepare_literal(value["$literal"])
    if operators:
        return operator_named(operators[0], value[operators[0]], where)
    for key in value:
        if not isinstance(key, str):
            raise UsageError(f"{where}: the key {key!r} is not a text, as keys of arguments are.")
    return {key: prepare(item, f"{where}.{key}") for key, item in value.items()}


def _prepare_literal(value: Any) -> Any:
    """The value as it stands: a dollar sign has no meaning here."""
    if isinstance(value, dict):
        return {key: _prepare_literal(item) for key, item in value.items()}
    return [_prepare_literal(item) for item in value] if isinstance(value, list | tuple) else value


def within(expected: Any, roots: tuple[str, ...]) -> Any:
    """The same expectation with its ``$path`` operators bound to a workspace."""
    if isinstance(expected, dict):
        return {key: within(item, roots) for key, item in expected.items()}
    if isinstance(expected, list):
        return [within(item, roots) for item in expected]
    return expected.within(roots) if isinstance(expected, SamePath) else expected


def agrees(actual: Any, expected: Any, mode: KeyMode) -> bool:
    kind = type(expected)
    if kind is type(actual) and kind in _SCALARS:
        return bool(actual == expected)
    if isinstance(expected, dict):
        return isinstance(actual, dict) and _dicts_agree(actual, expected, mode)
    if isinstance(expected, list):
        return (
            isinstance(actual, list | tuple)
            and len(actual) == len(expected)
            and all(agrees(mine, theirs, mode) for mine, theirs in zip(actual, expected, strict=True))
        )
    if isinstance(expected, Operator):
        return expected.accepts(actual)
    return canonical(actual) == canonical(expected)


def _dicts_agree(actual: dict[str, Any], expected: dict[str, Any], mode: KeyMode) -> bool:
    if not _keys_agree(actual, expected, mode):
        return False
    for key, item in expected.items():  # noqa: SIM110 - a generator takes longer than the few keys there are
        if key in actual and not agrees(actual[key], item, mode):
            return False
    return True


def _keys_agree(actual: dict[str, Any], expected: dict[str, Any], mode: KeyMode) -> bool:
    if mode == "superset":
        return actual.keys() >= expected.keys()
    if mode == "subset":
        return actual.keys() <= expected.keys()
    return actual.keys() == expected.keys()


def differences(actual: Any, expected: Any, mode: KeyMode, path: Path = ()) -> Iterator[Difference]:
    """Every place where the two disagree; empty exactly when they agree."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        yield from _dict_differences(actual, expected, mode, path)
    elif isinstance(expected, list) and isinstance(actual, list | tuple) and len(actual) == len(expected):
        for index, (mine, theirs) in enumerate(zip(actual, expected, strict=True)):
            yield from differences(mine, theirs, mode, (*path, index))
    elif not agrees(actual, expected, mode):
        yield Difference(dotted(path), expected, actual)


def _dict_differences(
    actual: dict[str, Any], expected: dict[str, Any], mode: KeyMode, path: Path
) -> Iterator[Difference]:
    for key, item in expected.items():
        if key in actual:
            yield from differences(actual[key], item, mode, (*path, key))
        elif mode != "subset":
            yield Difference(dotted((*path, key)), item, ABSENT)
    if mode != "superset":
        for key, item in actual.items():
            if key not in expected:
                yield Difference(dotted((*path, key)), ABSENT, item)


def dotted(path: Path) -> str:
    return ".".join(map(str, path))


def canonical(value: Any) -> Hashable:
    """Equal for two values exactly when they are the same JSON value; an operator equals itself."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, int | float):
        return value if value == value else ("NaN",)  # noqa: PLR0124 - only NaN differs from itself
    if isinstance(value, dict):
        return ("dict", frozenset((key, canonical(item)) for key, item in value.items()))
    if isinstance(value, list | tuple):
        return ("list", *map(canonical, value))
    return value if isinstance(value, Operator) else (type(value).__name__, repr(value))


Scalar = tuple[Path, Hashable]


def leaves(value: Any) -> list[Scalar]:
    """The scalars inside with the way to each; operators and empty containers have none."""
    found: list[Scalar] = []
    _collect(value, (), found)
    return found


def _collect(value: Any, path: Path, found: list[Scalar]) -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            _collect(item, (*path, key), found)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            _collect(item, (*path, index), found)
    elif not isinstance(value, Operator):
        found.append((path, canonical(value)))


def are_unambiguous(args: dict[str, Any]) -> bool:
    """Whether only the same JSON values equal these in Python: true of texts, null, and integers but 0 and 1."""
    for value in args.values():
        kind = type(value)
        if kind is not str and (kind is not int or value in (0, 1)) and value is not None:
            return False
    return True


def are_scalars(args: dict[str, Any]) -> bool:
    """Whether all values are plain and have nothing inside, so that they are already what ``prepare`` makes of them."""
    return _PLAIN.issuperset(map(type, args.values()))


def holds(value: Any, kind: type[Operator]) -> bool:
    """Whether an operator of this kind is anywhere inside."""
    if isinstance(value, dict):
        return any(holds(item, kind) for item in value.values())
    if isinstance(value, list):
        return any(holds(item, kind) for item in value)
    return isinstance(value, kind)


def is_plain(value: Any) -> bool:
    """Whether there is no operator anywhere inside."""
    return not holds(value, Operator)
