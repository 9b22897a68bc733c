"""``roadtest rescore``: other scorers on the same runs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from roadtest.calls import ToolCall
from roadtest.record import find_run, read_record
from roadtest.rescoring import changes
from roadtest.results import Record, Score
from tests.commands import roadtest
from tests.records import FAILED, PASSED, a_result

CONFTEST = """
    import pytest

    @pytest.fixture
    def wanted():
        return "!"
"""
EVALS = """
    from roadtest import Case, Run, Score, describe_eval
    from roadtest.calls import ToolCall
    from roadtest.trajectory import Trajectory

    def task(input, workspace):
        (workspace / "out.txt").write_text(input)
        return Run(output=input, trajectory=Trajectory([ToolCall(name="Write")]), cost_usd=0.25)

    def ends(output, wanted):
        return output.endswith(wanted)

    def wrote(workspace):
        return Score(float((workspace / "out.txt").is_file()), "out.txt is there")

    describe_eval(
        "shouting",
        data=[Case("loud", input="hey!"), Case("quiet", input="hey"), Case("dropped", input="!")],
        task=task,
        scorers=[ends, wrote],
        trials=2,
        pass_if=1,
    )
"""
RUN_AGAIN = "def task(input, workspace):\n        raise AssertionError('the task was called')"


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.delenv("TEST_RUN_ID", raising=False)
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(test_shouting=EVALS)
    return pytester


def rescore(*arguments: str) -> subprocess.CompletedProcess[str]:
    return roadtest("rescore", *arguments, cwd=Path.cwd())


def newest(project: pytest.Pytester) -> Record:
    return read_record(find_run("", project.path / "test-output"))


def test_changed_scorers_judge_the_recorded_runs(project: pytest.Pytester) -> None:
    """Scorers and cases of today decide; no task is called; scorers of the workspace keep what they said."""
    project.runpytest("-q")
    recorded = newest(project)
    changed = EVALS.replace("def task(input, workspace):", RUN_AGAIN).replace(
        ', Case("dropped", input="!")', ""
    )
    project.makepyfile(test_shouting=changed.replace("output.endswith(wanted)", "len(output) == 3"))
    project.makeini("[pytest]\nroadtest_max_cost = 0.1\n")
    done = rescore(recorded.run_id)
    assert done.returncode == 1, done.stdout + done.stderr
    for line in (
        "shouting::loud[trial-1]: passed → failed",
        "shouting::loud[trial-1]: ends 1.00 → 0.00",
        "shouting::quiet[trial-2]: failed → passed",
        "test_shouting.py::shouting::dropped[trial-1]: is no longer in its file",
    ):
        assert line in done.stdout
    again = newest(project)
    assert again.run_id == f"{recorded.run_id}-rescored-1"
    assert [(case.title, case.verdict) for case in again.cases] == [
        ("shouting::loud[trial-1]", "failed"),
        ("shouting::loud[trial-2]", "failed"),
        ("shouting::quiet[trial-1]", "passed"),
        ("shouting::quiet[trial-2]", "passed"),
    ]
    first = again.cases[0]
    assert first.runs[0].trajectory == [ToolCall(name="Write")]
    assert first.scores[1].reason == "out.txt is there (as recorded: the workspace is gone)"
    assert first.folder == f"../{recorded.run_id}/{recorded.cases[0].folder}"
    assert read_record(project.path / "test-output" / recorded.run_id) == recorded


def test_one_case_is_rescored_alone(project: pytest.Pytester) -> None:
    """A case is chosen as for ``roadtest show``; a report is written on request; nothing changed is said in words."""
    project.runpytest("-q")
    done = rescore("::loud", "--eval-report=out.md")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "every score is as it was" in done.stdout
    assert {case.case for case in newest(project).cases} == {"loud"}
    assert (project.path / "out.md").read_text().startswith("### roadtest: 1 case: 1 passed")


def test_workers_never_run_what_was_to_be_rescored(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A project that distributes its tests by default is rescored in one process, or not at all."""
    project.runpytest("-q")
    project.makepyfile(test_shouting=EVALS.replace("def task(input, workspace):", RUN_AGAIN))
    project.makeini("[pytest]\naddopts = -p xdist.plugin -n2\n")
    done = rescore()
    assert done.returncode == 2, done.stdout + done.stderr
    assert "give -n0" in done.stdout + done.stderr
    monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD")
    monkeypatch.delenv("PYTEST_PLUGINS")
    project.makeini("[pytest]\naddopts = -n2 -p no:langsmith_plugin\n")
    done = rescore()
    assert "every score is as it was" in done.stdout, done.stdout + done.stderr


def test_what_cannot_be_rescored_says_why(project: pytest.Pytester) -> None:
    """Without a run, or without its eval file, the error says what to do, with exit code 2."""
    done = rescore()
    assert done.returncode == 2
    assert "run the evals first" in done.stderr
    project.runpytest("-q")
    Path("test_shouting.py").unlink()
    done = rescore()
    assert done.returncode == 2
    assert "test_shouting.py is no longer there" in done.stderr


def test_changes_tell_verdicts_and_scores() -> None:
    """Each difference is a line; scores that came or went are shown against none."""
    before = {"a": a_result("a", node_id="a", scores=[Score(1, name="x"), Score(1, name="old")]), "b": PASSED}
    after = [
        a_result("a", "failed", node_id="a", scores=[Score(0.5, name="x"), Score(1, name="new")]),
        FAILED,
    ]
    assert list(changes(before, after)) == [
        "file search::a: passed → failed",
        "file search::a: x 1.00 → 0.50",
        "file search::a: old 1.00 → (none)",
        "file search::a: new (none) → 1.00",
        "b: is no longer in its file",
    ]
