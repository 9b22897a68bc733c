"""Takes the events of a run that roadtest itself follows, and writes the lines that ``hook.py`` would write.

A process for each event costs more than everything else that roadtest adds to a run together.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from roadtest.capture import hook


class Receiver:
    """Gets each event that Claude Code asks about; all calls come from one thread.

    For a few events it only runs a command, and that leaves the event as a file in the spool.
    """

    def __init__(self, folder: Path, environ: Mapping[str, str], spool: Path) -> None:
        self._folder = folder
        self._limit = hook.limit({os.fsencode(name): os.fsencode(value) for name, value in environ.items()})
        self.spool = spool
        self.problems: list[str] = []
        """Events that could not be kept, and why."""
        spool.mkdir(parents=True, exist_ok=True)

    def keep(self, event: object) -> None:
        """Write down an event, after those in the spool, which came before it."""
        self._empty_spool()
        self._write(event)

    def close(self) -> None:
        """Take in what is left; nobody writes any more, so an event that is not whole will not become so."""
        self._empty_spool()
        self.problems += [
            f"the capture hook failed: {left.name} in its spool is not whole" for left in self._left()
        ]

    def _empty_spool(self) -> None:
        for left in self._left():
            with suppress(hook.Refused):  # it is still being written
                event, moment = hook.decode(left.read_bytes()), left.stat().st_mtime_ns
                left.unlink()
                self._write(event, moment)

    def _left(self) -> list[Path]:
        return sorted(self.spool.glob("*"))

    def _write(self, event: object, moment: int | None = None) -> None:
        """Nothing may reach the agent: the run says at its end what went wrong."""
        try:
            name, line = hook.to_line(event, self._limit, moment)
            self._folder.mkdir(parents=True, exist_ok=True)
            folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                hook.append(folder, name, line)
            finally:
                os.close(folder)
        except Exception as problem:  # noqa: BLE001
            reason = " ".join(f"{type(problem).__name__}: {problem}".split())
            self.problems.append(f"the capture hook failed: {reason}")
