"""Evals in pytest's terminal: what failed and why, a live line while trials run, a table at the end."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress

import pytest
from _pytest._code.code import ReprFileLocation, TerminalRepr
from _pytest._io import TerminalWriter

from roadtest.report.failure import failure_lines
from roadtest.report.live import Progress, live_line
from roadtest.report.summary import summary_lines
from roadtest.report.text import Style
from roadtest.results import CaseResult

_CLEAR_TO_END = "\x1b[K"


class CaseRepr(TerminalRepr):
    """Why a trial did not pass, in the form in which pytest keeps a failure: painted on a terminal, plain elsewhere."""

    def __init__(self, result: CaseResult, run_id: str, line: int) -> None:
        self._result = result
        self._run_id = run_id
        why = result.reason.strip().splitlines() or ["no reason was given"]
        self.reprcrash = ReprFileLocation(result.file, line, f"{result.verdict}: {why[0]}")

    def toterminal(self, tw: TerminalWriter) -> None:
        for line in failure_lines(self._result, self._run_id, style_of(tw)):
            tw.line(line)


class LiveLine:
    """How far the trials are, right of whatever pytest wrote last; says nothing where nobody watches."""

    def __init__(self, config: pytest.Config, progress: Callable[[], Progress]) -> None:
        reporter = config.pluginmanager.getplugin("terminalreporter")
        writer: TerminalWriter | None = getattr(reporter, "_tw", None)
        watched = writer is not None and bool(reporter.isatty) and os.environ.get("TERM") != "dumb"
        self._writer = writer if watched else None
        self._progress = progress
        capture = config.pluginmanager.getplugin("capturemanager")
        self._uncaptured = capture.global_and_fixture_disabled if capture else nullcontext

    def __bool__(self) -> bool:
        return self._writer is not None

    def draw(self) -> None:
        """Write the line and go back to where we were, so that pytest writes over it."""
        if self._writer is None:
            return
        room = self._writer.fullwidth - self._writer.width_of_current_line - 2
        text = live_line(self._progress(), Style(color=False, width=room))
        if text and room > len(text):
            self._write(f"  {text}{_CLEAR_TO_END}\x1b[{len(text) + 2}D")

    def clear(self) -> None:
        if self._writer is not None:
            self._write(_CLEAR_TO_END)

    def _write(self, text: str) -> None:
        """Past the writer, which would count what we write as part of pytest's line, and past the capture."""
        if self._writer is not None:
            with suppress(UnicodeEncodeError), self._uncaptured():
                self._writer._file.write(text)  # noqa: SLF001 - a public way would need a writer of our own
                self._writer.flush()


def write_summary(
    reporter: pytest.TerminalReporter, results: Sequence[CaseResult], notes: Sequence[str]
) -> None:
    reporter.section("evals")
    for line in (*summary_lines(results, style_of(reporter._tw)), *notes):  # noqa: SLF001
        reporter.line(line)


def style_of(writer: TerminalWriter) -> Style:
    return Style(color=writer.hasmarkup, width=writer.fullwidth)
