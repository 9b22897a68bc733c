"""Read back what the hooks of one run wrote."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from roadtest.calls import ToolCall
from roadtest.capture import hook
from roadtest.errors import CaptureError, UsageError
from roadtest.events import LifecycleEvent, ToolEvent, parse_lifecycle_events, parse_tool_events
from roadtest.trajectory import Trajectory

TOOL_CALLS = "tool-calls.jsonl"
LIFECYCLE = "lifecycle.jsonl"
ERRORS = "capture-errors.log"


@dataclass(frozen=True)
class Mark:
    """How far the files of a folder had been written at some moment."""

    sizes: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, folder: Path) -> Mark:
        files = (folder / name for name in (TOOL_CALLS, LIFECYCLE, ERRORS))
        return cls({file.name: file.stat().st_size for file in files if file.is_file()})

    def read(self, file: Path) -> bytes:
        if not file.is_file():
            return b""
        with file.open("rb") as lines:
            lines.seek(self.sizes.get(file.name, 0))
            return lines.read()


@dataclass(frozen=True)
class Captured:
    """What the hooks of one run said."""

    events: tuple[ToolEvent, ...] = ()
    lifecycle: tuple[LifecycleEvent, ...] = ()
    errors: tuple[str, ...] = ()

    @property
    def active(self) -> bool:
        """Whether any hook wrote anything: a run without calls still has a session that starts."""
        return bool(self.events or self.lifecycle)

    @property
    def started(self) -> bool:
        """Whether hooks ran from the start of the session on: where settings switch them off, not even that one does."""
        return any(event.event == "SessionStart" for event in self.lifecycle)

    def of_sessions(self, sessions: list[str]) -> Captured:
        """Without what other sessions wrote to the same folder: an earlier run, or a ``claude`` started by a tool."""
        if not sessions:
            return self
        return Captured(
            tuple(event for event in self.events if event.session_id in sessions),
            tuple(event for event in self.lifecycle if event.session_id in sessions),
            self.errors,
        )

    @cached_property
    def trajectory(self) -> Trajectory:
        return Trajectory.from_events(self.events, self.lifecycle)

    @property
    def gaps(self) -> list[str]:
        """Lines that must have been lost, as the lines that are there tell."""
        announced = {(event.agent_id, event.tool_use_id) for event in self.events if event.phase == "pre"}
        return [
            f"a line was lost: the hooks show the end of {event.tool_name} ({event.tool_use_id}), not its start"
            for event in self.events
            if event.phase != "pre" and (event.agent_id, event.tool_use_id) not in announced
        ]


def read(folder: Path, *, since: Mark | None = None) -> Captured:
    """What was captured in this folder, or after ``since``: a mark taken before the run leaves out older lines."""
    since = since or Mark()
    tool_calls, lifecycle = folder / TOOL_CALLS, folder / LIFECYCLE
    return Captured(
        tuple(parse_tool_events(since.read(tool_calls), str(tool_calls))),
        tuple(parse_lifecycle_events(since.read(lifecycle), str(lifecycle))),
        tuple(since.read(folder / ERRORS).decode("utf-8", "replace").splitlines()),
    )


def get_tool_calls(test_id: str) -> list[ToolCall]:
    """The calls captured under this ``TEST_RUN_ID``, in the order in which the model issued them."""
    folder = _folder_of(test_id)
    captured = read(folder)
    if not captured.active:
        raise CaptureError(
            f"Nothing was captured in {folder}, not even the start of a session: the hooks were off.",
            hint="run Claude Code with TEST_MODE=true and TEST_RUN_ID set; `roadtest hooks status` says what is missing",
        )
    if doubts := [*captured.errors, *captured.gaps]:
        raise CaptureError(
            f"Not everything was captured in {folder}:\n  " + "\n  ".join(doubts),
            hint="run it again; Trajectory.from_jsonl(path) reads what is there",
        )
    return list(captured.trajectory)


def _folder_of(test_id: str) -> Path:
    try:
        hook.run_id({b"TEST_RUN_ID": os.fsencode(test_id)})
    except hook.Refused as problem:
        raise UsageError(str(problem)) from None
    return Path(os.environ.get("ROADTEST_OUTPUT_DIR") or "test-output") / test_id
