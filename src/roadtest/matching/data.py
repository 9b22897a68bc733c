"""A match as JSON values, which is what scores and records keep of it and what every rendering is made from."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from roadtest.matching.expected import show
from roadtest.matching.folding import fold
from roadtest.matching.result import Match, Row
from roadtest.matching.values import Difference

MOST_ROWS = 2_000
"""Longer comparisons are folded."""
MOST_RECORDED_FAULTS = 500
MOST_CALL_CHARACTERS = 2_000
MOST_VALUE_CHARACTERS = 160


def to_data(match: Match) -> dict[str, Any]:
    """Everything the score can be computed from, and the rows of the comparison; of very many those with a fault."""
    if len(match.rows) > MOST_ROWS:
        return folded(match, MOST_RECORDED_FAULTS)
    return {**outcome(match), "rows": [_row(match, row) for row in match.rows]}


def folded(match: Match, most_faults: int) -> dict[str, Any]:
    """The same with the rows that a reader would look at."""
    rows = fold(match.rows, attrgetter("kind"), len(match.faults), most_faults)
    return {**outcome(match), "rows": [_row(match, row) if isinstance(row, Row) else row for row in rows]}


def outcome(match: Match) -> dict[str, Any]:
    return {
        "mode": match.mode,
        "passed": match.passed,
        "score": match.score,
        "pairs": len(match.pairs),
        "required": match.required,
        "counts": dict(match.counts()),
    }


def _row(match: Match, row: Row) -> dict[str, Any]:
    data: dict[str, Any] = {"kind": row.kind}
    if row.expected is not None:
        data["expected"] = {"index": row.expected, "call": _text(str(match.expected[row.expected]))}
    if row.actual is not None:
        call = match.actual[row.actual]
        data["actual"] = {"index": row.actual, "call": _text(str(call)), "status": call.status}
    if row.differences:
        data["differences"] = [_difference(one) for one in row.differences]
    if row.inside is not None:
        data["inside"] = to_data(row.inside)
    return data


def _text(text: str) -> str:
    return _cut(text, 0, MOST_CALL_CHARACTERS)


def _difference(difference: Difference) -> dict[str, str]:
    """Both values cut to a length that a reader takes in, around the place where they part."""
    expected, actual = show(difference.expected), show(difference.actual)
    start = 0
    if max(len(expected), len(actual)) > MOST_VALUE_CHARACTERS:
        start = max(0, _parting(expected, actual) - MOST_VALUE_CHARACTERS // 4)
    return {
        "path": difference.path,
        "expected": _cut(expected, start, MOST_VALUE_CHARACTERS),
        "actual": _cut(actual, start, MOST_VALUE_CHARACTERS),
    }


def _parting(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (mine, theirs) in pairs if mine != theirs), min(len(one), len(other)))


def _cut(text: str, start: int, limit: int) -> str:
    if len(text) <= limit:
        return text
    end = start + limit
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''} ({len(text)} characters)"
