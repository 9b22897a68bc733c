"""Which expected call accepts which actual call, found without comparing each with each.

Only what is asked for is computed. Calls are looked for among those of the same tool; where these are many, equal calls are
compared once, and plain arguments are looked up: under ``exact`` by their value, under ``superset`` by the expected scalar
that the fewest actual calls have at the same place, under ``subset`` the other way round. What remains, such as calls that
consist of regular expressions, is compared in full within one tool, up to ``COMPARISON_LIMIT``.
"""

from __future__ import annotations

import operator
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

from roadtest.calls import SPAWNING_TOOLS, ToolCall
from roadtest.errors import UsageError
from roadtest.matching.arguments import ArgsRule, ArgsRules, ByKeys, ByPaths
from roadtest.matching.expected import ExpectedCall
from roadtest.matching.values import KeyMode, canonical, is_plain, leaves

COMPARISON_LIMIT = 10_000_000
"""Comparisons of arguments in one match; beyond it the match is refused, never guessed."""
FEW = 16
"""So many calls of one tool are compared sooner than indexed."""

Args = dict[str, Any]
Numbered = list[tuple[int, ToolCall]]
InsideCheck = Callable[[ExpectedCall, ToolCall], bool]

_SIMPLE: dict[KeyMode, Callable[[Any, Args], bool]] = {
    "exact": operator.eq,
    "superset": lambda expected, actual: expected.items() <= actual.items(),
    "subset": lambda expected, actual: actual.items() <= expected.items(),
}


class Relation:
    """Decides about pairs of calls under some rules."""

    def __init__(self, rules: ArgsRules, inside: InsideCheck) -> None:
        self.rules = rules
        self.comparisons = 0
        self._inside = inside
        self._simple = None
        if isinstance(rules.default, ByKeys) and not rules.by_tool:
            self._simple = _SIMPLE[rules.default.mode]

    @property
    def wants_all_expected(self) -> bool:
        """Whether every plain value that is expected must be there, so that calls can be looked up by one."""
        rule = self.rules.default
        return isinstance(rule, ByKeys) and rule.mode != "subset" and not self.rules.by_tool

    def accepts(self, expected: ExpectedCall, actual: ToolCall) -> bool:
        only, name = expected.tool.only, actual.name
        if only != name and (only is not None or not expected.tool.accepts(name)):
            return False
        if expected.simple and self._simple is not None:
            return self._simple(expected.args, actual.args)
        return self.accepts_call_of_tool(expected, actual)

    def accepts_call_of_tool(self, expected: ExpectedCall, actual: ToolCall) -> bool:
        """The same where the tool is known to be right."""
        if expected.simple and self._simple is not None:
            return self._simple(expected.args, actual.args)
        return (
            (expected.args is None or self.rules.for_tool(actual.name).accepts(actual.args, expected.args))
            and (not expected.statuses or actual.status in expected.statuses)
            and (expected.inside is None or self._inside(expected, actual))
        )

    def count(self, comparisons: int) -> None:
        self.comparisons += comparisons
        if self.comparisons > COMPARISON_LIMIT:
            raise UsageError(
                f"deciding this match takes more than {COMPARISON_LIMIT:,} comparisons of arguments.",
                hint="expect fewer calls, scope to one agent, or expect plain values instead of patterns",
            )


