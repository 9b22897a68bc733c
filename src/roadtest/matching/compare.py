"""Compare calls with expected calls: the verdict by an optimal pairing, the explanation from what is left over."""

from __future__ import annotations

import os.path
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast, get_args

from roadtest.calls import ToolCall
from roadtest.errors import UsageError
from roadtest.matching.arguments import ArgsRules, Override
from roadtest.matching.closest import closest_pairs
from roadtest.matching.expected import ExpectedCall, expected_calls
from roadtest.matching.relation import Relation
from roadtest.matching.result import Match, Mode, Row, in_reading_order
from roadtest.matching.solve import Pairs, longest_common_subsequence, maximum_matching
from roadtest.matching.values import Difference, within

MODES: tuple[str, ...] = get_args(Mode)
ORDERED = ("strict", "in_order")
CELL_LIMIT = 1_000_000_000
"""Expected calls times actual calls in one match; more would take gigabytes, and the match is refused."""

MAIN = "main"
"""The agent scope of the main agent."""


@dataclass(frozen=True, slots=True)
class Rules:
    """How to compare, checked once: build it early, and mistakes show before anything runs."""

    mode: Mode
    args: ArgsRules
    agent: str | None = None

    @classmethod
    def build(
        cls,
        *,
        mode: str = "strict",
        args: str = "superset",
        overrides: Mapping[str, Override] | None = None,
        agent: str | None = None,
    ) -> Rules:
        if mode not in MODES:
            raise UsageError(f"there is no match mode {mode!r}; the modes are {', '.join(MODES)}.")
        if agent == "":
            raise UsageError("agent is 'main' or the name of a subagent, not empty.")
        return cls(cast("Mode", mode), ArgsRules.build(args, overrides), agent)

    def in_scope(self, calls: Iterable[ToolCall]) -> list[ToolCall]:
        """The calls of the agents that are looked at."""
        if self.agent == MAIN:
            return [call for call in calls if call.agent is None and call.agent_id is None]
        return [call for call in calls if self.agent is None or call.agent == self.agent]

    def match(
        self, calls: Iterable[ToolCall], expected: Any, *, workspace: str | Path | None = None
    ) -> Match:
        """Compare; ``workspace`` makes ``$path`` precise."""
        return _Comparison(self, tuple(calls)).top(_bind(expected_calls(expected), workspace))

    def select(
        self, calls: Iterable[ToolCall], expected: Any, *, workspace: str | Path | None = None
    ) -> list[ToolCall]:
        """The calls that one of the expected ones accepts, whatever the mode."""
        return _Comparison(self, tuple(calls)).accepted(_bind(expected_calls(expected), workspace))


def match(
    calls: Iterable[ToolCall],
    expected: Any,
    *,
    mode: str = "strict",
    args: str = "superset",
    overrides: Mapping[str, Override] | None = None,
    agent: str | None = None,
    workspace: str | Path | None = None,
) -> Match:
    """Compare the calls an agent made with the expected ones.

    Args:
        calls: the calls in the order in which they were made.
        expected: names of tools, ``call(...)``, objects as in JSON fixtures, or recorded calls.
        mode: ``strict`` (the same calls in the same order), ``in_order`` (all of the expected in order, others may come
            between), ``unordered`` (the same calls in any order), ``superset`` (the agent made at least the expected
            calls), ``subset`` (the agent made at most the expected calls; none at all passes).
        args: ``superset`` (the actual arguments contain at least the expected), ``subset``, ``exact`` or ``ignore``.
        overrides: by name of tool, another args mode, a list of key paths, or a function ``(actual, expected) -> bool``.
        agent: look only at the calls of the ``main`` agent, or of the subagents of this name; by default at all.
        workspace: the folder that ``$path`` is relative to.
    """
    rules = Rules.build(mode=mode, args=args, overrides=overrides, agent=agent)
    return rules.match(calls, expected, workspace=workspace)


def _bind(expected: tuple[ExpectedCall, ...], workspace: str | Path | None) -> tuple[ExpectedCall, ...]:
    """The same expectations with ``$path`` bound to the workspace, under its own name and without links."""
    if workspace is None:
        return expected
    roots = (os.path.normpath(workspace), os.path.realpath(workspace))
    return tuple(
        replace(
            one,
            args=within(one.args, roots),
            inside=None if one.inside is None else _bind(one.inside, workspace),
        )
        for one in expected
    )


