"""Subagents in parallel, nested, alike and in the background: each keeps to its own recorded lane."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roadtest.cassette.records import Cassette
from roadtest.cassette.replay import ReplaySession
from roadtest.cassette.wire import Refuse, Replay
from tests.cassette.talk import Agent, call, player, recorder, replayed, spawn, taped, text

IDS = ("s1", "s2", "s3")


def three_alike() -> Cassette:
    """Three subagents with the same prompt go three different ways."""
    session = recorder()
    main = Agent(session)
    main.record(*(spawn(name, "Look.") for name in IDS))
    for number, name in enumerate(IDS, 1):
        agent = Agent(session, "Look.", agent_id=f"a{number:016x}")
        agent.record(call(f"c{number}", command=f"echo {number}"))
        agent.tells(**{f"c{number}": str(number)}).record(text(f"It is {number}."))
        assert name
    main.tells(**{name: _hand_back(number, f"a{number:016x}") for number, name in enumerate(IDS, 1)}).record(
        text("Done.")
    )
    return taped(session)


def _hand_back(number: int, agent_id: str) -> str:
    return f"It is {number}.\nagentId: {agent_id}\nduration_ms: {number * 37}"


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_subagents_that_are_alike_share_out_the_lanes(order: Sequence[int]) -> None:
    """Whichever of three indistinguishable subagents asks first, together they do what was recorded."""
    live = player(three_alike(), clock=itertools.count(0, 100).__next__)
    main = Agent(live)
    main.ask()
    agents = {index: Agent(live, "Look.", agent_id=f"b{index:016x}") for index in order}
    commands, ends = set(), {}
    for index in order:
        (block,) = replayed(agents[index].ask())
        commands.add(block["input"]["command"])
        agents[index].tells(**{block["id"]: block["input"]["command"].removeprefix("echo ")})
    for index in order:
        (end,) = replayed(agents[index].ask())
        ends[index] = int(end["text"].removeprefix("It is ").removesuffix("."))
    assert commands == {"echo 1", "echo 2", "echo 3"}
    results = {IDS[index]: _hand_back(ends[index], f"b{index:016x}") for index in range(3)}
    assert replayed(main.tells(**results).ask()) == [text("Done.")]
    assert not live.problem
    assert not live.unplayed


def test_subagents_that_are_alike_still_have_to_say_what_was_recorded() -> None:
    """A hand-back that none of the recorded ones matches is drift, also among indistinguishable subagents."""
    live = player(three_alike(), clock=itertools.count(0, 100).__next__)
    main = Agent(live)
    main.ask()
    for index in range(3):
        agent = Agent(live, "Look.", agent_id=f"b{index:016x}")
        (block,) = replayed(agent.ask())
        agent.tells(**{block["id"]: block["input"]["command"].removeprefix("echo ")}).ask()
    twice = {name: _hand_back(1, "b" * 17) for name in IDS}
    assert isinstance(main.tells(**twice).ask(), Refuse)
    assert "gave another result" in live.problem


def test_nested_subagents_are_bound_below_their_parent() -> None:
    """The same prompt at another depth is another lane."""
    session = recorder()
    main = Agent(session)
    main.record(spawn("s1", "Look."))
    outer = Agent(session, "Look.", agent_id="a0000000000000001")
    outer.record(spawn("s2", "Look."))
    Agent(session, "Look.", agent_id="a0000000000000002", parent="a0000000000000001").record(text("inner"))
    outer.tells(s2="inner").record(text("outer"))
    main.tells(s1="outer").record(text("Done."))
    cassette = taped(session)
    assert {name: lane.parent for name, lane in cassette.metadata.lanes.items()} == {
        "agent-1": "main",
        "agent-2": "agent-1",
    }

    live = player(cassette)
    again = Agent(live)
    again.ask()
    outside = Agent(live, "Look.", agent_id="b0000000000000001")
    assert replayed(outside.ask()) == [spawn("s2", "Look.")]
    inside = Agent(live, "Look.", agent_id="b0000000000000002", parent="b0000000000000001")
    assert replayed(inside.ask()) == [text("inner")]
    assert replayed(outside.tells(s2="inner").ask()) == [text("outer")]
    assert replayed(again.tells(s1="outer").ask()) == [text("Done.")]
    assert not live.unplayed


def test_a_subagent_that_was_not_recorded_is_refused() -> None:
    """A subagent with another prompt gets no answer, and the recorded ones are named."""
    live = player(three_alike())
    Agent(live).ask()
    assert isinstance(Agent(live, "Look elsewhere.", agent_id="x").ask(), Refuse)
    assert "no recorded subagent of main began with text 'Look elsewhere.'" in live.problem
    assert "'Look.'" in live.problem


def background(groups: Sequence[Sequence[str]]) -> Cassette:
    """Two tasks in the background whose ends were told in these groups, each group answered with words."""
    session = recorder()
    main = Agent(session)
    main.record(spawn("s1", "A"), spawn("s2", "B"))
    main.tells(s1="launched", s2="launched").record(text("Waiting."))
    for number, group in enumerate(groups, 1):
        main.notes(*group).record(text(f"Heard {number}."))
    return taped(session)


GROUPINGS: list[list[list[str]]] = [[["s1"], ["s2"]], [["s2"], ["s1"]], [["s1", "s2"]]]


def deliver(live: ReplaySession, groups: Sequence[Sequence[str]], result: str = "done") -> list[str]:
    main = Agent(live)
    main.ask()
    main.tells(s1="launched", s2="launched")
    said = [replayed(main.ask())[0]["text"]]
    for group in groups:
        answer = main.notes(*group, result=result).ask()
        said.append(answer.message["content"][0]["text"] if isinstance(answer, Replay) else "refused")
    return said


@pytest.mark.parametrize("recorded", GROUPINGS)
@pytest.mark.parametrize("groups", GROUPINGS)
def test_notices_may_come_in_other_groups(recorded: list[list[str]], groups: list[list[str]]) -> None:
    """However the same completion notices are grouped, the last words are the recorded ones and nothing is left."""
    live = player(background(recorded))
    said = deliver(live, groups)
    assert said[-1] == f"Heard {len(recorded)}."
    assert not live.problem
    assert not live.unplayed


def test_notices_may_come_with_results() -> None:
    """A notice that came by itself when recorded may come beside a tool's result, and the other way round."""
    session = recorder()
    main = Agent(session)
    main.record(spawn("s1", "A"), call("t1", command="sleep 1"))
    main.tells(s1="launched", t1="ok").record(text("Waiting."))
    main.notes("s1").record(text("Heard."))
    live = player(taped(session))
    again = Agent(live)
    again.ask()
    again.tells(s1="launched", t1="ok")
    notice = again.notes("s1").messages.pop()
    again.messages.append({"role": "system", "content": notice["content"]})
    assert replayed(again.ask()) == [text("Heard.")]
    assert not live.unplayed

    session = recorder()
    main = Agent(session)
    main.record(spawn("s1", "A"), call("t1", command="sleep 1"))
    main.tells(s1="launched", t1="ok")
    main.messages[-1]["content"] += notice["content"]
    main.record(text("Heard."))
    live = player(taped(session))
    again = Agent(live)
    again.ask()
    assert replayed(again.tells(s1="launched", t1="ok").ask()) == [text("Heard.")]
    assert replayed(again.notes("s1").ask()) == [text("Heard.")]
    assert not live.problem


