"""The record types and their JSON."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roadtest import script
from roadtest.calls import ToolCall
from roadtest.errors import UsageError
from roadtest.plain import to_plain
from roadtest.results import (
    FORMAT,
    CaseResult,
    Drift,
    Git,
    Record,
    Run,
    Score,
    Totals,
    Usage,
    from_json,
    to_json,
)
from roadtest.trajectory import Trajectory
from tests.conftest import RunScript

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
number = st.floats(0, 1e6)
json_value = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
)
calls = st.builds(
    ToolCall,
    name=text,
    args=st.dictionaries(text, json_value, max_size=2),
    id=text,
    agent=st.none() | text,
    status=st.sampled_from(["ok", "failed", "denied", "unfinished"]),
    output=json_value,
    error=st.none() | text,
    exit_code=st.none() | st.integers(0, 255),
    duration_ms=st.none() | number,
)
runs = st.builds(
    Run,
    output=text,
    trajectory=st.lists(calls, max_size=3).map(Trajectory),
    usage=st.builds(Usage, input_tokens=st.integers(0, 10**9)),
    cost_usd=number,
    exit_code=st.none() | st.integers(-9, 255),
    structured=json_value,
    messages=st.lists(st.dictionaries(text, json_value, max_size=2), max_size=2),
    workspace=st.none() | st.just(Path("/tmp/a")),
    drift=st.lists(
        st.builds(Drift, kind=st.sampled_from(["context", "result", "harness"]), message=text), max_size=2
    ),
)
results = st.builds(
    CaseResult,
    suite=text,
    case=text,
    node_id=text,
    verdict=st.sampled_from(["passed", "failed", "invalid", "error"]),
    metadata=st.dictionaries(text, json_value, max_size=2),
    input=json_value,
    scores=st.lists(st.builds(Score, value=st.floats(0, 1), reason=text), max_size=2),
    runs=st.lists(runs, max_size=2),
)


@given(results)
def test_a_result_survives_the_round_trip(result: CaseResult) -> None:
    """A case with its runs, trajectories and scores is read back as it was written."""
    assert from_json(to_json(result), CaseResult) == result


@given(runs)
def test_a_run_is_json_by_itself(run: Run) -> None:
    """A single run is written and read without the record around it."""
    again = Run.from_json(run.to_json())
    assert again == run
    assert list(again.trajectory) == list(run.trajectory)


def test_a_record_survives_the_round_trip() -> None:
    """Header, git state and totals are read back."""
    case = CaseResult(
        suite="s", case="c", node_id="n", verdict="failed", runs=[Run(cost_usd=0.5)], duration_s=2
    )
    record = Record(run_id="r", started_at="now", git=Git("abc", "main", dirty=True), cases=[case])
    record.totals = Totals.of(record.cases)
    again = from_json(to_json(record), Record)
    assert again == record
    assert again.totals == Totals(failed=1, cost_usd=0.5, duration_s=2)


@pytest.mark.parametrize("kind", [Run, CaseResult, Record])
def test_a_newer_format_is_refused(kind: type[Any]) -> None:
    """A record of a later version is an error that says so, whatever else has changed in it."""
    data = msgspec.json.encode({"format": FORMAT + 1, "surprise": []})
    with pytest.raises(UsageError, match=f"x.json has format {FORMAT + 1}.*reads up to {FORMAT}"):
        from_json(data, kind, "x.json")


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"format": 1}', b'{"suite": 1}', b"\xff"])
def test_a_broken_record_names_its_file(data: bytes) -> None:
    """What is no record is an error with the file's name, not a traceback."""
    with pytest.raises(UsageError, match=re.escape("x.json cannot be read")):
        from_json(data, CaseResult, "x.json")


def test_fields_of_a_later_version_are_ignored() -> None:
    """Within a format, fields may be added: an older reader passes over them."""
    assert from_json(b'{"output": "a", "format": 1, "mood": "good"}', Run).output == "a"


