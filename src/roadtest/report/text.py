"""How figures, columns and colors look in text."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from textwrap import wrap

from roadtest.results import Run
from roadtest.statistics import Comparison, Interval, Verdict

MARKS: dict[Verdict, str] = {"passed": "✓", "failed": "✗", "invalid": "?", "error": "!"}
_COLORS: dict[Verdict, str] = {"passed": "32", "failed": "31", "invalid": "33", "error": "35"}
_BARE_WORD = 240


@dataclass(frozen=True)
class Style:
    """Paints, or does not: color is for terminals."""

    color: bool = False
    width: int = 100

    def bold(self, text: str) -> str:
        return self._paint(text, "1")

    def dim(self, text: str) -> str:
        return self._paint(text, "2")

    def green(self, text: str) -> str:
        return self._paint(text, "32")

    def red(self, text: str) -> str:
        return self._paint(text, "31")

    def yellow(self, text: str) -> str:
        return self._paint(text, "33")

    def verdict(self, verdict: Verdict, text: str) -> str:
        return self._paint(text, _COLORS[verdict])

    def _paint(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.color and text.strip() else text


def money(usd: float) -> str:
    """Dollars to the cent; below ten cents to the hundredth of one."""
    if usd == 0:
        return "$0"
    return f"${usd:.2f}" if abs(usd) >= 0.1 else f"${usd:.4f}"  # noqa: PLR2004 - ten cents


def seconds(duration: float) -> str:
    minutes, rest = divmod(round(duration), 60)
    return f"{minutes} min {rest:02} s" if minutes else f"{duration:.1f} s"


def percent(share: float) -> str:
    return f"{share * 100:.0f} %"


def share(rate: float | None, interval: Interval) -> str:
    """A pass rate with its interval: ``67 % (21 to 94)``."""
    return "" if rate is None else f"{percent(rate)} ({interval.low * 100:.0f} to {interval.high * 100:.0f})"


def gain(comparison: Comparison) -> str:
    """A difference of shares in percentage points: ``+25 points (-8 to +52)``."""
    low, high = comparison.interval.low, comparison.interval.high
    return f"{comparison.difference * 100:+.0f} points ({low * 100:+.0f} to {high * 100:+.0f})"


def number(count: int, one: str, many: str = "") -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"


def command(*words: str) -> str:
    """Words as a shell takes them."""
    return shlex.join(words)


def in_workspace(text: str, run: Run) -> str:
    """The text with paths relative to the workspace, whose name is of no interest once it is gone."""
    return text.replace(f"{run.workspace}/", "") if run.workspace else text


def indent(lines: Iterable[str], depth: int = 2) -> list[str]:
    return [" " * depth + line if line else "" for line in lines]


def paragraph(text: str, width: int) -> list[str]:
    """Each line of the text wrapped to the width; words that are longer stay whole, for copying."""
    return [
        piece
        for line in text.splitlines()
        for piece in wrap(line, max(width, 40), break_long_words=False, break_on_hyphens=False) or [""]
    ]


def last_lines(text: str, count: int) -> list[str]:
    """The end of a text; of what comes before, how much it is."""
    lines = [_shortened(line) for line in text.rstrip().splitlines()]
    hidden = len(lines) - count
    return lines if hidden <= 0 else [f"… {number(hidden, 'line')} before", *lines[-count:]]


def _shortened(line: str) -> str:
    return line if len(line) <= _BARE_WORD else f"{line[:_BARE_WORD]}… ({len(line)} characters)"


def table(header: Sequence[str], rows: Sequence[Sequence[str]], style: Style) -> list[str]:
    """Columns side by side: the first to the left, the others to the right; those that say nothing are left out."""
    keep = [index for index in range(len(header)) if any(row[index] for row in rows)]
    kept = [[row[index] for index in keep] for row in (header, *rows)]
    widths = [max(len(row[column]) for row in kept) for column in range(len(keep))]
    lines = [
        "  ".join(
            cell.ljust(width) if not column else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in kept
    ]
    return [style.dim(lines[0]), *lines[1:]]
