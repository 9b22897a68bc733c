"""The side-by-side table, drawn from the data of a match, at once or from a record."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from roadtest.calls import ToolCall
from roadtest.matching import call, match
from roadtest.matching.render import render, table_lines
from tests.calls_made import made as a_call

tools = st.sampled_from(["Read", "Grep", "Glob", "Bash"])
modes = st.sampled_from(["strict", "in_order", "unordered", "subset", "superset"])


def lines_of(
    made: list[ToolCall], expected: list[object], mode: str = "strict", width: int = 90
) -> list[str]:
    return list(table_lines(match(made, expected, mode=mode).to_data(), width=width, color=False))


@given(st.lists(tools, max_size=8), st.lists(tools, max_size=8), modes, st.integers(20, 200))
def test_every_fault_is_labelled(made: list[str], expected: list[str], mode: str, width: int) -> None:
    """As many lines bear a fault's label as the match counts faults, at any width."""
    found = match([ToolCall(name=name) for name in made], expected, mode=mode)
    lines = list(table_lines(found.to_data(), width=width, color=False))
    labels = {"missing": "missing ", "unexpected": "unexpected ", "out_of_order": "out of order "}
    for kind, label in labels.items():
        assert sum(line.startswith(label) for line in lines) == found.counts()[kind]  # type: ignore[index]


@given(
    st.lists(st.builds(a_call, tools, n=st.integers(2, 4)), max_size=30),
    st.lists(st.builds(lambda tool, n: call(tool, n=n), tools, st.integers(2, 4)), max_size=30),
    modes,
    st.integers(20, 200),
    st.booleans(),
)
def test_a_record_shows_what_the_match_shows(
    made: list[ToolCall], expected: list[object], mode: str, width: int, color: bool
) -> None:
    """What is drawn from the data, once it was written as JSON and read back, is what the match prints itself."""
    found = match(made, expected, mode=mode)
    data = msgspec.json.decode(msgspec.json.encode(found.to_data()))
    assert render(data, width=width, color=color) == found.render(width=width, color=color)


def test_the_record_of_a_very_long_comparison_keeps_its_faults() -> None:
    """Of more rows than a record keeps, those around a fault are kept wherever they are."""
    made = [a_call("Read", file_path=f"/{number}") for number in range(5000)]
    expected = [call(one.name, one.args) for one in made]
    expected[4000] = call("Read", file_path="/elsewhere")
    found = match(made, expected)
    data = found.to_data()
    assert [row["kind"] for row in data["rows"]] == [
        "left_out",
        "match",
        "match",
        "wrong_args",
        "match",
        "match",
        "left_out",
    ]
    assert (data["rows"][0]["matches"], data["rows"][-1]["matches"]) == (3998, 997)
    assert render(data) == str(found)


def test_long_agreement_is_counted_not_shown() -> None:
    """Between two faults far apart only what is near them is shown."""
    made = [a_call("Read", file_path=f"/{number}") for number in range(50)]
    expected = [call("Read", file_path=f"/{number}") for number in range(50)]
    lines = lines_of([a_call("Bash", command="ls"), *made], [*expected, call("Write")])
    assert any(line.startswith("unexpected") for line in lines)
    assert any(line.startswith("missing") for line in lines)
    assert "              … 46 as expected" in lines
    assert len(lines) == 8


def test_long_calls_are_folded_into_their_column() -> None:
    """A call wider than its column goes on below, and ends in an ellipsis after three lines."""
    lines = lines_of([a_call("Bash", command="x" * 500)], [], width=60)
    assert len(lines) == 4
    assert all(len(line) <= 60 for line in lines)
    assert lines[-1].endswith("…")


def test_what_a_subagent_did_is_compared_inside() -> None:
    """The comparison of a subagent's calls is drawn under the call that spawned it."""
    spawn = ToolCall(name="Agent", args={"subagent_type": "reviewer"}, id="toolu_1")
    inner = ToolCall(name="Grep", agent="reviewer", agent_id="a1", parent_id="toolu_1")
    lines = lines_of([spawn, inner], [call("Agent", subagent_type="reviewer", inside=["Read"])])
    assert any(line.strip() == "inside:" for line in lines)
    assert any(line.strip().startswith("missing") and "Read" in line for line in lines)


def test_an_empty_comparison_has_nothing_to_draw() -> None:
    """Nothing expected and nothing made is no table."""
    assert lines_of([], []) == []
