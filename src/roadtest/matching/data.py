"""A match as JSON values, for reports and scores."""

from __future__ import annotations

from typing import Any

from roadtest.matching.expected import show
from roadtest.matching.result import Match, Row

MOST_ROWS = 2_000
MOST_CHARACTERS = 2_000


def to_data(match: Match) -> dict[str, Any]:
    """Everything the score can be computed from, and the rows of the comparison."""
    return {
        "mode": match.mode,
        "passed": match.passed,
        "score": match.score,
        "pairs": len(match.pairs),
        "required": match.required,
        "counts": dict(match.counts()),
        "rows": [_row(match, row) for row in match.rows[:MOST_ROWS]],
        "rows_left_out": max(0, len(match.rows) - MOST_ROWS),
    }


def _row(match: Match, row: Row) -> dict[str, Any]:
    data: dict[str, Any] = {"kind": row.kind}
    if row.expected is not None:
        data["expected"] = {"index": row.expected, "call": _text(str(match.expected[row.expected]))}
    if row.actual is not None:
        call = match.actual[row.actual]
        data["actual"] = {"index": row.actual, "call": _text(str(call)), "status": call.status}
    if row.differences:
        data["differences"] = [
            {"path": one.path, "expected": _text(show(one.expected)), "actual": _text(show(one.actual))}
            for one in row.differences
        ]
    if row.inside is not None:
        data["inside"] = to_data(row.inside)
    return data


def _text(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}… ({len(text)} characters)"
