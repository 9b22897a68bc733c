"""Passed, failed, invalid and error, as pytest, its exit codes and the record tell them."""

from __future__ import annotations

import pytest

from roadtest.record import find_run, read_record
from roadtest.results import Record

SUITE = """
import pytest
from roadtest import Case, ClaudeCode, Run, Score, describe_eval, script
from roadtest.errors import InvalidRun

def raises(problem):
    def function(text):
        raise problem
    return function
"""


def record_of(pytester: pytest.Pytester) -> Record:
    return read_record(find_run("", pytester.path / "test-output"))


def run(pytester: pytest.Pytester, arguments: str, *args: str) -> pytest.RunResult:
    pytester.makepyfile(
        test_it=SUITE
        + f"""
describe_eval("suite", **{{**dict(data=[Case("one", "x")], task=str, scorers=[lambda output: True]), **dict({arguments})}})
"""
    )
    return pytester.runpytest(*args)


VERDICTS = {
    "passes": ("", "passed", ""),
    "score at the threshold": ("scorers=[lambda output: 0.8]", "passed", ""),
    "score below": ("scorers=[lambda output: Score(0.79, 'nearly')]", "failed", "<lambda>: nearly"),
    "one of two": ("scorers=[lambda output: True, lambda output: False]", "failed", "<lambda>: scored 0"),
    "task raises": ("task=raises(KeyError('k'))", "error", "the task function raised KeyError: 'k'"),
    "task exits": ("task=raises(SystemExit(0))", "error", "the task function raised SystemExit: 0"),
    "task returns nothing": ("task=lambda text: None", "error", "it returned None, not a text or a Run"),
    "task is invalid": ("task=raises(InvalidRun('rate limit'))", "invalid", "rate limit"),
    "run is invalid": ("task=lambda text: Run(invalid='overloaded')", "invalid", "overloaded"),
    "scorer raises": (
        "scorers=[lambda output: 1 / 0]",
        "error",
        "the scorer <lambda> raised ZeroDivisionError",
    ),
    "scorer returns a text": ("scorers=[lambda output: 'good']", "error", "it returned 'good', not a Score"),
    "scorer returns too much": ("scorers=[lambda output: 7]", "error", "it returned 7, not a Score"),
    "scorer returns nan": ("scorers=[lambda output: float('nan')]", "error", "it returned nan"),
    "run timed out": ("task=lambda text: Run(timed_out=True)", "failed", "timed out"),
    "no model": ("task=ClaudeCode()", "invalid", "There is no cassette at"),
    "no claude": (
        "task=ClaudeCode(script=script.Script(script.say('hi')), arguments=['--no-such'])",
        "invalid",
        "ended with exit code 1 and no result",
    ),
}


@pytest.mark.parametrize(("arguments", "verdict", "reason"), VERDICTS.values(), ids=VERDICTS)
def test_a_verdict_reaches_pytest_and_the_record(
    pytester: pytest.Pytester, arguments: str, verdict: str, reason: str
) -> None:
    """Failed is pytest's failure, invalid and error are its errors, and the record says the same with the reason."""
    result = run(pytester, arguments)
    outcome = {"passed": "passed", "failed": "failed"}.get(verdict, "errors")
    result.assert_outcomes(**{outcome: 1})
    assert result.ret == (0 if verdict == "passed" else 1)
    (case,) = record_of(pytester).cases
    assert case.verdict == verdict
    assert reason in case.reason


@pytest.mark.parametrize("arguments", ["task=raises(InvalidRun('no'))", "scorers=[lambda output: 1 / 0]"])
def test_an_expected_failure_does_not_expect_an_error(pytester: pytest.Pytester, arguments: str) -> None:
    """An xfail mark takes neither an invalid run nor an error for the failure that it expects."""
    result = run(pytester, f"{arguments}, marks=[pytest.mark.xfail(reason='known')]")
    result.assert_outcomes(errors=1)
    assert result.ret == 1


def test_a_task_may_skip(pytester: pytest.Pytester) -> None:
    """``pytest.skip`` in a task skips the case; there is nothing to record of it."""
    run(pytester, "task=lambda text: pytest.skip('no docker')").assert_outcomes(skipped=1)


def test_a_timeout_fails_the_case(pytester: pytest.Pytester) -> None:
    """A task that takes longer than its suite allows has failed, and the next case goes on."""
    pytester.makepyfile(
        test_it="""
        import threading
        from roadtest import Case, describe_eval
        never = threading.Event()
        describe_eval("slow", data=[Case("one", "x")], task=lambda text: never.wait(), timeout=0.05,
                      scorers=[lambda output: True])
        describe_eval("quick", data=[Case("one", "x")], task=str, scorers=[lambda output: True])
        """
    )
    result = pytester.runpytest("--agent-jobs=1")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["timed out: it was ended after *.* s"])


def test_a_failure_shows_reason_output_and_commands(pytester: pytest.Pytester) -> None:
    """The terminal tells the scorer, its reason, the output and how to run and to look at the case again."""
    result = run(pytester, "scorers=[lambda output: Score(0.25, 'one of four')]")
    run_id = record_of(pytester).run_id
    result.stdout.fnmatch_lines(
        [
            "*<lambda>  0.25 < 0.80  one of four",
            "output",
            "  x",
            "run again*pytest test_it.py::suite::one",
            f"look at it*roadtest show {run_id}::suite::one",
            "FAILED test_it.py::suite::one - failed: <lambda>: one of four",
        ]
    )


def test_an_error_shows_the_traceback_of_the_user(pytester: pytest.Pytester) -> None:
    """The traceback of a scorer that raised begins in the user's own file."""
    result = run(pytester, "scorers=[lambda output: 1 / 0]")
    lines = result.stdout.str().splitlines()
    first = next(line for line in lines if line.strip().startswith("File "))
    assert "test_it.py" in first
    result.stdout.fnmatch_lines(["*ERROR at setup of suite::one*", "*ZeroDivisionError: division by zero"])


def test_judges_ask_a_model_only_when_told_to(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A scorer that needs a judge runs under EVAL_LLM_JUDGE=1 only, and a case with no other scorer proves nothing."""
    pytester.makepyfile(
        test_it="""
        from roadtest import Case, describe_eval

        def judged(output): return False
        judged.needs_judge = True

        describe_eval("both", data=[Case("one", "x")], task=str, scorers=[judged, lambda output: True])
        describe_eval("alone", data=[Case("one", "x")], task=str, scorers=[judged])
        """
    )
    pytester.runpytest().assert_outcomes(passed=1, errors=1)
    monkeypatch.setenv("EVAL_LLM_JUDGE", "1")
    pytester.runpytest().assert_outcomes(failed=2)
