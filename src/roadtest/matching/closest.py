"""Pair up what is left over, so that a reader sees "wrong pattern" and not "one call missing, another unexpected".

This only explains: verdict and score are decided before. Hence it may be quick rather than optimal: each expected call
looks at the few calls of the same tool that share a scalar with it or were made near it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Hashable, Iterator, Sequence

from roadtest.calls import ToolCall
from roadtest.matching.expected import ExpectedCall
from roadtest.matching.solve import Pairs
from roadtest.matching.values import leaves

NEIGHBOURS = 6
SHARERS = 6


def closest_pairs(
    expected: Sequence[ExpectedCall],
    actual: Sequence[ToolCall],
    unmade: Sequence[int],
    surplus: Sequence[int],
) -> Pairs:
    """Pairs of left over calls of the same tool: most in common first, then nearest; the rest in order."""
    tools = _by_tool(actual, surplus)
    choices = _Choices()
    ranked = sorted(
        (-common, abs(i - j), i, j)
        for i in unmade
        for tool in expected[i].tool.among(tools)
        for j, common in tool.candidates(expected[i], i)
    )
    for _, _, i, j in ranked:
        choices.take(i, j)
    for i in unmade:
        for tool in expected[i].tool.among(tools):
            choices.take_first(i, tool)
    return choices.pairs


class _Choices:
    def __init__(self) -> None:
        self.pairs: Pairs = []
        self._expected: set[int] = set()
        self._actual: set[int] = set()

    def take(self, i: int, j: int) -> None:
        if i not in self._expected and j not in self._actual:
            self.pairs.append((i, j))
            self._expected.add(i)
            self._actual.add(j)

    def take_first(self, i: int, tool: _LeftOver) -> None:
        while i not in self._expected and tool.untried:
            self.take(i, tool.untried.popleft())


def _by_tool(actual: Sequence[ToolCall], surplus: Sequence[int]) -> dict[str, _LeftOver]:
    tools: dict[str, _LeftOver] = defaultdict(_LeftOver)
    for j in surplus:
        tools[actual[j].name].add(j, actual[j])
    return tools


class _LeftOver:
    """The surplus calls of one tool."""

    def __init__(self) -> None:
        self._indices: list[int] = []
        self.untried: deque[int] = deque()
        """Calls to hand out once those that have something in common are paired."""
        self._scalars: dict[int, frozenset[Hashable]] = {}
        self._sharers: dict[Hashable, list[int]] = defaultdict(list)

    def add(self, index: int, call: ToolCall) -> None:
        self._indices.append(index)
        self.untried.append(index)
        self._scalars[index] = frozenset(leaves(call.args))
        for scalar in self._scalars[index]:
            self._sharers[scalar].append(index)

    def candidates(self, expected: ExpectedCall, place: int) -> Iterator[tuple[int, int]]:
        """A few calls, each with the number of scalars it shares with the expected one."""
        wanted = frozenset(leaves(expected.args or {}))
        found = {j for scalar in wanted for j in self._sharers.get(scalar, ())[:SHARERS]}
        middle = bisect_left(self._indices, place)
        found.update(self._indices[max(0, middle - NEIGHBOURS) : middle + NEIGHBOURS])
        for j in found:
            yield j, len(wanted & self._scalars[j])
