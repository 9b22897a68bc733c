"""Scorers of the output, of its end and of what it took."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from roadtest import scorers
from roadtest.calls import ToolCall
from roadtest.errors import UsageError
from roadtest.results import Run
from roadtest.trajectory import Trajectory
from tests.scoring import SEARCH, passes, score


def test_max_calls() -> None:
    """The number of calls, or of those of some tools, has a limit."""
    assert passes(scorers.max_calls(5), trajectory=SEARCH)
    assert not passes(scorers.max_calls(4), trajectory=SEARCH)
    assert passes(scorers.max_calls(2, "Grep"), trajectory=SEARCH)
    assert not passes(scorers.max_calls(2, "Grep", "Glob"), trajectory=SEARCH)
    assert passes(scorers.max_calls(0), trajectory=[])


@pytest.mark.parametrize(
    ("factory", "field", "reason"),
    [
        (scorers.max_turns, "turns", "3 turns, at most 2 are allowed"),
        (scorers.max_cost, "cost_usd", "3.0000 USD, at most 2.0000 are allowed"),
        (scorers.max_duration, "duration_s", "3.0 seconds, at most 2.0 are allowed"),
    ],
)
def test_limits(factory: Callable[..., Any], field: str, reason: str) -> None:
    """Turns, cost and time have limits; a figure that nobody measured is an error and no zero."""
    assert passes(factory(3), about={field: 3})
    failed = score(factory(2), about={field: 3})
    assert (failed.value, failed.reason) == (0.0, reason)
    with pytest.raises(UsageError, match="does not say"):
        score(factory(3), run=Run(output="a plain function returned this"))
    with pytest.raises(UsageError, match="not negative"):
        factory(-1)
    with pytest.raises(UsageError, match="not negative"):
        factory(float("nan"))


@pytest.mark.parametrize(
    ("about", "reason"),
    [
        ({"timed_out": True}, "it ran out of time"),
        ({"exit_code": 1}, "it ended with exit code 1"),
        ({"messages": [{"type": "result", "subtype": "error_max_turns"}]}, "it ended with error_max_turns"),
        (
            {"messages": [{"type": "result", "subtype": "success", "is_error": True, "result": "API Error"}]},
            "it ended in an error: API Error",
        ),
        ({"messages": [{"type": "assistant"}]}, "it ended without a result"),
        ({"trajectory": Trajectory([ToolCall(name="Bash", status="unfinished")])}, "Bash() was not finished"),
    ],
)
def test_completed_names_what_kept_the_agent_from_its_end(about: dict[str, Any], reason: str) -> None:
    """Time-outs, errors, limits and unfinished calls are told apart."""
    found = score(scorers.completed(), about=about)
    assert found.value == 0.0
    assert reason in found.reason


def test_completed() -> None:
    """A run with a result and nothing in the way is complete."""
    about = {"exit_code": 0, "messages": [{"type": "result", "subtype": "success", "is_error": False}]}
    assert passes(scorers.completed(), about=about)


def test_output_contains() -> None:
    """Every text is there; case counts unless it is told not to."""
    assert passes(scorers.output_contains("store.py", "main.py"), output="In store.py and main.py.")
    assert not passes(scorers.output_contains("Store.py"), output="In store.py")
    assert passes(scorers.output_contains("Store.py", ignore_case=True), output="In store.py")
    half = score(scorers.output_contains("a", "b", partial=True), output="a")
    assert (half.value, half.reason) == (0.5, "the output contains 1 of 2 texts, not 'b'; it is 'a'")
    with pytest.raises(UsageError):
        scorers.output_contains()


def test_output_matches() -> None:
    """The pattern is found anywhere in the output."""
    assert passes(scorers.output_matches(r"\d+ TODOs"), output="I found 12 TODOs.")
    assert passes(scorers.output_matches(re.compile("TODO", re.IGNORECASE)), output="todo")
    assert not passes(scorers.output_matches(r"^\d+$"), output="I found 12 TODOs.")
    with pytest.raises(UsageError, match="not a regular expression"):
        scorers.output_matches("(")


def test_output_json() -> None:
    """The output is JSON and valid; every violation is named with its place."""
    schema = {
        "type": "object",
        "required": ["files"],
        "properties": {"files": {"type": "array", "items": {"type": "string"}}},
    }
    scorer = scorers.output_json(schema)
    assert passes(scorer, output='{"files": ["a.py"]}')
    assert passes(scorer, output='```json\n{"files": []}\n```')
    assert score(scorer, output='{"files": ["a", 1, null]}').reason == (
        "$.files[1]: 1 is not of type 'string'\n$.files[2]: None is not of type 'string'"
    )
    assert score(scorer, output="Here you are: {}").reason.startswith("the output is not JSON")
    assert passes(scorers.output_json(), output="[1]")
    assert passes(scorer, output="Done.", about={"structured": {"files": []}})
    with pytest.raises(UsageError, match=r"not a JSON Schema: \$\.type"):
        scorers.output_json({"type": "strnig"})
