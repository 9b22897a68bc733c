"""``roadtest show``, also on what a killed run left."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec
import pytest
from click.testing import CliRunner, Result

from roadtest.cli.show import show
from roadtest.errors import UsageError
from roadtest.record import RecordWriter
from roadtest.results import CaseResult, Record, RecordHeader, from_json
from tests.records import ERROR, FAILED, FULL, INVALID, PASSED, RUN_ID, TRIALS


def write(output_dir: Path, *cases: CaseResult, run_id: str = RUN_ID, close: bool = True) -> RecordWriter:
    fields = {name: getattr(FULL, name) for name in RecordHeader.__struct_fields__}
    header = RecordHeader(**{**fields, "run_id": run_id})
    writer = RecordWriter(output_dir / run_id, header, redact=str)
    for case in cases:
        writer.add(case)
    if close:
        writer.close(exit_status=1)
    return writer


def run(*arguments: str) -> Result:
    return CliRunner().invoke(show, arguments, catch_exceptions=False)


@pytest.fixture
def output_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ROADTEST_OUTPUT_DIR", str(tmp_path))
    return tmp_path


def test_the_newest_run_is_shown_with_failures_and_summary(output_dir: Path) -> None:
    """Head, each case that did not pass with its cause and commands, and the table."""
    write(output_dir, PASSED, FAILED, INVALID, ERROR, *TRIALS)
    said = run().output
    for part in (
        f"run {RUN_ID}\n",
        "✗ failed  file search::find fixmes\n  ✗ trajectory_match",
        "? invalid  skills::skill fires\n  the cassette is stale",
        "! error  skills::scorer raises",
        f"roadtest show '{RUN_ID}::file search::find fixmes'",
        "6 cases: 3 passed, 1 failed, 1 invalid, 1 error",
    ):
        assert part in said
    assert "\x1b" not in said
    assert "✓ passed  file search::find todos" not in said


@pytest.mark.parametrize(
    "name", ["find todos", "file search::find todos", "evals/test_search.py::file search::find todos"]
)
def test_one_case_is_shown_in_full(output_dir: Path, name: str) -> None:
    """A case is named by itself, with its suite, or by its node id."""
    write(output_dir, PASSED, FAILED)
    said = run(f"{RUN_ID}::{name}").output
    assert said.startswith("✓ passed  file search::find todos\n")
    assert "find fixmes" not in said


def test_the_command_that_a_failure_names_works(output_dir: Path) -> None:
    """What is printed under "look at it" shows exactly that trial."""
    write(output_dir, *TRIALS)
    said = run(f"{RUN_ID}::{TRIALS[1].title}").output
    assert said.startswith("✗ failed  models::pick a tool[haiku-trial-2]\n")
    assert said.count("models::pick a tool") == 3


def test_part_of_a_name_shows_all_that_contain_it(output_dir: Path) -> None:
    """Without an exact match every case whose title contains the text is shown; the run may be left out."""
    write(output_dir, PASSED, FAILED, INVALID)
    said = run("::FIND").output
    assert "file search::find todos" in said
    assert "file search::find fixmes" in said
    assert "skill fires" not in said


def test_an_unknown_case_is_answered_with_the_known_ones(output_dir: Path) -> None:
    """The error lists the cases of the run."""
    write(output_dir, PASSED)
    with pytest.raises(UsageError, match="its cases: file search::find todos"):
        run("::nonsense")


def test_json_is_the_record(output_dir: Path) -> None:
    """``--json`` prints the whole record, one case, or a list of trials."""
    write(output_dir, PASSED, *TRIALS)
    record = from_json(run("--json").output, Record)
    assert record.cases == [PASSED, *TRIALS]
    assert from_json(run("--json", "::find todos").output, CaseResult) == PASSED
    assert len(msgspec.json.decode(run("--json", "::pick a tool").output)) == 6


def test_a_run_that_goes_on_is_shown(output_dir: Path) -> None:
    """What is finished can be looked at while the rest runs."""
    writer = write(output_dir, PASSED, close=False)
    said = run().output
    writer.close()
    assert "still running" in said
    assert "1 case: 1 passed" in said


def test_a_killed_run_is_shown(output_dir: Path) -> None:
    """A journal that no process holds any more is a run that did not finish; its cases are all there."""
    writer = write(output_dir, PASSED, FAILED, close=False)
    left = (writer.folder / "cases.jsonl").read_bytes()
    writer.close()
    (writer.folder / "run.json").unlink()
    (writer.folder / "cases.jsonl").write_bytes(left + b'{"suite":"to')
    said = run(RUN_ID).output
    assert "did not finish" in said
    assert "2 cases: 1 passed, 1 failed" in said
    assert not from_json(run(RUN_ID, "--json").output, Record).finished_at


def test_the_command_is_part_of_roadtest() -> None:
    """``roadtest show`` is this command."""
    from roadtest.cli import roadtest  # noqa: PLC0415

    found = roadtest.get_command(click.Context(roadtest), "show")
    assert found is show
