"""Options, environment and ini file as a session takes them, and where its outputs go."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from roadtest.record import find_run, read_record

SUITE = """
from roadtest import Case, ClaudeCode, describe_eval, script
describe_eval("suite", data=[Case("good", "x"), Case("bad", "y")], task=str, scorers=[lambda output: output == "x"])
"""

WORKSPACES = """
from pathlib import Path
from roadtest import Case, describe_eval

def task(text, workspace):
    (workspace / "left").write_text(text)
    return str(workspace)

describe_eval("suite", data=[Case("good", "x"), Case("bad", "y")], task=task, scorers=[lambda input: input == "x"])
"""


def output_folders(pytester: pytest.Pytester) -> list[str]:
    return sorted(path.name for path in (pytester.path / "test-output").iterdir())


def test_a_bad_option_is_a_usage_error(pytester: pytest.Pytester) -> None:
    """A value that cannot be ends the session before anything is collected."""
    pytester.makepyfile(test_it=SUITE)
    result = pytester.runpytest("--trials=0")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--trials is '0'*", "*it must be a number from 1 on*"])


def test_the_ini_file_sets_defaults(pytester: pytest.Pytester) -> None:
    """Settings of the ini file apply, the environment wins over them, the command line over both."""
    pytester.makepyfile(test_it=SUITE)
    pytester.makeini("[pytest]\nroadtest_trials = 2\n")
    pytester.runpytest().assert_outcomes(passed=2, failed=2)
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("ROADTEST_TRIALS", "3")
        pytester.runpytest().assert_outcomes(passed=3, failed=3)
        pytester.runpytest("--trials=1").assert_outcomes(passed=1, failed=1)


def test_workspaces_are_kept_where_a_case_did_not_pass(pytester: pytest.Pytester) -> None:
    """``--keep-workspaces`` keeps the workspace of the failed case and removes the other; without it both go."""
    pytester.makepyfile(test_it=WORKSPACES)
    for args, kept in ((["--keep-workspaces"], [False, True]), ([], [False, False])):
        pytester.runpytest(*args).assert_outcomes(passed=1, failed=1)
        cases = read_record(find_run("", pytester.path / "test-output")).cases
        found = {case.case: Path(case.runs[0].output) / "left" for case in cases}
        assert [found["good"].exists(), found["bad"].exists()] == kept


def test_a_session_can_be_named(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """TEST_RUN_ID names the folder of a session; another session of that name takes its place."""
    monkeypatch.setenv("TEST_RUN_ID", "wt-a")
    pytester.makepyfile(test_it=WORKSPACES)
    for _ in range(2):
        pytester.runpytest().assert_outcomes(passed=1, failed=1)
    assert output_folders(pytester) == ["wt-a"]
    record = json.loads((pytester.path / "test-output" / "wt-a" / "run.json").read_text())
    assert sorted(case["folder"] for case in record["cases"]) == ["suite.bad", "suite.good"]


def test_two_sessions_cannot_share_a_name(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second session under the name of one that runs proves nothing, and says why."""
    monkeypatch.setenv("TEST_RUN_ID", "same")
    pytester.makepyfile(
        test_it="""
        import subprocess, sys
        from roadtest import Case, describe_eval

        def other_session(text):
            command = [sys.executable, "-m", "pytest", "-k", "innocent", __file__]
            done = subprocess.run(command, capture_output=True, text=True)
            return done.stdout

        describe_eval("first", data=[Case("one", "x")], task=str, scorers=[lambda output: True])
        describe_eval("second", data=[Case("one", "x")], task=other_session,
                      scorers=[lambda output: "Another run is writing to" in output])
        describe_eval("innocent", data=[Case("one", "x")], task=str, scorers=[lambda output: True])
        """
    )
    pytester.runpytest("-k", "first or second", "--agent-jobs=1").assert_outcomes(passed=2, deselected=1)


def test_checkouts_do_not_mix(pytester: pytest.Pytester) -> None:
    """Sessions in two checkouts at the same time leave each its own outputs."""
    checkouts = [pytester.mkdir(name) for name in ("a", "b")]
    for checkout in checkouts:
        (checkout / "pytest.ini").write_text("[pytest]\n")
        (checkout / "test_it.py").write_text(WORKSPACES)
    sessions = [
        subprocess.Popen([sys.executable, "-m", "pytest"], cwd=checkout, stdout=subprocess.DEVNULL)
        for checkout in checkouts
    ]
    assert [session.wait() for session in sessions] == [1, 1]
    for checkout in checkouts:
        (folder,) = (checkout / "test-output").iterdir()
        cases = read_record(folder).cases
        assert sorted(case.case for case in cases) == ["bad", "good"]
