"""Several trials of a case: how many there are, and when the case passes."""

from __future__ import annotations

import pytest

from roadtest.record import find_run, read_record
from roadtest.statistics import Tally

SCORES = """
from roadtest import Case, Trials, describe_eval

def nth(*outcomes):
    calls = iter(outcomes)
    def scorer(output):
        outcome = next(calls)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome
    return scorer
"""


def suite(pytester: pytest.Pytester, outcomes: str, arguments: str) -> None:
    pytester.makepyfile(
        test_it=f"{SCORES}\n"
        f'describe_eval("suite", data=[Case("one", "x")], task=str, scorers=[nth({outcomes})], {arguments})\n'
    )


def verdicts(pytester: pytest.Pytester) -> list[str]:
    return [case.verdict for case in read_record(find_run("", pytester.path / "test-output")).cases]


RULES = {
    "all pass": ("1, 1, 1", "trials=3", {"passed": 3}),
    "all must": ("1, 0, 1", "trials=3", {"passed": 2, "failed": 1}),
    "two of three": ("0, 1, 1", "trials=3, pass_if=2", {"passed": 2, "xfailed": 1}),
    "one of three is too few": ("0, 1, 0", "trials=3, pass_if=2", {"passed": 1, "xfailed": 1, "failed": 1}),
    "none": ("0, 0, 0", "trials=3, pass_if=2", {"xfailed": 1, "failed": 2}),
    "a share": ("1, 1, 0, 1", "trials=4, pass_if=0.75", {"passed": 3, "xfailed": 1}),
    "too small a share": ("1, 0, 0, 1", "trials=4, pass_if=0.75", {"passed": 2, "xfailed": 1, "failed": 1}),
    "an error is no pass": (
        "1, ValueError(), 1",
        "trials=3, pass_if=2",
        {"passed": 2, "errors": 1},
    ),
    "stops at the first failure": (
        "1, 0, 1, 1",
        "trials=Trials(max=4, stop_when_decided=True)",
        {"passed": 1, "failed": 1, "skipped": 2},
    ),
    "stops when enough passed": (
        "1, 0, 1, 1, 1",
        "trials=Trials(max=5, stop_when_decided=True), pass_if=2",
        {"passed": 2, "xfailed": 1, "skipped": 2},
    ),
    "stops when too many failed": (
        "0, 0, 1, 1",
        "trials=Trials(max=4, stop_when_decided=True), pass_if=3",
        {"xfailed": 1, "failed": 1, "skipped": 2},
    ),
    "stops when the interval is below": (
        ", ".join("0" * 12),
        "trials=Trials(max=40, stop_when_decided=True), pass_if=0.5",
        {"xfailed": 10, "failed": 1, "skipped": 29},
    ),
}


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize(("outcomes", "arguments", "expected"), RULES.values(), ids=RULES)
def test_pass_if_decides(
    pytester: pytest.Pytester, outcomes: str, arguments: str, expected: dict[str, int], jobs: int
) -> None:
    """A failing trial fails the session only once its case can no longer pass; before, it is tolerated."""
    suite(pytester, outcomes, arguments)
    result = pytester.runpytest(f"--agent-jobs={jobs}" if "Trials" in arguments else "--agent-jobs=1")
    result.assert_outcomes(**expected)
    assert result.ret == (1 if "failed" in expected or "errors" in expected else 0)


def test_the_option_overrides_the_suites(pytester: pytest.Pytester) -> None:
    """``--trials`` sets the number of trials of every suite, and each trial is in the record."""
    suite(pytester, "1, 0, 1, 1, 1", "trials=2, pass_if=0.5")
    result = pytester.runpytest("--trials=5", "--agent-jobs=1", "-v")
    result.assert_outcomes(passed=4, xfailed=1)
    result.stdout.fnmatch_lines(["*one?trial-5? PASSED*", "*80 % (38 to 96)*", "*flaky: one, 4 of 5 passed"])
    assert Tally.of(verdicts(pytester)) == Tally(passed=4, failed=1)  # type: ignore[arg-type]


def test_a_trial_alone_counts_for_itself(pytester: pytest.Pytester) -> None:
    """Where only some trials are selected nothing is tolerated: what was not run cannot make up for it."""
    suite(pytester, "0, 1, 1", "trials=3, pass_if=2")
    pytester.runpytest("-k", "trial-1").assert_outcomes(failed=1, deselected=2)


def test_trials_with_fixtures_follow_the_same_rules(pytester: pytest.Pytester) -> None:
    """Trials that cannot start ahead stop early, and are tolerated, as others are."""
    pytester.makepyfile(
        test_it=SCORES
        + """
describe_eval("suite", data=[Case("one", "x")], task=lambda text, tmp_path: text, scorers=[nth(0, 1, 1)],
              trials=Trials(max=4, stop_when_decided=True), pass_if=2)
"""
    )
    pytester.runpytest().assert_outcomes(passed=2, xfailed=1, skipped=1)
