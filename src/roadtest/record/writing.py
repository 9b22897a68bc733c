"""Writing a record case by case."""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from roadtest.errors import EnvironmentProblem, UsageError
from roadtest.plain import to_plain
from roadtest.record.journal import JOURNAL_NAME, RECORD_NAME, is_held, journals_in, whole_lines
from roadtest.record.surroundings import now, with_claude
from roadtest.results import CaseResult, RecordHeader, Run, Totals

_MESSAGES_KEPT = (20, 180)
_MESSAGE_TEXT = 16_384
_STDERR_TEXT = 65_536


class RecordWriter:
    """Writes cases as they finish; safe to use from several threads."""

    def __init__(
        self,
        folder: Path,
        header: RecordHeader,
        *,
        redact: Callable[[str], str],
        worker: str = "",
        adopt: bool = False,
    ) -> None:
        """``adopt``: the journals of workers that are there belong to this run, although it was begun later."""
        self.folder = folder
        self._header = header
        self._redact = redact
        self._owns_folder = not worker
        self._lock = threading.Lock()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if self._owns_folder and not adopt:
                clear(folder)
            self._journal = _claim(folder / (f"cases-{worker}.jsonl" if worker else JOURNAL_NAME))
        except OSError as problem:
            raise _unwritable(folder, problem) from problem
        self._append(to_plain(header, redact))

    def add(self, result: CaseResult) -> None:
        self._append(to_plain(_bounded(result), self._redact))

    def close(self, *, exit_status: int | None = None) -> Path | None:
        """End the journal; the owner of the folder also writes ``run.json`` and tells where it is."""
        with self._lock:
            if self._journal.closed:
                return None
            path = self._merge(exit_status) if self._owns_folder else None
            self._journal.close()
        return path

    def _append(self, plain: Any) -> None:
        line = msgspec.json.encode(plain) + b"\n"
        with self._lock:
            end = os.fstat(self._journal.fileno()).st_size
            try:
                _write_whole(self._journal, line)
            except OSError as problem:
                self._journal.truncate(end)
                raise _unwritable(self.folder, problem) from problem

    def _merge(self, exit_status: int | None) -> Path:
        target = self.folder / RECORD_NAME
        partial = target.with_suffix(".json.partial")
        try:
            with partial.open("wb") as file:
                for piece in _assemble(self._header, self.folder, self._redact, exit_status):
                    file.write(piece)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(target)
        except OSError as problem:
            partial.unlink(missing_ok=True)
            raise _unwritable(self.folder, problem) from problem
        for journal in journals_in(self.folder):
            journal.unlink()
        return target


def _write_whole(file: BinaryIO, line: bytes) -> None:
    rest = memoryview(line)
    while rest:
        rest = rest[file.write(rest) :]


def _claim(path: Path) -> BinaryIO:
    """Open a journal anew; its lock lasts until it is closed or its process ends: it tells who is alive."""
    file = _locked(path)
    file.truncate(0)
    return file


def clear(folder: Path) -> None:
    """Remove what an earlier run with the same id left, unless it is still at it; other files are not ours."""
    journals = journals_in(folder)
    if any(map(is_held, journals)):
        raise _taken(folder)
    for journal in journals:
        with _locked(journal):  # nobody begins to write what is about to be removed
            journal.unlink()
    (folder / RECORD_NAME).unlink(missing_ok=True)


def _locked(path: Path) -> BinaryIO:
    while True:
        file = path.open("ab", buffering=0)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise _taken(path.parent) from None
        if path.exists() and os.path.samestat(path.stat(), os.fstat(file.fileno())):
            return file
        file.close()  # removed between our opening and locking it


def _taken(folder: Path) -> UsageError:
    return UsageError(
        f"Another run is writing to {folder}.",
        hint="wait until it ends, or give this one an id of its own: TEST_RUN_ID=another-name",
    )


class _RunSummed(msgspec.Struct):
    cost_usd: float = 0.0
    claude_version: str = ""


class _Summed(msgspec.Struct):
    """As much of a case as the totals need; the rest of a line is copied as it is."""

    verdict: str
    duration_s: float = 0.0
    runs: list[_RunSummed] = []


def _assemble(
    header: RecordHeader, folder: Path, redact: Callable[[str], str], exit_status: int | None
) -> Iterator[bytes]:
    """The text of ``run.json``, a case a line, in constant memory."""
    totals, versions = _sums(folder)
    plain = to_plain(with_claude(header, versions), redact)
    start = msgspec.json.format(msgspec.json.encode(plain), indent=2)
    yield start.removesuffix(b"\n}") + b',\n  "cases": ['
    separator = b"\n"
    for journal in journals_in(folder):
        for line in whole_lines(journal):
            yield separator + line
            separator = b",\n"
    end = {"totals": to_plain(totals), "finished_at": now(), "exit_status": exit_status}
    yield b"\n  ],\n  " + msgspec.json.format(msgspec.json.encode(end), indent=2).lstrip(b"{\n ") + b"\n"


def _sums(folder: Path) -> tuple[Totals, set[str]]:
    """What all cases come to, and the versions of Claude Code that ran them."""
    totals, versions = Totals(), set()
    for journal in journals_in(folder):
        for line in whole_lines(journal):
            case = msgspec.json.decode(line, type=_Summed)
            setattr(totals, case.verdict, getattr(totals, case.verdict) + 1)
            totals.duration_s += case.duration_s
            totals.cost_usd += sum(run.cost_usd for run in case.runs)
            versions |= {run.claude_version for run in case.runs} - {""}
    return totals, versions


def _unwritable(folder: Path, problem: OSError) -> EnvironmentProblem:
    return EnvironmentProblem(
        f"The record of the run cannot be written to {folder}: {problem.strerror}.",
        hint="free some space or choose another folder with ROADTEST_OUTPUT_DIR",
    )


def _bounded(result: CaseResult) -> CaseResult:
    """The same result without the bulk that no scorer needs to score it again."""
    return msgspec.structs.replace(result, runs=[_bounded_run(run) for run in result.runs])


def _bounded_run(run: Run) -> Run:
    first, last = _MESSAGES_KEPT
    messages = run.messages
    omitted = len(messages) - first - last
    if omitted > 0:
        note = {"type": "roadtest", "omitted_messages": omitted}
        messages = [*messages[:first], note, *messages[-last:]]
    shortened: list[dict[str, Any]] = to_plain(messages, _shorten)
    return msgspec.structs.replace(run, messages=shortened, stderr=run.stderr[-_STDERR_TEXT:])


def _shorten(text: str) -> str:
    more = len(text) - _MESSAGE_TEXT
    return text if more <= 0 else f"{text[:_MESSAGE_TEXT]}… ({more} more characters)"
