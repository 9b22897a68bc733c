"""Scorers of calls pass for what they ask for and fail with a reason."""

from __future__ import annotations

import re
from typing import Any

import pytest

from roadtest import scorers
from roadtest.calls import ToolCall
from roadtest.errors import UsageError
from roadtest.matching import call
from tests.calls_made import made
from tests.scoring import SEARCH, passes, score


def test_trajectory_match_compares_with_the_case() -> None:
    """The case's expected calls are matched under the rules of the scorer; the reason explains a mismatch."""
    scorer = scorers.trajectory_match(mode="superset")
    assert passes(scorer, trajectory=SEARCH, expected=["Read", call("Grep", pattern="TODO")])
    failed = score(scorer, trajectory=SEARCH, expected=["Read", "Edit"])
    assert failed.value == 0.0
    assert (
        failed.reason.splitlines()[0]
        == "superset match failed: 1 missing, 1 of 2 expected calls match, score 0.50"
    )
    assert failed.details["score"] == 0.5
    assert [row["kind"] for row in failed.details["rows"]][:2] == ["match", "missing"]


def test_trajectory_match_is_all_or_nothing_unless_asked() -> None:
    """Nine of ten calls are not a match; partial scores the share."""
    expected = ["Glob", "Grep", "Grep", "Bash", "Edit"]
    assert score(scorers.trajectory_match(), trajectory=SEARCH, expected=expected).value == 0.0
    assert score(scorers.trajectory_match(partial=True), trajectory=SEARCH, expected=expected).value == 0.8


def test_trajectory_match_takes_its_own_expectation() -> None:
    """An expectation given to the scorer stands for every case, and is checked when the scorer is built."""
    assert passes(scorers.trajectory_match(mode="in_order", expected=["Glob", "Read"]), trajectory=SEARCH)
    with pytest.raises(UsageError, match=r"expected\[0\]: there is no field"):
        scorers.trajectory_match(expected=[{"tol": "Read"}])
    with pytest.raises(UsageError, match="no match mode"):
        scorers.trajectory_match(mode="any")


def test_trajectory_match_without_expectation_is_an_error() -> None:
    """Nothing to compare with is no match."""
    with pytest.raises(UsageError, match="the case has no expected calls"):
        score(scorers.trajectory_match(), trajectory=SEARCH)


@pytest.mark.parametrize(
    ("options", "passed"),
    [
        ({}, True),
        ({"times": 2}, True),
        ({"times": 1}, False),
        ({"at_least": 2}, True),
        ({"at_least": 3}, False),
        ({"at_most": 1}, False),
        ({"at_most": 2}, True),
        ({"at_least": 1, "at_most": 3}, True),
        ({"times": 0}, False),
    ],
)
def test_calls_counts(options: dict[str, Any], passed: bool) -> None:
    """A call is made as often as asked."""
    assert passes(scorers.calls(call("Grep", path="src"), **options), trajectory=SEARCH) is passed


def test_calls_shows_the_closest_call() -> None:
    """Where the call is not made at all, the reason shows what comes close."""
    reason = score(scorers.calls(call("Grep", pattern="BUG")), trajectory=SEARCH).reason
    assert reason.startswith("Grep(pattern='BUG') was called 0 times, expected at least once")
    assert "pattern: expected 'BUG'" in reason


@pytest.mark.parametrize(
    "options", [{"times": 1, "at_most": 2}, {"at_least": 3, "at_most": 2}, {"at_least": -1}]
)
def test_calls_refuses_numbers_that_cannot_be(options: dict[str, Any]) -> None:
    """A range that no number is in raises when the scorer is built."""
    with pytest.raises(UsageError):
        scorers.calls("Grep", **options)


def test_tools_used() -> None:
    """Each tool is used at least once; partial scores the share."""
    assert passes(scorers.tools_used("Grep", "Read"), trajectory=SEARCH)
    assert not passes(scorers.tools_used("Grep", "Edit"), trajectory=SEARCH)
    half = score(scorers.tools_used("Grep", "Edit", partial=True), trajectory=SEARCH)
    assert (half.value, half.reason) == (0.5, "1 of 2 tools were used, not Edit")


def test_tools_in_order() -> None:
    """Tools are used in this order, with others between."""
    assert passes(scorers.tools_in_order("Glob", "Bash", "Read"), trajectory=SEARCH)
    assert not passes(scorers.tools_in_order("Read", "Glob"), trajectory=SEARCH)
    assert score(scorers.tools_in_order("Read", "Glob", partial=True), trajectory=SEARCH).value == 0.5


def test_never_calls() -> None:
    """None of these calls is made, be it by name, by pattern or with arguments; a denied one was made."""
    assert passes(scorers.never_calls("Write", "Edit", "mcp__*"), trajectory=SEARCH)
    assert not passes(scorers.never_calls("G*"), trajectory=SEARCH)
    assert not passes(scorers.never_calls(call("Bash", command=re.compile("grep"))), trajectory=SEARCH)
    denied = [ToolCall(name="Bash", args={"command": "rm"}, status="denied")]
    assert not passes(scorers.never_calls("Bash"), trajectory=denied)
    assert passes(scorers.never_calls(call("Bash").with_status("ok")), trajectory=denied)
    assert score(scorers.never_calls("Bash"), trajectory=denied).reason.startswith(
        "1 call that must not be made"
    )


def test_prefers() -> None:
    """The one tool is used and the other is not; where neither is, no preference shows."""
    prefers = scorers.prefers("Grep", over="Bash grep")
    assert passes(prefers, trajectory=SEARCH[:3])
    mixed = score(prefers, trajectory=SEARCH)
    assert (mixed.value, mixed.reason) == (0.0, "Grep was used 2 times, Bash grep once")
    assert score(scorers.prefers("Grep", over="Bash grep", partial=True), trajectory=SEARCH).value == 2 / 3
    assert score(prefers, trajectory=[made("Read")]).reason == (
        "Grep was used 0 times, Bash grep 0 times: no preference shows"
    )
    assert passes(scorers.prefers("Read", over=call("Bash", command=re.compile("cat"))), trajectory=SEARCH)