def test_background_subagents_that_are_alike_change_places() -> None:
    """Two indistinguishable background tasks may end with each other's recorded words, but not both with the same."""
    session = recorder()
    main = Agent(session)
    main.record(spawn("s1", "Look."), spawn("s2", "Look."))
    main.tells(s1="launched", s2="launched").record(text("Waiting."))
    main.notes("s1", result="one").notes("s2", result="two").record(text("Done."))
    cassette = taped(session)
    for first, second, fits in (("one", "two", True), ("two", "one", True), ("one", "one", False)):
        live = player(cassette)
        again = Agent(live)
        again.ask()
        again.tells(s1="launched", s2="launched").ask()
        again.notes("s1", result=first).ask()
        again.notes("s2", result=second).ask()
        assert bool(live.problem) is not fits


def test_a_notice_that_says_otherwise_is_drift() -> None:
    """A background task that ended otherwise than recorded makes the run invalid."""
    live = player(background([["s1"], ["s2"]]))
    assert deliver(live, [["s1"]], result="failed") == ["Waiting.", "refused"]
    assert "ended otherwise than when it was recorded" in live.problem


def test_a_notice_of_an_unknown_task_is_a_miss() -> None:
    """A completion notice about a task that was not recorded is not answered."""
    live = player(background([["s1"]]))
    assert deliver(live, [["s9"]]) == ["Waiting.", "refused"]


@given(
    st.permutations(["s1", "s2", "s3", "s4"]), st.lists(st.integers(1, 3), min_size=4, max_size=4), st.data()
)
def test_any_grouping_of_notices_ends_alike(order: list[str], sizes: list[int], data: st.DataObject) -> None:
    """For any order and grouping, recorded and live, the end is the recorded one."""
    session = recorder()
    main = Agent(session)
    main.record(*(spawn(name, name) for name in sorted(order)))
    launched = dict.fromkeys(sorted(order), "launched")
    main.tells(**launched).record(text("Waiting."))
    for number, group in enumerate(_grouped(order, sizes)):
        main.notes(*group).record(text(f"Heard {number}."))
    last = main.messages[-1]["content"]

    live = player(taped(session))
    again = Agent(live)
    again.ask()
    again.tells(**launched).ask()
    others = data.draw(st.permutations(order))
    for group in _grouped(others, data.draw(st.lists(st.integers(1, 3), min_size=4, max_size=4))):
        again.notes(*group).ask()
    assert again.messages[-1]["content"] == last
    assert not live.problem
    assert not live.unplayed


def _grouped(names: Sequence[str], sizes: Sequence[int]) -> list[Sequence[str]]:
    rest, groups = list(names), []
    for size in sizes:
        groups.append(rest[:size])
        rest = rest[size:]
    return [group for group in groups if group]
