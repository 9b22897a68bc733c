"""What pytest prints about a trial that did not pass."""

from __future__ import annotations

from roadtest.results import CaseResult


def failure_text(result: CaseResult) -> str:
    lines = [f"{result.verdict}: {result.reason}"]
    if result.traceback:
        lines.append(result.traceback)
    return "\n".join(lines)
