"""A long comparison cut down to what is read: the faults, a little around each, and how much lies between."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, TypeVar

from roadtest.matching.result import FAULTS

CONTEXT = 2
"""Rows without a fault that are kept around one with."""
LEFT_OUT = "left_out"
"""The kind of a row that stands for others."""

T = TypeVar("T")
Data = dict[str, Any]


def fold(rows: Sequence[T], kind_of: Callable[[T], str], faults: int, most: int) -> Iterator[T | Data]:
    """The rows with at most so many of the faults there are; a row of data stands for each stretch that is left out.

    What is folded already stays as it is, so that data of a folded comparison can be folded further.
    """
    groups = [
        (faulty, list(group)) for faulty, group in groupby(rows, key=lambda row: kind_of(row) in FAULTS)
    ]
    kept = 0
    for number, (faulty, group) in enumerate(groups):
        if not faulty:
            head, tail = CONTEXT * (number > 0), CONTEXT * (number < len(groups) - 1)
            yield from _shortened(group, kind_of, head, tail)
            continue
        yield from group[: most - kept]
        kept += len(group)
        if kept >= most:
            if faults > most:
                yield {"kind": LEFT_OUT, "faults": faults - most}
            return


def _shortened(rows: list[T], kind_of: Callable[[T], str], head: int, tail: int) -> Iterator[T | Data]:
    end = len(rows) - tail
    if end - head <= 1:
        yield from rows
        return
    yield from rows[:head]
    matches = sum(kind_of(row) == "match" for row in rows[head:end])
    yield {"kind": LEFT_OUT, "matches": matches, "allowed": end - head - matches}
    yield from rows[end:]


def told(row: Mapping[str, Any]) -> str:
    """What a row stands for, in words."""
    if "faults" in row:
        return f"… {row['faults']:,} more faults"
    return f"… {row['matches']:,} as expected" + (
        f", {row['allowed']:,} that the mode allows" if row["allowed"] else ""
    )