class Awkward:
    def __str__(self) -> str:
        raise RuntimeError("not printable")


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ({1: "a", (2, 3): "b"}, {"1": "a", "(2, 3)": "b"}),
        ({"b", "a"}, ["a", "b"]),
        (2**70, str(2**70)),
        ("\ud800x", "?x"),
        (b"caf\xc3\xa9", "café"),
        (Path("/a/b"), "/a/b"),
        (Awkward(), "<Awkward>"),
        ({Awkward(): 1}, {"<Awkward>": 1}),
        (float("nan"), None),
        ([ToolCall(name="Read")], [{"name": "Read", "args": {}, "id": "", "status": "ok"}]),
    ],
)
def test_whatever_a_scorer_returns_can_be_written(value: Any, plain: Any) -> None:
    """Details that JSON has no form for become text instead of losing the case."""
    assert msgspec.json.decode(msgspec.json.encode(to_plain(value))) == plain


def test_what_contains_itself_comes_to_an_end() -> None:
    """Details that lead back to themselves are written as far as anyone would read."""
    endless: dict[str, Any] = {}
    endless["again"] = [endless]
    written = msgspec.json.encode(to_plain(endless))
    assert written.count(b"again") == 50


@given(results)
def test_every_string_goes_through_the_redactor(result: CaseResult) -> None:
    """Keys and values alike are handed to the function that hides secrets."""
    result.metadata["token"] = {"nested": ["hunter2", {"hunter2": Path("/hunter2")}]}
    written = msgspec.json.encode(to_plain(result, lambda value: value.replace("hunter2", "***")))
    assert b"hunter2" not in written


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), float("inf"), 80.0])
def test_a_score_is_a_number_from_nought_to_one(value: float) -> None:
    """Any other number is an error where the score is made, not a strange verdict later."""
    with pytest.raises(UsageError, match="from 0 to 1"):
        Score(value, "why", name="style")


def test_a_score_may_be_off_by_rounding() -> None:
    """A weighted sum that comes out a hair above 1 is still a score."""
    assert Score(0.1 * 3 + 0.7, "sum").value == pytest.approx(1)


def test_a_result_names_what_kept_it_from_passing() -> None:
    """The scores below the threshold are listed, the lowest first."""
    scores = [Score(0.5, name="b"), Score(0.8, name="ok"), Score(0.0, name="a")]
    result = CaseResult(suite="s", case="c", node_id="n", verdict="failed", scores=scores, threshold=0.8)
    assert [score.name for score in result.low_scores] == ["a", "b"]


@pytest.mark.parametrize(
    ("fields", "title"),
    [
        ({}, "files::todo"),
        ({"trials": 3, "trial": 2}, "files::todo[trial-2]"),
        ({"variant": "haiku"}, "files::todo[haiku]"),
        ({"variant": "haiku", "trials": 3, "trial": 2}, "files::todo[haiku-trial-2]"),
        ({"suite": ""}, "todo"),
    ],
)
def test_a_title_tells_trials_and_variants_apart(fields: dict[str, Any], title: str) -> None:
    """Suite and case, then in brackets what there are several of."""
    result = CaseResult(**{"suite": "files", "case": "todo", "node_id": "n", "verdict": "passed", **fields})
    assert result.title == title


def test_a_conversation_costs_what_its_turns_cost() -> None:
    """The cost of a case is the sum over its runs, the last of which is its run."""
    result = CaseResult(
        suite="s", case="c", node_id="n", verdict="passed", runs=[Run(cost_usd=1), Run(cost_usd=2)]
    )
    assert result.cost_usd == 3
    assert result.run is result.runs[1]


def test_a_run_of_the_real_claude_code_survives_the_round_trip(run_claude: RunScript) -> None:
    """Whatever Claude Code streams is read back: calls with results, messages, session, version and changes."""
    model = script.Script(
        script.call("Bash", command="echo 'naïve \\x1b[31m' > a.txt; printf '\\377'; exit 3"),
        script.say("Done… ✓"),
    )
    run = run_claude("Go on.", script=model)
    again = Run.from_json(run.to_json())
    assert again == run
    assert again.tools == ["Bash"]
    assert again.trajectory[0].status == "failed"
    assert again.claude_version
    assert again.changed_files == ["a.txt"]
