"""What a match found: the verdict, the score and every call with its fate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal, Protocol

import msgspec

from roadtest.calls import ToolCall
from roadtest.matching.expected import ExpectedCall
from roadtest.matching.solve import Pairs
from roadtest.matching.values import Difference

Mode = Literal["strict", "in_order", "unordered", "subset", "superset"]

Kind = Literal["match", "wrong_args", "out_of_order", "missing", "unexpected", "extra", "unmade"]
"""What became of a call.

``match``: expected and made. ``wrong_args``: the closest call of the same tool, but not as expected. ``out_of_order``:
made, at another place than the order asks for. ``missing``: expected, not made. ``unexpected``: made, not expected. Where
the mode allows them, surplus calls are ``extra`` and expected calls that were not made are ``unmade``.
"""

ORDERED: tuple[Mode, ...] = ("strict", "in_order")
FAULTS: tuple[Kind, ...] = ("missing", "unexpected", "wrong_args", "out_of_order")


def required(mode: Mode, expected: int, actual: int) -> int:
    """How many pairs the mode asks for, of so many expected and actual calls."""
    if mode in ("superset", "in_order"):
        return expected
    return actual if mode == "subset" else max(expected, actual)


class Row(msgspec.Struct, frozen=True):
    """One line of the comparison: positions in the two lists, and how the pair differs."""

    kind: Kind
    expected: int | None = None
    actual: int | None = None
    differences: tuple[Difference, ...] = ()
    inside: Match | None = None
    """Where a subagent did not do what was expected inside the call: that comparison."""


class Explanation(Protocol):
    """What a match asks once somebody wants to know more than its verdict."""

    def pairs(self) -> Pairs:
        """The best pairs there are."""

    def rows(self, pairs: Pairs, /) -> tuple[Row, ...]:
        """What became of each call, given the best pairs."""


class Match:
    """The outcome of comparing the calls an agent made with the expected ones; true when they match.

    ``score`` counts the pairs that match, ``len(match.pairs)``, against what the mode asks for: the expected calls
    (``superset``, ``in_order``), the actual calls (``subset``), or the longer of both lists (``strict``, ``unordered``).
    It is 1 exactly when the match passes.

    The verdict is known from the start. The best pairing of a match that fails, and what became of each call, are found when
    first asked for: many matches pass, and of many others nobody asks for more than the verdict.
    """

    def __init__(
        self,
        mode: Mode,
        expected: tuple[ExpectedCall, ...],
        actual: tuple[ToolCall, ...],
        pairs: Pairs | None,
        explanation: Explanation,
    ) -> None:
        self.mode = mode
        self.expected = expected
        self.actual = actual
        self.passed = pairs is not None and len(pairs) == self.required
        self._known = pairs
        self._explanation = explanation

    @cached_property
    def _paired(self) -> Pairs:
        return self._explanation.pairs() if self._known is None else self._known

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """Every call with its fate."""
        return self._explanation.rows(self._paired)

    def __bool__(self) -> bool:
        return self.passed

    @property
    def required(self) -> int:
        """How many pairs the mode asks for."""
        return required(self.mode, len(self.expected), len(self.actual))

    @property
    def score(self) -> float:
        return len(self._paired) / self.required if self.required else 1.0

    @property
    def pairs(self) -> list[tuple[ExpectedCall, ToolCall]]:
        """The expected calls that were made, each with the call that fulfils it."""
        return [(self.expected[i], self.actual[j]) for i, j in self._paired]

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
        return [
            (self.expected[row.expected], self.actual[row.actual])
            for row in self._of("out_of_order")
            if row.expected is not None and row.actual is not None
        ]

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
        from roadtest.matching.data import outcome  # noqa: PLC0415 - a match does not depend on how it is shown
        from roadtest.matching.render import summary  # noqa: PLC0415

        return summary(outcome(self))

    def render(self, *, width: int = 100, color: bool = False) -> str:
        """The comparison side by side, as text; with ``color`` for a terminal."""
        from roadtest.matching.data import folded  # noqa: PLC0415
        from roadtest.matching.render import MOST_FAULTS, render  # noqa: PLC0415

        return render(folded(self, MOST_FAULTS), width=width, color=color)

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
