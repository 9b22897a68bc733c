"""The table at the end of a run, the live line and the properties for JUnit."""

from __future__ import annotations

import pytest

from roadtest.report.groups import suites_of
from roadtest.report.junit import properties
from roadtest.report.live import Progress, live_line
from roadtest.report.summary import record_lines, summary_lines
from roadtest.report.text import Style, gain, last_lines, money, paragraph, seconds, share, table
from roadtest.statistics import Comparison, Interval
from tests.records import ERROR, FAILED, FULL, INVALID, PASSED, TRIALS, a_record, a_result, a_run

PLAIN = Style(width=110)


def test_the_summary_has_a_line_for_each_suite_and_variant() -> None:
    """Cases, verdicts, pass rates with intervals, cost, time, flaky cases and the difference of variants."""
    assert summary_lines(FULL.cases, PLAIN) == [
        "suite            cases  passed  failed  invalid  error  flaky      trials passed     cost   time",
        "file search          2       1       1                                            $0.0246  2.8 s",
        "skills               2                        1      1                            $0.0246  2.8 s",
        "models [haiku]       1       1                              1    67 % (21 to 94)  $0.0300  4.2 s",
        "models [sonnet]      1       1                                 100 % (44 to 100)  $0.0900  4.2 s",
        "models [haiku]: pass@3 1.00, pass^3 0.00",
        "  style: 0.77 ± 0.32 (0.40 to 1.00)",
        "  flaky: pick a tool, 2 of 3 passed",
        "models [sonnet]: pass@3 1.00, pass^3 1.00",
        "  style: 0.97 ± 0.06 (0.90 to 1.00)",
        "models: sonnet against haiku: pass rate +33 points (-29 to +79), 3.00 times the cost",
        "  style: +0.20 (-0.46 to +0.86)",
        "6 cases: 3 passed, 1 failed, 1 invalid, 1 error; $0.12 spent",
    ]


def test_a_plain_run_has_a_plain_summary() -> None:
    """Columns that say nothing are left out; what is replayed is not spent."""
    assert summary_lines([PASSED], PLAIN) == [
        "suite        cases  passed     cost   time",
        "file search      1       1  $0.0123  1.4 s",
        "1 case: 1 passed; $0 spent",
    ]


def test_nothing_run_is_said_in_words() -> None:
    """An empty selection has no table."""
    assert summary_lines([], PLAIN) == ["no eval was run"]


def test_an_invalid_trial_does_not_count_as_a_fail() -> None:
    """The rate is over the trials that prove something."""
    trials = [
        a_result("a", verdict, trial=number, trials=3, pass_if="at least 1")
        for number, verdict in enumerate(("passed", "invalid", "passed"), 1)
    ]
    (suite,) = suites_of(trials)
    assert suite.trial_tally.rate == 1.0
    assert suite.tally.passed == 1
    assert suite.tries() == 2


def test_variants_stay_with_their_suite() -> None:
    """Under parallel workers suites arrive interleaved; each is listed once with its variants together."""
    mixed = [TRIALS[0], PASSED, TRIALS[3], FAILED, TRIALS[1]]
    assert [(suite.name, suite.variant) for suite in suites_of(mixed)] == [
        ("models", "haiku"),
        ("models", "sonnet"),
        ("file search", ""),
    ]


def test_suites_are_in_the_order_of_their_start() -> None:
    """What finished first is not listed first: the table reads the same on every run."""
    late = a_result("late", suite="b", started_at="2026-11-15T10:00:02.000Z")
    early = a_result("early", suite="a", started_at="2026-11-15T10:00:01.000Z")
    assert [suite.name for suite in suites_of([late, early])] == ["a", "b"]


def test_trials_are_in_order_whatever_finished_first() -> None:
    """The trials of a case are sorted by number."""
    (suite,) = suites_of(reversed(TRIALS[:3]))
    assert [result.trial for result in suite.cases[0].results] == [1, 2, 3]


