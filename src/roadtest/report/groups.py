"""Trials gathered into cases, cases into suites: what summaries count."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

from roadtest.results import CaseKey, CaseResult
from roadtest.statistics import (
    Comparison,
    PassIf,
    Spread,
    Tally,
    Verdict,
    case_verdict,
    compare_paired,
    compare_rates,
    pass_at_k,
    pass_hat_k,
)


@dataclass(frozen=True)
class CaseGroup:
    """All trials of one case under one variant."""

    key: CaseKey
    results: Sequence[CaseResult]

    @property
    def planned(self) -> int:
        return max(result.trials for result in self.results)

    @cached_property
    def tally(self) -> Tally:
        return Tally.of(result.verdict for result in self.results)

    @cached_property
    def verdict(self) -> Verdict:
        verdicts = [result.verdict for result in self.results]
        return case_verdict(verdicts, PassIf.parse(self.results[0].pass_if), self.planned)


@dataclass(frozen=True)
class Suite:
    """All cases of a suite, or those of one variant of it."""

    file: str
    name: str
    variant: str
    cases: Sequence[CaseGroup]

    @property
    def results(self) -> list[CaseResult]:
        return [result for case in self.cases for result in case.results]

    @cached_property
    def tally(self) -> Tally:
        """Of the cases, each counted once."""
        return Tally.of(case.verdict for case in self.cases)

    @cached_property
    def trial_tally(self) -> Tally:
        return Tally.of(result.verdict for result in self.results)

    @property
    def flaky(self) -> list[CaseGroup]:
        return [case for case in self.cases if case.tally.flaky]

    @property
    def repeated(self) -> bool:
        return any(case.planned > 1 for case in self.cases)

    @property
    def cost_usd(self) -> float:
        return sum(result.cost_usd for result in self.results)

    @property
    def duration_s(self) -> float:
        return sum(result.duration_s for result in self.results)

    def tries(self) -> int:
        """The most tries that can be estimated for every case: the ``k`` of pass@k and pass^k."""
        return min((case.tally.scored for case in self.cases if case.tally.scored), default=0)

    def pass_at(self, k: int) -> float:
        return fmean(pass_at_k(case.tally.scored, case.tally.passed, k) for case in self._estimable(k))

    def pass_hat(self, k: int) -> float:
        return fmean(pass_hat_k(case.tally.scored, case.tally.passed, k) for case in self._estimable(k))

    def _estimable(self, k: int) -> list[CaseGroup]:
        return [case for case in self.cases if case.tally.scored >= k]

    def scores(self) -> dict[str, Spread]:
        """Mean and spread of each scorer over all trials that were scored."""
        values: dict[str, list[float]] = defaultdict(list)
        for result in self.results:
            for score in result.scores:
                values[score.name].append(score.value)
        return {name: spread for name, known in values.items() if (spread := Spread.of(known))}


@dataclass(frozen=True)
class Contrast:
    """A variant against the first one: what it changes in pass rate, scores, cost and time per trial."""

    first: Suite
    second: Suite

    @property
    def rate(self) -> Comparison | None:
        return compare_rates(self.first.trial_tally, self.second.trial_tally)

    def scores(self) -> dict[str, Comparison]:
        """By scorer, the mean difference between the same case and trial under both variants."""
        pairs: dict[str, list[tuple[float, float]]] = defaultdict(list)
        before = {(result.case, result.trial): result for result in self.first.results}
        for after in self.second.results:
            known = before.get((after.case, after.trial))
            named = {score.name: score.value for score in known.scores} if known else {}
            for score in after.scores:
                if score.name in named:
                    pairs[score.name].append((named[score.name], score.value))
        compared = {name: compare_paired(*zip(*both, strict=True)) for name, both in pairs.items()}
        return {name: comparison for name, comparison in compared.items() if comparison}

    @property
    def cost_factor(self) -> float | None:
        return _ratio(
            _per_trial(self.second.cost_usd, self.second), _per_trial(self.first.cost_usd, self.first)
        )

    @property
    def time_factor(self) -> float | None:
        return _ratio(
            _per_trial(self.second.duration_s, self.second), _per_trial(self.first.duration_s, self.first)
        )


def _per_trial(total: float, suite: Suite) -> float:
    return total / len(suite.results)


def _ratio(value: float, base: float) -> float | None:
    return value / base if base else None


def in_order(results: Iterable[CaseResult]) -> list[CaseResult]:
    """By start, which is the order of the eval file; a record has them as they finished."""
    return sorted(results, key=lambda result: result.started_at)


def suites_of(results: Iterable[CaseResult]) -> list[Suite]:
    """Suites by variant, in the order in which they started."""
    trials: dict[CaseKey, list[CaseResult]] = defaultdict(list)
    for result in in_order(results):
        trials[result.key].append(result)
    members: dict[tuple[str, str, str], list[CaseGroup]] = defaultdict(list)
    for key, known in trials.items():
        members[key.file, key.suite, key.variant].append(
            CaseGroup(key, sorted(known, key=lambda result: result.trial))
        )
    order = {
        name: place for place, name in enumerate(dict.fromkeys((file, suite) for file, suite, _ in members))
    }
    return [
        Suite(file, name, variant, cases)
        for (file, name, variant), cases in sorted(members.items(), key=lambda item: order[item[0][:2]])
    ]


def contrasts(suites: Sequence[Suite]) -> list[Contrast]:
    """Each later variant of a suite against its first one."""
    firsts: dict[tuple[str, str], Suite] = {}
    found = []
    for suite in suites:
        first = firsts.setdefault((suite.file, suite.name), suite)
        if suite is not first:
            found.append(Contrast(first, suite))
    return found
