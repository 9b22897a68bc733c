"""What a match found: the verdict, the score and every call with its fate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from roadtest.calls import ToolCall
from roadtest.matching.expected import ExpectedCall
from roadtest.matching.values import Difference

Mode = Literal["strict", "in_order", "unordered", "subset", "superset"]

Kind = Literal["match", "wrong_args", "out_of_order", "missing", "unexpected", "extra", "unmade"]
"""What became of a call.

``match``: expected and made. ``wrong_args``: the closest call of the same tool, but not as expected. ``out_of_order``:
made, at another place than the order asks for. ``missing``: expected, not made. ``unexpected``: made, not expected. Where
the mode allows them, surplus calls are ``extra`` and expected calls that were not made are ``unmade``.
"""

FAULTS: tuple[Kind, ...] = ("missing", "unexpected", "wrong_args", "out_of_order")


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the comparison: positions in the two lists, and how the pair differs."""

    kind: Kind
    expected: int | None = None
    actual: int | None = None
    differences: tuple[Difference, ...] = ()
    inside: Match | None = None
    """Where a subagent did not do what was expected inside the call: that comparison."""


@dataclass(frozen=True, slots=True, repr=False)
class Match:
    """The outcome of comparing the calls an agent made with the expected ones; true when they match.

    ``score`` counts the pairs that match, ``len(match.pairs)``, against what the mode asks for: the expected calls
    (``superset``, ``in_order``), the actual calls (``subset``), or the longer of both lists (``strict``, ``unordered``).
    It is 1 exactly when the match passes.
    """

    mode: Mode
    expected: tuple[ExpectedCall, ...]
    actual: tuple[ToolCall, ...]
    rows: tuple[Row, ...]

    @property
    def passed(self) -> bool:
        return len(self.pairs) == self.required

    def __bool__(self) -> bool:
        return self.passed

    @property
    def required(self) -> int:
        """How many pairs the mode asks for."""
        if self.mode in ("superset", "in_order"):
            return len(self.expected)
        return len(self.actual) if self.mode == "subset" else max(len(self.expected), len(self.actual))

    @property
    def score(self) -> float:
        return len(self.pairs) / self.required if self.required else 1.0

    @property
    def pairs(self) -> list[tuple[ExpectedCall, ToolCall]]:
        """The expected calls that were made, each with the call that fulfils it."""
        return self._pairs("match")

    @property
    def missing(self) -> list[ExpectedCall]:
        """Calls that were expected and not made."""
        return [self.expected[row.expected] for row in self._of("missing") if row.expected is not None]

    @property
    def unexpected(self) -> list[ToolCall]:
        """Calls that were made and that the mode does not allow."""
        return [self.actual[row.actual] for row in self._of("unexpected") if row.actual is not None]

    @property
    def out_of_order(self) -> list[tuple[ExpectedCall, ToolCall]]:
        """Calls that were made as expected, at the wrong place."""
        return self._pairs("out_of_order")

    @property
    def wrong_args(self) -> list[tuple[ExpectedCall, ToolCall, tuple[Difference, ...]]]:
        """Expected calls that were not made, with the closest call of the same tool and how it differs."""
        return [
            (self.expected[row.expected], self.actual[row.actual], row.differences)
            for row in self._of("wrong_args")
            if row.expected is not None and row.actual is not None
        ]

    @property
    def faults(self) -> list[Row]:
        """The rows that keep the match from passing."""
        return [row for row in self.rows if row.kind in FAULTS]

    @property
    def summary(self) -> str:
        """One line: what was asked, what was found, and where the score comes from."""
        from roadtest.matching.render import summary  # noqa: PLC0415 - data does not depend on its rendering

        return summary(self)

    def render(self, *, width: int = 100, color: bool = False) -> str:
        """The comparison side by side, as text; with ``color`` for a terminal."""
        from roadtest.matching.render import render  # noqa: PLC0415

        return render(self, width=width, color=color)

    def to_data(self) -> dict[str, Any]:
        """The comparison as JSON values, for reports."""
        from roadtest.matching.data import to_data  # noqa: PLC0415

        return to_data(self)

    def __str__(self) -> str:
        return self.render()

    def __repr__(self) -> str:
        return f"<Match: {self.summary}>"

    def counts(self) -> Counter[Kind]:
        return Counter(row.kind for row in self.rows)

    def _of(self, kind: Kind) -> Sequence[Row]:
        return [row for row in self.rows if row.kind == kind]

    def _pairs(self, kind: Kind) -> list[tuple[ExpectedCall, ToolCall]]:
        return [
            (self.expected[row.expected], self.actual[row.actual])
            for row in self._of(kind)
            if row.expected is not None and row.actual is not None
        ]


def in_reading_order(paired: Sequence[Row], alone: Sequence[Row], *, ordered: bool) -> Iterator[Row]:
    """Rows in the order of the expected calls; actual calls that have no partner where they were made, or at the end."""
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
