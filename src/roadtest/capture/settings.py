"""The hooks that capture, in the words of Claude Code's settings."""

from __future__ import annotations

import py_compile
import shlex
import sys
import tempfile
from functools import cache
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

UNASKED_EVENTS = ("SessionStart", "SessionEnd")
"""Events that Claude Code only runs commands for."""
ASKED_EVENTS = tuple(event for event in TOOL_EVENTS + LIFECYCLE_EVENTS if event not in UNASKED_EVENTS)
"""Events that a ``Dialogue`` is asked about."""


def hook_settings(*, python: str | None = None, compile_in: Path | None = None) -> dict[str, Any]:
    """Settings that run this installation's hook, by absolute path, on every event.

    The hook starts faster from bytecode. Python keeps none of a script that is run, so a folder can be given for it;
    it fits the interpreter that runs roadtest and no other.
    """
    script = Path(hook.__file__)
    if compile_in and python is None:
        script = compile_in / "roadtest-hook.pyc"
        script.write_bytes(_bytecode())
    interpreter = python or str(Path(sys.executable).resolve())
    return {"hooks": groups(command(shlex.quote(str(script)), python=shlex.quote(interpreter)))}


def spooling_settings(spool: Path) -> dict[str, Any]:
    """Settings that leave what a ``Dialogue`` is not asked about in the spool of its ``Receiver``."""
    command = f"cat > {shlex.quote(str(spool))}/$$ || exit 0"
    return {"hooks": {event: groups(command)[event] for event in UNASKED_EVENTS}}


@cache
def _bytecode() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        compiled = py_compile.compile(hook.__file__, f"{folder}/hook.pyc", doraise=True)
        return Path(str(compiled)).read_bytes()


def command(script: str, *, python: str = "python3") -> str:
    """What Claude Code gives to the shell.

    Outside a test the shell ends at once, before it starts anything. It also has the last word: a Python that is missing
    or does not find the script exits with 2 or 127, and 2 would block the agent's call.
    """
    return f'[ "$TEST_MODE" = true ] || exit 0; {python} -I -S {script} || exit 0'


def groups(command: str) -> dict[str, list[dict[str, Any]]]:
    """The command on every event that is captured."""
    handlers = [{"type": "command", "command": command}]
    tools = {event: [{"matcher": "*", "hooks": handlers}] for event in TOOL_EVENTS}
    return tools | {event: [{"hooks": handlers}] for event in LIFECYCLE_EVENTS}
