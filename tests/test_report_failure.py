"""The section that a failed case gets in the terminal."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from roadtest.report.detail import detail_lines
from roadtest.report.failure import call_lines, command_lines, failure_lines, headline
from roadtest.report.text import Style
from roadtest.results import CaseResult, Run, Score
from tests.records import ERROR, FAILED, INVALID, PASSED, RUN_ID, TRIALS, a_call, a_result, a_run

PLAIN = Style(width=110)


def text_of(result: CaseResult, style: Style = PLAIN) -> str:
    return "\n".join(failure_lines(result, RUN_ID, style))


def test_a_failure_shows_scorer_reason_difference_output_and_commands() -> None:
    """Everything needed to understand a failure stands in one section, the cause first."""
    assert text_of(FAILED).splitlines() == [
        f"✗ trajectory_match  0.00 < 0.80  {FAILED.low_scores[0].reason}",
        "                  expected                 actual",
        "  wrong args    1 Grep(pattern='FIXME')  1 Grep(pattern='TODO', path='/tmp/roadtest/w/src')",
        "                  pattern: expected 'FIXME'",
        "                           actual   'TODO'",
        "  missing       2 Read()",
        "  (extra)                                2 Bash(command='grep -rn FIXME .') [denied]",
        "✓ never_calls       1.00  none of Write, Edit was called",
        "output",
        "  … 4 lines before",
        *(f"  line {number}" for number in range(5, 15)),
        "run again    pytest 'evals/test_search.py::file search::find fixmes'",
        "look at it   roadtest show '2026-11-15T10-00-00-a1b2::file search::find fixmes'",
        "record anew  pytest 'evals/test_search.py::file search::find fixmes' --cassettes=rewrite",
    ]


def test_an_invalid_case_names_its_reason_and_drift() -> None:
    """What makes a run worthless is the first thing said about it."""
    lines = text_of(INVALID).splitlines()
    assert lines[0] == INVALID.reason
    assert "  context (fail): .claude/skills/todo-finder/SKILL.md changed" in lines
    assert "  boom" in lines


def test_an_error_shows_where_it_was_raised() -> None:
    """The traceback of a scorer is part of the section; a scripted case has nothing to record."""
    text = text_of(ERROR)
    assert 'File "evals/test_search.py", line 7, in no_such_key' in text
    assert "--cassettes=rewrite" not in text


def test_no_calls_and_no_capture_do_not_look_alike() -> None:
    """A run without calls says so; where the run is invalid, the words are others."""
    quiet = a_result("quiet", "failed", scores=[Score(0, "nothing", name="s")], runs=[a_run()])
    assert "(no tool was called)" in text_of(quiet)
    assert "(no tool was called)" not in text_of(INVALID)
    assert "(no call was captured, which proves nothing here)" in text_of(INVALID)


def test_a_custom_task_is_not_said_to_have_called_nothing() -> None:
    """Where nobody watched for calls, nothing is said about them."""
    own = a_result("own", "failed", scores=[Score(0, "no", name="s")], runs=[Run(output="done")])
    assert "calls" not in text_of(own)


def test_calls_are_shown_relative_to_the_workspace() -> None:
    """The name of a temporary folder is left out; a path elsewhere stays as it is."""
    run = a_run(
        a_call("Read", file_path="/tmp/w/src/a.py"),
        a_call("Read", file_path="/etc/hosts"),
        workspace=Path("/tmp/w"),
    )
    assert call_lines(run) == ["Read(file_path='src/a.py')", "Read(file_path='/etc/hosts')"]


def test_a_failure_without_difference_shows_the_calls() -> None:
    """Where no scorer compared trajectories, the outline of the calls takes that place."""
    score = Score(0.1, "too long\nby 3 lines", {"lines": 13}, "brevity")
    result = msgspec.structs.replace(PASSED, verdict="failed", scores=[score])
    lines = text_of(result).splitlines()
    assert lines[:2] == ["✗ brevity  0.10 < 0.80  too long", "  by 3 lines"]
    assert lines[2:4] == ["calls", "  Grep(pattern='TODO', path='/tmp/roadtest/w/src')"]


def test_details_that_look_a_little_like_a_comparison_are_none() -> None:
    """A scorer may keep rows and a mode of its own: its reason is shown, and no table is drawn."""
    score = Score(0.1, "too few rows\nthe second is empty", {"mode": "csv", "rows": [[1], []]}, "mine")
    assert "  the second is empty" in text_of(msgspec.structs.replace(FAILED, scores=[score])).splitlines()


def test_a_difference_inside_a_combined_score_is_found() -> None:
    """The parts of a combined score keep their differences, and these are shown."""
    part = FAILED.low_scores[0]
    score = Score(0.3, "weighted", {"parts": [{"name": part.name, "details": part.details}]}, "combine")
    assert "  missing       2 Read()" in text_of(msgspec.structs.replace(FAILED, scores=[score])).splitlines()


def test_color_is_only_for_terminals() -> None:
    """Without color there is no escape code; with it the words are the same."""
    plain, colored = text_of(FAILED), text_of(FAILED, Style(color=True, width=110))
    assert "\x1b" not in plain
    assert "\x1b[31m✗ trajectory_match" in colored


@pytest.mark.parametrize(
    ("result", "line"),
    [
        (PASSED, "✓ passed  file search::find todos"),
        (FAILED, "✗ failed  file search::find fixmes"),
        (INVALID, "? invalid  skills::skill fires"),
        (TRIALS[1], "✗ failed  models::pick a tool[haiku-trial-2]"),
    ],
)
def test_a_headline_tells_verdict_and_case(result: CaseResult, line: str) -> None:
    """Each verdict has a sign of its own, so that color is not needed to tell them apart."""
    assert headline(result, PLAIN) == line


def test_a_missing_cassette_says_how_to_record_it() -> None:
    """What was never played is recorded, not rewritten."""
    result = a_result("new", "invalid", reason="There is no cassette.", played="")
    assert command_lines(result, "r", PLAIN)[-1] == (
        "record it   pytest 'evals/test_search.py::file search::new' --cassettes=record"
    )


def test_commands_are_quoted_for_the_shell() -> None:
    """Names with quotes and brackets can be pasted as they are."""
    result = a_result("it's", node_id="t.py::s::it's[haiku-trial-2]", cassette="")
    assert command_lines(result, "r", PLAIN) == [
        """run again   pytest 't.py::s::it'"'"'s[haiku-trial-2]'""",
        """look at it  roadtest show 'r::file search::it'"'"'s'""",
    ]


def test_one_case_is_shown_in_full() -> None:
    """The detail has input, scores, calls, whole output, changes and usage."""
    result = msgspec.structs.replace(
        FAILED, runs=[a_run(*FAILED.runs[0].trajectory, diff="+ new line", notes=["one answer unplayed"])]
    )
    text = "\n".join(detail_lines(result, RUN_ID, PLAIN))
    for part in (
        "tags slow, replayed from evals/cassettes/file-search/find-fixmes, 1.4 s, $0.0123",
        "\ninput\n  Find every TODO comment\n",
        "\nscores\n  ✗ trajectory_match",
        "\ncalls\n  Grep(pattern='TODO', path='/tmp/roadtest/w/src')\n  Bash(command='grep -rn FIXME .')  [denied]\n",
        "\nchanges\n  + new line\n",
        "3 turns, 120 tokens in, 15000 cached, 45 out, 1.2 s, exit code 0",
        "one answer unplayed",
    ):
        assert part in text


def test_each_turn_of_a_conversation_is_shown() -> None:
    """Of several runs each has its own calls and output; structured input is shown as JSON."""
    result = a_result("talk", input={"question": 1}, runs=[a_run(output="first"), a_run(output="second")])
    text = "\n".join(detail_lines(result, RUN_ID, PLAIN))
    assert "output of turn 1\n  first" in text
    assert "output of turn 2\n  second" in text
    assert '"question": 1' in text
