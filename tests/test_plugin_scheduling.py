"""Cases run ahead on several threads, are reported in order, and end when the session does."""

from __future__ import annotations

import pytest

MEETING = """
import threading
from roadtest import Case, describe_eval

meeting = threading.Barrier(2)

def meet(text):
    meeting.wait(timeout=20)
    return text
"""


def test_cases_run_at_the_same_time(pytester: pytest.Pytester) -> None:
    """With two jobs two cases are in flight at once, also of different suites and files."""
    for name in ("test_a", "test_b"):
        pytester.makepyfile(
            **{
                name: """
                from meeting import meet
                from roadtest import Case, describe_eval
                describe_eval("suite", data=[Case("one", "x")], task=meet, scorers=[lambda output: True])
                """
            }
        )
    pytester.makepyfile(meeting=MEETING)
    pytester.runpytest("--agent-jobs=2").assert_outcomes(passed=2)


def test_one_job_means_one_case(pytester: pytest.Pytester) -> None:
    """With one job the second case starts when the first has ended."""
    pytester.makepyfile(
        test_it="""
        from roadtest import Case, describe_eval
        inside = []

        def task(text):
            inside.append(text)
            assert len(inside) == 1
            inside.remove(text)
            return text

        describe_eval("suite", data=[Case(str(n), "x") for n in range(8)], task=task, scorers=[lambda output: True])
        """
    )
    pytester.runpytest("--agent-jobs=1").assert_outcomes(passed=8)


def test_reports_come_in_order(pytester: pytest.Pytester) -> None:
    """A case that ends early is reported after those before it."""
    pytester.makepyfile(
        test_it="""
        import threading
        from roadtest import Case, describe_eval

        second_ended = threading.Event()

        def task(text):
            if text == "first":
                assert second_ended.wait(20)
            else:
                second_ended.set()
            return text

        describe_eval("suite", data=[Case("first", "first"), Case("second", "second")], task=task,
                      scorers=[lambda output: True])
        """
    )
    result = pytester.runpytest("--agent-jobs=2", "-v")
    result.stdout.fnmatch_lines(["*suite::first PASSED*", "*suite::second PASSED*"])


@pytest.mark.parametrize("option", ["-x", "--maxfail=1"])
def test_stopping_at_a_failure_ends_what_runs(pytester: pytest.Pytester, option: str) -> None:
    """-x and --maxfail call off what waits and leave what runs; the session ends at once."""
    pytester.makepyfile(
        test_it="""
        import threading
        from pathlib import Path
        from roadtest import Case, describe_eval

        started = threading.Event()
        never = threading.Event()

        def task(text):
            if text == "bad":
                assert started.wait(20)
                return text
            started.set()
            never.wait()

        def waiting(text):
            Path("ran").touch()
            return text

        describe_eval("suite", data=[Case("bad", "bad"), Case("a", "endless"), Case("b", "endless")], task=task,
                      scorers=[lambda output: output != "bad"])
        describe_eval("waits", data=[Case("one", "x")], task=waiting, scorers=[lambda output: True])
        """
    )
    result = pytester.runpytest("--agent-jobs=2", option)
    result.assert_outcomes(failed=1)
    assert not (pytester.path / "ran").exists()


def test_fixtures_are_up_before_a_case_starts(pytester: pytest.Pytester) -> None:
    """A case never starts before its fixtures, autouse ones included; those of other cases do not hold it back."""
    pytester.makepyfile(
        test_a="""
        import pytest
        from roadtest import Case, describe_eval
        state = {}

        @pytest.fixture(autouse=True)
        def prepared():
            state["ready"] = True
            yield
            state.clear()

        describe_eval("suite", data=[Case(str(n), "x") for n in range(3)], task=lambda text: str(state["ready"]),
                      scorers=[lambda output: output == "True"])
        """,
        test_b="""
        import pytest
        from roadtest import Case, describe_eval
        state = {}

        @pytest.fixture(scope="module", autouse=True)
        def prepared():
            state["ready"] = True
            yield "value"
            state.clear()

        describe_eval("suite", data=[Case(str(n), "x") for n in range(3)],
                      task=lambda text, prepared: prepared + str(state["ready"]),
                      scorers=[lambda output: output == "valueTrue"])
        """,
    )
    pytester.runpytest("--agent-jobs=2").assert_outcomes(passed=6)


def test_modules_with_shared_fixtures_still_run_in_parallel(pytester: pytest.Pytester) -> None:
    """Once a module's fixture is up, its cases run side by side."""
    pytester.makepyfile(meeting=MEETING)
    pytester.makepyfile(
        test_it="""
        import pytest
        from meeting import meet
        from roadtest import Case, describe_eval

        @pytest.fixture(scope="module")
        def service():
            return "up"

        describe_eval("suite", data=[Case("one", "x"), Case("two", "y")],
                      task=lambda text, service: meet(service), scorers=[lambda output: output == "up"])
        """
    )
    pytester.runpytest("--agent-jobs=2").assert_outcomes(passed=2)


def test_max_cost_stops_everything(pytester: pytest.Pytester) -> None:
    """Once the budget is spent nothing more starts, the session says why, and what was paid for is recorded."""
    pytester.makepyfile(
        test_it="""
        from roadtest import Case, Run, describe_eval
        describe_eval("suite", data=[Case(str(n), "x") for n in range(9)], task=lambda text: Run(cost_usd=0.4),
                      scorers=[lambda output: True])
        """
    )
    result = pytester.runpytest("--max-cost=1", "--agent-jobs=1")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*3 cases: 3 passed; $1.20 spent", "*--max-cost $1 is spent: $1.2000*"])


def test_max_cost_does_not_count_what_is_not_spent(pytester: pytest.Pytester) -> None:
    """A budget that is not reached changes nothing."""
    pytester.makepyfile(
        test_it="""
        from roadtest import Case, Run, describe_eval
        describe_eval("suite", data=[Case(str(n), "x") for n in range(3)], task=lambda text: Run(cost_usd=0.1),
                      scorers=[lambda output: True])
        """
    )
    pytester.runpytest("--max-cost=1").assert_outcomes(passed=3)
