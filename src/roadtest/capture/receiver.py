"""Takes the events that the hooks of a run post to its server, and writes the lines that ``hook.py`` would write.

A process for each event costs more than everything else that roadtest adds to a run together. Claude Code can post events
instead, and where roadtest runs it there is a server to post them to.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from roadtest.capture import hook


class Receiver:
    """Call it with the body of each event; all calls come from one thread."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        self._folder = folder
        self._limit = hook.limit({os.fsencode(name): os.fsencode(value) for name, value in environ.items()})
        self.problems: list[str] = []
        """Events that could not be kept, and why."""

    def __call__(self, data: bytes) -> None:
        try:
            self._append(*hook.to_line(hook.decode(data), self._limit))
        except Exception as problem:  # noqa: BLE001 - nothing may reach the agent, and the run says so at its end
            reason = " ".join(f"{type(problem).__name__}: {problem}".split())
            self.problems.append(f"the capture hook failed: {reason}")

    def _append(self, name: str, line: bytes) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            hook.append(folder, name, line)
        finally:
            os.close(folder)
