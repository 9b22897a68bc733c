"""Whether a match passes, by the cheapest means that are sure.

To pass, a mode asks for a partner for every call of one side or of both. That is easier to find out than which pairing is
the best: the numbers of calls may decide it, so may the first call that has no partner, and so may pairs that are found
without a search and are enough.
"""

from __future__ import annotations

from itertools import islice

from roadtest.matching.first_fit import FEW, FirstFit
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
    fit = FirstFit(problem)
    left = fit.pair_equal()
    if left is None or len(fit.pairs) == problem.required:
        return None if left is None else sorted(fit.pairs)
    if problem.mode == "subset" and not _is_accepted(problem, next(fit.unpaired())):
        return None
    unsure = fit.pair_accepted(left)
    if unsure is None or len(fit.pairs) == problem.required:
        return None if unsure is None else sorted(fit.pairs)
    return _most_pairs(problem, fit, unsure)


def _most_pairs(problem: Problem, fit: FirstFit, unsure: list[int]) -> Pairs | None:
    """The best pairing, unless a call that cannot have a partner makes it superfluous."""
    problem.check_size()
    if problem.mode == "subset":
        possible = all(_is_accepted(problem, j) for j in islice(fit.unpaired(), FEW))
    else:
        possible = all(problem.table[i] for i in unsure)
    pairs = problem.most_pairs(fit.pairs) if possible else []
    return pairs if len(pairs) == problem.required else None


def _is_accepted(problem: Problem, j: int) -> bool:
    """Whether any of the expected calls accepts this one."""
    accepts, call = problem.relation.accepts, problem.actual[j]
    name = call.name
    of_its_tool = [one for one in problem.expected if (only := one.tool.only) == name or only is None]
    return any(accepts(one, call) for one in of_its_tool)
