"""Compare the two witnesses of a run: the lines of the hooks and the stream of Claude Code.

The hooks know inputs as they ran, structured results and every subagent; the stream knows the order, the messages that the
calls came in, and what never reached a hook. Together they are the trajectory. Where one shows what the other must have
shown too, a line was lost, and the run proves nothing.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass

from msgspec.structs import replace

from roadtest.calls import Status, ToolCall
from roadtest.capture import hook
from roadtest.capture.reader import Captured
from roadtest.capture.stream import Stream, StreamCall
from roadtest.pairing import USE_ERROR, Key
from roadtest.trajectory import Trajectory


@dataclass(frozen=True)
class Reconciled:
    trajectory: Trajectory
    problems: list[str]
    """Why the run is invalid; empty when both witnesses agree."""


def reconcile(captured: Captured, stream: Stream) -> Reconciled:
    captured = captured.of_sessions(stream.sessions)
    calls = [_with_parent(call, stream) for call in captured.trajectory]
    matched = _matched(calls, stream)
    problems = [
        *_silence(captured, stream),
        *(f"the capture hook failed: {line}" for line in captured.errors),
    ]
    if captured.active:
        problems += _losses(matched, captured, stream)
    return Reconciled(Trajectory(_merged(calls, matched)), problems)


Matched = list[tuple[StreamCall, ToolCall | None]]


def _with_parent(call: ToolCall, stream: Stream) -> ToolCall:
    parent = stream.spawns.get(call.agent_id or "")
    return replace(call, parent_id=parent) if parent and not call.parent_id else call


def _matched(calls: list[ToolCall], stream: Stream) -> Matched:
    """Each call of the stream with the one that the hooks saw."""
    waiting: dict[Key, deque[ToolCall]] = defaultdict(deque)
    for call in calls:
        waiting[call.agent_id, call.id].append(call)
    keys = ((seen, waiting[seen.agent_id, seen.id]) for seen in stream.calls)
    return [(seen, queue.popleft() if queue else None) for seen, queue in keys]


def _merged(calls: list[ToolCall], matched: Matched) -> Iterator[ToolCall]:
    """The order of the stream; what only hooks saw follows the call that it followed for them."""
    followers: dict[int | None, list[ToolCall]] = defaultdict(list)
    in_stream = {id(call) for _, call in matched if call}
    previous: int | None = None
    for call in calls:
        if id(call) in in_stream:
            previous = id(call)
        else:
            followers[previous].append(call)
    yield from followers[None]
    for seen, captured in matched:
        yield _completed(captured, seen) if captured else _from_stream(seen)
        yield from followers[id(captured)] if captured else ()


def _completed(call: ToolCall, seen: StreamCall) -> ToolCall:
    """What the hooks saw, with what only the stream can tell: the turn, and the end of a call that has no line for it."""
    call = replace(call, turn=seen.turn or call.turn, agent=call.agent or seen.agent)
    if call.status != "unfinished":
        return call
    end = _from_stream(seen)
    return replace(call, status=end.status, error=end.error, output=end.output, exit_code=end.exit_code)


def _from_stream(seen: StreamCall) -> ToolCall:
    status = _outcome(seen)
    error = seen.result if status in ("failed", "denied") else None
    output = seen.output if status == "ok" else None
    return ToolCall(
        name=seen.name,
        args=seen.args,
        id=seen.id,
        agent=seen.agent,
        agent_id=seen.agent_id,
        parent_id=seen.parent_id,
        status=status,
        output=output,
        error=error,
        exit_code=hook.exit_code({"error": error, "tool_output": output}) if seen.name == "Bash" else None,
        turn=seen.turn,
    )


def _outcome(seen: StreamCall) -> Status:
    if seen.result is None:
        return "denied" if seen.refused else "unfinished"
    if seen.refused:
        return "denied"
    return "failed" if seen.is_error else "ok"


def _silence(captured: Captured, stream: Stream) -> Iterator[str]:
    """No line at all is not the same as no calls: even an idle session announces its start.

    Whoever switched hooks off switched off the project's too, so what the agent did then is not what it would do.
    """
    if captured.started:
        return
    if "SessionStart" in stream.hooks_ran:
        yield "capture was off: Claude Code ran its hooks, but none of them wrote to the folder of this run"
    else:
        yield (
            "capture was off: Claude Code ran no hooks, as with disableAllHooks, --bare, --safe-mode or a managed policy"
        )


def _losses(matched: Matched, captured: Captured, stream: Stream) -> Iterator[str]:
    if stream.stopped_by_hook:
        return  # hooks that had not finished by then were cut off, which is no loss: the stream has the results
    for seen, call in matched:
        name = f"{seen.name} ({seen.id})"
        ran = seen.result is not None and not seen.refused and not seen.result.startswith(USE_ERROR)
        if ran and call is None:
            yield f"a line was lost: the stream shows a call of {name} that no hook captured"
        elif ran and not seen.is_error and call is not None and call.status != "ok":
            yield f"a line was lost: the stream shows the result of {name}, the hooks do not"
    yield from captured.gaps
    yield from _uncounted(captured, stream)


def _uncounted(captured: Captured, stream: Stream) -> Iterator[str]:
    """Subagents of subagents are in the stream by the number of their calls only."""
    shown = {seen.agent_id for seen in stream.calls}
    for agent_id, count in stream.tool_uses.items():
        seen = sum(call.agent_id == agent_id for call in captured.trajectory)
        if agent_id not in shown and seen < count:
            yield f"a line was lost: subagent {agent_id} made {count} calls, the hooks captured {seen}"