class Table:
    """For each expected call the actual calls it accepts, as the bits of an integer; computed when asked for."""

    def __init__(
        self, relation: Relation, expected: Sequence[ExpectedCall], actual: Sequence[ToolCall]
    ) -> None:
        self._relation = relation
        self._expected = expected
        self._known: dict[int, int] = {}
        self._tools: dict[str, _Tool] = {}
        self._calls: dict[str, Numbered] = {}
        for index, call in enumerate(actual):
            self._calls.setdefault(call.name, []).append((index, call))

    def __getitem__(self, index: int) -> int:
        mask = self._known.get(index)
        if mask is None:
            mask = self._known[index] = self._mask(self._expected[index])
        return mask

    def _mask(self, expected: ExpectedCall) -> int:
        mask = 0
        for calls in expected.tool.among(self._calls):
            mask |= (self._compare if len(calls) <= FEW else self._look_up)(expected, calls)
        return mask

    def _compare(self, expected: ExpectedCall, calls: Numbered) -> int:
        accepts, mask = self._relation.accepts_call_of_tool, 0
        self._relation.count(len(calls))
        for index, call in calls:
            if accepts(expected, call):
                mask |= 1 << index
        return mask

    def _look_up(self, expected: ExpectedCall, calls: Numbered) -> int:
        tool, alike = self._tool(calls), _identity(expected)
        if alike not in tool.known:
            accepts = self._relation.accepts_call_of_tool
            groups = tool.candidates_of(expected)
            self._relation.count(len(groups))
            tool.known[alike] = sum(group.mask for group in groups if accepts(expected, group.call))
        return tool.known[alike]

    def _tool(self, calls: Numbered) -> _Tool:
        name = calls[0][1].name
        if name not in self._tools:
            groups = self._groups(name, calls)
            self._tools[name] = _Tool(groups, _candidates(self._relation.rules.for_tool(name), groups))
        return self._tools[name]

    def _groups(self, name: str, calls: Numbered) -> list[_Group]:
        by_status = any(one.statuses for one in self._expected)
        alone = name in SPAWNING_TOOLS and any(one.inside is not None for one in self._expected)
        groups: dict[Hashable, _Group] = {}
        for index, call in calls:
            key = (canonical(call.args), call.status if by_status else "", index if alone else -1)
            groups.setdefault(key, _Group(call)).mask |= 1 << index
        return list(groups.values())


@dataclass(slots=True)
class _Group:
    """Actual calls that no expectation can tell apart."""

    call: ToolCall
    mask: int = 0


Candidates = Callable[[Any], Sequence[_Group]]


@dataclass(slots=True)
class _Tool:
    """The actual calls of one tool, and the way to those that some arguments may accept."""

    groups: list[_Group]
    candidates: Candidates
    known: dict[Hashable, int] = field(default_factory=dict)
    """The calls that expectations accept, by what makes them alike."""

    def candidates_of(self, expected: ExpectedCall) -> Sequence[_Group]:
        return self.groups if expected.args is None else self.candidates(expected.args)


def _identity(expected: ExpectedCall) -> Hashable:
    """Equal for expectations that accept the same calls of one tool."""
    args = None if expected.args is None else canonical(expected.args)
    return (args, expected.statuses, None if expected.inside is None else id(expected))


def _candidates(rule: ArgsRule, groups: list[_Group]) -> Candidates:
    """For arguments, a few groups among which are all that these arguments can accept under the rule."""
    if isinstance(rule, ByPaths):
        return _by_value(groups, rule.values)
    if not isinstance(rule, ByKeys):
        return lambda _: groups
    if rule.mode == "exact":
        return _by_value(groups, lambda args: args)
    return _by_rarest_expected(groups) if rule.mode == "superset" else _by_rarest_actual(groups)


def _by_value(groups: list[_Group], part: Callable[[Args], Any]) -> Candidates:
    index: dict[Hashable, list[_Group]] = defaultdict(list)
    for group in groups:
        index[canonical(part(group.call.args))].append(group)
    return lambda args: index.get(canonical(part(args)), ()) if is_plain(args) else groups


def _by_rarest_expected(groups: list[_Group]) -> Candidates:
    """Every expected scalar must be there: ask for the one that the fewest actual calls have."""
    index = _by_scalar(groups)
    return lambda args: min((index.get(scalar, ()) for scalar in leaves(args)), key=len, default=groups)


def _by_rarest_actual(groups: list[_Group]) -> Candidates:
    """Every actual scalar must be among the expected: file each call under its rarest, and look up all expected."""
    index = _by_scalar(groups)
    anchored: dict[Hashable, list[_Group]] = defaultdict(list)
    without: list[_Group] = []
    for group in groups:
        anchor = min(leaves(group.call.args), key=lambda scalar: len(index[scalar]), default=None)
        (without if anchor is None else anchored[anchor]).append(group)

    def candidates(args: Any) -> Sequence[_Group]:
        if not is_plain(args):
            return groups
        return [*without, *(group for scalar in leaves(args) for group in anchored.get(scalar, ()))]

    return candidates


def _by_scalar(groups: list[_Group]) -> dict[Hashable, list[_Group]]:
    index: dict[Hashable, list[_Group]] = defaultdict(list)
    for group in groups:
        for scalar in leaves(group.call.args):
            index[scalar].append(group)
    return index
