"""Modes, rules for arguments, names of tools, subagents: what a match means."""

from __future__ import annotations

import re
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from dirty_equals import IsStr
from hypothesis import given, settings
from hypothesis import strategies as st

from roadtest.calls import ToolCall
from roadtest.errors import UsageError
from roadtest.matching import ExpectedCall, Rules, call, match
from roadtest.matching.assertions import explain_failures
from roadtest.trajectory import Trajectory
from tests.calls_made import made

MODES = ["strict", "in_order", "unordered", "subset", "superset"]


def passing(actual: str, expected: str) -> set[str]:
    """The modes in which calls of these tools, one a letter, match."""
    return {mode for mode in MODES if match([made(tool) for tool in actual], list(expected), mode=mode)}


@pytest.mark.parametrize(
    ("actual", "expected", "modes"),
    [
        ("AB", "AB", {"strict", "in_order", "unordered", "subset", "superset"}),
        ("BA", "AB", {"unordered", "subset", "superset"}),
        ("AXB", "AB", {"in_order", "superset"}),
        ("BXA", "AB", {"superset"}),
        ("A", "AB", {"subset"}),
        ("", "AB", {"subset"}),
        ("AB", "", {"in_order", "superset"}),
        ("", "", {"strict", "in_order", "unordered", "subset", "superset"}),
        ("AA", "A", {"in_order", "superset"}),
        ("A", "AA", {"subset"}),
        ("X", "A", set()),
    ],
)
def test_modes(actual: str, expected: str, modes: set[str]) -> None:
    """Superset is at least the expected calls, subset at most, and order counts where the name says so."""
    assert passing(actual, expected) == modes


TOOLS = st.text("ABC", max_size=5)


@settings(deadline=None)
@given(TOOLS, TOOLS)
def test_modes_are_related(actual: str, expected: str) -> None:
    """Strict implies all other modes, in_order implies superset, and unordered is subset and superset together."""
    modes = passing(actual, expected)
    assert "strict" not in modes or modes == set(MODES)
    assert "in_order" not in modes or "superset" in modes
    assert ("unordered" in modes) == ({"subset", "superset"} <= modes)


@settings(deadline=None)
@given(TOOLS, TOOLS, st.randoms())
def test_verdicts_do_not_depend_on_order_where_order_does_not_count(
    actual: str, expected: str, random: Any
) -> None:
    """Shuffling either side changes no verdict of the unordered modes."""
    shuffled = ["".join(random.sample(text, len(text))) for text in (actual, expected)]
    unordered = {"unordered", "subset", "superset"}
    assert passing(actual, expected) & unordered == passing(*shuffled) & unordered


@settings(deadline=None)
@given(TOOLS)
def test_a_trajectory_matches_itself(tools: str) -> None:
    """Recorded calls serve as the expectation of the same calls, exactly."""
    calls = [made(tool, n=index) for index, tool in enumerate(tools)]
    assert all(match(calls, calls, mode=mode, args="exact") for mode in MODES)


@pytest.mark.parametrize(
    ("args", "accepted"),
    [
        ("superset", [True, True, False]),
        ("exact", [False, True, False]),
        ("subset", [False, True, True]),
        ("ignore", [True] * 3),
    ],
)
def test_args_modes(args: str, accepted: list[bool]) -> None:
    """The mode says whether actual arguments may be more or fewer than the expected; a wrong value is always wrong."""
    expected = [call("R", p=1, q=2)]
    actual = [made("R", p=1, q=2, r=3), made("R", p=1, q=2), made("R", p=1)]
    assert [match([one], expected, args=args).passed for one in actual] == accepted
    assert match([made("R", p=1, q=9)], expected, args=args).passed == (args == "ignore")


def test_a_bare_name_accepts_any_arguments() -> None:
    """A name alone says nothing about arguments, under any mode; call(...) without arguments says there are none."""
    actual = [made("R", p=1)]
    assert all(match(actual, ["R"], args=args) for args in ["exact", "ignore", "subset", "superset"])
    assert not match(actual, [call("R")], args="exact")
    assert match(actual, [call("R")], args="superset")


def test_overrides_change_the_rule_of_one_tool() -> None:
    """A mode, key paths or a function for one tool; the others keep the default."""
    actual = [made("Edit", file_path="a", edits=[{"old": "x", "new": "y"}]), made("Bash", command="LS")]
    expected = [call("Edit", file_path="b", edits=[{"old": "x"}]), call("Bash", command="ls")]

    def same_command(mine: dict[str, Any], wanted: dict[str, Any]) -> bool:
        assert (mine, wanted) == ({"command": "LS"}, {"command": "ls"})
        return bool(mine["command"].lower() == wanted["command"])

    assert match(actual, expected, overrides={"Edit": ["edits.0.old"], "Bash": same_command})
    assert match(actual, expected, overrides={"Edit": "ignore", "Bash": "ignore"})
    assert not match(actual, expected, overrides={"Edit": "ignore"})
    assert not match(actual, expected, overrides={"Edit": ["file_path"], "Bash": "ignore"})


