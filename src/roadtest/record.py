"""The record of a run on disk: ``<output dir>/<run id>/run.json``.

While a suite runs, each finished case is one line in a journal beside it: ``cases.jsonl``, and under
pytest-xdist one ``cases-<worker>.jsonl`` for each worker. The writer that has no worker's name owns the
folder: it starts before the workers do and is closed after them, and then makes ``run.json`` of all journals
and removes these. So a crash loses nothing that was finished: without ``run.json`` the journals are read.

    writer = RecordWriter(folder, header, redact=redactor)     # in a worker: worker="gw0"
    writer.add(result)                                          # one line, one write
    writer.close(exit_status=0)                                 # run.json, whole or not at all

    record = read_record(find_run("2026-11-15T10-00-00", output_dir))
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from roadtest.errors import EnvironmentProblem, UsageError
from roadtest.results import (
    CaseResult,
    Git,
    Record,
    RecordHeader,
    Run,
    Totals,
    from_json,
    to_plain,
)

RECORD_NAME = "run.json"
JOURNAL_NAME = "cases.jsonl"
_MESSAGES_KEPT = (20, 180)
_MESSAGE_TEXT = 16_384
_STDERR_TEXT = 65_536


def now() -> str:
    """The time as records and captures write it: ISO 8601, UTC, milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class RecordWriter:
    """Writes cases as they finish; safe to use from several threads."""

    def __init__(
        self, folder: Path, header: RecordHeader, *, redact: Callable[[str], str], worker: str = ""
    ) -> None:
        self.folder = folder
        self._header = header
        self._redact = redact
        self._owns_folder = not worker
        self._lock = threading.Lock()
        folder.mkdir(parents=True, exist_ok=True)
        self._journal = _claim(folder / (f"cases-{worker}.jsonl" if worker else JOURNAL_NAME))
        if self._owns_folder:
            _remove_former(folder)
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
        for journal in _journals(self.folder):
            journal.unlink()
        return target


def _write_whole(file: BinaryIO, line: bytes) -> None:
    rest = memoryview(line)
    while rest:
        rest = rest[file.write(rest) :]


def _claim(path: Path) -> BinaryIO:
    """Open a journal anew; its lock lasts until it is closed or its process ends: it tells who is alive."""
    file = path.open("ab", buffering=0)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise UsageError(
            f"Another run is writing to {path.parent}.",
            hint="wait until it ends, or give this one an id of its own: TEST_RUN_ID=another-name",
        ) from None
    file.truncate(0)
    return file


def _remove_former(folder: Path) -> None:
    """What an earlier run with the same id left; its other files are not ours."""
    (folder / RECORD_NAME).unlink(missing_ok=True)
    for journal in folder.glob("cases-*.jsonl"):
        journal.unlink()


def _journals(folder: Path) -> list[Path]:
    return [path for path in (folder / JOURNAL_NAME, *sorted(folder.glob("cases-*.jsonl"))) if path.is_file()]


class _Cost(msgspec.Struct):
    cost_usd: float = 0.0


class _Summed(msgspec.Struct):
    """As much of a case as the totals need; the rest of a line is copied as it is."""

    verdict: str
    duration_s: float = 0.0
    runs: list[_Cost] = []


def _assemble(
    header: RecordHeader, folder: Path, redact: Callable[[str], str], exit_status: int | None
) -> Iterator[bytes]:
    """The text of ``run.json``, a case a line, in constant memory."""
    totals = Totals()
    start = msgspec.json.format(msgspec.json.encode(to_plain(header, redact)), indent=2)
    yield start.removesuffix(b"\n}") + b',\n  "cases": ['
    separator = b"\n"
    for journal in _journals(folder):
        for line in _whole_lines(journal):
            _count(totals, msgspec.json.decode(line, type=_Summed))
            yield separator + line
            separator = b",\n"
    end = {"totals": to_plain(totals), "finished_at": now(), "exit_status": exit_status}
    yield b"\n  ],\n  " + msgspec.json.format(msgspec.json.encode(end), indent=2).lstrip(b"{\n ") + b"\n"


