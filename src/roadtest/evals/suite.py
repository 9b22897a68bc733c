"""``describe_eval``: cases, a task and scorers under one name; pytest makes an item of each case and trial."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeAlias

from roadtest.calling import Asks, finish, name_of
from roadtest.claude_code import ClaudeCode, first_choice_only
from roadtest.errors import UsageError
from roadtest.evals import datasets
from roadtest.evals.cases import TASK_NAMES, Case, check_name, slug
from roadtest.results import Run
from roadtest.statistics import PassIf, Trials

Data: TypeAlias = Iterable[Case] | str | Path | Callable[[], Iterable[Case] | Awaitable[Iterable[Case]]]
Task: TypeAlias = ClaudeCode | Callable[..., str | Run | Awaitable[str | Run]]
Scorer: TypeAlias = Callable[..., Any]
SkipIf: TypeAlias = bool | str | Callable[[], bool | str] | None

SCORER_NAMES = frozenset({"input", "output", "expected", "trajectory", "run", "case", "workspace"})

_KEY = "describe_eval({!r})"
_TRIAL = re.compile(r"trial-\d+")


@dataclass(frozen=True, kw_only=True)
class Suite:
    """What one ``describe_eval`` says; nothing of it is checked before pytest collects it."""

    name: str
    data: Data
    task: Task
    scorers: Sequence[Scorer]
    threshold: float
    trials: int | Trials
    pass_if: str | float | PassIf
    timeout: float | None
    skip_if: SkipIf
    tags: Sequence[str]
    marks: Sequence[Any]
    variants: Mapping[str, Mapping[str, Any]] | None
    routing_only: bool
    file: Path
    line: int
    repeated: bool = False
    """Another suite of the same file has this name."""

    def skip_reason(self) -> str:
        """Why the whole suite is skipped; empty when it is not."""
        answer = self.skip_if() if callable(self.skip_if) else self.skip_if
        return answer if isinstance(answer, str) else "skip_if is true" if answer else ""

    def cases(self) -> list[Case]:
        """The cases, read and checked; lazy data is evaluated here."""
        data = self.data
        if isinstance(data, str | Path):
            cases = datasets.load(self.file.parent / data)
        else:
            cases = list(finish(data()) if callable(data) else data)
        self._check_cases(cases)
        return cases

    def check(self) -> None:
        """Raise a UsageError about the first thing that cannot be."""
        check_name(self.name, "A suite")
        if self.repeated:
            raise UsageError(
                f"Two suites of this file are called {self.name!r}.", hint="give each a name of its own"
            )
        if not 0 <= self.threshold <= 1:
            raise UsageError(f"threshold={self.threshold!r} is not from 0 to 1.", hint="the default is 0.8")
        if self.routing_only and not isinstance(self.task, ClaudeCode):
            raise UsageError(
                "routing_only=True needs ClaudeCode(...) as the task.", hint="leave routing_only out"
            )
        if not self.scorers:
            raise UsageError(
                "scorers=[] scores nothing, so that every case would pass.", hint="give one at least"
            )
        self.task_for(None, "")
        for name in self.variants or {}:
            check_name(name, "A variant")
            if _TRIAL.fullmatch(name):
                raise UsageError(f"A variant cannot be called {name!r}.", hint="trials are called so")
            self.task_for(None, name)

    def plan(self, trials: int | None = None) -> tuple[Trials, PassIf]:
        """How often each case is tried and when it passes; ``trials`` overrides the number."""
        planned = self.trials if isinstance(self.trials, Trials) else Trials(self.trials)
        if trials is not None:
            planned = replace(planned, max=trials)
        pass_if = PassIf.parse(self.pass_if)
        if pass_if.needed(planned.max) > planned.max:
            raise UsageError(
                f"pass_if={self.pass_if!r} asks for more passes than there are trials ({planned.max}).",
                hint=f"set trials to {pass_if.needed(planned.max)} or more",
            )
        return planned, pass_if

    def fixtures(self, available: Callable[[str], bool]) -> list[str]:
        """The pytest fixtures that the task and the scorers ask for by name."""
        names: dict[str, None] = {}
        if not isinstance(self.task, ClaudeCode):
            names |= dict.fromkeys(_fixtures_of_task(self.task, available))
        for scorer in self.scorers:
            for name in Asks.of(scorer).unknown(SCORER_NAMES):
                if not available(name):
                    raise _unknown_parameter(f"The scorer {name_of(scorer)!r}", name, SCORER_NAMES)
                names[name] = None
        return list(names)

    def task_for(self, case: Case | None, variant: str, model: str | None = None) -> Task:
        """The task with what the variant, ``--agent-model`` and the case change in it, the later over the earlier."""
        if not isinstance(self.task, ClaudeCode):
            return self.task
        overrides = dict((self.variants or {}).get(variant, {}))
        if model is not None:
            overrides.setdefault("model", model)
        task = _adjusted(self.task, {**overrides, **(case.options if case else {})})
        if self.timeout is not None:
            task = replace(task, timeout=min(task.timeout, self.timeout))
        return first_choice_only(task) if self.routing_only else task

    def records(self, case: Case) -> bool:
        """Does this case have a recording of its own?"""
        task = self.task_for(case, "")
        return isinstance(task, ClaudeCode) and task.script is None

    @property
    def cassettes(self) -> Path:
        """The folder of all its recordings, beside the eval file."""
        return self.file.parent / "cassettes" / slug(self.name)

    def cassette(self, case: Case, variant: str, trial: int | None) -> Path:
        """The folder of one trial's recording."""
        parts = [
            slug(case.name),
            *([slug(variant)] if variant else []),
            *([f"trial-{trial}"] if trial else []),
        ]
        return self.cassettes.joinpath(*parts)

    def _check_cases(self, cases: Sequence[Any]) -> None:
        if not cases:
            raise UsageError(
                f"The suite {self.name!r} has no cases, so that it would prove nothing.",
                hint="give it data, or skip it with skip_if",
            )
        seen: dict[str, str] = {}
        for index, case in enumerate(cases):
            if not isinstance(case, Case):
                raise UsageError(f"Case {index} is {case!r}, not a Case.", hint='Case("name", input="...")')
            check_name(case.name, f"Case {index}")
            other = seen.setdefault(slug(case.name), case.name)
            if other != case.name or list(seen).index(slug(case.name)) != index:
                raise _same_name(other, case.name)
            if isinstance(self.task, ClaudeCode) and not isinstance(case.input, str):
                raise UsageError(
                    f"The input of the case {case.name!r} is {case.input!r}; a prompt is a text.",
                    hint='write it as Case("name", input="...")',
                )
            self.task_for(case, "")


