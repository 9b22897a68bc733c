"""When each trial starts, and how pytest learns what came of it.

A trial starts ahead of its turn when nothing has to be set up for it: every fixture that it uses, autouse ones included, is
up already and outlives it, and no mark may yet skip it. All others start when pytest comes to them.

pytest waits for a trial at the end of the item's setup. A run that is invalid or an error raises there, which pytest calls
an error; a case that failed raises in its call, which pytest calls a failure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

import pytest

from roadtest.errors import RoadtestError
from roadtest.execution import Stopped
from roadtest.plugin.collection import EvalItem
from roadtest.plugin.session import EvalSession
from roadtest.plugin.terminal import LiveLine
from roadtest.report.junit import properties
from roadtest.report.live import Progress
from roadtest.results import CaseResult

REDRAW = 0.25
"""Seconds between two drawings of the live line."""


class Schedule:
    """The trials of one session that have not started yet."""

    def __init__(
        self,
        evals: EvalSession,
        config: pytest.Config,
        items: Iterable[pytest.Item],
        *,
        here: bool,
        together: bool,
    ) -> None:
        """``here``: all items will run in this process; ``together``: at least all trials of one case will."""
        items = list(items)
        evals.positions = {item.nodeid: position for position, item in enumerate(items)}
        self._evals = evals
        self._live = LiveLine(config, self.progress)
        known = [item for item in items if isinstance(item, EvalItem)]
        self._total = len(known)
        self._waiting = known if here else []
        _settle_groups(known, together=together)

    def expect(self, item: pytest.Item | None) -> None:
        """This item will come next; where another process hands out the items, that is all we know."""
        if isinstance(item, EvalItem) and item not in self._waiting:
            self._waiting.append(item)

    def await_result(self, item: EvalItem) -> None:
        """Have the trial run, if it has not yet, and everything else that can start by now; then wait for it."""
        if item.group.decided:
            pytest.skip(f"not needed: {item.group}")
        self._start_ahead()
        if item.nodeid not in self._evals.execution:
            job = self._evals.job(item.trial, item.test_id, item.funcargs)
            self._evals.execution.submit(item.nodeid, job)
        result = self._wait(item.nodeid)
        if result is None:
            pytest.skip(f"not needed: {item.group}")
        item.result = result
        item.group.verdicts.append(result.verdict)
        item.user_properties.extend(properties(result))
        if result.verdict in ("invalid", "error"):
            pytest.fail(result.reason, pytrace=False)

    def progress(self) -> Progress:
        results = list(self._evals.results)
        verdicts = [result.verdict for result in results]
        return Progress(
            total=self._total,
            done=len(results),
            running=self._evals.execution.running,
            failed=verdicts.count("failed"),
            broken=verdicts.count("invalid") + verdicts.count("error"),
            cost_usd=self._evals.spent,
        )

    def _wait(self, key: str) -> CaseResult | None:
        while self._live and not self._evals.execution.settled(key, within=REDRAW):
            self._live.draw()
        self._live.clear()
        try:
            return self._evals.execution.result(key)
        except Stopped as stopped:
            pytest.skip(str(stopped))
        except RoadtestError as problem:
            pytest.fail(str(problem), pytrace=False)

    def _start_ahead(self) -> None:
        execution = self._evals.execution
        self._waiting = [
            item for item in self._waiting if item.nodeid not in execution and item.result is None
        ]
        ready = [item for item in self._waiting if _can_start(item)]
        for _, found in groupby(ready, lambda item: id(item.group)):
            members = list(found)
            group = members[0].group
            jobs = {item.nodeid: self._evals.job(item.trial, item.test_id, _values(item)) for item in members}
            if group.joint and group.trials.stop_when_decided:
                execution.submit_in_turn(jobs, group.decider())
            else:
                for key, job in jobs.items():
                    execution.submit(key, job)


def _settle_groups(items: Sequence[EvalItem], *, together: bool) -> None:
    """Trials are judged together where all that were planned were also selected, and run in this process."""
    selected = Counter(id(item.group) for item in items)
    for item in items:
        item.group.together = together and selected[id(item.group)] == item.group.trials.max


def _can_start(item: EvalItem) -> bool:
    if any(item.iter_markers("skip")) or any(item.iter_markers("skipif")):
        return False
    if any(mark.kwargs.get("run") is False for mark in item.iter_markers("xfail")):
        return False
    return all(_is_up(item, name) for name in item.fixturenames)


def _is_up(item: EvalItem, name: str) -> bool:
    found = item._fixtureinfo.name2fixturedefs.get(name)  # noqa: SLF001 - no public way to ask
    if not found or found[-1].scope == "function" or found[-1].cached_result is None:
        return False
    return found[-1].cached_result[2] is None


def _values(item: EvalItem) -> dict[str, Any]:
    """The values of the fixtures that the task and the scorers name; all are up."""
    info = item._fixtureinfo  # noqa: SLF001
    return {name: info.name2fixturedefs[name][-1].cached_result[0] for name in info.argnames}  # type: ignore[index]
