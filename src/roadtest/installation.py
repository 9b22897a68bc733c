"""Where Claude Code is on this machine.

Looked for in this order: an explicit setting, ``ROADTEST_CLAUDE``, ``claude`` on PATH, the binary inside the installed
``claude-agent-sdk`` wheel.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from roadtest.errors import ClaudeNotFound

INSTALL_HINT = "pip install 'roadtest[claude]' (ships the binary), or set ROADTEST_CLAUDE to its path"


@dataclass(frozen=True)
class Claude:
    path: Path
    source: str


def find_claude(explicit: str | Path | None = None, environ: Mapping[str, str] = os.environ) -> Claude:
    """The first Claude Code there is; an explicit one that cannot be run is an error, not a reason to look further."""
    variable = environ.get("ROADTEST_CLAUDE")
    if explicit and str(explicit) != variable:  # the settings of a session take the variable in
        return _named(str(explicit), "setting", environ)
    if variable:
        return _named(variable, "ROADTEST_CLAUDE", environ)
    for source, path in _found(environ):
        if _runnable(path):
            return Claude(path, source)
    raise ClaudeNotFound(
        "Claude Code was not found: no `claude` on PATH, no claude-agent-sdk.", hint=INSTALL_HINT
    )


def _named(wanted: str, source: str, environ: Mapping[str, str]) -> Claude:
    path = shutil.which(wanted, path=environ.get("PATH"))
    if path is None:
        who = "The setting roadtest_claude" if source == "setting" else source
        raise ClaudeNotFound(
            f"{who} names {wanted}, which is not a program that can be run.", hint=INSTALL_HINT
        )
    return Claude(Path(path).absolute(), source)


def _found(environ: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    if on_path := shutil.which("claude", path=environ.get("PATH", "")):
        yield "PATH", Path(on_path).absolute()
    spec = importlib.util.find_spec("claude_agent_sdk")
    if spec and spec.origin:
        yield "claude-agent-sdk", Path(spec.origin).parent / "_bundled" / "claude"


def _runnable(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)
