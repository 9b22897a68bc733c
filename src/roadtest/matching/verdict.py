"""Whether a match passes, by the cheapest means that are sure.

To pass, a mode asks for a partner for every call of one side or of both. That is easier to find out than which pairing is
the best: the numbers of calls may decide it, and so may the first call that has no partner.
"""

from __future__ import annotations

from roadtest.matching.pairing import Problem
from roadtest.matching.solve import Pairs


def passing_pairs(problem: Problem) -> Pairs | None:
    """The pairs by which a match passes, or None where it fails."""
    if problem.required > min(len(problem.expected), len(problem.actual)):
        return None
    if problem.head == problem.required:
        return problem.pairs_at_head()
    if problem.mode == "strict":
        return None
    return _in_order(problem) if problem.mode == "in_order" else _in_any_order(problem)


def _in_order(problem: Problem) -> Pairs | None:
    """Each expected call with the first that fits after the partner of the one before: a later one leaves less choice."""
    accepts, pairs = problem.relation.accepts, problem.pairs_at_head()
    place, end = problem.head, len(problem.actual)
    for i in range(problem.head, len(problem.expected)):
        while place < end and not accepts(problem.expected[i], problem.actual[place]):
            place += 1
        if place == end:
            return None
        pairs.append((i, place))
        place += 1
    return pairs


def _in_any_order(problem: Problem) -> Pairs | None:
    if not _first_has_partner(problem):
        return None
    pairs = problem.pairs_at_ends()
    if len(pairs) < problem.required:
        problem.check_size()
        if problem.mode != "subset" and not _all_expected_have_partners(problem):
            return None
        pairs = problem.most_pairs(pairs)
    return pairs if len(pairs) == problem.required else None


def _first_has_partner(problem: Problem) -> bool:
    """Whether the first call that does not fit at its place, on the side that needs partners, could have one at all."""
    if problem.mode == "subset":
        accepts, call = problem.relation.accepts, problem.actual[problem.head]
        return any(accepts(one, call) for one in problem.expected)
    return problem.table[problem.head] != 0


def _all_expected_have_partners(problem: Problem) -> bool:
    return all(problem.table[i] for i in range(problem.head, len(problem.expected) - problem.tail))
