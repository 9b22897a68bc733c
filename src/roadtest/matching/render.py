"""A match for human eyes, side by side, and for reports, as data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from roadtest.matching.result import FAULTS, Match, Row


def summary(match: Match) -> str:
    counts = match.counts()
    faults = [f"{counts[kind]} {kind.replace('_', ' ')}" for kind in FAULTS if counts[kind]]
    return f"{match.mode} {'passed' if match else 'failed'}: {', '.join(faults)}"


def render(match: Match, *, width: int = 110, color: bool = False) -> str:
    return "\n".join([summary(match), *_lines(match)])


def _lines(match: Match) -> Iterator[str]:
    for row in match.rows:
        yield f"{row.kind} {_expected(match, row)} | {_actual(match, row)}"


def _expected(match: Match, row: Row) -> str:
    return "" if row.expected is None else str(match.expected[row.expected])


def _actual(match: Match, row: Row) -> str:
    return "" if row.actual is None else str(match.actual[row.actual])


def to_data(match: Match) -> dict[str, Any]:
    return {"mode": match.mode, "score": match.score}
