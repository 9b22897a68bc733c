"""The hooks that capture, in the words of Claude Code's settings."""

from __future__ import annotations

import py_compile
import shlex
import sys
import tempfile
from collections.abc import Mapping
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

BEFORE_HTTP = frozenset({"SessionStart"})
"""Events that Claude Code does not post, but only runs a command for."""

HTTP_LIMIT = "allowedHttpHookUrls"


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


def posting_settings(url: str, spool: Path) -> dict[str, Any]:
    """Settings that post every event to ``url``, for a ``Receiver``; what cannot be posted is left in its spool."""
    leave = {"type": "command", "command": f"cat > {shlex.quote(str(spool))}/$$ || exit 0"}
    posted, left = _on_every_event({"type": "http", "url": url}), _on_every_event(leave)
    return {"hooks": posted | {event: left[event] for event in BEFORE_HTTP}}


@cache
def _bytecode() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        compiled = py_compile.compile(hook.__file__, f"{folder}/hook.pyc", doraise=True)
        return Path(str(compiled)).read_bytes()


def may_post(workspace: Path, settings: Mapping[str, Any]) -> bool:
    """Whether neither these settings nor the project's limit where events may be posted to: that would leave us out."""
    files = (workspace / ".claude" / name for name in ("settings.json", "settings.local.json"))
    limited = any(HTTP_LIMIT.encode() in file.read_bytes() for file in files if file.is_file())
    return HTTP_LIMIT not in settings and not limited


def command(script: str, *, python: str = "python3") -> str:
    """What Claude Code gives to the shell.

    Outside a test the shell ends at once, before it starts anything. It also has the last word: a Python that is missing
    or does not find the script exits with 2 or 127, and 2 would block the agent's call.
    """
    return f'[ "$TEST_MODE" = true ] || exit 0; {python} -I -S {script} || exit 0'


def groups(command: str) -> dict[str, list[dict[str, Any]]]:
    """The command on every event that is captured."""
    return _on_every_event({"type": "command", "command": command})


def _on_every_event(handler: dict[str, str]) -> dict[str, list[dict[str, Any]]]:
    handlers = [handler]
    tools = {event: [{"matcher": "*", "hooks": handlers}] for event in TOOL_EVENTS}
    return tools | {event: [{"hooks": handlers}] for event in LIFECYCLE_EVENTS}