def _count(totals: Totals, case: _Summed) -> None:
    setattr(totals, case.verdict, getattr(totals, case.verdict) + 1)
    totals.duration_s += case.duration_s
    totals.cost_usd += sum(run.cost_usd for run in case.runs)


def _whole_lines(journal: Path) -> Iterator[bytes]:
    """The cases of a journal: all lines but the header, and but a last one that its writer did not end."""
    with journal.open("rb") as file:
        next(file, None)
        yield from (line[:-1] for line in file if line.endswith(b"\n"))


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


def read_record(folder: Path) -> Record:
    """The record in this folder, also of a run that still goes on or was killed."""
    path = folder / RECORD_NAME
    if path.is_file():
        return from_json(path.read_bytes(), Record, str(path))
    journals = _journals(folder)
    if not journals:
        raise UsageError(
            f"There is no record of a run in {folder}.", hint="run the evals first: roadtest run"
        )
    return _read_journals(journals)


def _read_journals(journals: list[Path]) -> Record:
    header = None
    cases = []
    for journal in journals:
        with journal.open("rb") as file:
            first = file.readline()
        if first.endswith(b"\n") and header is None:
            header = from_json(first, RecordHeader, str(journal))
        cases += [from_json(line, CaseResult, str(journal)) for line in _whole_lines(journal)]
    if header is None:
        raise UsageError(f"{journals[0]} was just begun: its run has finished nothing yet.")
    return Record(**msgspec.structs.asdict(header), cases=cases, totals=Totals.of(cases))


def is_running(folder: Path) -> bool:
    """Is the process that writes this record alive?"""
    try:
        with (folder / JOURNAL_NAME).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def find_run(name: str, output_dir: Path) -> Path:
    """The folder of a run: by its id, the beginning of one, a path, or ``""`` for the newest."""
    runs = list_runs(output_dir)
    if not name:
        if not runs:
            raise UsageError(
                f"There is no run in {output_dir} yet.", hint="run the evals first: roadtest run"
            )
        return runs[0]
    given = Path(name)
    for folder in (
        output_dir / name,
        given,
        given.parent if given.name in (RECORD_NAME, JOURNAL_NAME) else given,
    ):
        if _journals(folder) or (folder / RECORD_NAME).is_file():
            return folder
    return _by_prefix(name, runs, output_dir)


def _by_prefix(name: str, runs: list[Path], output_dir: Path) -> Path:
    ids = {str(folder.relative_to(output_dir)): folder for folder in runs}
    found = [run_id for run_id in ids if run_id.startswith(name)]
    if len(found) == 1:
        return ids[found[0]]
    known = ", ".join((found or list(ids))[:5])
    what = "several runs begin so" if found else "the newest runs are"
    raise UsageError(
        f"There is no run {name!r} in {output_dir}.",
        hint=f"{what}: {known}" if known else "run the evals first: roadtest run",
    )


def list_runs(output_dir: Path) -> list[Path]:
    """The folders of all runs, the newest first; an id has one or two segments."""
    newest: dict[Path, float] = {}
    for pattern in ("*/", "*/*/"):
        for name in (RECORD_NAME, JOURNAL_NAME):
            for path in output_dir.glob(pattern + name):
                newest[path.parent] = max(newest.get(path.parent, 0.0), path.stat().st_mtime)
    return sorted(newest, key=lambda folder: (newest[folder], folder), reverse=True)


def git_state(root: Path) -> Git | None:
    """Commit, branch and whether tracked files are changed; None outside of a repository or without git."""
    commit = _git(root, "rev-parse", "HEAD")
    if not commit:
        return None
    dirty = bool(_git(root, "status", "--porcelain", "--untracked-files=no"))
    return Git(commit=commit, branch=_git(root, "rev-parse", "--abbrev-ref", "HEAD") or "", dirty=dirty)


def _git(root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, check=False, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else None
