"""What became of every call, given the best pairs: the rows of a match, made only when somebody looks at them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from roadtest.calls import ToolCall
from roadtest.matching.closest import closest_pairs
from roadtest.matching.expected import ExpectedCall
from roadtest.matching.pairing import Problem
from roadtest.matching.result import ORDERED, Match, Row
from roadtest.matching.solve import Pairs, maximum_matching
from roadtest.matching.values import Difference

Inside = Callable[[ExpectedCall, ToolCall], Match]


class Explained(msgspec.Struct, frozen=True):
    """The explanation of one match, which knows the comparisons of the levels below."""

    problem: Problem
    inside: Inside

    def pairs(self) -> Pairs:
        return self.problem.solve()

    def rows(self, pairs: Pairs, /) -> tuple[Row, ...]:
        return explain(self.problem, pairs, self.inside)


def explain(problem: Problem, pairs: Pairs, inside: Inside) -> tuple[Row, ...]:
    """A row for each pair and for each call that has no partner, in the order in which to read them."""
    mode, ordered = problem.mode, problem.mode in ORDERED
    rows = [Row("match", i, j) for i, j in pairs]
    unmade = _without(range(len(problem.expected)), pairs, 0)
    surplus = _without(range(len(problem.actual)), pairs, 1)
    if ordered and unmade and surplus:
        moved = _out_of_order(problem, unmade, surplus)
        rows += [Row("out_of_order", i, j) for i, j in moved]
        unmade, surplus = _without(unmade, moved, 0), _without(surplus, moved, 1)
    if surplus if mode == "subset" else unmade:
        close = closest_pairs(problem.expected, problem.actual, unmade, surplus)
        rows += [_wrong(problem, i, j, inside) for i, j in close]
        unmade, surplus = _without(unmade, close, 0), _without(surplus, close, 1)
    rows += [Row("unmade" if mode == "subset" else "missing", expected=i) for i in unmade]
    allowed = mode in ("superset", "in_order")
    alone = [Row("extra" if allowed else "unexpected", actual=j) for j in surplus]
    return tuple(_in_reading_order(rows, alone, ordered=ordered))


def _without(indices: Iterable[int], pairs: Pairs, side: int) -> list[int]:
    taken = {pair[side] for pair in pairs}
    return [index for index in indices if index not in taken]


def _out_of_order(problem: Problem, unmade: Sequence[int], surplus: Sequence[int]) -> Pairs:
    left = sum(1 << j for j in surplus)
    masks = [problem.table[i] & left for i in unmade]
    return [(unmade[i], j) for i, j in maximum_matching(masks, len(masks), left.bit_length())]


def _wrong(problem: Problem, i: int, j: int, inside: Inside) -> Row:
    expected, actual = problem.expected[i], problem.actual[j]
    rule = problem.relation.rules.for_tool(actual.name)
    found = [] if expected.args is None else rule.differences(actual.args, expected.args)
    if expected.statuses and actual.status not in expected.statuses:
        found.append(Difference("(status)", "|".join(sorted(expected.statuses)), actual.status))
    below = None if expected.inside is None else inside(expected, actual)
    return Row("wrong_args", i, j, tuple(found), None if below else below)


def _in_reading_order(paired: Sequence[Row], alone: Sequence[Row], *, ordered: bool) -> Iterator[Row]:
    """Rows in the order of the expected calls; actual calls without a partner where they were made, or at the end."""
    rest = sorted(alone, key=lambda row: row.actual or 0)[::-1]
    for row, place in _places(sorted(paired, key=lambda row: row.expected or 0)):
        while ordered and rest and (rest[-1].actual or 0) < place:
            yield rest.pop()
        yield row
    yield from rest[::-1]


def _places(rows: Sequence[Row]) -> Iterator[tuple[Row, int]]:
    """Each row with the place of its actual call, or -1 where that is not between those of the matches around it."""
    following, bound = [], float("inf")
    for row in reversed(rows):
        following.append(bound)
        if row.kind == "match" and row.actual is not None:
            bound = row.actual
    reached = -1
    for row, limit in zip(rows, reversed(following), strict=True):
        fits = row.actual is not None and row.kind != "out_of_order" and reached < row.actual < limit
        reached = row.actual if fits and row.actual is not None else reached
        yield row, reached if fits else -1
