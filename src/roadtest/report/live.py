"""The line that tells how far a run is while it runs."""

from __future__ import annotations

from dataclasses import dataclass

from roadtest.report.text import Style, money


@dataclass
class Progress:
    total: int
    done: int = 0
    running: int = 0
    failed: int = 0
    broken: int = 0
    """Invalid and error."""
    cost_usd: float = 0.0


def live_line(progress: Progress, style: Style) -> str:
    """``12/40 done · 2 running · 1 failed · $0.0312``, cut to the width of the terminal."""
    parts = [f"{progress.done}/{progress.total} done"]
    if progress.running:
        parts.append(f"{progress.running} running")
    if progress.failed:
        parts.append(f"{progress.failed} failed")
    if progress.broken:
        parts.append(f"{progress.broken} invalid")
    if progress.cost_usd:
        parts.append(money(progress.cost_usd))
    line = " · ".join(parts)[: max(style.width - 1, 0)]
    if progress.failed:
        return style.red(line)
    return style.yellow(line) if progress.broken else style.green(line)
