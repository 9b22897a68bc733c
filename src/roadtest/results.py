"""What a run was and how it scored: the one record between runner, scorers and reports.

Everything here is JSON-serialisable through msgspec; ``FORMAT`` changes when a reader would have to.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import msgspec

from roadtest.trajectory import Trajectory

FORMAT = 1

Verdict = Literal["passed", "failed", "invalid", "error"]
DriftKind = Literal["context", "result", "harness"]
Policy = Literal["fail", "warn", "ignore"]


class Score(msgspec.Struct, frozen=True):
    """A value from 0 to 1 that never travels without its reason."""

    value: float
    reason: str = ""
    details: dict[str, Any] = {}
    name: str = ""


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0


class Drift(msgspec.Struct, frozen=True):
    """One way in which the world differs from the recording."""

    kind: DriftKind
    message: str
    policy: Policy = "fail"


class Run(msgspec.Struct, kw_only=True):
    """One run of Claude Code (or of a custom task) and all that is known about it."""

    output: str = ""
    trajectory: Trajectory = msgspec.field(default_factory=Trajectory)
    usage: Usage = Usage()
    cost_usd: float = 0.0
    duration_s: float = 0.0
    turns: int = 0
    exit_code: int | None = None
    timed_out: bool = False
    session_id: str = ""
    model: str = ""
    claude_version: str = ""
    structured: Any = None
    messages: list[dict[str, Any]] = msgspec.field(default_factory=list)
    stderr: str = ""
    workspace: Path | None = None
    diff: str = ""
    drift: list[Drift] = msgspec.field(default_factory=list)
    notes: list[str] = msgspec.field(default_factory=list)
    invalid: str = ""
    """Why this run proves nothing; empty when it can be scored."""
    test_id: str = ""

    @property
    def tools(self) -> list[str]:
        """The names of the tools called, in order."""
        return [call.name for call in self.trajectory]

    @property
    def agents(self) -> list[str]:
        """The types of the subagents that made calls, each once, in order of appearance."""
        return list(dict.fromkeys(call.agent for call in self.trajectory if call.agent))
