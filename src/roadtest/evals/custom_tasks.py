"""Tasks that are plain callables: called in a thread of their own, with what they ask for by name."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

import msgspec
import pytest

from roadtest.calling import Asks, call_by_name, name_of
from roadtest.claude_code import ClaudeCode
from roadtest.errors import InvalidRun, RoadtestError
from roadtest.evals.cases import TASK_NAMES
from roadtest.place import Place
from roadtest.results import Run
from roadtest.runner import converse

_OURS = str(Path(__file__).parent.parent)


class Broken(Exception):  # noqa: N818 - it is caught where it was thrown, and nobody else sees it
    """Code of the user raised; keeps the traceback from where their code begins."""

    def __init__(self, who: str, problem: BaseException) -> None:
        super().__init__(f"{who} raised {type(problem).__name__}: {problem}")
        theirs = problem.__traceback__
        while theirs and theirs.tb_frame.f_code.co_filename.startswith(_OURS):
            theirs = theirs.tb_next
        self.traceback = "".join(traceback.format_exception(type(problem), problem, theirs))


@contextmanager
def perform(
    task: Callable[..., Any], values: Mapping[str, Any], place: Place, timeout: float | None
) -> Iterator[Run]:
    """The run of a callable; one that asks for a workspace or an environment has both until this ends."""
    asks = Asks.of(task)
    if not {"workspace", "env"} & {*asks.required, *asks.optional}:
        yield _call(task, values, place, timeout)
        return
    with converse(ClaudeCode(), place) as conversation:
        env = conversation.lend(str(values["input"]))
        values = {**values, "workspace": conversation.workspace, "env": env}
        yield conversation.take_back(_call(task, values, place, timeout))


def _call(task: Callable[..., Any], values: Mapping[str, Any], place: Place, timeout: float | None) -> Run:
    asks = Asks.of(task)
    named = asks.first in TASK_NAMES and asks.first in (*asks.required, *asks.optional)
    leading = [values["input"]] if asks.first and not named else []
    outcome, started = _Outcome(lambda: call_by_name(task, values, *leading)), monotonic()
    if not outcome.within(timeout, place):
        return Run(timed_out=True, duration_s=monotonic() - started, test_id=place.test_id)
    answer = outcome.value(f"the task {name_of(task)}")
    run = answer if isinstance(answer, Run) else Run(output=answer) if isinstance(answer, str) else None
    if run is None:
        raise Broken(f"the task {name_of(task)}", TypeError(f"it returned {answer!r}, not a text or a Run"))
    return msgspec.structs.replace(
        run, duration_s=run.duration_s or monotonic() - started, test_id=run.test_id or place.test_id
    )


class _Outcome:
    """What a thread came to. Python cannot end a thread, so one that takes too long is left alone instead."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self._settled = threading.Event()
        self._finished = False
        self._value: Any = None
        self._problem: BaseException | None = None
        threading.Thread(target=self._run, args=(function,), name="roadtest-task", daemon=True).start()

    def _run(self, function: Callable[[], Any]) -> None:
        try:
            self._value = function()
        except BaseException as problem:  # noqa: BLE001 - it is raised again where the task was asked for
            self._problem = problem
        self._finished = True
        self._settled.set()

    def within(self, seconds: float | None, place: Place) -> bool:
        """Wait; False when the time ran out. A call to stop is an InvalidRun."""
        if place.cancel is None:
            return self._settled.wait(seconds)
        with place.cancel.calling(self._settled.set):
            in_time = self._settled.wait(seconds)
        if in_time and not self._finished:
            raise InvalidRun("the run was cancelled")
        return in_time

    def value(self, who: str) -> Any:
        if isinstance(self._problem, RoadtestError | pytest.skip.Exception):
            raise self._problem
        if self._problem is not None:
            raise Broken(who, self._problem) from self._problem
        return self._value
