"""One call of a tool, as every layer above sees it."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Status = Literal["ok", "failed", "denied", "unfinished"]

SPAWNING_TOOLS = frozenset({"Agent", "Task"})
"""The tool that starts a subagent; it was called Task in older versions of Claude Code."""


class ToolCall(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One call of a tool: what was asked, by whom, and what came of it."""

    name: str
    args: dict[str, Any] = {}
    id: str = ""
    agent: str | None = None
    agent_id: str | None = None
    parent_id: str | None = None
    status: Status = "ok"
    output: Any = None
    error: str | None = None
    exit_code: int | None = None
    started_at: str | None = None
    duration_ms: float | None = None
    turn: str | None = None
    """A name that the calls of one message of the model share."""
    rewritten: dict[str, Any] | None = None
    """What the tool ran with, where a hook had changed what the model asked for."""

    def __str__(self) -> str:
        args = ", ".join(f"{key}={value!r}" for key, value in self.args.items())
        return f"{self.name}({args})"
