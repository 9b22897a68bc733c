"""From events to calls: pair what the hooks said before and after, and tie each subagent to the call that spawned it."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from roadtest.calls import SPAWNING_TOOLS, Status, ToolCall
from roadtest.events import LifecycleEvent, ToolEvent

USE_ERROR = "<tool_use_error>"
"""How Claude Code answers a call that never reaches its hooks: no such tool, or an input that does not fit."""

Key: TypeAlias = tuple[str | None, str]
"""Agent id and tool_use id: a scripted model may use the same id in several agents."""

_STATUS: dict[str, Status] = {"post": "ok", "failure": "failed", "denied": "denied"}
_FORKING_TOOLS = SPAWNING_TOOLS | {"Skill"}


@dataclass
class _Lines:
    """All lines about one call."""

    key: Key
    events: list[ToolEvent] = field(default_factory=list)
    entry: dict[str, Any] | None = None
    """What the batch of its message says about it."""
    turn: str | None = None

    @property
    def done(self) -> bool:
        return any(event.phase != "pre" for event in self.events)


def pair(events: Iterable[ToolEvent], lifecycle: Iterable[LifecycleEvent] = ()) -> list[ToolCall]:
    """One call for each ``tool_use``, in the order in which the model issued them."""
    lifecycle = list(lifecycle)
    lines = _in_order(_grouped(events), [event for event in lifecycle if event.event == "PostToolBatch"])
    spawns = _spawns(lines, lifecycle)
    return [_to_call(line, spawns) for line in lines]


def _grouped(events: Iterable[ToolEvent]) -> list[_Lines]:
    newest: dict[Key, _Lines] = {}
    lines: list[_Lines] = []
    for event in events:
        key = (event.agent_id, event.tool_use_id)
        if key not in newest or (event.phase == "pre" and newest[key].done):
            newest[key] = _Lines(key)
            lines.append(newest[key])
        newest[key].events.append(event)
    return lines


def _in_order(lines: list[_Lines], batches: list[LifecycleEvent]) -> list[_Lines]:
    """Parallel calls write in any order; the batch that their message made says how the model had put them."""
    waiting: dict[Key, deque[int]] = defaultdict(deque)
    for index, line in enumerate(lines):
        waiting[line.key].append(index)
    times = [line.events[0].timestamp for line in lines]
    told: set[Key] = set()
    blocks: list[tuple[float, list[_Lines]]] = []
    for batch in batches:
        # Hooks that are installed twice tell everything twice.
        entries = {key: entry for key, entry in _entries(batch) if waiting[key] or key not in told}
        found = {key: waiting[key].popleft() if waiting[key] else None for key in entries}
        members = [_Lines(key) if at is None else lines[at] for key, at in found.items()]
        for line in members:
            line.entry, line.turn = entries[line.key], members[0].key[1]
        # A batch of which no call has lines of its own stands where the clock says.
        first = min((at for at in found.values() if at is not None), default=None)
        blocks.append((bisect_right(times, batch.timestamp) - 0.5 if first is None else first, members))
        told.update(entries)
    blocks += [(index, [lines[index]]) for indexes in waiting.values() for index in indexes]
    return [line for _, block in sorted(blocks, key=lambda placed: placed[0]) for line in block]


def _entries(batch: LifecycleEvent) -> Iterator[tuple[Key, dict[str, Any]]]:
    entries = batch.extra.get("tool_calls")
    for entry in entries if isinstance(entries, list) else ():
        call_id = entry.get("tool_use_id") if isinstance(entry, dict) else None
        if isinstance(call_id, str):
            yield (batch.agent_id, call_id), entry


def _spawns(lines: list[_Lines], lifecycle: list[LifecycleEvent]) -> dict[str, str]:
    """Agent id to the id of the call that spawned it, as the result of that call tells."""
    spawns: dict[str, str] = {}
    pending: dict[str, list[str]] = defaultdict(list)
    for line in lines:
        agent_ids = [agent_id for event in line.events if (agent_id := _spawned(event))]
        if agent_ids:
            spawns.setdefault(agent_ids[0], line.key[1])
        elif line.events and line.events[0].tool_name in SPAWNING_TOOLS:
            pending[str(line.events[0].tool_input.get("subagent_type", "general-purpose"))].append(
                line.key[1]
            )
    return _guessed(pending, lifecycle, spawns) | spawns


def _spawned(event: ToolEvent) -> str | None:
    if event.tool_name in _FORKING_TOOLS and isinstance(event.tool_output, dict):
        agent_id = event.tool_output.get("agentId")
        return agent_id if isinstance(agent_id, str) else None
    return None


def _guessed(
    pending: dict[str, list[str]], lifecycle: list[LifecycleEvent], known: dict[str, str]
) -> dict[str, str]:
    """A call that never came back does not name its agent; where only one of a type is left, it is that one."""
    started: dict[str, set[str]] = defaultdict(set)
    for event in lifecycle:
        if (
            event.event == "SubagentStart"
            and event.agent_id
            and event.agent_type
            and event.agent_id not in known
        ):
            started[event.agent_type].add(event.agent_id)
    return {
        agent_id: pending[kind][0]
        for kind, agents in started.items()
        for agent_id in agents
        if len(agents) == 1 == len(pending[kind])
    }


def _to_call(line: _Lines, spawns: dict[str, str]) -> ToolCall:
    if not line.events:
        return _without_hooks(line, spawns)
    first, last = line.events[0], line.events[-1]
    agent_id = first.agent_id
    response = _response(line)
    unsettled: Status = "unfinished" if response is None else _refusal(response)
    return ToolCall(
        name=first.tool_name,
        args=first.tool_input,
        id=first.tool_use_id,
        agent=first.agent_type if agent_id else None,
        agent_id=agent_id,
        parent_id=spawns.get(agent_id) if agent_id else None,
        status=_STATUS.get(last.phase, unsettled),
        output=last.tool_output,
        error=last.error if line.done else response,
        exit_code=last.exit_code,
        started_at=first.timestamp,
        duration_ms=last.duration_ms,
        turn=line.turn,
        rewritten=last.tool_input if last.tool_input != first.tool_input else None,
    )


def _without_hooks(line: _Lines, spawns: dict[str, str]) -> ToolCall:
    """A call that its batch lists and no hook saw: Claude Code itself turned it down."""
    entry = line.entry or {}
    agent_id, call_id = line.key
    args = entry.get("tool_input")
    response = _response(line)
    return ToolCall(
        name=str(entry.get("tool_name", "")),
        args=args if isinstance(args, dict) else {},
        id=call_id,
        agent_id=agent_id,
        parent_id=spawns.get(agent_id) if agent_id else None,
        status="failed" if (response or "").startswith(USE_ERROR) else "unfinished",
        error=response,
        turn=line.turn,
    )


def _response(line: _Lines) -> str | None:
    """What the model was told, where its batch says so."""
    if line.entry is None:
        return None
    response = line.entry.get("tool_response")
    return response if isinstance(response, str) else ""


def _refusal(response: str) -> Status:
    """Of a call that was announced and never ran: something refused it, or Claude Code found its input unfit."""
    return "failed" if response.startswith(USE_ERROR) else "denied"
