"""One trial of one case: run the task, score what came of it, reach a verdict.

Nothing raised by a task or a scorer gets past this module: it becomes a verdict with a reason.
"""

from __future__ import annotations

import math
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import Any

import msgspec
import pytest

from roadtest import capture
from roadtest.calling import Asks, call_by_name, name_of
from roadtest.cases import Case
from roadtest.claude_code import ClaudeCode
from roadtest.errors import EnvironmentProblem, InvalidRun, RoadtestError
from roadtest.evals import TASK_NAMES, Scorer, Suite, Task
from roadtest.isolation import Workspace, open_world
from roadtest.record import now
from roadtest.results import CaseResult, Run, Score
from roadtest.runner import Place, converse
from roadtest.statistics import PassIf, Verdict

_OURS = str(Path(__file__).parent)


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

    @property
    def cassette_name(self) -> str:
        """The cassette's folder as the eval file is named."""
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
            **known,
        )


def run_trial(trial: Trial, place: Place, fixtures: Mapping[str, Any] | None = None) -> CaseResult:
    """Run and score; whatever goes wrong is in the result."""
    started_at, started = now(), monotonic()
    result = _attempt(trial, place, fixtures or {})
    result.started_at = started_at
    result.duration_s = monotonic() - started
    result.folder = place.test_id.partition("/")[2]
    if result.run and result.run.played:
        result.played = result.run.played
        result.cassette = trial.cassette_name if result.played in {"replayed", "recorded"} else ""
    return result


def _attempt(trial: Trial, place: Place, fixtures: Mapping[str, Any]) -> CaseResult:
    runs: list[Run] = []
    passed: list[bool] = []
    keep = bool(place.keep_workspace)
    place = replace(place, keep_workspace=lambda: keep and not any(passed))
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
    broken = problem if isinstance(problem, _Broken) else _Broken("roadtest", problem)
    return {"verdict": "error", "reason": str(broken), "traceback": broken.traceback}


class _Broken(Exception):  # noqa: N818 - it is caught where it was thrown, and nobody else sees it
    """Code of the user raised; keeps the traceback from where their code begins."""

    def __init__(self, who: str, problem: BaseException) -> None:
        super().__init__(f"{who} raised {type(problem).__name__}: {problem}")
        theirs = problem.__traceback__
        while theirs and theirs.tb_frame.f_code.co_filename.startswith(_OURS):
            theirs = theirs.tb_next
        self.traceback = "".join(traceback.format_exception(type(problem), problem, theirs))


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
        raise _Broken(f"the scorer {name}", problem) from problem
    return _as_score(answer, name)


def _as_score(answer: Any, name: str) -> Score:
    if isinstance(answer, Score):
        return msgspec.structs.replace(answer, name=answer.name or name)
    if isinstance(answer, bool | int | float) and 0 <= answer <= 1 and not math.isnan(answer):
        return Score(float(answer), name=name)
    raise _Broken(
        f"the scorer {name}",
        TypeError(f"it returned {answer!r}, not a Score, a number from 0 to 1 or a bool"),
    )


@contextmanager
def _performed(trial: Trial, place: Place, fixtures: Mapping[str, Any]) -> Iterator[Run]:
    """The run of the task, while its workspace is still there."""
    task = trial.task
    if isinstance(task, ClaudeCode):
        with converse(task, replace(place, cassette=trial.cassette)) as conversation:
            yield conversation.send(trial.case.input)
    else:
        with _custom(task, trial, place, fixtures) as run:
            yield run


@contextmanager
def _custom(
    task: Callable[..., Any], trial: Trial, place: Place, fixtures: Mapping[str, Any]
) -> Iterator[Run]:
    asks = Asks.of(task)
    values = {**fixtures, "input": trial.case.input, "case": trial.case, "variant": trial.variant}
    leading = () if asks.first in TASK_NAMES or not asks.first else (trial.case.input,)
    if not {"workspace", "env"} & {*asks.required, *asks.optional}:
        yield _called(task, values, leading, trial, place)
        return
    world = open_world(
        Workspace.empty(),
        base=place.base,
        test_id=place.test_id,
        output_dir=place.output_dir,
        keep=place.keep_workspace,
        env={},
        pass_env=(),
    )
    with world as opened:
        values |= {"workspace": opened.path, "env": opened.environment()}
        run = _called(task, values, leading, trial, place)
        run.workspace = run.workspace or opened.path
        changes = opened.changes()
        run.diff = run.diff or changes.diff
        if run.changed_files is None:
            run.changed_files = list(changes.files)
        yield _with_captured_calls(run, place)


def _called(
    task: Callable[..., Any], values: Mapping[str, Any], leading: Sequence[Any], trial: Trial, place: Place
) -> Run:
    started = monotonic()
    outcome = _Outcome()
    thread = threading.Thread(
        target=outcome.of,
        args=(lambda: call_by_name(task, values, *leading),),
        name="roadtest-task",
        daemon=True,
    )
    thread.start()
    if not outcome.within(trial.suite.timeout, place):
        return Run(timed_out=True, duration_s=monotonic() - started, test_id=place.test_id)
    answer = outcome.value(f"the task {name_of(task)}")
    run = answer if isinstance(answer, Run) else Run(output=answer) if isinstance(answer, str) else None
    if run is None:
        raise _Broken(f"the task {name_of(task)}", TypeError(f"it returned {answer!r}, not a text or a Run"))
    return msgspec.structs.replace(
        run, duration_s=run.duration_s or monotonic() - started, test_id=run.test_id or place.test_id
    )


class _Outcome:
    """What a thread came to. Python cannot end a thread, so one that takes too long is left alone instead."""

    def __init__(self) -> None:
        self._settled = threading.Event()
        self._finished = False
        self._value: Any = None
        self._problem: BaseException | None = None

    def of(self, function: Callable[[], Any]) -> None:
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
            raise _Broken(who, self._problem) from self._problem
        return self._value


def _with_captured_calls(run: Run, place: Place) -> Run:
    """A task that started Claude Code with the given environment may have had its calls captured."""
    captured = capture.read(place.capture_folder)
    if len(run.trajectory) or not captured.active:
        return run
    sessions = [event.session_id for event in captured.lifecycle]
    sessions += [event.session_id for event in captured.events]
    return msgspec.structs.replace(
        run, trajectory=captured.trajectory, session_id=run.session_id or next(filter(None, sessions), "")
    )