def test_key_paths_accept_operators() -> None:
    """The expected value at a key path may be an operator."""
    actual = [made("Edit", edits=[{"old": "xyz"}])]
    assert match(
        actual, [call("Edit", edits=[{"old": {"$contains": "y"}}])], overrides={"Edit": ["edits.0.old"]}
    )


@pytest.mark.parametrize(
    ("tool", "accepted"),
    [
        ("Grep", {"Grep"}),
        ("Grep|Glob", {"Grep", "Glob"}),
        (["Grep", "Glob"], {"Grep", "Glob"}),
        ({"Grep", "Glob"}, {"Grep", "Glob"}),
        ("mcp__github__*", {"mcp__github__search"}),
        ("Read|mcp__*", {"Read", "mcp__github__search"}),
        (re.compile("^G"), {"Grep", "Glob"}),
        (re.compile("github"), {"mcp__github__search"}),
        ({"$regex": "^G"}, {"Grep", "Glob"}),
        ({"$glob": "G*"}, {"Grep", "Glob"}),
        ("Agent", {"Agent", "Task"}),
        ("Task", {"Agent", "Task"}),
    ],
)
def test_names_of_tools(tool: Any, accepted: set[str]) -> None:
    """A name, alternatives, a pattern or an expression; Task is what older versions call Agent."""
    tools = ["Grep", "Glob", "Read", "mcp__github__search", "Agent", "Task"]
    assert {name for name in tools if match([made(name)], [call(tool)])} == accepted


def test_a_call_counts_whatever_came_of_it() -> None:
    """The model chose to make a call that was denied; with_status asks for the outcome, too."""
    denied = [ToolCall(name="Bash", args={"command": "rm"}, status="denied")]
    assert match(denied, [call("Bash", command="rm")])
    assert match(denied, [call("Bash").with_status("denied", "failed")])
    assert not match(denied, [call("Bash").with_status("ok")])
    assert match(denied, [{"tool": "Bash", "status": "denied"}])


def delegation() -> list[ToolCall]:
    """The main agent reads, two subagents work at the same time, one of them delegates further."""
    return [
        ToolCall(name="Read", id="1"),
        ToolCall(name="Agent", id="2", args={"subagent_type": "reviewer"}),
        ToolCall(name="Agent", id="3", args={"subagent_type": "tester"}),
        ToolCall(name="Grep", id="4", agent="reviewer", agent_id="r", parent_id="2"),
        ToolCall(name="Bash", id="5", agent="tester", agent_id="t", parent_id="3"),
        ToolCall(name="Agent", id="6", agent="tester", agent_id="t", parent_id="3"),
        ToolCall(name="Glob", id="7", agent="scout", agent_id="s", parent_id="6"),
        ToolCall(name="Write", id="8"),
    ]


def test_inside_says_what_a_subagent_must_do() -> None:
    """Calls expected inside an Agent call are looked for there only, at any depth."""
    reviewer = call("Agent", subagent_type="reviewer", inside=["Grep"])
    tester = call("Agent", subagent_type="tester", inside=["Bash", call("Agent", inside=["Glob"])])
    assert match(delegation(), ["Read", reviewer, tester, "Write"])
    assert match(delegation(), ["Write", tester, reviewer, "Read"], mode="unordered")
    assert not match(delegation(), ["Read", reviewer, call("Agent", inside=["Bash"]), "Write"])
    assert match(delegation(), [call("Agent", inside=["Bash"])], mode="superset")


def test_inside_is_matched_optimally() -> None:
    """An Agent call that could fulfil two expectations is left for the one that needs it."""
    expected = [call("Agent"), call("Agent", inside=["Grep"]), "Read", "Write"]
    assert match(delegation(), expected, mode="unordered")


def test_without_inside_all_calls_are_looked_at() -> None:
    """A list that says nothing of inside speaks of the calls of all agents, in the order in which they were made."""
    names = ["Read", "Agent", "Agent", "Grep", "Bash", "Agent", "Glob", "Write"]
    assert match(delegation(), names)


@pytest.mark.parametrize(
    ("agent", "names"),
    [("main", ["Read", "Agent", "Agent", "Write"]), ("tester", ["Bash", "Agent"]), ("nobody", [])],
)
def test_scope_by_agent(agent: str, names: list[str]) -> None:
    """Only the calls of one agent are looked at."""
    assert match(delegation(), names, agent=agent)


