"""What one pytest session keeps about its evals: settings, jobs, verdicts of trials, and the record.

Made when the first suite is collected or the first ``agent`` is asked for; nothing is started or written before something
runs.
"""

from __future__ import annotations

import os
import platform
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from roadtest import __version__
from roadtest.cassette.redact import Redactor
from roadtest.config import Settings
from roadtest.errors import RoadtestError, UsageError
from roadtest.evals.trial import Trial, run_trial
from roadtest.execution import Execution, Stopped
from roadtest.installation import find_claude
from roadtest.place import Place
from roadtest.record import RecordWriter, git_state, now, read_record
from roadtest.results import CaseResult, RecordHeader
from roadtest.statistics import Decision, PassIf, Tally, Trials, Verdict, decided

GroupKey = tuple[str, str, str]


@dataclass
class Group:
    """The trials of one case, judged together as they are reported."""

    trials: Trials
    pass_if: PassIf
    together: bool = False
    """All of them run here, so that one that failed can be tolerated."""
    verdicts: list[Verdict] = field(default_factory=list)

    @property
    def joint(self) -> bool:
        return self.together and (str(self.pass_if) != "all" or self.trials.stop_when_decided)

    @property
    def decided(self) -> bool:
        return (
            self.joint and self.trials.stop_when_decided and decided(self.verdicts, self.trials, self.pass_if)
        )

    @property
    def decision(self) -> Decision:
        tally = Tally.of(self.verdicts)
        decide = self.pass_if.decide_early if self.trials.stop_when_decided else self.pass_if.decide
        return decide(tally.passed, tally.failed, self.trials.max)

    def decider(self) -> Callable[[Sequence[CaseResult]], bool]:
        """Tells whether further results, after those known by now, settle the question."""
        known = list(self.verdicts)
        return lambda results: decided(
            [*known, *(result.verdict for result in results)], self.trials, self.pass_if
        )

    def __str__(self) -> str:
        tally = Tally.of(self.verdicts)
        return (
            f"{tally.passed} of {tally.total} trials passed so far, {self.pass_if} of {self.trials.max} must"
        )


