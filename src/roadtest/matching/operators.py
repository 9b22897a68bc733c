"""What an expected value may be besides a plain one: an operator decides about the actual value by itself.

In Python an operator is written as a regular expression, a ``pathlib.Path``, a dirty-equals object or, as in JSON
fixtures, as an object with one key that starts with a dollar sign: ``{"$contains": "TODO"}``.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePath
from typing import Any

from roadtest.errors import UsageError


class Operator:
    """Accepts or refuses an actual value.

    Not an abstract base class: ``isinstance`` is asked for every value that is compared, and is slow on those.
    """

    __slots__ = ()

    def accepts(self, actual: Any) -> bool:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Contains(Operator):
    """A string that contains this text, or a list that contains this scalar."""

    part: str | float | bool | None

    def accepts(self, actual: Any) -> bool:
        if isinstance(actual, str):
            return isinstance(self.part, str) and self.part in actual
        if isinstance(actual, list | tuple):
            return any(
                item == self.part and isinstance(item, bool) == isinstance(self.part, bool) for item in actual
            )
        return False

    def __str__(self) -> str:
        return f"$contains {self.part!r}"


@dataclass(frozen=True, slots=True)
class Regex(Operator):
    """A string in which the expression is found anywhere, as ``re.search`` finds it."""

    pattern: re.Pattern[str]

    def accepts(self, actual: Any) -> bool:
        return isinstance(actual, str) and self.pattern.search(actual) is not None

    def __str__(self) -> str:
        return f"$regex {self.pattern.pattern!r}"


@dataclass(frozen=True, slots=True)
class Glob(Operator):
    """A string that matches the shell pattern as a whole; ``*`` also crosses slashes."""

    pattern: str

    def accepts(self, actual: Any) -> bool:
        return isinstance(actual, str) and fnmatchcase(actual, self.pattern)

    def __str__(self) -> str:
        return f"$glob {self.pattern!r}"


@dataclass(frozen=True, slots=True)
class Anything(Operator):
    """Any value, as long as the key is there."""

    def accepts(self, actual: Any) -> bool:
        return True

    def __str__(self) -> str:
        return "$any"


@dataclass(frozen=True, slots=True)
class SamePath(Operator):
    """The same file, whatever the workspace.

    With the workspace known, an absolute actual path is the file at this place in it and no other. Without, any absolute
    path counts that ends in these components.
    """

    path: str
    roots: tuple[str, ...] = ()

    def accepts(self, actual: Any) -> bool:
        if not isinstance(actual, str):
            return False
        normal = os.path.normpath(actual)
        if normal == self.path:
            return True
        if self.path.startswith(os.sep) or not normal.startswith(os.sep):
            return False
        if self.roots:
            return normal in {os.path.normpath(f"{root}/{self.path}") for root in self.roots}
        return normal.endswith(os.sep + self.path)

    def within(self, roots: tuple[str, ...]) -> SamePath:
        return SamePath(self.path, roots)

    def __str__(self) -> str:
        return f"$path {self.path!r}"


@dataclass(frozen=True, slots=True, eq=False)
class Comparable(Operator):
    """Any object that knows by its own ``==`` what equals it, such as those of dirty-equals."""

    value: Any

    def accepts(self, actual: Any) -> bool:
        return bool(self.value == actual)

    def __str__(self) -> str:
        return repr(self.value)


def _contains(operand: Any) -> Operator:
    if isinstance(operand, dict | list):
        raise UsageError("takes a text or another scalar")
    return Contains(operand)


def _regex(operand: Any) -> Operator:
    try:
        return Regex(re.compile(_text(operand)))
    except re.error as problem:
        raise UsageError(f"{operand!r} is not a regular expression: {problem}") from None


def _any(operand: Any) -> Operator:
    if operand is not True:
        raise UsageError("is written {'$any': true}")
    return Anything()


def _path(operand: Any) -> Operator:
    return SamePath(os.path.normpath(_text(operand)))


def _text(operand: Any) -> str:
    if not isinstance(operand, str) or not operand:
        raise UsageError(f"takes a text, not {operand!r}")
    return operand


_BUILDERS: Mapping[str, Callable[[Any], Operator]] = {
    "$any": _any,
    "$contains": _contains,
    "$glob": lambda operand: Glob(_text(operand)),
    "$path": _path,
    "$regex": _regex,
}
OPERATORS = (*_BUILDERS, "$literal")


def operator_named(name: str, operand: Any, where: str) -> Operator:
    """The operator that ``{name: operand}`` stands for; errors say where it was written."""
    build = _BUILDERS.get(name)
    if build is None:
        raise UsageError(
            f"{where}: there is no operator {name!r}; the operators are {', '.join(sorted(OPERATORS))}.",
            hint='to expect a value that really has such a key write {"$literal": {...}}',
        )
    try:
        return build(operand)
    except UsageError as problem:
        raise UsageError(f"{where}: {name} {problem.message}") from None


def operator_from_object(value: Any, where: str) -> Operator:
    """The operator that a Python object stands for."""
    if isinstance(value, re.Pattern):
        if not isinstance(value.pattern, str):
            raise UsageError(f"{where}: the expression {value.pattern!r} is for bytes, arguments are text.")
        return Regex(value)
    if isinstance(value, PurePath):
        return SamePath(os.path.normpath(value))
    if "__eq__" not in {name for kind in type(value).__mro__[:-1] for name in vars(kind)}:
        raise UsageError(
            f"{where}: {value!r} can never equal an argument.",
            hint="expect a plain value, a regular expression, a Path or a dirty-equals object; to decide with a function "
            "use overrides={'Tool': function}",
        )
    return Comparable(value)
