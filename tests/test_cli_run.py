"""``roadtest run``: pytest with exit codes that CI can tell apart."""

from __future__ import annotations

import subprocess

import pytest

from tests.commands import roadtest

SUITES = {
    "pass": "lambda output: True",
    "fail": "lambda output: False",
    "invalid": "raise_(InvalidRun('rate limit'))",
    "error": "raise_(ValueError('bug'))",
}


def roadtest_run(pytester: pytest.Pytester, *args: str) -> subprocess.CompletedProcess[str]:
    return roadtest("run", "-W", "error", "-p", "no:cacheprovider", *args, cwd=pytester.path)


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    suites = "\n".join(
        f'describe_eval("{name}", data=[Case("one", "x")], task=str, scorers=[{scorer}])'
        for name, scorer in SUITES.items()
    )
    pytester.makepyfile(
        test_it=f"""
from roadtest import Case, Run, describe_eval
from roadtest.errors import InvalidRun

def raise_(problem):
    def scorer(output):
        raise problem
    return scorer

{suites}
describe_eval("dear", data=[Case(str(n), "x") for n in range(3)], task=lambda text: Run(cost_usd=1.0),
              scorers=[lambda output: True])
"""
    )
    return pytester


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["-k", "pass"], 0),
        (["-k", "pass or fail"], 1),
        (["-k", "fail or invalid or error"], 1),
        (["-k", "pass or invalid"], 3),
        (["-k", "error"], 3),
        (["-k", "dear", "--max-cost", "1.5", "--agent-jobs=1"], 3),
        (["-k", "nothing of this name"], 2),
        (["--trials=none"], 2),
        (["--no-such-option"], 2),
        (["nowhere.py"], 2),
    ],
    ids=str,
)
def test_exit_codes_tell_what_happened(project: pytest.Pytester, args: list[str], code: int) -> None:
    """0 passed, 1 failed, 2 usage, 3 invalid, error or out of budget only; and never a traceback of ours."""
    done = roadtest_run(project, *args)
    assert done.returncode == code, done.stdout + done.stderr
    assert "roadtest/cli" not in done.stdout + done.stderr


def test_a_folder_without_evals_says_what_to_do(pytester: pytest.Pytester) -> None:
    """Nothing to run is exit code 2 and a way to go on; to have selected nothing is told by pytest."""
    done = roadtest_run(pytester)
    assert done.returncode == 2
    assert "no evals here" in done.stderr
    assert "roadtest init" in done.stderr
    pytester.makepyfile("def test_it(): pass")
    assert "no evals here" not in roadtest_run(pytester, "-k", "other").stderr


def test_a_broken_suite_is_a_matter_of_usage(pytester: pytest.Pytester) -> None:
    """What cannot be collected is exit code 2, with the words that say what to change."""
    pytester.makepyfile(
        test_it="""
        from roadtest import describe_eval
        describe_eval("empty", data=[], task=str, scorers=[lambda output: True])
        """
    )
    done = roadtest_run(pytester)
    assert done.returncode == 2
    assert "has no cases" in done.stdout


def test_the_options_are_those_of_pytest(project: pytest.Pytester) -> None:
    """Options of roadtest and of pytest may be mixed, in either form."""
    done = roadtest_run(project, "--trials", "2", "-k", "pass", "-v", "--keep-workspaces")
    assert done.returncode == 0, done.stderr
    assert "pass::one[trial-2] PASSED" in done.stdout