class EvalSession:
    def __init__(
        self, settings: Settings, *, command: Sequence[str] = (), worker: str = "", adopt: bool = False
    ) -> None:
        """``adopt``: other processes wrote what this one only brings together."""
        self.settings = settings
        self._adopt = adopt
        self.worker = worker
        self.results: list[CaseResult] = []
        self.record: Path | None = None
        """Where ``run.json`` is, once the session is over."""
        self.positions: dict[str, int] = {}
        """The place of each item among those selected, by node id."""
        self._command = list(command)
        self.spent = 0.0
        self._groups: dict[GroupKey, Group] = {}
        self._test_ids: set[str] = set()
        self._cassettes: dict[Path, str] = {}
        self._lock = threading.Lock()
        self._former_handler: Any = None

    @cached_property
    def execution(self) -> Execution[str, CaseResult]:
        self._catch_sigterm()
        return Execution(self.settings.agent_jobs, self.add)

    @cached_property
    def writer(self) -> RecordWriter:
        header = RecordHeader(
            run_id=self.settings.run_id,
            started_at=now(),
            root=str(self.settings.root),
            command=self._command,
            settings=self.settings.to_plain(),
            versions={
                "roadtest": __version__,
                "python": platform.python_version(),
                "pytest": pytest.__version__,
            },
            git=git_state(self.settings.root),
        )
        folder = self.settings.output_dir / self.settings.run_id
        return RecordWriter(
            folder, header, redact=self._redactor.redact, worker=self.worker, adopt=self._adopt
        )

    @cached_property
    def _redactor(self) -> Redactor:
        return Redactor(os.environ)

    @cached_property
    def claude(self) -> Path:
        return find_claude(self.settings.claude).path

    @property
    def stopped(self) -> str:
        """Why everything was stopped; empty while it goes on."""
        return self.execution.stopped if "execution" in self.__dict__ else ""

    def place(self, test_id: str, base: Path) -> Place:
        return Place(
            test_id=f"{self.settings.run_id}/{test_id}",
            base=base,
            output_dir=self.settings.output_dir,
            claude=self.claude,
            keep_workspace=self.settings.keep_workspaces,
            cancel=self.execution.cancel,
            cassettes=self.settings.cassettes,
        )

    def unique_test_id(self, wanted: str) -> str:
        """A name for the folder of one run that no other run of the session has."""
        number, test_id = 1, wanted
        while test_id in self._test_ids:
            number += 1
            test_id = f"{wanted}.{number}"
        self._test_ids.add(test_id)
        return test_id

    def claim_cassettes(self, folder: Path, suite: str) -> None:
        """Two suites that recorded into the same folder would overwrite each other."""
        other = self._cassettes.setdefault(folder, suite)
        if other != suite:
            raise UsageError(
                f"{suite} and {other} would share the cassettes in {folder}.", hint="rename one of the suites"
            )

    def group(self, key: GroupKey, trials: Trials, pass_if: PassIf) -> Group:
        return self._groups.setdefault(key, Group(trials, pass_if))

    def job(self, trial: Trial, test_id: str, fixtures: Mapping[str, Any]) -> Callable[[], CaseResult]:
        def run() -> CaseResult:
            try:
                place = self.place(test_id, trial.suite.file.parent)
            except RoadtestError as problem:
                return trial.result("invalid", reason=str(problem), started_at=now())
            result = run_trial(trial, place, fixtures)
            if self.execution.cancel.is_set() and result.verdict == "invalid":
                raise Stopped(f"not run to its end: {self.stopped}")
            return result

        return run

    def add(self, result: CaseResult) -> None:
        """Write down a finished trial, and stop everything once too much has been spent."""
        result.position = self.positions.get(result.node_id, 0)
        with self._lock:
            writer = self.writer
            self.results.append(result)
            if result.played not in ("replayed", "scripted"):
                self.spent += result.cost_usd
        writer.add(result)
        limit = self.settings.max_cost
        if limit is not None and self.spent > limit:
            self.execution.stop(f"--max-cost ${limit:g} is spent: ${self.spent:.4f}")

    def end(self) -> None:
        """End whatever still runs; harmless when it is over."""
        if "execution" in self.__dict__:
            self.execution.close()
        if self._former_handler is not None:
            signal.signal(signal.SIGTERM, self._former_handler)
            self._former_handler = None

    def close(self, exit_status: int) -> None:
        """Make one record of everything."""
        if self._adopt or "writer" in self.__dict__:
            self.record = self.writer.close(exit_status=exit_status) or self.record
        if self.record and self.settings.eval_report:
            self._write_report(self.record.parent, self.settings.root / self.settings.eval_report)

    def _write_report(self, folder: Path, path: Path) -> None:
        from roadtest.report.export import export  # noqa: PLC0415 - only who asks for a report waits for it

        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(export(read_record(folder), path), "utf-8")

    def all_results(self) -> Sequence[CaseResult]:
        """The results of this process, or of all those whose records it brought together."""
        if self._adopt and self.record:
            return read_record(self.record.parent).cases
        return sorted(self.results, key=lambda result: result.position)

    def notes(self) -> list[str]:
        """What to say below the summary."""
        written = {"record": self.record, "report": self.settings.eval_report}
        return [
            f"{what}: {_relative(path, self.settings.root)}"
            for what, path in written.items()
            if path and self.record
        ]

    def _catch_sigterm(self) -> None:
        """Left alone, SIGTERM would end this process and nothing that it started; a handler of the user's stays."""
        if (
            threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        ):
            self._former_handler = signal.signal(signal.SIGTERM, _exit_on_sigterm)


def _exit_on_sigterm(number: int, frame: FrameType | None) -> None:
    pytest.exit("roadtest: terminated", returncode=128 + number)


def _relative(path: Path, root: Path) -> Path:
    return path.relative_to(root) if path.is_relative_to(root) else path