def test_the_head_of_a_record_tells_commit_versions_and_state() -> None:
    """A run that has no end is either still running or was killed, and says which."""
    assert record_lines(FULL, PLAIN) == [
        "run 2026-11-15T10-00-00-a1b2",
        "started 2026-11-15T10:00:00.000Z, 0123456789ab with changes",
        "roadtest 0.1.0, python 3.11.7, pytest 9.0.0, claude 2.1.325",
    ]
    unfinished = a_record(PASSED, finished_at="", git=None)
    assert record_lines(unfinished, PLAIN)[-1] == "did not finish: what was done before is here"
    assert record_lines(unfinished, PLAIN, running=True)[-1] == "still running"
    assert record_lines(unfinished, PLAIN)[1].endswith("no git repository")


@pytest.mark.parametrize(
    ("progress", "line"),
    [
        (Progress(40), "0/40 done"),
        (Progress(40, 12, 2, 1, 0, 0.0312), "12/40 done · 2 running · 1 failed · $0.0312"),
        (Progress(3, 3, 0, 0, 2), "3/3 done · 2 invalid"),
    ],
)
def test_the_live_line_tells_what_there_is_to_tell(progress: Progress, line: str) -> None:
    """Done, running, failed and cost, each only if there is any."""
    assert live_line(progress, PLAIN) == line


def test_the_live_line_fits_the_terminal() -> None:
    """It never wraps, whatever the width."""
    assert live_line(Progress(40, 12, 2, 1), Style(width=12)) == "12/40 done "


def test_junit_properties_carry_scores_and_reasons() -> None:
    """Every score is a property of its own, with its reason beside it."""
    assert list(properties(FAILED)) == [
        ("verdict", "failed"),
        ("score.never_calls", "1"),
        ("reason.never_calls", "none of Write, Edit was called"),
        ("score.trajectory_match", "0"),
        (
            "reason.trajectory_match",
            "superset match failed: 1 missing, 1 with wrong arguments, 0 of 2 expected calls match, score 0.00",
        ),
        ("threshold", "0.8"),
        ("played", "replayed"),
        ("model", "claude-sonnet-4-5"),
        ("turns", "3"),
        ("tool_calls", "2"),
        ("cost_usd", "0.012300"),
    ]
    assert {"trial": "2/3", "variant": "haiku"}.items() <= dict(properties(TRIALS[1])).items()
    assert dict(properties(a_result("x", "error", played=""))) == {"verdict": "error"}


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (money(0), "$0"),
        (money(0.00123), "$0.0012"),
        (money(12.345), "$12.35"),
        (seconds(0.04), "0.0 s"),
        (seconds(59.4), "59.4 s"),
        (seconds(125), "2 min 05 s"),
        (share(None, Interval(0, 1)), ""),
        (gain(Comparison(-0.25, Interval(-0.5, 0.1))), "-25 points (-50 to +10)"),
    ],
)
def test_figures_read_well(shown: str, text: str) -> None:
    """Money, time and shares have the digits that matter."""
    assert shown == text


def test_long_text_is_cut_at_its_beginning() -> None:
    """Of an output its end matters; a line too long for any screen is shortened."""
    assert last_lines("a\nb\nc\n", 2) == ["… 1 line before", "b", "c"]
    assert last_lines("x" * 300, 2) == ["x" * 240 + "… (300 characters)"]
    assert last_lines("", 2) == []


def test_paragraphs_keep_what_is_copied_whole() -> None:
    """Text is wrapped between words only."""
    path = "/a" * 60
    assert paragraph(f"see {path}\n\nend", 50) == ["see", path, "", "end"]


def test_a_table_leaves_out_empty_columns() -> None:
    """What no row has is not shown."""
    assert table(("a", "b", "c"), [("x", "", "1"), ("yy", "", "22")], PLAIN) == ["a    c", "x    1", "yy  22"]


def test_a_run_of_custom_tasks_counts_what_it_spent() -> None:
    """Where nothing was played by roadtest the task spent what it says."""
    result = a_result("own", played="", runs=[a_run(cost_usd=0.5)])
    assert summary_lines([result, INVALID, ERROR], PLAIN)[-1].endswith("$0.50 spent")
