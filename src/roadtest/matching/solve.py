"""The two optimisation problems behind matching, on bit masks.

A relation between expected and actual calls is given as one integer per expected call: bit ``j`` is set where the actual
call ``j`` is accepted. Python works on such integers a machine word at a time, so that dense relations cost no more than
sparse ones: n rows of m bits take n·m/64 steps for a longest common subsequence and for each phase of the matching.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

Pairs = list[tuple[int, int]]


def longest_common_subsequence(masks: Sequence[int], width: int) -> Pairs:
    """The most pairs (expected, actual) that keep the order on both sides; the relation need not be an equality.

    This is the bit-parallel algorithm of Hyyrö: after row ``i``, bit ``j`` of the row is 0 where the best length for the
    first ``i`` expected and ``j + 1`` actual calls is one more than that for ``j`` actual calls.
    """
    everything = (1 << width) - 1
    rows = [everything]
    for mask in masks:
        row = rows[-1]
        common = row & mask
        rows.append(((row + common) | (row - common)) & everything)
    return _walk_back(rows, width)


def _walk_back(rows: Sequence[int], width: int) -> Pairs:
    pairs = []
    i, j = len(rows) - 1, width
    while i and j:
        if rows[i] >> (j - 1) & 1:
            j -= 1
        elif rows[i - 1] >> (j - 1) & 1:
            i, j = i - 1, j - 1
            pairs.append((i, j))
        else:
            i -= 1
    return pairs[::-1]


class Masks(Protocol):
    """Anything that gives the mask of an expected call by its index."""

    def __getitem__(self, index: int, /) -> int: ...


def maximum_matching(masks: Masks, count: int, width: int, start: Iterable[tuple[int, int]] = ()) -> Pairs:
    """The most pairs (expected, actual) in which no call occurs twice.

    From the pairs given at the start and those that a greedy choice adds, by the algorithm of Hopcroft and Karp.
    """
    matching = _Matching(masks, count, width, start)
    while layers := matching.layers():
        for unpaired in matching.unpaired():
            matching.augment(unpaired, layers)
    return sorted((i, j) for j, i in matching.owner.items())


class _Matching:
    def __init__(self, masks: Masks, count: int, width: int, start: Iterable[tuple[int, int]]) -> None:
        self.masks = masks
        self.owner = {j: i for i, j in start}
        self.free = (1 << width) - 1
        for j in self.owner:
            self.free ^= 1 << j
        paired = set(self.owner.values())
        self.waiting = [i for i in range(count) if i not in paired and masks[i]]
        for i in self.unpaired():
            if available := masks[i] & self.free:
                self._take(i, _lowest(available))

    def _take(self, i: int, j: int) -> None:
        self.owner[j] = i
        self.free &= ~(1 << j)

    def unpaired(self) -> list[int]:
        """The expected calls that have no partner yet and could have one."""
        paired = set(self.owner.values())
        self.waiting = [i for i in self.waiting if i not in paired]
        return self.waiting

    def layers(self) -> list[int]:
        """The actual calls first reached after one, two, ... steps of alternation, up to the nearest free ones."""
        layers: list[int] = []
        frontier, unseen = self.unpaired(), ~0
        while frontier:
            reached = 0
            for i in frontier:
                reached |= self.masks[i]
            reached &= unseen
            if reached & self.free:
                return [*layers, reached & self.free]
            layers.append(reached)
            unseen &= ~reached
            frontier = [self.owner[j] for j in _bits(reached)]
        return []

    def augment(self, start: int, layers: list[int]) -> None:
        """Follow the layers from an unpaired expected call to a free actual call and swap along the way, if there is one.

        Every actual call tried is struck from its layer: no other path of this phase may use it.
        """
        path, steps = [start], list[int]()
        while path:
            depth = len(steps)
            options = self.masks[path[-1]] & layers[depth]
            if not options:
                path.pop()
                if steps:
                    steps.pop()
                continue
            j = _lowest(options)
            layers[depth] &= ~(1 << j)
            steps.append(j)
            if len(steps) == len(layers):
                for i, step in zip(path, steps, strict=True):
                    self._take(i, step)
                return
            path.append(self.owner[j])


def _lowest(mask: int) -> int:
    return (mask & -mask).bit_length() - 1


def _bits(mask: int) -> Iterator[int]:
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
