"""``ClaudeCode``: which options the ``claude`` command is run with."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

from roadtest.errors import UsageError
from roadtest.isolation import Workspace, settings_arguments
from roadtest.results import DriftKind, Policies, Policy
from roadtest.script import Fault, Script


@dataclass(frozen=True, kw_only=True)
class ClaudeCode:
    """How to run Claude Code on a case; give it to ``describe_eval`` as the task.

    Most fields are options of the ``claude`` command under their own names; what has no field goes into ``arguments``.
    """

    workspace: Workspace = field(default_factory=Workspace.empty)
    model: str | None = None
    allowed_tools: Sequence[str] = ()
    disallowed_tools: Sequence[str] = ()
    tools: Sequence[str] | None = None
    max_turns: int | None = None
    permission_mode: str | None = None
    system_prompt: str | None = None
    append_system_prompt: str | None = None
    agents: Mapping[str, Any] | None = None
    mcp_config: Mapping[str, Any] | None = None
    plugins: Sequence[str | Path] = ()
    json_schema: Mapping[str, Any] | None = None
    settings: Literal["project", "none", "user"] = "project"
    """Which settings, hooks, skills and memories of the surroundings load besides the run's own."""
    extra_settings: Mapping[str, Any] = field(default_factory=dict)
    """Merged over the capture hooks into the settings of the run."""
    background_agents: bool = False
    """Let subagents run beside their parent. Off by default: then requests come in a stable order."""
    sandbox: Literal["bwrap"] | None = None
    """Confine the run with bubblewrap: its own folders writable, the rest read-only, no network but the model."""
    env: Mapping[str, str] = field(default_factory=dict)
    pass_env: Sequence[str] = ()
    timeout: float = 300.0
    script: Script | None = None
    """Play this by hand-written model instead of a cassette."""
    faults: Mapping[int, Fault] = field(default_factory=dict)
    """What goes wrong between Claude Code and the model, by the number of the request, the first being 1."""
    volatile: Sequence[str] = ()
    """Regular expressions for what a tool's result may say otherwise on replay than when it was recorded."""
    drift: Mapping[DriftKind, Policy] = field(default_factory=dict)
    """What a difference from the recording does: ``{"result": "warn"}``; see ``roadtest.results.Policies``."""
    arguments: Sequence[str] = ()

    def model_options(self) -> dict[str, Any]:
        """The options that decide what the model is told; a recording made with others is stale."""
        unrelated = {
            "workspace",
            "timeout",
            "script",
            "faults",
            "volatile",
            "drift",
            "env",
            "pass_env",
        }
        options = {item.name: getattr(self, item.name) for item in fields(self) if item.name not in unrelated}
        return {**options, "plugins": [Path(plugin).name for plugin in self.plugins]}

    def policies(self) -> Policies:
        if unknown := set(self.drift) - set(get_args(DriftKind)):
            raise UsageError(
                f"drift names {unknown.pop()!r}, which is no kind of drift.",
                hint=f"the kinds are {', '.join(get_args(DriftKind))}; each is fail, warn or ignore",
            )
        return Policies(**dict(self.drift))

    def command(self, *prompt: str, settings_file: Path, base: Path) -> list[str]:
        """The arguments after ``claude``; ``prompt`` is the prompt itself, or the options that say where it comes from."""
        return [
            "-p",
            *prompt,
            "--output-format",
            "stream-json",
            "--verbose",
            "--strict-mcp-config",
            "--settings",
            str(settings_file),
            *settings_arguments(self.settings),
            *self._options(base),
            *self.arguments,
        ]

    def _options(self, base: Path) -> Iterator[str]:
        for flag, text in (
            ("--model", self.model),
            ("--max-turns", self.max_turns),
            ("--permission-mode", self.permission_mode),
            ("--system-prompt", self.system_prompt),
            ("--append-system-prompt", self.append_system_prompt),
        ):
            if text is not None:
                yield from (flag, str(text))
        for flag, names in (
            ("--tools", self.tools),
            ("--allowed-tools", self.allowed_tools or None),
            ("--disallowed-tools", self.disallowed_tools or None),
        ):
            if names is not None:
                yield from (flag, ",".join(names))
        for flag, data in (
            ("--agents", self.agents),
            ("--mcp-config", self.mcp_config),
            ("--json-schema", self.json_schema),
        ):
            if data is not None:
                yield from (flag, msgspec.json.encode(data).decode())
        for plugin in self.plugins:
            yield from ("--plugin-dir", str(base / plugin))


def first_choice_only(task: ClaudeCode) -> ClaudeCode:
    """The task, ended by a hook once the model has chosen its first tools: all are denied, and none is run.

    Measured: with the limit of turns alone the tools would still run, and Claude Code would end with an error.
    """
    deny = {
        "continue": False,
        "stopReason": "only the first choice of tools was asked for",
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": "only the choice of tools is of interest",
        },
    }
    command = f"echo {shlex.quote(msgspec.json.encode(deny).decode())}"
    hooks = dict(task.extra_settings.get("hooks", {}))
    theirs = hooks.get("PreToolUse", [])
    hooks["PreToolUse"] = [*theirs, {"matcher": "*", "hooks": [{"type": "command", "command": command}]}]
    return replace(task, max_turns=1, extra_settings={**task.extra_settings, "hooks": hooks})
