"""What JUnit XML carries of a case besides its outcome."""

from __future__ import annotations

from collections.abc import Iterator

from roadtest.results import CaseResult


def properties(result: CaseResult) -> Iterator[tuple[str, str]]:
    """Name and value of each property; scores as ``score.NAME`` with their reasons as ``reason.NAME``."""
    yield "verdict", result.verdict
    for score in result.scores:
        yield f"score.{score.name}", f"{score.value:.4g}"
        if score.reason:
            yield f"reason.{score.name}", score.reason.splitlines()[0]
    if result.scores:
        yield "threshold", f"{result.threshold:.4g}"
    if result.trials > 1:
        yield "trial", f"{result.trial}/{result.trials}"
    if result.variant:
        yield "variant", result.variant
    if result.played:
        yield "played", result.played
    if result.run is not None:
        yield "model", result.run.model
        yield "turns", str(sum(run.turns for run in result.runs))
        yield "tool_calls", str(len(result.run.trajectory))
        yield "cost_usd", f"{result.cost_usd:.6f}"
