"""A process that is told what to do by lines of JSON and answers each with one."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from selectors import EVENT_READ, DefaultSelector
from types import TracebackType
from typing import Any, Self


class Worker:
    def __init__(self, argv: Sequence[object], env: Mapping[str, str]) -> None:
        words = [str(word) for word in argv]
        self._process = subprocess.Popen(words, env=dict(env), stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, what: object) -> Any:
        self.tell(what)
        return self.hear()

    def tell(self, what: object) -> None:
        assert self._process.stdin is not None  # it is a pipe
        self._process.stdin.write(json.dumps(what).encode() + b"\n")
        self._process.stdin.flush()

    def hear(self, patience: float | None = None) -> Any:
        """The next answer; raises TimeoutError when none has come in time."""
        assert self._process.stdout is not None  # it is a pipe
        if patience is not None and not _is_readable(self._process.stdout, patience):
            raise TimeoutError
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._process.args!r} has ended")
        return json.loads(line)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()


def _is_readable(pipe: Any, patience: float) -> bool:
    with DefaultSelector() as ready:
        ready.register(pipe, EVENT_READ)
        return bool(ready.select(patience))
