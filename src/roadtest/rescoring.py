"""Score recorded runs again: pytest collects the evals as always, but each trial takes its run from the record.

So changed scorers, thresholds and expectations, and the fixtures that scorers ask for, are those of today. No task is
called. A scorer that cannot do without the workspace, which is mostly gone, keeps what it said then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest

from roadtest.calling import Asks, name_of
from roadtest.config import Settings
from roadtest.evals.suite import Scorer
from roadtest.evals.trial import Trial, examine
from roadtest.plugin.collection import EvalItem
from roadtest.plugin.session import EvalSession
from roadtest.results import CaseKey, CaseResult, Record, Score


class Rescoring:
    """A pytest plugin; ``roadtest.pytest_plugin`` asks the plugin of this name for its session."""

    __name__ = "roadtest-sessions"

    def __init__(self, record: Record, chosen: Sequence[CaseResult]) -> None:
        self._run_id = record.run_id
        self._recorded = {result.node_id: result for result in chosen if result.suite}
        self._keys = {result.key for result in self._recorded.values()}
        self._session: _RecordedSession | None = None

    def make_session(self, settings: Settings, **options: Any) -> EvalSession:
        run_id = next(
            name
            for number in count(1)
            if not (settings.output_dir / (name := f"{self._run_id}-rescored-{number}")).exists()
        )
        settings = replace(settings, run_id=run_id, max_cost=None)
        self._session = _RecordedSession(self._recorded, self._run_id, settings, **options)
        return self._session

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """A worker of pytest-xdist would run the tasks: it knows nothing of the record."""
        raise pytest.UsageError("roadtest rescore works in one process; give -n0 in place of -n")

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Keep all trials of the recorded cases, so that they are judged together as they were."""
        kept = [item for item in items if isinstance(item, EvalItem) and _key(item.trial) in self._keys]
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = kept

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        results = self._session.all_results() if self._session else []
        terminalreporter.section(f"rescored {self._run_id}")
        for line in changes(self._recorded, results):
            terminalreporter.line(line)


class _RecordedSession(EvalSession):
    def __init__(
        self, recorded: Mapping[str, CaseResult], run_id: str, settings: Settings, **options: Any
    ) -> None:
        super().__init__(settings, **options)
        self._recorded = recorded
        self._former = Path("..", run_id)

    def job(self, trial: Trial, test_id: str, fixtures: Mapping[str, Any]) -> Callable[[], CaseResult]:
        former = self._recorded.get(trial.node_id)
        if former is None:
            return lambda: trial.result("invalid", reason="this trial is not in the record")
        return lambda: self._rescored(trial, former, fixtures)

    def _rescored(self, trial: Trial, former: CaseResult, fixtures: Mapping[str, Any]) -> CaseResult:
        result = rescore(trial, former, fixtures)
        result.folder = str(self._former / former.folder) if former.folder else ""
        return result


def rescore(trial: Trial, former: CaseResult, fixtures: Mapping[str, Any]) -> CaseResult:
    """The trial as it was recorded, with the scores and the verdict of today."""
    if former.run is None:
        result = trial.result(former.verdict, reason=former.reason, traceback=former.traceback)
    else:
        workspace = former.run.workspace
        scorers = trial.suite.scorers
        if workspace is None or not workspace.is_dir():
            scorers = list(_without_workspace(scorers, former.scores))
        result = examine(replace(trial, suite=replace(trial.suite, scorers=scorers)), former.run, fixtures)
    return msgspec.structs.replace(
        result,
        runs=former.runs,
        cassette=former.cassette,
        played=former.played,
        started_at=former.started_at,
        duration_s=former.duration_s,
    )


def _without_workspace(scorers: Sequence[Scorer], recorded: Sequence[Score]) -> Iterator[Scorer]:
    """The scorers, those that ask for the workspace replaced by what they said while it was there."""
    known: Counter[str] = Counter()
    for scorer in scorers:
        name = name_of(scorer)
        said = [score for score in recorded if score.name == name][known[name] :]
        known[name] += 1
        yield _as_recorded(said[0]) if said and "workspace" in Asks.of(scorer).required else scorer


def _as_recorded(score: Score) -> Scorer:
    def repeat() -> Score:
        return msgspec.structs.replace(
            score, reason=f"{score.reason} (as recorded: the workspace is gone)".lstrip()
        )

    return repeat


def changes(before: Mapping[str, CaseResult], after: Sequence[CaseResult]) -> Iterator[str]:
    """What is no longer as it was, a line each; and what could not be scored again."""
    quiet = True
    for result in after:
        for line in _change(before.get(result.node_id), result):
            quiet = False
            yield line
    gone = before.keys() - {result.node_id for result in after}
    for node_id in sorted(gone):
        yield f"{node_id}: is no longer in its file"
    if quiet and not gone:
        yield "every score is as it was"


def _change(former: CaseResult | None, result: CaseResult) -> Iterator[str]:
    if former is None:
        return
    if former.verdict != result.verdict:
        yield f"{result.title}: {former.verdict} → {result.verdict}"
    was = {score.name: score.value for score in former.scores}
    now = {score.name: score.value for score in result.scores}
    for name in {**was, **now}:
        if was.get(name) != now.get(name):
            yield f"{result.title}: {name} {_shown(was.get(name))} → {_shown(now.get(name))}"


def _shown(value: float | None) -> str:
    return "(none)" if value is None else f"{value:.2f}"


def _key(trial: Trial) -> CaseKey:
    return CaseKey(trial.file, trial.suite.name, trial.case.name, trial.variant)
