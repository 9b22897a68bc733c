"""The calls an agent made, in the order in which the model issued them.

What counts as a call:

- one ``tool_use`` of the model is one call, whatever happened to it: ``ok``, ``failed`` (the tool reported an error),
  ``denied`` (permission rules or a hook refused it) or ``unfinished`` (it started and no result was seen);
- a call of a subagent counts once, in the subagent; the ``Agent`` call that spawned it (``Task`` in older versions of
  Claude Code) is a call of its parent, and ``parent_id`` of each call inside is the id of that spawning call;
- a retry by the model is another call; a retry inside a tool is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, overload

from roadtest.calls import SPAWNING_TOOLS, Status, ToolCall
from roadtest.events import LifecycleEvent, ToolEvent, parse_tool_events
from roadtest.matching import Match, match

_STATUS_OF_PHASE: dict[str, Status] = {"post": "ok", "failure": "failed", "denied": "denied"}


class Trajectory(Sequence[ToolCall]):
    """A sequence of calls; see the module's docstring for what counts as one."""

    __slots__ = ("_calls",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, calls: Iterable[ToolCall] = ()) -> None:
        self._calls = tuple(calls)

    @classmethod
    def from_jsonl(cls, path: str | Path) -> Trajectory:
        """Read back what the hook wrote to ``tool-calls.jsonl``."""
        path = Path(path)
        return cls.from_events(parse_tool_events(path.read_bytes(), str(path)))

    @classmethod
    def from_events(cls, events: Iterable[ToolEvent], lifecycle: Iterable[LifecycleEvent] = ()) -> Trajectory:
        by_call: dict[str, list[ToolEvent]] = {}
        for event in events:
            by_call.setdefault(event.tool_use_id, []).append(event)
        spawns = _spawning_calls(by_call.values())
        return cls(_to_call(group, spawns) for group in by_call.values())

    @overload
    def __getitem__(self, index: int) -> ToolCall: ...
    @overload
    def __getitem__(self, index: slice) -> Trajectory: ...
    def __getitem__(self, index: int | slice) -> ToolCall | Trajectory:
        return Trajectory(self._calls[index]) if isinstance(index, slice) else self._calls[index]

    def __len__(self) -> int:
        return len(self._calls)

    def __iter__(self) -> Iterator[ToolCall]:
        return iter(self._calls)

    def __repr__(self) -> str:
        return f"Trajectory([{', '.join(map(str, self._calls))}])"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Trajectory):
            return self._calls == other._calls
        if isinstance(other, list | tuple):
            return bool(self.matches(other, mode="strict", args="superset"))
        return NotImplemented

    @property
    def main(self) -> Trajectory:
        """The calls of the main agent only."""
        return Trajectory(call for call in self._calls if call.agent_id is None)

    def agent(self, name: str) -> Trajectory:
        """The calls of every subagent of this type."""
        return Trajectory(call for call in self._calls if call.agent == name)

    def of(self, *names: str) -> Trajectory:
        """The calls of these tools."""
        return Trajectory(call for call in self._calls if call.name in names)

    def inside(self, spawn: ToolCall) -> Trajectory:
        """The calls made by the subagent that this ``Agent`` call spawned."""
        return Trajectory(call for call in self._calls if call.parent_id == spawn.id)

    def tree(self) -> str:
        """The calls as an indented outline, each subagent under the call that spawned it."""
        return "\n".join(self._outline(None, 0))

    def _outline(self, parent_id: str | None, depth: int) -> Iterator[str]:
        for call in self._calls:
            if call.parent_id == parent_id:
                mark = "" if call.status == "ok" else f"  [{call.status}]"
                yield f"{'  ' * depth}{call}{mark}"
                yield from self._outline(call.id, depth + 1)

    def matches(
        self, expected: Sequence[Any], *, mode: str = "strict", args: str = "superset", **options: Any
    ) -> Match:
        return match(self, expected, mode=mode, args=args, **options)


def _spawning_calls(groups: Iterable[list[ToolEvent]]) -> dict[str, str]:
    """Agent id to the id of the call that spawned it, as the result of that call tells."""
    spawns = {}
    for group in groups:
        for event in group:
            if event.tool_name in SPAWNING_TOOLS and isinstance(event.tool_output, dict):
                agent_id = event.tool_output.get("agentId")
                if isinstance(agent_id, str):
                    spawns[agent_id] = event.tool_use_id
    return spawns


def _to_call(group: list[ToolEvent], spawns: dict[str, str]) -> ToolCall:
    first, last = group[0], group[-1]
    return ToolCall(
        name=first.tool_name,
        args=first.tool_input,
        id=first.tool_use_id,
        agent=first.agent_type,
        agent_id=first.agent_id,
        parent_id=spawns.get(first.agent_id) if first.agent_id else None,
        status=_STATUS_OF_PHASE.get(last.phase, "unfinished"),
        output=last.tool_output,
        error=last.error,
        exit_code=last.exit_code,
        started_at=first.timestamp,
        duration_ms=last.duration_ms,
    )