def test_a_call_without_an_id_has_nothing_inside() -> None:
    """Calls of the main agent are not taken for those of a subagent whose spawning call has no id."""
    assert not match([made("Agent"), made("Read")], [call("Agent", inside=["Read"]), "Read"])


def test_paths_in_a_workspace() -> None:
    """With the workspace known, a path names one file in it, also inside a subagent."""
    actual = [
        ToolCall(name="Agent", id="1"),
        ToolCall(name="Read", id="2", parent_id="1", args={"file_path": "/w/lib/src/a.py"}),
    ]
    expected = [call("Agent", inside=[call("Read", file_path=Path("src/a.py"))])]
    assert match(actual, expected)
    assert not match(actual, expected, workspace="/w")
    assert match(actual, expected, workspace="/w/lib")


def test_only_what_speaks_of_paths_is_bound_to_the_workspace() -> None:
    """Expected calls without a path stay as they were built, whatever the workspace."""
    expected = [call("Read", file_path=Path("a.py")), call("Bash", command={"$contains": "ls"}), call("Glob")]
    found = match(
        [made("Read", file_path="/w/a.py"), made("Bash", command="ls"), made("Glob")],
        expected,
        workspace="/w",
    )
    assert found
    assert [mine is given for mine, given in zip(found.expected, expected, strict=True)] == [
        False,
        True,
        True,
    ]


def test_arguments_that_are_no_python_names() -> None:
    """Arguments can be given as a dict, so that none clashes with a parameter of call()."""
    assert match([made("X", **{"inside": 1, "run-now": 2})], [call("X", {"inside": 1, "run-now": 2})])


def test_json_and_python_say_the_same() -> None:
    """An expected call reads the same from a fixture file as from call()."""
    data = {
        "tool": "Agent",
        "args": {"prompt": {"$contains": "x"}},
        "inside": [{"tool": ["Grep", "Glob"]}, "Read"],
        "status": ["ok", "failed"],
    }
    assert ExpectedCall.from_json(data) == call(
        "Agent", prompt={"$contains": "x"}, inside=[call(["Grep", "Glob"]), "Read"]
    ).with_status("ok", "failed")


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ([{"tool": "A"}, {"args": {}}], r"expected\[1\]: the field 'tool' is missing"),
        (
            [{"tool": "A", "arg": {}}],
            r"expected\[0\]: there is no field 'arg'; the fields are tool, args, inside, status",
        ),
        ([{"tool": "A", "args": []}], r"expected\[0\]\.args: arguments are an object"),
        ([{"tool": "A", "args": {"p": {"$rx": 1}}}], r"expected\[0\]\.args\.p: there is no operator '\$rx'"),
        ([{"tool": {"$rx": "A"}}], r"expected\[0\]\.tool: a tool is a name"),
        ([{"tool": {"$regex": "("}}], r"expected\[0\]\.tool: '\(' is not a regular expression"),
        ([{"tool": 3}], r"expected\[0\]\.tool: a tool is a name"),
        ([{"tool": []}], r"expected\[0\]\.tool: a tool is a name"),
        ([{"tool": "two words"}], r"expected\[0\]\.tool: 'two words' is not the name of a tool"),
        ([{"tool": "A", "status": "bad"}], r"expected\[0\]\.status: there is no status 'bad'"),
        ([{"tool": "A", "status": []}], r"expected\[0\]\.status: no status is named"),
        ([{"tool": "Read", "inside": []}], r"expected\[0\]\.inside: only an Agent call has calls inside"),
        (
            [{"tool": "Agent", "inside": [{"tool": ""}]}],
            r"expected\[0\]\.inside\[0\]\.tool: '' is not the name",
        ),
        (["A", 3], r"expected\[1\]: a tool is a name"),
        ("Read", r"expected is a list of calls or names of tools, not 'Read'"),
        ({"tool": "Read"}, r"expected is a list of calls or names of tools"),
        (None, r"expected is a list of calls or names of tools, not None"),
    ],
)
def test_a_bad_expectation_names_the_place(expected: Any, message: str) -> None:
    """What cannot be an expected call raises, and the message says where it stands."""
    with pytest.raises(UsageError, match=message):
        match([], expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"mode": "supreset"},
            "no match mode 'supreset'; the modes are strict, in_order, unordered, subset, superset",
        ),
        ({"args": "any"}, "args: there is no args mode 'any'"),
        ({"overrides": {"A": "any"}}, r"overrides\['A'\]: there is no args mode 'any'"),
        ({"overrides": {"A": 3}}, r"overrides\['A'\]: a rule is an args mode"),
        (
            {"overrides": {"A": []}},
            r"overrides\['A'\]: a rule is an args mode, a list of at least one key path",
        ),
        ({"overrides": {1: "exact"}}, r"overrides\[1\]: overrides are by name of tool"),
        ({"overrides": ["A"]}, "overrides are a dict"),
        ({"agent": ""}, "agent is 'main' or the name of a subagent"),
    ],
)
def test_a_bad_rule_is_refused_before_anything_runs(options: dict[str, Any], message: str) -> None:
    """Options are checked when rules are built, and nothing misspelt is taken for something else."""
    with pytest.raises(UsageError, match=message):
        Rules.build(**options)


