"""What several trials of a case say together: pure arithmetic, all intervals at 95 %.

Only trials that passed or failed count. An invalid or broken trial proves nothing: it is neither a pass nor a
fail, and a case whose question it leaves open is itself invalid.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean, stdev
from typing import Literal

from roadtest.errors import UsageError

Verdict = Literal["passed", "failed", "invalid", "error"]
Decision = Literal["passed", "failed", "open"]

_Z = 1.959963984540054
_T = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
"""Student's t at 97.5 % for 1 to 30 degrees of freedom; beyond, the normal distribution is near enough."""


@dataclass(frozen=True)
class Interval:
    low: float
    high: float

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


@dataclass(frozen=True)
class Spread:
    """How a score, a cost or a time was distributed; ``deviation`` is the sample's, 0 for a single value."""

    count: int
    mean: float
    deviation: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread | None:
        """None when there is nothing to describe."""
        known = list(values)
        if not known:
            return None
        return cls(len(known), fmean(known), stdev(known) if len(known) > 1 else 0.0, min(known), max(known))


@dataclass(frozen=True)
class Tally:
    """How many trials ended which way."""

    passed: int = 0
    failed: int = 0
    invalid: int = 0
    error: int = 0

    @classmethod
    def of(cls, verdicts: Iterable[Verdict]) -> Tally:
        known = list(verdicts)
        return cls(*(known.count(name) for name in ("passed", "failed", "invalid", "error")))

    @property
    def scored(self) -> int:
        return self.passed + self.failed

    @property
    def total(self) -> int:
        return self.scored + self.invalid + self.error

    @property
    def rate(self) -> float | None:
        """The share of passes among the trials that say something."""
        return self.passed / self.scored if self.scored else None

    @property
    def interval(self) -> Interval:
        return wilson(self.passed, self.scored)

    @property
    def flaky(self) -> bool:
        """The same case both passed and failed."""
        return self.passed > 0 and self.failed > 0


def wilson(passes: int, trials: int, looks: int = 1) -> Interval:
    """Where the true pass rate lies, by Wilson's score interval; all of 0..1 when nothing was tried.

    Who looks several times while trials come in, and stops when he likes what he sees, is wrong more often than once in
    twenty. ``looks`` widens the interval so that all looks together are not (Bonferroni's correction).
    """
    if trials == 0:
        return Interval(0.0, 1.0)
    z = _Z if looks == 1 else NormalDist().inv_cdf(1 - 0.025 / looks)
    rate, z2 = passes / trials, z * z
    centre = (rate + z2 / (2 * trials)) / (1 + z2 / trials)
    half = z / (1 + z2 / trials) * math.sqrt(rate * (1 - rate) / trials + z2 / (4 * trials * trials))
    low = 0.0 if passes == 0 else max(0.0, centre - half)
    return Interval(low, 1.0 if passes == trials else min(1.0, centre + half))


def pass_at_k(trials: int, passes: int, k: int) -> float:
    """The chance that at least one of ``k`` tries passes: the unbiased estimate from ``trials`` of them."""
    return 1.0 - math.comb(trials - passes, k) / math.comb(_enough(trials, k), k)


def pass_hat_k(trials: int, passes: int, k: int) -> float:
    """The chance that all of ``k`` tries pass (pass^k): the unbiased estimate from ``trials`` of them."""
    return math.comb(passes, k) / math.comb(_enough(trials, k), k)


def _enough(trials: int, k: int) -> int:
    if not 1 <= k <= trials:
        raise UsageError(
            f"{k} tries cannot be estimated from {trials} trials.", hint=f"use k from 1 to {trials}"
        )
    return trials


@dataclass(frozen=True)
class Trials:
    """How often a case is tried: ``max`` times, or fewer where the outcome settles earlier."""

    max: int
    stop_when_decided: bool = False

    def __post_init__(self) -> None:
        if self.max < 1:
            raise UsageError(
                f"A case is tried at least once, not {self.max} times.", hint="set trials to 1 or more"
            )


