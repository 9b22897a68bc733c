"""The hooks that capture, in the words of Claude Code's settings."""

from __future__ import annotations

import py_compile
import shlex
import sys
from pathlib import Path
from typing import Any

from roadtest.capture import hook

TOOL_EVENTS = ("PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionDenied")
LIFECYCLE_EVENTS = (
    "PostToolBatch",
    "SubagentStart",
    "SubagentStop",
    "SessionStart",
    "SessionEnd",
    "UserPromptSubmit",
    "Stop",
    "StopFailure",
    "PreCompact",
)

GUARD = '[ "$TEST_MODE" = true ] || exit 0; '
"""Outside a test the shell ends here, before it starts anything."""


def hook_settings(*, python: str | None = None, compile_in: Path | None = None) -> dict[str, Any]:
    """The settings that a run passes with ``--settings``: this installation's hook, by absolute path.

    The hook starts faster from bytecode. Python keeps none of a script that is run, so a folder can be given for it;
    it fits the interpreter that runs roadtest and no other.
    """
    script = Path(hook.__file__)
    if compile_in and python is None:
        script = compile_in / "roadtest-hook.pyc"
        py_compile.compile(hook.__file__, str(script), doraise=True)
    interpreter = python or str(Path(sys.executable).resolve())
    return {"hooks": groups(f"{GUARD}exec {shlex.quote(interpreter)} -I -S {shlex.quote(str(script))}")}


def portable_command(script: str) -> str:
    """For files that are shared: any ``python3``, and none at all is no reason to bother the agent."""
    return f"{GUARD}python3 -I -S {script} || exit 0"


def groups(command: str) -> dict[str, list[dict[str, Any]]]:
    """The command on every event that is captured."""
    handlers = [{"type": "command", "command": command}]
    tools = {event: [{"matcher": "*", "hooks": handlers}] for event in TOOL_EVENTS}
    return tools | {event: [{"hooks": handlers}] for event in LIFECYCLE_EVENTS}