class _Comparison:
    """One match, with the calls of all levels at hand."""

    def __init__(self, rules: Rules, calls: tuple[ToolCall, ...]) -> None:
        self._rules = rules
        self._calls = calls
        self._relation = Relation(rules.args, lambda expected, actual: bool(self._inside(expected, actual)))

    def top(self, expected: tuple[ExpectedCall, ...]) -> Match:
        return self._level(expected, self._rules.in_scope(self._calls))

    def accepted(self, expected: tuple[ExpectedCall, ...]) -> list[ToolCall]:
        accepts = self._relation.accepts
        return [
            call
            for call in self._calls
            if self._in_scope(call) and any(accepts(one, call) for one in expected)
        ]

    def _in_scope(self, call: ToolCall) -> bool:
        if self._rules.agent == MAIN:
            return call.agent is None and call.agent_id is None
        return self._rules.agent is None or call.agent == self._rules.agent

    def _inside(self, expected: ExpectedCall, spawn: ToolCall) -> Match:
        """What the subagent did that this call spawned, against what is expected inside."""
        spawned = {spawn.id} - {""}
        inner: list[ToolCall] = []
        while more := [call for call in self._calls if call.parent_id in spawned and call not in inner]:
            inner += more
            spawned |= {call.id for call in more if call.id}
        return self._level(expected.inside or (), inner)

    def _level(self, expected: tuple[ExpectedCall, ...], calls: Sequence[ToolCall]) -> Match:
        """As soon as one expected call says what happens inside it, the list speaks of one level only."""
        if any(one.inside is not None for one in expected):
            spawned = {call.id for call in calls if call.id}
            calls = [call for call in calls if call.parent_id not in spawned]
        return self._compare(expected, tuple(calls))

    def _compare(self, expected: tuple[ExpectedCall, ...], actual: tuple[ToolCall, ...]) -> Match:
        mode = self._rules.mode
        pairs = self._obvious(expected, actual)
        masks: list[int] = []
        if pairs is None:
            _check_size(expected, actual)
            masks = self._relation.masks(expected, actual)
            solve = longest_common_subsequence if mode in ORDERED else maximum_matching
            pairs = solve(masks, len(actual))
        return Match(mode, expected, actual, self._rows(expected, actual, pairs, masks))

    def _obvious(self, expected: tuple[ExpectedCall, ...], actual: tuple[ToolCall, ...]) -> Pairs | None:
        """The pairs of an ordered match that passes, which take one look at each call to find."""
        accepts = self._relation.accepts
        if self._rules.mode == "strict" and len(expected) == len(actual):
            if all(map(accepts, expected, actual)):
                return [(index, index) for index in range(len(expected))]
        elif self._rules.mode == "in_order":
            pairs: Pairs = []
            for index, call in enumerate(actual):
                if len(pairs) < len(expected) and accepts(expected[len(pairs)], call):
                    pairs.append((len(pairs), index))
            return pairs if len(pairs) == len(expected) else None
        return None

    def _rows(
        self, expected: tuple[ExpectedCall, ...], actual: tuple[ToolCall, ...], pairs: Pairs, masks: list[int]
    ) -> tuple[Row, ...]:
        mode = self._rules.mode
        rows = [Row("match", i, j) for i, j in pairs]
        unmade, surplus = _left_over(len(expected), pairs, 0), _left_over(len(actual), pairs, 1)
        if mode in ORDERED and unmade and surplus:
            moved = _out_of_order(masks, unmade, surplus)
            rows += [Row("out_of_order", i, j) for i, j in moved]
            unmade, surplus = _without(unmade, moved, 0), _without(surplus, moved, 1)
        close = closest_pairs(expected, actual, unmade, surplus) if self._has_faults(unmade, surplus) else []
        rows += [self._wrong(i, j, expected[i], actual[j]) for i, j in close]
        unmade, surplus = _without(unmade, close, 0), _without(surplus, close, 1)
        rows += [Row("unmade" if mode == "subset" else "missing", expected=i) for i in unmade]
        alone = [
            Row("extra" if mode in ("superset", "in_order") else "unexpected", actual=j) for j in surplus
        ]
        return tuple(in_reading_order(rows, alone, ordered=mode in ORDERED))

    def _has_faults(self, unmade: Sequence[int], surplus: Sequence[int]) -> bool:
        if self._rules.mode in ("superset", "in_order"):
            return bool(unmade)
        return bool(surplus) if self._rules.mode == "subset" else bool(unmade or surplus)

    def _wrong(self, i: int, j: int, expected: ExpectedCall, actual: ToolCall) -> Row:
        rule = self._rules.args.for_tool(actual.name)
        found = [] if expected.args is None else rule.differences(actual.args, expected.args)
        if expected.statuses and actual.status not in expected.statuses:
            found.append(Difference("(status)", "|".join(sorted(expected.statuses)), actual.status))
        inside = None if expected.inside is None else self._inside(expected, actual)
        return Row("wrong_args", i, j, tuple(found), None if inside else inside)


def _check_size(expected: Sequence[ExpectedCall], actual: Sequence[ToolCall]) -> None:
    if len(expected) * len(actual) > CELL_LIMIT:
        raise UsageError(
            f"{len(expected):,} expected and {len(actual):,} actual calls are too many to compare.",
            hint="scope to one agent, or match a part of the trajectory: trajectory[:1000].matches(...)",
        )


def _left_over(count: int, pairs: Pairs, side: int) -> list[int]:
    return _without(range(count), pairs, side)


def _without(indices: Iterable[int], pairs: Pairs, side: int) -> list[int]:
    taken = {pair[side] for pair in pairs}
    return [index for index in indices if index not in taken]


def _out_of_order(masks: Sequence[int], unmade: Sequence[int], surplus: Sequence[int]) -> Pairs:
    left = sum(1 << j for j in surplus)
    moved = maximum_matching([masks[i] & left for i in unmade], left.bit_length())
    return [(unmade[i], j) for i, j in moved]
