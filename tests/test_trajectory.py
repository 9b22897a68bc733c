"""From events to calls: pairing, order, parents, and views of a trajectory."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roadtest.calls import ToolCall
from roadtest.events import LifecycleEvent, ToolEvent, TornLineWarning
from roadtest.trajectory import Trajectory


def event(phase: Any, call_id: str, agent_id: str | None = None, *, at: int = 0, **fields: Any) -> ToolEvent:
    return ToolEvent(
        timestamp=f"2026-01-01T00:00:{at:02}.000Z",
        phase=phase,
        tool_name=fields.pop("tool", "Bash"),
        tool_use_id=call_id,
        agent_id=agent_id,
        agent_type="helper" if agent_id else None,
        **fields,
    )


def both(call_id: str, agent_id: str | None = None, **fields: Any) -> list[ToolEvent]:
    return [event("pre", call_id, agent_id), event("post", call_id, agent_id, **fields)]


def spawn(call_id: str, child: str, agent_id: str | None = None, tool: str = "Agent") -> list[ToolEvent]:
    return [
        event("pre", call_id, agent_id, tool=tool),
        event("post", call_id, agent_id, tool=tool, tool_output={"agentId": child}),
    ]


def batch(*ids: str, agent_id: str | None = None, at: int = 0, **responses: str) -> LifecycleEvent:
    calls = [
        {"tool_use_id": call_id, "tool_name": "Bash", "tool_response": responses.get(call_id, "fine")}
        for call_id in ids
    ]
    return LifecycleEvent(
        timestamp=f"2026-01-01T00:00:{at:02}.500Z",
        event="PostToolBatch",
        agent_id=agent_id,
        extra={"tool_calls": calls},
    )


def ids(trajectory: Trajectory) -> list[str]:
    return [call.id for call in trajectory]


@pytest.mark.parametrize(
    ("phases", "status"),
    [
        (["pre", "post"], "ok"),
        (["pre", "failure"], "failed"),
        (["pre", "denied"], "denied"),
        (["denied"], "denied"),
        (["pre"], "unfinished"),
        (["pre", "pre", "post", "post"], "ok"),
    ],
)
def test_a_call_has_the_status_of_its_last_phase(phases: list[str], status: str) -> None:
    """Lines of one id make one call, also where the hooks are installed twice."""
    (call,) = Trajectory.from_events(event(phase, "t1") for phase in phases)
    assert call.status == status


def test_a_call_tells_all_that_its_lines_tell() -> None:
    """Input and start come from before the call, the rest from after it."""
    before = event("pre", "t1", at=1, tool_input={"command": "ls"})
    after = event(
        "failure", "t1", at=2, tool_input={"command": "ls"}, error="Exit code 2", exit_code=2, duration_ms=5
    )
    assert list(Trajectory.from_events([before, after])) == [
        ToolCall(
            name="Bash",
            args={"command": "ls"},
            id="t1",
            status="failed",
            error="Exit code 2",
            exit_code=2,
            started_at="2026-01-01T00:00:01.000Z",
            duration_ms=5,
        )
    ]


def test_an_announced_call_that_never_ran_was_refused() -> None:
    """A batch that lists a call with no result of its own: denied, or failed where Claude Code found it unfit."""
    lifecycle = [
        batch("no", "bad", "ok", no="Permission denied", bad="<tool_use_error>unfit</tool_use_error>")
    ]
    events = [event("pre", "no"), event("pre", "bad"), *both("ok")]
    calls = Trajectory.from_events(events, lifecycle)
    assert [(call.id, call.status, call.error) for call in calls] == [
        ("no", "denied", "Permission denied"),
        ("bad", "failed", "<tool_use_error>unfit</tool_use_error>"),
        ("ok", "ok", None),
    ]


def test_a_batch_that_no_hook_saw_stands_where_the_clock_says() -> None:
    """Calls that only a batch knows come between those before and after it."""
    events = [
        event("pre", "t1", at=1),
        event("post", "t1", at=1),
        event("pre", "t3", at=5),
        event("post", "t3", at=5),
    ]
    error = "<tool_use_error>No such tool</tool_use_error>"
    calls = Trajectory.from_events(
        events, [batch("t1", at=1), batch("t2", at=3, t2=error), batch("t3", at=5)]
    )
    assert [(call.id, call.status) for call in calls] == [("t1", "ok"), ("t2", "failed"), ("t3", "ok")]


@given(st.integers(1, 8), st.randoms(use_true_random=False), st.booleans())
def test_parallel_calls_are_ordered_by_their_batch(count: int, chance: random.Random, doubled: bool) -> None:
    """In whatever order parallel hooks wrote, and however often, the calls stand as the model issued them."""
    names = [f"t{number}" for number in range(count)]
    before, after = ([event(phase, name) for name in names] for phase in ("pre", "post"))
    chance.shuffle(before)
    chance.shuffle(after)
    batches = [batch(*names)] * (2 if doubled else 1)
    calls = Trajectory.from_events(before * (2 if doubled else 1) + after, batches)
    assert ids(calls) == names
    assert {call.turn for call in calls} == {"t0"}


@given(st.permutations(range(12)), st.booleans())
def test_each_subagent_hangs_on_the_call_that_spawned_it(order: list[int], older: bool) -> None:
    """Parallel and nested subagents that use the same ids are told apart in every interleaving."""
    tool = "Task" if older else "Agent"
    sources = [
        [*spawn("s1", "a1", tool=tool)],
        [*spawn("s2", "a2", tool=tool)],
        [*both("same", "a1")],
        [*both("same", "a2"), *spawn("s3", "a3", "a2", tool=tool)],
        [*both("same", "a3")],
    ]
    queue = [index for number, source in enumerate(sources) for index in [number] * len(source)]
    queue = [queue[position] for position in order]
    waiting = [iter(source) for source in sources]
    calls = Trajectory.from_events(next(waiting[index]) for index in queue)
    assert {(call.id, call.agent_id): call.parent_id for call in calls} == {
        ("s1", None): None,
        ("s2", None): None,
        ("same", "a1"): "s1",
        ("same", "a2"): "s2",
        ("s3", "a2"): "s2",
        ("same", "a3"): "s3",
    }
    assert {call.status for call in calls} == {"ok"}


def test_an_id_that_is_used_again_is_another_call() -> None:
    """A script may repeat its ids; a start after an end begins a new call."""
    calls = Trajectory.from_events([*both("t1"), *both("t1")], [batch("t1"), batch("t1")])
    assert ids(calls) == ["t1", "t1"]


def test_a_spawn_that_never_came_back_is_guessed_only_when_it_is_certain() -> None:
    """One open Agent call and one started agent of its type belong together; two of each are left untied."""

    def started(agent_id: str) -> LifecycleEvent:
        return LifecycleEvent(timestamp="t", event="SubagentStart", agent_id=agent_id, agent_type="helper")

    def opened(call_id: str) -> ToolEvent:
        return event("pre", call_id, tool="Agent", tool_input={"subagent_type": "helper"})

    one = Trajectory.from_events([opened("s1"), event("pre", "t1", "a1")], [started("a1")])
    assert one[1].parent_id == "s1"
    two = Trajectory.from_events(
        [opened("s1"), opened("s2"), event("pre", "t1", "a1"), event("pre", "t2", "a2")],
        [started("a1"), started("a2")],
    )
    assert [call.parent_id for call in two] == [None] * 4


def test_a_skill_that_forks_is_a_parent() -> None:
    """The agent of a forked skill hangs on the Skill call."""
    calls = Trajectory.from_events([*both("t1", "a1"), *spawn("s1", "a1", tool="Skill")])
    assert calls[0].parent_id == "s1"


def test_views_pick_calls() -> None:
    """main, agent, of and inside are trajectories of the calls that they name."""
    calls = Trajectory.from_events([*spawn("s1", "a1"), *both("t1", "a1"), *both("t2")])
    assert ids(calls.main) == ["s1", "t2"]
    assert ids(calls.agent("helper")) == ["t1"]
    assert ids(calls.of("Agent", "Read")) == ["s1"]
    assert ids(calls.inside(calls[0])) == ["t1"]
    assert ids(calls[1:]) == ["t1", "t2"]


def test_the_tree_shows_who_called_what() -> None:
    """Each subagent stands under its spawn, and what did not go well is marked."""
    calls = Trajectory.from_events(
        [*spawn("s1", "a1"), event("pre", "t1", "a1", tool_input={"command": "ls"}), *both("t2")]
    )
    assert calls.tree() == "Agent()\n  Bash(command='ls')  [unfinished]\nBash()"


def test_a_file_is_read_with_the_lifecycle_beside_it(tmp_path: Path) -> None:
    """from_jsonl orders by the batches in lifecycle.jsonl, does without that file, and skips a torn last line."""
    path = tmp_path / "tool-calls.jsonl"
    events = [event("pre", "b"), event("pre", "a"), event("post", "a"), event("post", "b")]
    path.write_bytes(b"".join(msgspec.json.encode(item) + b"\n" for item in events) + b'{"torn')
    with pytest.warns(TornLineWarning):
        assert ids(Trajectory.from_jsonl(path)) == ["b", "a"]
    fields = {"timestamp": "t", "event": "PostToolBatch", **batch("a", "b").extra}
    (tmp_path / "lifecycle.jsonl").write_bytes(msgspec.json.encode(fields) + b"\n")
    with pytest.warns(TornLineWarning):
        assert ids(Trajectory.from_jsonl(str(path))) == ["a", "b"]


def test_a_part_of_a_run_has_a_tree_of_its_own() -> None:
    """Calls of a subagent stand at the top where the call that spawned it is not among them."""
    spawn = ToolCall(name="Agent", id="a")
    inner = ToolCall(name="Read", id="b", parent_id="a", agent="reviewer", agent_id="x")
    assert Trajectory([spawn, inner]).tree() == "Agent()\n  Read()"
    assert Trajectory([spawn, inner]).agent("reviewer").tree() == "Read()"