@dataclass(frozen=True)
class PassIf:
    """When a case with several trials passes; ``str()`` and ``parse`` are each other's inverse.

    - ``"all"``: every trial passes (the default);
    - a whole number, or ``"at least 3"``: so many trials pass;
    - a fraction, or ``"rate 0.8"``: so large a share of the trials passes.
    """

    count: int | None = None
    rate: float | None = None

    @classmethod
    def parse(cls, rule: str | float | PassIf) -> PassIf:
        if isinstance(rule, PassIf):
            return rule
        match rule:
            case "all":
                return cls()
            case bool():
                pass
            case int() if rule >= 1:
                return cls(count=rule)
            case float() if 0 < rule <= 1:
                return cls(rate=rule)
            case str() if found := re.fullmatch(r"at least ([1-9]\d*)", rule):
                return cls(count=int(found[1]))
            case str() if found := re.fullmatch(r"rate (\d+(?:\.\d+)?(?:e-\d+)?)", rule):
                return cls.parse(float(found[1]))
        raise UsageError(
            f"pass_if={rule!r} is no rule for when a case passes.",
            hint='use "all", a number of trials such as 2, or a share such as 0.8',
        )

    def __str__(self) -> str:
        if self.count is not None:
            return f"at least {self.count}"
        return "all" if self.rate is None else f"rate {self.rate!r}"

    def needed(self, trials: int) -> int:
        """How many of this many trials must pass."""
        if self.count is not None:
            return self.count
        return trials if self.rate is None else math.ceil(self.rate * trials - 1e-9)

    def decide(self, passed: int, failed: int, planned: int) -> Decision:
        """What is certain already, whatever the trials that are still open will say."""
        needed = self.needed(planned)
        if passed >= needed:
            return "passed"
        return "failed" if failed > planned - needed else "open"

    def decide_early(self, passed: int, failed: int, planned: int) -> Decision:
        """As ``decide``; a rate is also settled when the whole interval lies on one side of it."""
        certain = self.decide(passed, failed, planned)
        if certain != "open" or self.rate is None or passed + failed == 0:
            return certain
        interval = wilson(passed, passed + failed, looks=planned)
        if interval.high < self.rate:
            return "failed"
        return "passed" if interval.low >= self.rate else "open"


def decided(verdicts: Sequence[Verdict], trials: Trials, pass_if: PassIf) -> bool:
    """Is another trial of this case of no use?"""
    if len(verdicts) >= trials.max:
        return True
    tally = Tally.of(verdicts)
    return trials.stop_when_decided and pass_if.decide_early(tally.passed, tally.failed, trials.max) != "open"


def case_verdict(verdicts: Sequence[Verdict], pass_if: PassIf, planned: int) -> Verdict:
    """What the trials of a case say together.

    An error in any trial is an error of the case. Otherwise invalid trials, and those that never ran, are
    taken for passes and for fails in turn: where both give the same answer it stands, else the case is
    invalid. A case that was stopped early because its interval had settled keeps that answer.
    """
    tally = Tally.of(verdicts)
    if tally.error:
        return "error"
    decision = pass_if.decide(tally.passed, tally.failed, planned)
    if decision == "open" and not tally.invalid:
        decision = pass_if.decide_early(tally.passed, tally.failed, planned)
    return "invalid" if decision == "open" else decision


@dataclass(frozen=True)
class Comparison:
    """How much more (or less, when negative) the second has than the first, with its interval."""

    difference: float
    interval: Interval

    @property
    def clear(self) -> bool:
        """Nought is not among the likely differences."""
        return 0.0 not in self.interval


def compare_rates(first: Tally, second: Tally) -> Comparison | None:
    """The difference of two pass rates with Newcombe's interval, which holds for few trials too.

    It takes the two samples for independent; as variants run the same cases, the truth is mostly narrower.
    """
    if first.rate is None or second.rate is None:
        return None
    one, two = first.interval, second.interval
    difference = second.rate - first.rate
    below = math.hypot(second.rate - two.low, one.high - first.rate)
    above = math.hypot(two.high - second.rate, first.rate - one.low)
    return Comparison(difference, Interval(max(-1.0, difference - below), min(1.0, difference + above)))


def compare_paired(first: Sequence[float], second: Sequence[float]) -> Comparison | None:
    """The mean difference of values paired by position, with Student's interval; None below two pairs."""
    differences = [after - before for before, after in zip(first, second, strict=True)]
    spread = Spread.of(differences)
    if spread is None or spread.count == 1:
        return None
    half = student_t(spread.count - 1) * spread.deviation / math.sqrt(spread.count)
    return Comparison(spread.mean, Interval(spread.mean - half, spread.mean + half))


def student_t(freedom: int) -> float:
    return _T[freedom - 1] if freedom <= len(_T) else _Z
