"""pytest-xdist: several processes, one record."""

from __future__ import annotations

import pytest

from roadtest.record import find_run, read_record

XDIST = ("-p", "xdist.plugin", "-n", "2")


def test_workers_share_one_record(pytester: pytest.Pytester) -> None:
    """Two workers write one record under one run id, and the summary speaks of all cases."""
    pytester.makepyfile(
        test_it="""
        from roadtest import Case, describe_eval
        describe_eval("suite", data=[Case(str(n), str(n)) for n in range(6)], task=str,
                      scorers=[lambda output: output != "3"])
        def test_plain(): ...
        """
    )
    result = pytester.runpytest(*XDIST)
    result.assert_outcomes(passed=6, failed=1)
    record = read_record(find_run("", pytester.path / "test-output"))
    assert sorted(case.case for case in record.cases) == [str(n) for n in range(6)]
    assert record.exit_status == 1
    assert len(list((pytester.path / "test-output").iterdir())) == 1
    result.stdout.fnmatch_lines(["6 cases: 5 passed, 1 failed*", "record: test-output/*/run.json"])


def test_trials_stay_together(pytester: pytest.Pytester) -> None:
    """The trials of a case run in one worker, in any order, so that pass_if is judged as without workers."""
    pytester.makepyfile(
        test_it="""
        from roadtest import Case, describe_eval

        def task(text, request):
            number = int(request.node.name.rpartition("-")[2].rstrip("]"))
            return "good" if number % 2 else "bad"

        describe_eval("suite", data=[Case(name, "x") for name in "abcd"], task=task, trials=4, pass_if=2,
                      scorers=[lambda output: output == "good"])
        """
    )
    pytester.makeconftest(
        "def pytest_collection_modifyitems(items): items.sort(key=lambda item: item.name[::-1])"
    )
    result = pytester.runpytest(*XDIST)
    result.assert_outcomes(passed=8, xfailed=8)
    assert result.ret == 0


def test_split_trials_are_not_tolerated(pytester: pytest.Pytester) -> None:
    """Where trials may go to different workers, each counts for itself: tolerance could hide a failed case."""
    pytester.makepyfile(
        test_it="""
        from roadtest import Case, describe_eval
        describe_eval("suite", data=[Case("one", "x")], task=str, trials=4, pass_if=1, scorers=[lambda output: False])
        """
    )
    pytester.runpytest(*XDIST, "--dist=worksteal").assert_outcomes(failed=4)


def test_a_session_without_evals_writes_nothing(pytester: pytest.Pytester) -> None:
    """Under xdist, too, a project without evals finds no output folder."""
    pytester.makepyfile(test_it="def test_plain(): ...")
    pytester.runpytest(*XDIST).assert_outcomes(passed=1)
    assert not (pytester.path / "test-output").exists()
