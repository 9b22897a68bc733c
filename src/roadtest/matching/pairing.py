"""The best pairs of expected and actual calls, in one level and one mode."""

from __future__ import annotations

from functools import cached_property

from roadtest.calls import ToolCall
from roadtest.errors import UsageError
from roadtest.matching.expected import ExpectedCall
from roadtest.matching.relation import Relation, Table
from roadtest.matching.result import ORDERED, Mode
from roadtest.matching.solve import Pairs, longest_common_subsequence, maximum_matching

CELL_LIMIT = 1_000_000_000
"""Expected calls times actual calls in one match; more would take gigabytes, and the match is refused."""


class Problem:
    """Two lists of calls, the relation between them, and a mode."""

    def __init__(
        self,
        mode: Mode,
        expected: tuple[ExpectedCall, ...],
        actual: tuple[ToolCall, ...],
        relation: Relation,
    ) -> None:
        self.mode = mode
        self.expected = expected
        self.actual = actual
        self.relation = relation

    @cached_property
    def table(self) -> Table:
        return Table(self.relation, self.expected, self.actual)

    def solve(self) -> Pairs:
        """As many pairs as there can be; in the ordered modes such that keep the order.

        Calls that fit at both ends are paired first. In the ordered modes no better pairing is lost by that: whatever else
        the first two calls were paired with, they can be paired with each other instead. In the other modes it is a start
        that is improved upon.
        """
        head, tail = self._ends()
        pairs = [(index, index) for index in range(head)]
        apart = len(self.actual) - len(self.expected)
        pairs += [(index, index + apart) for index in range(len(self.expected) - tail, len(self.expected))]
        if len(pairs) == min(len(self.expected), len(self.actual)):
            return pairs
        self._check_size(head + tail)
        if self.mode in ORDERED:
            return pairs[:head] + self._middle(head, tail) + pairs[head:]
        return maximum_matching(self.table, len(self.expected), len(self.actual), pairs)

    def _ends(self) -> tuple[int, int]:
        """How many calls fit one by one from the beginning, and of the rest from the end."""
        accepts, head, tail = self.relation.accepts, 0, 0
        expected, actual = self.expected, self.actual
        most = min(len(expected), len(actual))
        while head < most and accepts(expected[head], actual[head]):
            head += 1
        while tail < most - head and accepts(expected[-1 - tail], actual[-1 - tail]):
            tail += 1
        return head, tail

    def _middle(self, head: int, tail: int) -> Pairs:
        width = len(self.actual) - head - tail
        inner = (1 << width) - 1
        masks = [self.table[index] >> head & inner for index in range(head, len(self.expected) - tail)]
        return [(i + head, j + head) for i, j in longest_common_subsequence(masks, width)]

    def _check_size(self, paired: int) -> None:
        if (len(self.expected) - paired) * (len(self.actual) - paired) > CELL_LIMIT:
            raise UsageError(
                f"{len(self.expected):,} expected and {len(self.actual):,} actual calls are too many to compare.",
                hint="scope to one agent, or match a part of the trajectory: trajectory[:1000].matches(...)",
            )
