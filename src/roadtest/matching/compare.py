"""Compare calls with expected calls: the verdict at once, the best pairing and what is left over when asked for."""

from __future__ import annotations

import os.path
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast, get_args

import msgspec

from roadtest.calls import ToolCall
from roadtest.errors import UsageError
from roadtest.matching.arguments import ArgsRules, Override
from roadtest.matching.expected import ExpectedCall, expected_calls
from roadtest.matching.explain import Explained
from roadtest.matching.operators import SamePath
from roadtest.matching.pairing import Problem
from roadtest.matching.relation import Relation
from roadtest.matching.result import Match, Mode
from roadtest.matching.values import holds, within
from roadtest.matching.verdict import passing_pairs

MODES: tuple[str, ...] = get_args(Mode)

MAIN = "main"
"""The agent scope of the main agent."""


class Rules(msgspec.Struct, frozen=True):
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

    def in_scope(self, calls: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
        """The calls of the agents that are looked at."""
        if self.agent is None:
            return calls
        if self.agent == MAIN:
            return tuple(call for call in calls if call.agent is None and call.agent_id is None)
        return tuple(call for call in calls if call.agent == self.agent)

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
    if workspace is None or not any(map(_speaks_of_paths, expected)):
        return expected
    roots = (os.path.normpath(workspace), os.path.realpath(workspace))
    return tuple(
        ExpectedCall.of(
            one.tool,
            within(one.args, roots),
            None if one.inside is None else _bind(one.inside, workspace),
            one.statuses,
        )
        if _speaks_of_paths(one)
        else one
        for one in expected
    )


def _speaks_of_paths(one: ExpectedCall) -> bool:
    return not one.simple and (holds(one.args, SamePath) or any(map(_speaks_of_paths, one.inside or ())))


class _Comparison:
    """One match, with the calls of all levels at hand."""

    def __init__(self, rules: Rules, calls: tuple[ToolCall, ...]) -> None:
        self._rules = rules
        self._calls = calls
        self._below: dict[str, tuple[ToolCall, ...]] = {}
        self._relation = Relation(rules.args, lambda expected, actual: bool(self._inside(expected, actual)))

    def top(self, expected: tuple[ExpectedCall, ...]) -> Match:
        return self._level(expected, self._rules.in_scope(self._calls))

    def accepted(self, expected: tuple[ExpectedCall, ...]) -> list[ToolCall]:
        accepts = self._relation.accepts
        return [
            call for call in self._rules.in_scope(self._calls) if any(accepts(one, call) for one in expected)
        ]

    def _inside(self, expected: ExpectedCall, spawn: ToolCall) -> Match:
        """What the subagent did that this call spawned, against what is expected inside."""
        if spawn.id not in self._below:
            self._below[spawn.id] = self._calls_below(spawn)
        return self._level(expected.inside or (), self._below[spawn.id])

    def _calls_below(self, spawn: ToolCall) -> tuple[ToolCall, ...]:
        ids = {spawn.id} - {""}
        while more := {call.id for call in self._calls if call.id and call.parent_id in ids} - ids:
            ids |= more
        return tuple(call for call in self._calls if call.parent_id in ids)

    def _level(self, expected: tuple[ExpectedCall, ...], actual: tuple[ToolCall, ...]) -> Match:
        """As soon as one expected call says what happens inside it, the list speaks of one level only."""
        others = [one for one in expected if not one.simple]
        if any(one.inside is not None for one in others):
            spawned = {call.id for call in actual if call.id}
            actual = tuple(call for call in actual if call.parent_id not in spawned)
        problem = Problem(self._rules.mode, expected, actual, self._relation)
        pairs = problem.solve() if self._foreign(others) else passing_pairs(problem)
        return Match(problem.mode, expected, actual, pairs, Explained(problem, self._inside))

    def _foreign(self, expected: Iterable[ExpectedCall]) -> bool:
        """Whether code that is not ours is asked.

        Then all it is asked for the pairing is asked now, whatever decides the verdict: what it raises is raised by the
        match and not by its explanation, and the two cannot contradict each other.
        """
        return self._rules.args.foreign or any(one.foreign for one in expected)
