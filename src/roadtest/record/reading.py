"""Finding and reading records."""

from __future__ import annotations

from pathlib import Path

import msgspec

from roadtest.errors import UsageError
from roadtest.record.journal import JOURNAL_NAME, RECORD_NAME, is_held, journals_in, whole_lines
from roadtest.record.surroundings import with_claude
from roadtest.results import CaseResult, Record, RecordHeader, Totals, from_json


def read_record(folder: Path) -> Record:
    """The record in this folder, also of a run that still goes on or was killed; its cases as they were collected."""
    record = _read(folder)
    record.cases.sort(key=lambda case: case.position)
    return record


def _read(folder: Path) -> Record:
    path = folder / RECORD_NAME
    if path.is_file():
        return from_json(path.read_bytes(), Record, str(path))
    journals = journals_in(folder)
    if not journals:
        raise UsageError(
            f"There is no record of a run in {folder}.", hint="run the evals first: roadtest run"
        )
    try:
        return _read_journals(journals)
    except FileNotFoundError:  # the run has just ended and its journals became the record
        return from_json(path.read_bytes(), Record, str(path))


def _read_journals(journals: list[Path]) -> Record:
    header = None
    cases = []
    for journal in journals:
        with journal.open("rb") as file:
            first = file.readline()
        if first.endswith(b"\n") and header is None:
            header = from_json(first, RecordHeader, str(journal))
        cases += [from_json(line, CaseResult, str(journal)) for line in whole_lines(journal)]
    if header is None:
        raise UsageError(f"{journals[0]} was just begun: its run has finished nothing yet.")
    header = with_claude(header, {run.claude_version for case in cases for run in case.runs} - {""})
    return Record(**msgspec.structs.asdict(header), cases=cases, totals=Totals.of(cases))


def is_running(folder: Path) -> bool:
    """Is any of the processes alive that write this record?"""
    return any(map(is_held, journals_in(folder)))


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
        if journals_in(folder) or (folder / RECORD_NAME).is_file():
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
        for name in (RECORD_NAME, "cases*.jsonl"):
            for path in output_dir.glob(pattern + name):
                newest[path.parent] = max(newest.get(path.parent, 0.0), path.stat().st_mtime)
    return sorted(newest, key=lambda folder: (newest[folder], folder), reverse=True)
