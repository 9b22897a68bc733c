"""One trial of one case: run the task, score what came of it, reach a verdict.

Nothing raised by a task or a scorer gets past this module: it becomes a verdict with a reason.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import Any

import msgspec

from roadtest.calling import call_by_name, name_of
from roadtest.claude_code import ClaudeCode
from roadtest.errors import EnvironmentProblem, InvalidRun, RoadtestError
from roadtest.evals.cases import Case
from roadtest.evals.custom_tasks import Broken, perform
from roadtest.evals.suite import Scorer, Suite, Task
from roadtest.place import Place
from roadtest.record import now
from roadtest.results import CaseResult, Run, Score
from roadtest.runner import converse
from roadtest.statistics import PassIf, Verdict


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What is to be run: everything that is known before it starts."""

    suite: Suite
    case: Case
    node_id: str
    file: str = ""
    variant: str = ""
    number: int = 1
    of: int = 1
    pass_if: PassIf = field(default_factory=PassIf)
    model: str | None = None
    llm_judge: bool = False

    @property
    def task(self) -> Task:
        return self.suite.task_for(self.case, self.variant, self.model)

    @property
    def cassette(self) -> Path:
        return self.suite.cassette(self.case, self.variant, self.number if self.of > 1 else None)

    def _shown_cassette(self) -> str:
        """The folder of the recording as people would write it; empty where there is none by design."""
        if not self.suite.records(self.case):
            return ""
        return (Path(self.file).parent / self.cassette.relative_to(self.suite.file.parent)).as_posix()

    def result(self, verdict: Verdict, **known: Any) -> CaseResult:
        """The record of this trial, with what came of it."""
        return CaseResult(
            suite=self.suite.name,
            case=self.case.name,
            node_id=self.node_id,
            file=self.file,
            trial=self.number,
            trials=self.of,
            pass_if=str(self.pass_if),
            variant=self.variant,
            tags=[*self.suite.tags, *self.case.tags],
            metadata=dict(self.case.metadata),
            input=self.case.input,
            expected=self.case.expected,
            threshold=self.suite.threshold,
            verdict=verdict,
            cassette=self._shown_cassette(),
            **known,
        )


def run_trial(trial: Trial, place: Place, fixtures: Mapping[str, Any] | None = None) -> CaseResult:
    """Run and score; whatever goes wrong is in the result."""
    started_at, started = now(), monotonic()
    result = _attempt(trial, place, fixtures or {})
    result.started_at = started_at
    result.duration_s = monotonic() - started
    result.folder = place.test_id.partition("/")[2]
    result.played = result.run.played if result.run else ""
    return result


def _attempt(trial: Trial, place: Place, fixtures: Mapping[str, Any]) -> CaseResult:
    runs: list[Run] = []
    passed: list[bool] = []
    keep = bool(place.keep_workspace)
    place = replace(place, cassette=trial.cassette, keep_workspace=lambda: keep and not any(passed))
    try:
        with _performed(trial, place, fixtures) as run:
            runs.append(run)
            result = _examine(trial, run, fixtures)
            passed.append(result.verdict == "passed")
            return result
    except Exception as problem:  # noqa: BLE001 - a task may raise anything
        return trial.result(runs=runs, **_blame(problem))


def examine(trial: Trial, run: Run, fixtures: Mapping[str, Any]) -> CaseResult:
    """Score a run that is there already; whatever goes wrong is in the result."""
    try:
        return _examine(trial, run, fixtures)
    except Exception as problem:  # noqa: BLE001 - a scorer may raise anything
        return trial.result(runs=[run], **_blame(problem))


def _examine(trial: Trial, run: Run, fixtures: Mapping[str, Any]) -> CaseResult:
    if run.invalid:
        return trial.result("invalid", reason=run.invalid, runs=[run])
    if run.timed_out:
        return trial.result(
            "failed", reason=f"timed out: it was ended after {run.duration_s:.1f} s", runs=[run]
        )
    scores = score(trial.suite, trial.case, run, fixtures, llm_judge=trial.llm_judge)
    return _judge(trial, scores, run)


def _judge(trial: Trial, scores: list[Score], run: Run) -> CaseResult:
    if not scores:
        reason = "no scorer applied, so nothing was shown\n  → set EVAL_LLM_JUDGE=1 to let judges ask a model"
        return trial.result("invalid", reason=reason, runs=[run])
    low = sorted((one for one in scores if one.value < trial.suite.threshold), key=lambda one: one.value)
    reason = "\n".join(f"{one.name}: {one.reason or f'scored {one.value:g}'}" for one in low)
    return trial.result("failed" if low else "passed", scores=scores, reason=reason, runs=[run])


def _blame(problem: Exception) -> dict[str, Any]:
    """The verdict on a trial that could not be scored."""
    if isinstance(problem, InvalidRun | EnvironmentProblem):
        return {"verdict": "invalid", "reason": str(problem)}
    if isinstance(problem, RoadtestError):
        return {"verdict": "error", "reason": str(problem)}
    broken = problem if isinstance(problem, Broken) else Broken("roadtest", problem)
    return {"verdict": "error", "reason": str(broken), "traceback": broken.traceback}


def score(
    suite: Suite, case: Case, run: Run, fixtures: Mapping[str, Any] | None = None, *, llm_judge: bool = False
) -> list[Score]:
    """What every scorer of the suite says of this run; those that ask a model only where that is allowed."""
    values = {
        **(fixtures or {}),
        "input": case.input,
        "output": run.output,
        "expected": case.expected,
        "trajectory": run.trajectory,
        "run": run,
        "case": case,
        "workspace": run.workspace,
    }
    chosen = [scorer for scorer in suite.scorers if llm_judge or not getattr(scorer, "needs_judge", False)]
    return [_score(scorer, values) for scorer in chosen]


def _score(scorer: Scorer, values: Mapping[str, Any]) -> Score:
    name = name_of(scorer)
    try:
        answer = call_by_name(scorer, values)
    except RoadtestError:
        raise
    except Exception as problem:
        raise Broken(f"the scorer {name}", problem) from problem
    return _as_score(answer, name)


def _as_score(answer: Any, name: str) -> Score:
    if isinstance(answer, Score):
        return msgspec.structs.replace(answer, name=answer.name or name)
    if isinstance(answer, bool | int | float) and 0 <= answer <= 1 and not math.isnan(answer):
        return Score(float(answer), name=name)
    raise Broken(
        f"the scorer {name}",
        TypeError(f"it returned {answer!r}, not a Score, a number from 0 to 1 or a bool"),
    )


@contextmanager
def _performed(trial: Trial, place: Place, fixtures: Mapping[str, Any]) -> Iterator[Run]:
    """The run of the task, while its workspace is still there."""
    task = trial.task
    if isinstance(task, ClaudeCode):
        with converse(task, place) as conversation:
            yield conversation.send(trial.case.input)
        return
    values = {**fixtures, "input": trial.case.input, "case": trial.case, "variant": trial.variant}
    with perform(task, values, place, trial.suite.timeout) as performed:
        yield performed
