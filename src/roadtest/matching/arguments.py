"""Rules that decide whether the arguments of a call are the expected ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_args

import msgspec

from roadtest.errors import UsageError
from roadtest.matching.names import canonical_tool
from roadtest.matching.values import ABSENT, Difference, KeyMode, agrees, differences

ArgsMode = Literal["exact", "ignore", "subset", "superset"]
ArgsMatcher = Callable[[dict[str, Any], dict[str, Any]], bool]
"""Decides about ``(actual, expected)`` arguments, always in that order."""
Override = ArgsMode | Sequence[str] | ArgsMatcher

ARGS_MODES: tuple[str, ...] = get_args(ArgsMode)


class ArgsRule(Protocol):
    def accepts(self, actual: dict[str, Any], expected: dict[str, Any]) -> bool: ...

    def differences(self, actual: dict[str, Any], expected: dict[str, Any]) -> list[Difference]:
        """Where the two disagree; empty exactly when ``accepts`` says yes."""


@dataclass(frozen=True, slots=True)
class ByKeys:
    """Compare the whole dicts, deeply."""

    mode: KeyMode

    def accepts(self, actual: dict[str, Any], expected: dict[str, Any]) -> bool:
        return agrees(actual, expected, self.mode)

    def differences(self, actual: dict[str, Any], expected: dict[str, Any]) -> list[Difference]:
        return list(differences(actual, expected, self.mode))


@dataclass(frozen=True, slots=True)
class Ignored:
    """Accept any arguments."""

    def accepts(self, actual: dict[str, Any], expected: dict[str, Any]) -> bool:
        return True

    def differences(self, actual: dict[str, Any], expected: dict[str, Any]) -> list[Difference]:
        return []


@dataclass(frozen=True, slots=True)
class ByPaths:
    """Compare the values at some paths only; a path that is absent on one side is a difference."""

    paths: tuple[str, ...]

    def values(self, args: dict[str, Any]) -> list[Any]:
        return [_value_at(args, path) for path in self.paths]

    def accepts(self, actual: dict[str, Any], expected: dict[str, Any]) -> bool:
        return not self.differences(actual, expected)

    def differences(self, actual: dict[str, Any], expected: dict[str, Any]) -> list[Difference]:
        found = []
        for path, mine, theirs in zip(self.paths, self.values(actual), self.values(expected), strict=True):
            absent = (mine is ABSENT) + (theirs is ABSENT)
            if absent == 1 or (not absent and not agrees(mine, theirs, "exact")):
                found.append(Difference(path, theirs, mine))
        return found


@dataclass(frozen=True, slots=True)
class ByFunction:
    """Let a function decide."""

    function: ArgsMatcher

    def accepts(self, actual: dict[str, Any], expected: dict[str, Any]) -> bool:
        return bool(self.function(dict(actual), dict(expected)))

    def differences(self, actual: dict[str, Any], expected: dict[str, Any]) -> list[Difference]:
        if self.accepts(actual, expected):
            return []
        name = getattr(self.function, "__name__", repr(self.function))
        return [Difference(f"refused by {name}()", expected, actual)]


class ArgsRules(msgspec.Struct, frozen=True):
    """The rule for every tool: one by default, others by name."""

    default: ArgsRule
    by_tool: Mapping[str, ArgsRule]

    @classmethod
    def build(cls, mode: str, overrides: Mapping[str, Override] | None = None) -> ArgsRules:
        """Check everything now, so that a mistake shows when a scorer is built and not in the middle of a run."""
        if overrides is not None and not isinstance(overrides, Mapping):
            raise UsageError(f"overrides are a dict of tool name to rule, not {overrides!r}.")
        by_tool = {canonical_tool(tool): _override(tool, rule) for tool, rule in (overrides or {}).items()}
        return cls(_by_mode(mode, "args"), by_tool)

    @property
    def foreign(self) -> bool:
        """Whether a function decides about some tool."""
        return bool(self.by_tool) and any(isinstance(rule, ByFunction) for rule in self.by_tool.values())

    def for_tool(self, name: str) -> ArgsRule:
        return self.by_tool.get(canonical_tool(name), self.default) if self.by_tool else self.default


_BY_MODE: Mapping[str, ArgsRule] = {
    "exact": ByKeys("exact"),
    "ignore": Ignored(),
    "subset": ByKeys("subset"),
    "superset": ByKeys("superset"),
}


def _by_mode(mode: Any, where: str) -> ArgsRule:
    if mode in ARGS_MODES:
        return _BY_MODE[mode]
    raise UsageError(f"{where}: there is no args mode {mode!r}; the modes are {', '.join(ARGS_MODES)}.")


def _override(tool: Any, rule: Any) -> ArgsRule:
    where = f"overrides[{tool!r}]"
    if not isinstance(tool, str):
        raise UsageError(f"{where}: overrides are by name of tool.")
    if isinstance(rule, str):
        return _by_mode(rule, where)
    if callable(rule):
        return ByFunction(rule)
    if isinstance(rule, list | tuple) and rule and all(isinstance(path, str) and path for path in rule):
        return ByPaths(tuple(rule))
    raise UsageError(
        f"{where}: a rule is an args mode, a list of at least one key path, or a function (actual, expected) -> bool, "
        f"not {rule!r}.",
        hint=f"to accept any arguments write overrides={{{tool!r}: 'ignore'}}",
    )


def _value_at(value: Any, path: str) -> Any:
    """The value at a dotted path, through dicts by key and through lists by index."""
    for part in path.split("."):
        if isinstance(value, Mapping):
            value = value.get(part, ABSENT)
        elif isinstance(value, list | tuple) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            return ABSENT
    return value
