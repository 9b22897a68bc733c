"""pytest's view of suites: a collector for each ``describe_eval``, an item for each case, variant and trial.

An item is a ``pytest.Function`` whose arguments are the fixtures that the task and the scorers ask for, so marks, fixtures
and other plugins meet what they know.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from roadtest.errors import RoadtestError, UsageError
from roadtest.evals import Suite
from roadtest.evals.cases import Case, slug
from roadtest.evals.trial import Trial
from roadtest.plugin.session import EvalSession, Group
from roadtest.results import CaseResult


class SuiteCollector(pytest.Collector):
    def __init__(self, *, suite: Suite, session_of_evals: EvalSession, **options: Any) -> None:
        super().__init__(**options)
        self.suite = suite
        self.evals = session_of_evals

    def collect(self) -> Iterator[EvalItem]:
        try:
            yield from self._items()
        except RoadtestError as problem:
            raise self.CollectError(str(problem)) from None

    def _items(self) -> Iterator[EvalItem]:
        suite = self.suite
        suite.check()
        trials, pass_if = suite.plan(self.evals.settings.trials)
        fixtures = suite.fixtures(self._has_fixture)
        _mark(self, suite.tags, suite.marks)
        if reason := suite.skip_reason():
            self.add_marker(pytest.mark.skip(reason=reason))
        for case in suite.cases():
            if suite.records(case):
                self.evals.claim_cassettes(suite.cassettes, self.nodeid)
            for variant in suite.variants or ("",):
                group = self.evals.group((self.nodeid, case.name, variant), trials, pass_if)
                for number in range(1, trials.max + 1):
                    yield self._item(case, variant, number, group, fixtures)

    def _item(self, case: Case, variant: str, number: int, group: Group, fixtures: Sequence[str]) -> EvalItem:
        settings, of = self.evals.settings, group.trials.max
        ids = [*([variant] if variant else []), *([f"trial-{number}"] if of > 1 else [])]
        name = f"{case.name}[{'-'.join(ids)}]" if ids else case.name
        trial = Trial(
            suite=self.suite,
            case=case,
            node_id=f"{self.nodeid}::{name}",
            file=_relative(self.path, settings.root),
            variant=variant,
            number=number,
            of=of,
            pass_if=group.pass_if,
            model=settings.agent_model,
            llm_judge=settings.llm_judge,
        )
        item = EvalItem.from_parent(
            self,
            name=name,
            callobj=_asking_for(fixtures),
            trial=trial,
            group=group,
            session_of_evals=self.evals,
        )
        item.test_id = self.evals.unique_test_id(
            ".".join(slug(part) for part in (self.suite.name, case.name, *ids))
        )
        _mark(item, case.tags, case.marks)
        return item

    def _has_fixture(self, name: str) -> bool:
        if name == "request":
            return True
        return bool(self.session._fixturemanager.getfixturedefs(name, self))  # noqa: SLF001 - no public way to ask

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, self.suite.line - 1, self.suite.name


class EvalItem(pytest.Function):
    """One trial of one case."""

    test_id: str

    def __init__(self, *, trial: Trial, group: Group, session_of_evals: EvalSession, **options: Any) -> None:
        super().__init__(**options)
        self.trial = trial
        self.group = group
        self.evals = session_of_evals
        self.result: CaseResult | None = None

    def runtest(self) -> None:
        """Report a verdict that was reached before; see ``scheduling`` for when the trial really ran."""
        if self.result is None:
            pytest.fail("the trial was never run, so that nothing is known about it", pytrace=False)
        if self.result.verdict == "passed":
            return
        if self.group.joint and self.group.decision != "failed":
            pytest.xfail(f"tolerated: {self.group}")
        pytest.fail(self.result.reason, pytrace=False)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, self.trial.suite.line - 1, f"{self.trial.suite.name}::{self.name}"


def _asking_for(fixtures: Sequence[str]) -> Callable[..., None]:
    """A function that pytest takes for a test with these arguments."""

    def case(**_fixtures: Any) -> None: ...

    parameters = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in fixtures]
    case.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return case


def _mark(node: pytest.Collector | pytest.Item, tags: Sequence[str], marks: Sequence[Any]) -> None:
    for tag in tags:
        _declare(tag, node.config)
        node.add_marker(tag)
    for mark in marks:
        node.add_marker(mark)


def _declare(tag: str, config: pytest.Config) -> None:
    """A tag is declared by using it; otherwise --strict-markers would ask for each in the ini file."""
    if not re.fullmatch(r"[^\W\d_][\w.-]*", tag):
        raise UsageError(
            f"The tag {tag!r} cannot be a pytest marker.", hint="use letters, digits, '_', '-' and '.'"
        )
    line = f"{tag}: a tag of evals"
    if line not in config.getini("markers"):
        config.addinivalue_line("markers", line)


def _relative(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
