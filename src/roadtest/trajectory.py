"""The calls an agent made, in the order in which the model issued them.

What counts as a call:

- one ``tool_use`` of the model is one call, whatever happened to it: ``ok``, ``failed`` (the tool reported an error),
  ``denied`` (permission rules or a hook refused it) or ``unfinished`` (it started and no result was seen);
- a call of a subagent counts once, in the subagent; the ``Agent`` call that spawned it (``Task`` in older versions of
  Claude Code) is a call of its parent, and ``parent_id`` of each call inside is the id of that spawning call;
- a retry by the model is another call; a retry inside a tool is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, overload

from roadtest.calls import ToolCall
from roadtest.events import LifecycleEvent, ToolEvent, parse_lifecycle_events, parse_tool_events
from roadtest.matching import Match, Override, match
from roadtest.pairing import pair


class Trajectory(Sequence[ToolCall]):
    """A sequence of calls; see the module's docstring for what counts as one."""

    __slots__ = ("_calls",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, calls: Iterable[ToolCall] = ()) -> None:
        self._calls = tuple(calls)

    @classmethod
    def from_jsonl(cls, path: str | Path) -> Trajectory:
        """Read back what the hook wrote to ``tool-calls.jsonl``, and to ``lifecycle.jsonl`` beside it."""
        path = Path(path)
        beside = path.with_name("lifecycle.jsonl")
        lifecycle = parse_lifecycle_events(beside.read_bytes(), str(beside)) if beside.is_file() else []
        return cls.from_events(parse_tool_events(path.read_bytes(), str(path)), lifecycle)

    @classmethod
    def from_events(cls, events: Iterable[ToolEvent], lifecycle: Iterable[LifecycleEvent] = ()) -> Trajectory:
        return cls(pair(events, lifecycle))

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
        known = {call.id for call in self._calls}
        below: dict[str | None, list[ToolCall]] = {}
        for call in self._calls:
            # Of a part of a run, the call that spawned may not be there: what it spawned stands at the top.
            below.setdefault(call.parent_id if call.parent_id in known else None, []).append(call)
        return "\n".join(_outline(below, None, 0))

    def matches(
        self,
        expected: Iterable[Any],
        *,
        mode: str = "strict",
        args: str = "superset",
        overrides: Mapping[str, Override] | None = None,
        agent: str | None = None,
        workspace: str | Path | None = None,
    ) -> Match:
        """Compare with expected calls; ``str()`` of the result explains it. See ``roadtest.matching.match``.

        ``trajectory == [...]`` is the same in mode ``strict`` with args ``superset``.
        """
        return match(
            self._calls, expected, mode=mode, args=args, overrides=overrides, agent=agent, workspace=workspace
        )


def _outline(below: dict[str | None, list[ToolCall]], parent_id: str | None, depth: int) -> Iterator[str]:
    # Taken out as they are told: where two calls share an id, what is below them is told once.
    for call in below.pop(parent_id, ()):
        mark = "" if call.status == "ok" else f"  [{call.status}]"
        yield f"{'  ' * depth}{call}{mark}"
        yield from _outline(below, call.id, depth + 1)
