"""Two lists of calls to pair, in one level and one mode, and their best pairs."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

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
        # Not cached properties: until Python 3.12 each of those takes a lock, which is longer than some matches last.
        self._head: int | None = None
        self._tail: int | None = None
        self._table: Table | None = None

    @property
    def table(self) -> Table:
        if self._table is None:
            self._table = Table(self.relation, self.expected, self.actual)
        return self._table

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
        return pairs[: self.head] + self._pairs_between(self.head, self.tail) + pairs[self.head :]

    def pairs_at_head(self) -> Pairs:
        return [(index, index) for index in range(self.head)]

    def pairs_at_ends(self) -> Pairs:
        count, apart = len(self.expected), len(self.actual) - len(self.expected)
        return self.pairs_at_head() + [(index, index + apart) for index in range(count - self.tail, count)]

    def most_pairs(self, start: Pairs) -> Pairs:
        """As many pairs as there can be in any order."""
        return maximum_matching(self.table, len(self.expected), len(self.actual), start)

    @property
    def head(self) -> int:
        """How many calls fit one by one from the beginning."""
        if self._head is None:
            self._head = self._fitting(self.expected, self.actual)
        return self._head

    @property
    def tail(self) -> int:
        """Of the rest, how many fit from the end."""
        if self._tail is None:
            rest = min(len(self.expected), len(self.actual)) - self.head
            self._tail = self._fitting(islice(reversed(self.expected), rest), reversed(self.actual))
        return self._tail

    def _fitting(self, expected: Iterable[ExpectedCall], actual: Iterable[ToolCall]) -> int:
        """How many fit one by one until one does not."""
        accepts, count = self.relation.accepts, 0
        # The same arguments are as expected under every rule of ours.
        ours = not self.relation.rules.foreign
        for one, call in zip(expected, actual, strict=False):
            same = ours and one.simple and one.args == call.args and one.tool.only == call.name
            if not same and not accepts(one, call):
                break
            count += 1
        return count

    @property
    def middle(self) -> range:
        """The expected calls that fit neither from the beginning nor from the end."""
        return range(self.head, len(self.expected) - self.tail)

    def _pairs_between(self, head: int, tail: int) -> Pairs:
        width = len(self.actual) - head - tail
        inner = (1 << width) - 1
        masks = [self.table[index] >> head & inner for index in self.middle]
        return [(i + head, j + head) for i, j in longest_common_subsequence(masks, width)]

    def check_size(self) -> None:
        paired = self.head + self.tail
        if (len(self.expected) - paired) * (len(self.actual) - paired) > CELL_LIMIT:
            raise UsageError(
                f"{len(self.expected):,} expected and {len(self.actual):,} actual calls are too many to compare.",
                hint="scope to one agent, or match a part of the trajectory: trajectory[:1000].matches(...)",
            )
