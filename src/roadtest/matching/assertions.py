"""Matches in the failures of pytest: what ``assert`` compared, explained in full.

pytest shows a value on one line of 240 characters and a comparison on eight lines, unless it is told ``-vv``. So an
assertion gets the summary, and the whole explanation goes into a section of the report.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from roadtest.calls import ToolCall
from roadtest.errors import UsageError
from roadtest.matching.result import Match


def explain_comparison(left: object, right: object) -> list[str] | None:
    """Lines for pytest's ``assert left == right`` where one is a trajectory and the other a list or a trajectory."""
    if not hasattr(left, "matches"):
        left, right = right, left
    if not hasattr(left, "matches") or not isinstance(right, Sequence) or isinstance(right, str):
        return None
    recorded = all(isinstance(one, ToolCall) for one in right)
    match: Match = left.matches(right, args="exact" if recorded else "superset")
    rest = [_fields_apart(match.actual, right)] if match and recorded else []
    return ["the trajectory is not as expected", *str(match).splitlines(), *rest]


def _fields_apart(actual: Sequence[ToolCall], other: Sequence[ToolCall]) -> str:
    """Two trajectories with the same calls, whose records differ in something else."""
    apart = [
        f"call {number}: {', '.join(fields)}"
        for number, (mine, theirs) in enumerate(zip(actual, other, strict=True), 1)
        if (
            fields := [
                name for name in mine.__struct_fields__ if getattr(mine, name) != getattr(theirs, name)
            ]
        )
    ]
    return f"the calls match; they differ in: {'; '.join(apart[:5])}"


def explain_failures(message: str, values: Iterable[object]) -> list[str]:
    """The explanation of each failed match that the message of an assertion speaks of.

    pytest keeps what it evaluates for ``assert trajectory.matches(...)`` among the variables of the test's frame, under
    names of its own.
    """
    failed = {id(value): value for value in values if isinstance(value, Match) and not value}
    return [str(match) for match in failed.values() if _is_told(match, message)]


def _is_told(match: Match, message: str) -> bool:
    try:
        return match.summary in message
    except UsageError:
        # Its verdict was cheap and its explanation is refused as too long; the message says that instead.
        return False
