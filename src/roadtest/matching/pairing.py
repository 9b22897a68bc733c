"""Two lists of calls to pair, in one level and one mode, and their best pairs."""

from __future__ import annotations

from functools import cached_property

from roadtest.calls import ToolCall
from roadtest.errors import UsageError
from roadtest.matching.expected import ExpectedCall
from roadtest.matching.relation import Relation, Table
from roadtest.matching.result import ORDERED, Mode, required
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
        self.required = required(mode, len(expected), len(actual))

    @cached_property
    def table(self) -> Table:
        return Table(self.relation, self.expected, self.actual)

    def solve(self) -> Pairs:
        """As many pairs as there can be; in the ordered modes such that keep the order.

        Calls that fit at both ends are paired first. In the ordered modes no better pairing is lost by that: whatever else
        the first two calls were paired with, they can be paired with each other instead. In the other modes it is a start
        that is improved upon.
        """
        pairs = self.pairs_at_ends()
        if len(pairs) == min(len(self.expected), len(self.actual)):
            return pairs
        self.check_size()
        if self.mode not in ORDERED:
            return self.most_pairs(pairs)
        return pairs[: self.head] + self._middle(self.head, self.tail) + pairs[self.head :]

    def pairs_at_head(self) -> Pairs:
        return [(index, index) for index in range(self.head)]

    def pairs_at_ends(self) -> Pairs:
        count, apart = len(self.expected), len(self.actual) - len(self.expected)
        return self.pairs_at_head() + [(index, index + apart) for index in range(count - self.tail, count)]

    def most_pairs(self, start: Pairs) -> Pairs:
        """As many pairs as there can be in any order."""
        return maximum_matching(self.table, len(self.expected), len(self.actual), start)

    @cached_property
    def head(self) -> int:
        """How many calls fit one by one from the beginning."""
        accepts, head = self.relation.accepts, 0
        for one, call in zip(self.expected, self.actual, strict=False):
            if not accepts(one, call):
                break
            head += 1
        return head

    @cached_property
    def tail(self) -> int:
        """Of the rest, how many fit from the end."""
        accepts, tail = self.relation.accepts, 0
        most = min(len(self.expected), len(self.actual)) - self.head
        while tail < most and accepts(self.expected[-1 - tail], self.actual[-1 - tail]):
            tail += 1
        return tail

    def _middle(self, head: int, tail: int) -> Pairs:
        width = len(self.actual) - head - tail
        inner = (1 << width) - 1
        masks = [self.table[index] >> head & inner for index in range(head, len(self.expected) - tail)]
        return [(i + head, j + head) for i, j in longest_common_subsequence(masks, width)]

    def check_size(self) -> None:
        paired = self.head + self.tail
        if (len(self.expected) - paired) * (len(self.actual) - paired) > CELL_LIMIT:
            raise UsageError(
                f"{len(self.expected):,} expected and {len(self.actual):,} actual calls are too many to compare.",
                hint="scope to one agent, or match a part of the trajectory: trajectory[:1000].matches(...)",
            )