def describe_eval(
    name: str,
    *,
    data: Data,
    task: Task,
    scorers: Sequence[Scorer],
    threshold: float = 0.8,
    trials: int | Trials = 1,
    pass_if: str | float | PassIf = "all",  # noqa: S107 - not that kind of pass
    timeout: float | None = None,
    skip_if: SkipIf = None,
    tags: Sequence[str] = (),
    marks: Sequence[Any] = (),
    variants: Mapping[str, Mapping[str, Any]] | None = None,
    routing_only: bool = False,
) -> None:
    """Declare a suite of evals; call it at module level of a file that pytest collects.

    Args:
        name: the suite's part of the node id ``path::name::case``.
        data: cases, a callable or async callable that gives them, or a path to .json, .jsonl or .yaml.
        task: ``ClaudeCode(...)``, or a sync or async callable from input to text or ``Run``. Such a callable may also ask
            for ``case``, ``workspace``, ``env``, ``variant`` or a pytest fixture by name.
        scorers: callables that ask by parameter name for ``input``, ``output``, ``expected``, ``trajectory``, ``run``,
            ``case``, ``workspace`` or a pytest fixture, and return a ``Score``, a number from 0 to 1 or a bool.
        threshold: what every score must reach for the case to pass.
        trials: how often each case runs; ``Trials(max=10, stop_when_decided=True)`` stops early.
        pass_if: when a case with several trials passes: ``"all"``, a number of trials (``2``) or a share (``0.8``).
        timeout: seconds for one run; a run that takes longer is ended and has failed.
        skip_if: skip the suite: a bool, a reason, or a callable that gives either.
        tags: pytest markers on every case.
        marks: pytest marks such as ``pytest.mark.xfail(reason="...")`` on every case.
        variants: run every case once per name, with these fields of ``ClaudeCode`` replaced; ``without`` takes files out
            of the workspace.
        routing_only: stop after the model's first choice of tools, which is denied, and score that choice alone.
    """
    caller = sys._getframe(1)  # noqa: SLF001 - inspect.currentframe is the same with more words
    if caller.f_code.co_name != "<module>":
        raise UsageError(
            f"describe_eval({name!r}) is called inside {caller.f_code.co_name}, where pytest would never see it.",
            hint="call it at module level of a test file; give `data` a callable to make cases late",
        )
    module = caller.f_globals
    key = _KEY.format(name)
    repeated = key in module
    module[f"{key}#{caller.f_lineno}" if repeated else key] = Suite(
        name=name,
        data=data,
        task=task,
        scorers=tuple(scorers),
        threshold=threshold,
        trials=trials,
        pass_if=pass_if,
        timeout=timeout,
        skip_if=skip_if,
        tags=tuple(tags),
        marks=tuple(marks),
        variants=variants,
        routing_only=routing_only,
        file=Path(caller.f_code.co_filename),
        line=caller.f_lineno,
        repeated=repeated,
    )


def _fixtures_of_task(task: Callable[..., Any], available: Callable[[str], bool]) -> Iterator[str]:
    """The first parameter of a task is its input, whatever it is called."""
    asks = Asks.of(task)
    leading = () if asks.first in TASK_NAMES else (asks.first,)
    for name in asks.unknown(TASK_NAMES.union(leading)):
        if not available(name):
            raise _unknown_parameter(f"The task {name_of(task)!r}", name, TASK_NAMES)
        yield name


def _adjusted(task: ClaudeCode, overrides: Mapping[str, Any]) -> ClaudeCode:
    changes = dict(overrides)
    without = changes.pop("without", ())
    known = [item.name for item in fields(ClaudeCode)]
    for name in changes:
        if name not in known:
            raise UsageError(
                f"ClaudeCode has no option {name!r}.{_closest(name, known)}",
                hint=f"its options are {', '.join(known)}",
            )
    task = replace(task, **changes)
    paths = [without] if isinstance(without, str | Path) else list(without)
    return replace(task, workspace=task.workspace.without(map(str, paths))) if paths else task


def _unknown_parameter(who: str, name: str, known: Collection[str]) -> UsageError:
    return UsageError(
        f"{who} asks for {name!r}, which is neither known nor a pytest fixture.{_closest(name, known)}",
        hint=f"it may ask for {', '.join(sorted(known))}, or for any fixture that its file can see",
    )


def _closest(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


def _same_name(first: str, second: str) -> UsageError:
    if first == second:
        return UsageError(
            f"Two cases are called {first!r}.", hint="give each case of a suite a name of its own"
        )
    return UsageError(
        f"The cases {first!r} and {second!r} would share the folder {slug(first)!r}.",
        hint="rename one of them",
    )
