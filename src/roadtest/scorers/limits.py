"""Scorers of what a run took."""

from __future__ import annotations

from typing import Any

from roadtest.errors import UsageError
from roadtest.matching import Rules
from roadtest.matching.expected import expected_calls
from roadtest.results import Run, Score
from roadtest.scorers.base import Scorer, named, require_calls, require_measured, verdict
from roadtest.trajectory import Trajectory


def max_calls(limit: int, *tools: Any) -> Scorer:
    """At most this many calls; with tools, of these tools together."""
    _check(limit, "max_calls")
    counted = expected_calls(tools, "max_calls")
    rules = Rules.build(mode="superset")

    @named("max_calls")
    def score(trajectory: Trajectory, run: Run | None = None) -> Score:
        require_calls(run)
        made = rules.select(trajectory, counted) if counted else trajectory
        return _within(len(made), limit, "calls", "")

    return score


def max_turns(limit: int) -> Scorer:
    """At most this many turns of the model."""
    _check(limit, "max_turns")

    @named("max_turns")
    def score(run: Run) -> Score:
        require_measured(run, run.turns, "how many turns it took")
        return _within(run.turns, limit, "turns", "")

    return score


def max_cost(usd: float) -> Scorer:
    """The run costs at most this many dollars."""
    _check(usd, "max_cost")

    @named("max_cost")
    def score(run: Run) -> Score:
        require_measured(run, run.cost_usd, "what it cost")
        return _within(run.cost_usd, usd, "USD", ".4f")

    return score


def max_duration(seconds: float) -> Scorer:
    """The run takes at most this many seconds."""
    _check(seconds, "max_duration")

    @named("max_duration")
    def score(run: Run) -> Score:
        require_measured(run, run.duration_s, "how long it took")
        return _within(run.duration_s, seconds, "seconds", ".1f")

    return score


def _check(limit: float, scorer: str) -> None:
    if not limit >= 0:
        raise UsageError(f"{scorer} takes a number that is not negative, not {limit!r}.")


def _within(value: float, limit: float, unit: str, form: str) -> Score:
    return verdict(
        value <= limit, f"{value:{form}} {unit}, at most {limit:{form}} are allowed", value=value, limit=limit
    )