def test_what_a_function_raises_is_raised() -> None:
    """A bug in a rule is an error, never a mismatch."""

    def broken(actual: dict[str, Any], expected: dict[str, Any]) -> bool:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        match([made("A")], [call("A")], overrides={"A": broken})


@pytest.mark.parametrize("mode", MODES)
def test_what_a_function_raises_is_raised_by_the_match(mode: str) -> None:
    """A function is asked before there is a verdict, also where the number of calls decides it, and not again later."""

    def broken(actual: dict[str, Any], expected: dict[str, Any]) -> bool:
        if actual["n"] == 2:
            raise ZeroDivisionError
        return bool(actual["n"] == expected["n"])

    fewer = [made("A", n=2)] * (2 if mode == "subset" else 1)
    expected = [call("A", n=1)] * (1 if mode == "subset" else 2)
    with pytest.raises(ZeroDivisionError):
        match(fewer, expected, mode=mode, overrides={"A": broken})


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("answers", [[True], [False], [False, True], [True, False]])
def test_an_answer_that_changes_does_not_split_verdict_and_score(mode: str, answers: list[bool]) -> None:
    """An object whose equality answers differently each time is believed once: verdict, score and faults agree."""

    class Moody:
        __hash__ = None  # type: ignore[assignment]

        def __init__(self) -> None:
            self.answers = cycle(answers)

        def __eq__(self, other: object) -> bool:
            return next(self.answers)

    found = match([made("A", n=1), made("B")], [call("A", n=Moody()), "B"], mode=mode)
    assert found.passed == (found.score == 1.0) == (not found.faults)


def test_a_verdict_may_be_had_where_the_explanation_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Too few calls fail without a comparison; asking why takes them all, and is refused."""
    monkeypatch.setattr("roadtest.matching.pairing.CELL_LIMIT", 8)
    found = match([made(tool) for tool in "ABC"], list("DEFG"), mode="superset")
    assert not found
    with pytest.raises(UsageError, match="4 expected and 3 actual calls are too many"):
        str(found)
    assert explain_failures("assert <Match>", [found]) == []


def test_too_many_comparisons_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A match that would take too long is refused with a way out, and not guessed; plain values are looked up."""
    monkeypatch.setattr("roadtest.matching.relation.COMPARISON_LIMIT", 10)
    monkeypatch.setattr("roadtest.matching.relation.FEW", 0)
    calls = [made("A", n=str(number)) for number in range(4)]
    expected = [call("A", n=re.compile(str(number))) for number in reversed(range(4))]
    with pytest.raises(UsageError, match="more than 10 comparisons"):
        match(calls, expected, mode="superset")
    assert match(calls, calls[::-1], mode="superset")


def test_too_many_calls_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists whose search for the best pairing would not fit into memory are refused; what needs no search is not."""
    monkeypatch.setattr("roadtest.matching.pairing.CELL_LIMIT", 8)
    with pytest.raises(UsageError, match="3 expected and 3 actual calls are too many"):
        match([made(tool) for tool in "XAB"], ["A|B", "X", "A"], mode="unordered")
    assert match([made(tool) for tool in "XAB"], ["A", "X", "A|B"], mode="unordered")
    assert all(match([made("A")] * 3, ["A"] * 3, mode=mode) for mode in MODES)


def test_a_trajectory_equals_what_it_strictly_matches() -> None:
    """A trajectory equals a list of names or calls under strict with superset arguments, from either side."""
    trajectory = Trajectory([made("Grep", pattern="TODO"), made("Read", file_path="a")])
    assert trajectory == ["Grep", "Read"]
    assert trajectory == [call("Grep", pattern=IsStr), "Read"]
    assert ["Grep", "Read"] == trajectory  # noqa: SIM300 - the other side is the point
    assert trajectory != ["Read", "Grep"]
    assert trajectory.matches(["Read"], mode="superset", overrides={"Read": "exact"}, agent="main")
