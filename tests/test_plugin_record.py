"""The record that a pytest session leaves, and what is made of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from roadtest.record import find_run, is_running, read_record
from roadtest.results import Record, from_json

XDIST = ("-p", "xdist.plugin")
EVALS = """
    from roadtest import Case, Run, Score, describe_eval

    def task(input):
        return Run(output=input.upper(), cost_usd=0.25, turns=2)

    def shouts(output):
        return Score(float(output.endswith("!")), "ends in !" if output.endswith("!") else "does not end in !")

    def raises_on_bug(output):
        if "BUG" in output:
            raise ValueError("no such thing")
        return 1

    describe_eval(
        "shouting",
        data=[Case("loud", input="hey!"), Case("quiet", input="hey"), Case("broken", input="bug!", tags=["odd"])],
        task=task,
        scorers=[shouts, raises_on_bug],
        trials=2,
    )
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.delenv("TEST_RUN_ID", raising=False)
    pytester.makeini("[pytest]\nmarkers =\n    odd: not like the others\n")
    pytester.makepyfile(test_shouting=EVALS)
    return pytester


def newest(project: pytest.Pytester) -> Record:
    return read_record(find_run("", project.path / "test-output"))


@pytest.mark.parametrize("workers", [[], [*XDIST, "-n2"]])
def test_a_session_leaves_one_record(project: pytest.Pytester, workers: list[str]) -> None:
    """Settings, versions and every trial with its scores and reasons are in it, also under pytest-xdist, and reported."""
    project.runpytest("--cassettes=replay", "--eval-report=report.json", *workers)
    record = newest(project)
    assert from_json((project.path / "report.json").read_text(), Record) == record
    (folder,) = (project.path / "test-output").iterdir()
    assert (folder / "run.json").is_file()
    assert not list(folder.glob("cases*"))
    assert record.run_id == folder.name
    assert record.settings["cassettes"] == "replay"
    assert record.versions["pytest"] == pytest.__version__
    assert record.finished_at
    assert record.exit_status == 1
    assert sorted((case.case, case.trial, case.verdict) for case in record.cases) == [
        ("broken", 1, "error"),
        ("broken", 2, "error"),
        ("loud", 1, "passed"),
        ("loud", 2, "passed"),
        ("quiet", 1, "failed"),
        ("quiet", 2, "failed"),
    ]
    quiet = next(case for case in record.cases if case.case == "quiet" and case.trial == 1)
    assert quiet.node_id == "test_shouting.py::shouting::quiet[trial-1]"
    assert [score.name for score in quiet.scores] == ["shouts", "raises_on_bug"]
    assert (quiet.scores[0].value, quiet.scores[0].reason) == (0.0, "does not end in !")
    broken = next(case for case in record.cases if case.case == "broken")
    assert "ValueError: no such thing" in broken.traceback
    assert broken.tags == ["odd"]
    assert record.totals.cost_usd == 1.5


def test_the_node_id_in_the_record_runs_the_case_again(project: pytest.Pytester) -> None:
    """What a failure prints as the command to run it again runs exactly that trial."""
    project.runpytest()
    quiet = next(case for case in newest(project).cases if case.title == "shouting::quiet[trial-2]")
    again = project.runpytest(quiet.node_id)
    again.assert_outcomes(failed=1)
    assert [case.title for case in newest(project).cases] == [quiet.title]


@pytest.mark.parametrize("kind", ["html", "json", "md"])
def test_a_report_is_written_where_asked(project: pytest.Pytester, kind: str) -> None:
    """``--eval-report`` writes the whole run in the form that its name says, and the terminal names the file."""
    done = project.runpytest(f"--eval-report=out/report.{kind}")
    text = (project.path / "out" / f"report.{kind}").read_text()
    assert "does not end in !" in text
    assert "quiet" in text
    done.stdout.fnmatch_lines([f"report: out/report.{kind}"])


def test_a_report_of_an_unknown_kind_is_refused_at_once(project: pytest.Pytester) -> None:
    """A name that says nothing is a usage error before anything runs."""
    done = project.runpytest("--eval-report=out.pdf")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["*--eval-report is 'out.pdf'*", "*ends in .html, .json or .md*"])
    assert not (project.path / "test-output").exists()


BLOCKING = """
    import os
    from roadtest import Case, describe_eval

    def task(input):
        if input == "stuck":
            with open("started", "w"):
                pass
            open("never", "w").close()
        return input

    def fine(output):
        return True

    describe_eval(
        "killed",
        data=[Case(name, input=name) for name in ("a", "b", "c", "stuck", "later")],
        task=task,
        scorers=[fine],
    )
"""


@pytest.mark.parametrize("workers", [[], [*XDIST, "-n1"]])
def test_a_killed_session_loses_nothing_finished(pytester: pytest.Pytester, workers: list[str]) -> None:
    """After ``kill -9`` in the middle of a case, those before it are in the record, and the next run starts afresh."""
    pytester.makepyfile(test_killed=BLOCKING)
    for pipe in ("started", "never"):
        os.mkfifo(pytester.path / pipe)
    command = [sys.executable, "-m", "pytest", "--agent-jobs=1", "-p", "no:cacheprovider", *workers]
    environ = {**os.environ, "TEST_RUN_ID": "mine"}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environ, start_new_session=True) as session:
        (pytester.path / "started").read_bytes()  # returns when the case that never ends has begun
        folder = pytester.path / "test-output" / "mine"
        assert is_running(folder)
        os.killpg(session.pid, signal.SIGKILL)
    assert sorted(case.case for case in read_record(folder).cases) == ["a", "b", "c"]
    assert not read_record(folder).finished_at
    pytester.makepyfile(test_killed=BLOCKING.replace('input == "stuck"', "False"))
    again = subprocess.run(command, stdout=subprocess.DEVNULL, env=environ, check=False)
    assert again.returncode == 0
    assert sorted(case.case for case in read_record(folder).cases) == ["a", "b", "c", "later", "stuck"]


def test_two_sessions_with_one_id_do_not_mix(pytester: pytest.Pytester) -> None:
    """While a session runs, another one with the same TEST_RUN_ID is told to take another id."""
    pytester.makepyfile(test_killed=BLOCKING)
    for pipe in ("started", "never"):
        os.mkfifo(pytester.path / pipe)
    command = [sys.executable, "-m", "pytest", "--agent-jobs=1", "-p", "no:cacheprovider"]
    environ = {**os.environ, "TEST_RUN_ID": "mine"}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environ, start_new_session=True) as session:
        (pytester.path / "started").read_bytes()
        other = subprocess.run(
            [*command, "-k", "a"], capture_output=True, env=environ, check=False, text=True
        )
        os.killpg(session.pid, signal.SIGKILL)
    assert other.returncode != 0
    assert "TEST_RUN_ID=another-name" in other.stdout + other.stderr
    folder = Path(pytester.path, "test-output", "mine")
    assert sorted(case.case for case in read_record(folder).cases) == ["a", "b", "c"]
