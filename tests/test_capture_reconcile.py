"""Two witnesses of one run: what they agree on, what one adds, and when a line was lost."""

from __future__ import annotations

from typing import Any

import pytest

from roadtest.capture import Captured, reconcile
from roadtest.capture.stream import Stream
from roadtest.events import LifecycleEvent, ToolEvent
from tests.test_capture_stream import answered, fed, issued
from tests.test_trajectory import both, event, spawn

START = LifecycleEvent(timestamp="t", event="SessionStart")
ERROR = "<tool_use_error>No such tool available: Bash</tool_use_error>"
REJECTED = [{"id": "t1", "permission_decision": {"decision": "reject"}}]


def captured(*events: ToolEvent, errors: tuple[str, ...] = ()) -> Captured:
    return Captured(events, (START,), errors)


def done(*messages: Any) -> Stream:
    return fed(*messages, {"type": "result", "result": "done"})


def test_agreement_is_no_problem() -> None:
    """What both saw is completed by the turn, and stands in the order of the stream."""
    stream = done(issued("t1", turn="m1"), issued("t2", turn="m1"), answered("t2"), answered("t1"))
    reconciled = reconcile(captured(*both("t2"), *both("t1")), stream)
    assert reconciled.problems == []
    assert [(call.id, call.status, call.turn) for call in reconciled.trajectory] == [
        ("t1", "ok", "m1"),
        ("t2", "ok", "m1"),
    ]


@pytest.mark.parametrize(
    ("messages", "status", "error"),
    [
        ([issued("t1"), answered("t1", ERROR, is_error=True)], "failed", ERROR),
        ([issued("t1"), answered("t1", "no", meta=REJECTED, is_error=True)], "denied", "no"),
        ([issued("t1")], "unfinished", None),
    ],
)
@pytest.mark.parametrize("announced", [False, True])
def test_a_call_that_did_not_run_is_known_from_the_stream(
    messages: list[Any], status: str, error: str | None, announced: bool
) -> None:
    """Refused, unfit and cut off calls need no line of their own; what became of them is what the stream says."""
    events = [event("pre", "t1", tool_input={"command": "t1"})] if announced else []
    reconciled = reconcile(captured(*events), done(*messages))
    assert reconciled.problems == []
    (call,) = reconciled.trajectory
    assert (call.name, call.args, call.status, call.error) == ("Bash", {"command": "t1"}, status, error)


def test_a_failure_without_its_line_is_known_from_the_stream() -> None:
    """An older Claude Code has no hook for failures; the stream has the words."""
    stream = done(issued("t1"), answered("t1", "Exit code 3", is_error=True))
    reconciled = reconcile(captured(event("pre", "t1")), stream)
    assert reconciled.problems == []
    (call,) = reconciled.trajectory
    assert (call.status, call.error, call.exit_code) == ("failed", "Exit code 3", 3)


@pytest.mark.parametrize(
    ("events", "problem"),
    [
        ([], "the stream shows a call of Bash (t1) that no hook captured"),
        ([event("pre", "t1")], "the stream shows the result of Bash (t1), the hooks do not"),
        ([event("post", "t1")], "the hooks show the end of Bash (t1), not its start"),
    ],
)
def test_a_lost_line_makes_the_run_invalid(events: list[ToolEvent], problem: str) -> None:
    """A call that ran has both its lines, or the run proves nothing."""
    reconciled = reconcile(captured(*events), done(issued("t1"), answered("t1")))
    assert reconciled.problems == [f"a line was lost: {problem}"]
    assert len(reconciled.trajectory) == 1


@pytest.mark.parametrize("events", [[], [event("pre", "t1", tool_input={"command": "t1"})]])
def test_a_hook_that_ends_the_run_may_cut_ours_off(events: list[ToolEvent]) -> None:
    """Claude Code stops all hooks then; what the call gave is in the stream, and the run is valid."""
    answer = answered("t1", tool_use_result={"stdout": "hi"})
    stream = fed(issued("t1"), answer, {"type": "result", "terminal_reason": "hook_stopped"})
    reconciled = reconcile(captured(*events), stream)
    assert reconciled.problems == []
    (call,) = reconciled.trajectory
    assert (call.args, call.status, call.output, call.exit_code) == (
        {"command": "t1"},
        "ok",
        {"stdout": "hi"},
        0,
    )


def test_calls_of_a_nested_subagent_are_counted() -> None:
    """The stream shows subagents of subagents by their number of calls; fewer lines than that are too few."""
    nested = {"type": "system", "task_id": "a2", "tool_use_id": "s2"}
    stream = done(
        issued("s1"),
        answered("s1"),
        {**nested, "subtype": "task_started"},
        {**nested, "subtype": "task_notification", "status": "completed", "usage": {"tool_uses": 2}},
    )
    lines = [*spawn("s1", "a1"), *spawn("s2", "a2", "a1"), *both("t1", "a2")]
    assert reconcile(captured(*lines), stream).problems == [
        "a line was lost: subagent a2 made 2 calls, the hooks captured 1"
    ]
    complete = reconcile(captured(*lines, *both("t2", "a2")), stream)
    assert complete.problems == []
    assert [(call.id, call.parent_id) for call in complete.trajectory] == [
        ("s1", None),
        ("s2", "s1"),
        ("t1", "s2"),
        ("t2", "s2"),
    ]


def test_the_stream_knows_parents_that_the_lines_do_not() -> None:
    """A subagent whose spawn never came back is tied by its task."""
    stream = fed(
        issued("s1"), {"type": "system", "subtype": "task_started", "task_id": "a1", "tool_use_id": "s1"}
    )
    reconciled = reconcile(captured(event("pre", "s1", tool="Agent"), *both("t1", "a1")), stream)
    assert [(call.id, call.parent_id, call.status) for call in reconciled.trajectory] == [
        ("s1", None, "unfinished"),
        ("t1", "s1", "ok"),
    ]


def test_other_sessions_in_the_folder_are_not_part_of_the_run() -> None:
    """What a claude that a tool started, or an earlier run, wrote to the same folder does not count."""
    mine, other = (
        [event(phase, name, session_id=name) for phase in ("pre", "post")] for name in ("s1", "s2")
    )
    start = LifecycleEvent(timestamp="t", event="SessionStart", session_id="s1")
    stream = done({"type": "system", "subtype": "init", "session_id": "s1"}, issued("s1"), answered("s1"))
    reconciled = reconcile(Captured((*other, *mine), (start,)), stream)
    assert reconciled.problems == []
    assert [call.id for call in reconciled.trajectory] == ["s1"]
    assert "capture was off" in reconcile(Captured(tuple(other)), stream).problems[0]


def test_silence_is_not_an_empty_run() -> None:
    """Without a single line the run is invalid, and says whether hooks ran at all; with one it is just quiet."""
    started = {"type": "system", "subtype": "hook_started", "hook_event": "SessionStart"}
    assert reconcile(captured(), done()).problems == []
    assert "ran no hooks" in reconcile(Captured(), done()).problems[0]
    assert "none of them wrote" in reconcile(Captured(), done(started)).problems[0]
    assert reconcile(Captured(), Stream()).problems != []


def test_what_the_hook_complained_about_makes_the_run_invalid() -> None:
    """A line in capture-errors.log is a reason, in its own words."""
    problems = reconcile(captured(errors=("OSError: disk full",)), done()).problems
    assert problems == ["the capture hook failed: OSError: disk full"]
