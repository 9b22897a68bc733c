"""Which expected call accepts which actual call, found without comparing each with each.

Equal calls are compared once. Under ``exact``, calls with plain arguments are looked up by value. Under ``superset`` every
plain scalar that is expected must be found at the same place in the actual arguments, so only the calls that share the
rarest of them are compared; under ``subset`` it is the other way round. What remains, such as calls that consist of
regular expressions, is compared in full within one tool, up to ``COMPARISON_LIMIT``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from roadtest.calls import SPAWNING_TOOLS, ToolCall
from roadtest.errors import UsageError
from roadtest.matching.arguments import ArgsRule, ArgsRules, ByKeys, ByPaths
from roadtest.matching.expected import ExpectedCall
from roadtest.matching.names import ByTool
from roadtest.matching.values import canonical, is_plain, leaves

COMPARISON_LIMIT = 10_000_000
"""Comparisons of arguments in one match; beyond it the match is refused, never guessed."""

InsideCheck = Callable[[ExpectedCall, ToolCall], bool]


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


class Relation:
    """Decides pairs of calls, one by one or all at once."""

    def __init__(self, rules: ArgsRules, inside: InsideCheck) -> None:
        self._rules = rules
        self._inside = inside
        self.comparisons = 0

    def accepts(self, expected: ExpectedCall, actual: ToolCall) -> bool:
        return (
            expected.tool.accepts(actual.name)
            and self.accepts_args(expected, actual)
            and self._accepts_rest(expected, actual)
        )

    def accepts_args(self, expected: ExpectedCall, actual: ToolCall) -> bool:
        return expected.args is None or self._rules.for_tool(actual.name).accepts(actual.args, expected.args)

    def _accepts_rest(self, expected: ExpectedCall, actual: ToolCall) -> bool:
        return (not expected.statuses or actual.status in expected.statuses) and (
            expected.inside is None or self._inside(expected, actual)
        )

    def masks(self, expected: Sequence[ExpectedCall], actual: Sequence[ToolCall]) -> list[int]:
        """For each expected call the actual calls it accepts, as bits."""
        tools = ByTool(
            (name, _Tool(groups, _candidates(self._rules.for_tool(name), groups)))
            for name, groups in _group(actual, expected).items()
        )
        known: dict[Hashable, int] = {}
        masks = []
        for one in expected:
            key = _identity(one)
            if key not in known:
                known[key] = self._mask(one, tools)
            masks.append(known[key])
        return masks

    def _mask(self, expected: ExpectedCall, tools: ByTool[_Tool]) -> int:
        mask = 0
        for tool in tools.accepted_by(expected.tool):
            candidates = tool.groups if expected.args is None else tool.candidates(expected.args)
            self._count(len(candidates))
            for group in candidates:
                if self.accepts_args(expected, group.call) and self._accepts_rest(expected, group.call):
                    mask |= group.mask
        return mask

    def _count(self, comparisons: int) -> None:
        self.comparisons += comparisons
        if self.comparisons > COMPARISON_LIMIT:
            raise UsageError(
                f"deciding this match takes more than {COMPARISON_LIMIT:,} comparisons of arguments.",
                hint="expect fewer calls, scope to one agent, or expect plain values instead of patterns",
            )


def _candidates(rule: ArgsRule, groups: list[_Group]) -> Candidates:
    """For arguments, a few groups among which are all that these arguments can accept under the rule."""
    if isinstance(rule, ByPaths):
        return _by_value(groups, rule.values)
    if not isinstance(rule, ByKeys):
        return lambda _: groups
    if rule.mode == "exact":
        return _by_value(groups, _whole)
    return _by_rarest_expected(groups) if rule.mode == "superset" else _by_rarest_actual(groups)


def _whole(args: dict[str, Any]) -> Any:
    return args


def _by_value(groups: list[_Group], part: Callable[[dict[str, Any]], Any]) -> Candidates:
    index: dict[Hashable, list[_Group]] = defaultdict(list)
    for group in groups:
        index[canonical(part(group.call.args))].append(group)
    return lambda args: index.get(canonical(part(args)), ()) if is_plain(args) else groups


def _by_rarest_expected(groups: list[_Group]) -> Candidates:
    """Every expected scalar must be there: ask for the one that the fewest actual calls have."""
    index = _by_scalar(groups)
    return lambda args: min((index.get(scalar, ()) for scalar in leaves(args)), key=len, default=groups)


def _by_rarest_actual(groups: list[_Group]) -> Candidates:
    """Every actual scalar must be among the expected: file each call under its rarest one, and look up all expected."""
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


def _group(actual: Sequence[ToolCall], expected: Sequence[ExpectedCall]) -> dict[str, list[_Group]]:
    by_status = any(one.statuses for one in expected)
    by_inside = any(one.inside is not None for one in expected)
    groups: dict[Hashable, _Group] = {}
    by_tool: dict[str, list[_Group]] = defaultdict(list)
    for index, call in enumerate(actual):
        alone = by_inside and call.name in SPAWNING_TOOLS
        key = (call.name, canonical(call.args), call.status if by_status else "", index if alone else -1)
        group = groups.get(key)
        if group is None:
            group = groups[key] = _Group(call)
            by_tool[call.name].append(group)
        group.mask |= 1 << index
    return by_tool


def _identity(expected: ExpectedCall) -> Hashable:
    """Equal for expectations that accept the same calls."""
    args = None if expected.args is None else canonical(expected.args)
    return (expected.tool, args, expected.statuses, None if expected.inside is None else id(expected))
