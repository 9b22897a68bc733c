"""Pairs of calls in any order, each made of an expected call and the first one that fits it.

Where such pairs are enough, they prove a pass, and take a fraction of the time that it takes to find the most pairs there
can be. Where they are not, they are what the search for the most starts from. Calls are looked for among those of the same
tool; where these are many, among those that have a text in common with the expected call.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from roadtest.matching.expected import ExpectedCall
from roadtest.matching.pairing import Problem

FEW = 8
"""So many calls are compared one after the other; more are looked up, or left to the search for the most pairs."""
_TAKEN = object()


class FirstFit:
    """The pairs so far, and what it takes to find more."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.pairs = problem.pairs_at_ends()
        self._args: list[Any] = [call.args for call in problem.actual]
        """The arguments of each call, until it is taken."""
        for _, j in self.pairs:
            self._args[j] = _TAKEN
        self._tools: dict[str, list[int]] = defaultdict(list)
        for j, call in enumerate(problem.actual):
            self._tools[call.name].append(j)
        self._texts: dict[tuple[str, str], dict[str, list[int]]] = {}

    def pair_equal(self) -> list[int] | None:
        """Pair calls that have the same arguments; gives the expected calls that are left.

        The same arguments are as expected under every rule. Python takes some for the same that are not, such as 1 and
        True: where an expected call has such, the rule is asked. None where the first that is left must have a partner and
        cannot have any: where few are wrong that is soon known, and it is little to look at in vain.
        """
        expected, actual, accepts = self.problem.expected, self.problem.actual, self.problem.relation.accepts
        tools, theirs, pairs, left = self._tools, self._args, self.pairs, list[int]()
        for i in self.problem.middle:
            one = expected[i]
            args, only = one.args, one.tool.only
            places: Sequence[int] = () if only is None else tools.get(only, ())
            if len(places) > FEW:
                places = self._sharing_a_text(one, places) or ()
            for j in places:
                if theirs[j] == args and (one.simple or accepts(one, actual[j])):
                    theirs[j] = _TAKEN
                    pairs.append((i, j))
                    break
            else:
                if not left and not self._may_have_partner(one):
                    return None
                left.append(i)
        return left

    def pair_accepted(self, left: Iterable[int]) -> list[int] | None:
        """Pair what the rules accept; gives the expected calls that are left, or None where one cannot have a partner.

        What is left may have partners that others took, or more candidates than are compared here. In the mode in which
        expected calls need no partner, one that cannot have any is left, too.
        """
        expected, actual, relation = self.problem.expected, self.problem.actual, self.problem.relation
        accepts, theirs, unsure = relation.accepts, self._args, list[int]()
        for i in left:
            one = expected[i]
            places = self._candidates(one)
            if places is None:
                unsure.append(i)
                continue
            relation.count(len(places))
            for j in places:
                if theirs[j] is not _TAKEN and accepts(one, actual[j]):
                    theirs[j] = _TAKEN
                    self.pairs.append((i, j))
                    break
            else:
                if not self._may_have_partner(one):
                    return None
                unsure.append(i)
        return unsure

    def _may_have_partner(self, one: ExpectedCall) -> bool:
        """Whether some call could be its partner, taken or not; or it needs none."""
        if self.problem.mode == "subset":
            return True
        accepts, actual, places = self.problem.relation.accepts, self.problem.actual, self._candidates(one)
        return places is None or any(accepts(one, actual[j]) for j in places)

    def unpaired(self) -> Iterator[int]:
        """The actual calls that are left."""
        return (j for j, args in enumerate(self._args) if args is not _TAKEN)

    def _candidates(self, one: ExpectedCall) -> Sequence[int] | None:
        """All calls that it may accept, where they are few."""
        if one.tool.only is not None:
            return self._few(one, self._tools.get(one.tool.only, ()))
        found = [self._few(one, places) for places in one.tool.among(self._tools)]
        return None if None in found else sorted(j for few in found if few for j in few)

    def _few(self, one: ExpectedCall, places: Sequence[int]) -> Sequence[int] | None:
        if len(places) <= FEW:
            return places
        return self._sharing_a_text(one, places) if self.problem.relation.wants_all_expected else None

    def _sharing_a_text(self, one: ExpectedCall, places: Sequence[int]) -> Sequence[int] | None:
        """The calls of one tool that have a text at the place where it is expected, where they are few."""
        for key, value in (one.args or {}).items():
            if type(value) is str:
                sharing = self._by_text(key, places).get(value, ())
                if len(sharing) <= FEW:
                    return sharing
        return None

    def _by_text(self, key: str, places: Sequence[int]) -> dict[str, list[int]]:
        actual = self.problem.actual
        name = actual[places[0]].name
        index = self._texts.get((name, key))
        if index is None:
            index = self._texts[name, key] = defaultdict(list)
            for j in places:
                value = actual[j].args.get(key)
                if isinstance(value, str):
                    index[value].append(j)
        return index
