"""What several trials say together, against brute force and the definitions."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations, product
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roadtest.errors import UsageError
from roadtest.statistics import (
    Interval,
    PassIf,
    Spread,
    Tally,
    Trials,
    Verdict,
    case_verdict,
    compare_paired,
    compare_rates,
    decided,
    pass_at_k,
    pass_hat_k,
    student_t,
    wilson,
)

Z = 1.959963984540054
verdicts = st.sampled_from(get_args(Verdict))
rules = st.one_of(
    st.just(PassIf()),
    st.integers(1, 12).map(lambda count: PassIf(count=count)),
    st.floats(0.01, 1.0).map(lambda rate: PassIf(rate=rate)),
)
counts = st.integers(0, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(counts)
def test_wilson_solves_the_score_equation(sample: tuple[int, int]) -> None:
    """Both ends of the interval lie exactly 1.96 standard errors from the observed rate."""
    passes, trials = sample
    if not trials:
        assert wilson(0, 0) == Interval(0.0, 1.0)
        return
    interval, rate = wilson(passes, trials), passes / trials
    for end in (interval.low, interval.high):
        if 0 < end < 1:
            assert (rate - end) ** 2 == pytest.approx(Z * Z * end * (1 - end) / trials, abs=1e-12)
    assert rate in interval


@given(counts)
def test_wilson_treats_passes_and_fails_alike(sample: tuple[int, int]) -> None:
    """The interval of the failures is the mirror image of that of the passes."""
    passes, trials = sample
    one, other = wilson(passes, trials), wilson(trials - passes, trials)
    assert (one.low, one.high) == pytest.approx((1 - other.high, 1 - other.low))


def test_wilson_gives_published_values() -> None:
    """81 of 263 gives 0.2553 to 0.3662, as in Newcombe's comparison of methods (1998)."""
    interval = wilson(81, 263)
    assert (interval.low, interval.high) == pytest.approx((0.2553, 0.3662), abs=5e-5)


@given(st.integers(1, 8).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_pass_at_k_and_pass_hat_k_count_all_choices(sample: tuple[int, int, int]) -> None:
    """Both estimates are the share of all choices of k trials in which any passes, or all do."""
    trials, passes, k = sample
    outcomes = [index < passes for index in range(trials)]
    choices = list(combinations(outcomes, k))
    assert pass_at_k(trials, passes, k) == pytest.approx(sum(map(any, choices)) / len(choices))
    assert pass_hat_k(trials, passes, k) == pytest.approx(sum(map(all, choices)) / len(choices))


@pytest.mark.parametrize("estimate", [pass_at_k, pass_hat_k])
def test_more_tries_than_trials_cannot_be_estimated(estimate: Callable[[int, int, int], float]) -> None:
    """Asking for pass@5 of three trials is an error that names the largest k."""
    with pytest.raises(UsageError, match="use k from 1 to 3"):
        estimate(3, 2, 5)


@given(rules, st.integers(0, 8), st.integers(0, 8), st.integers(0, 4))
def test_a_decision_holds_whatever_the_open_trials_say(
    rule: PassIf, passed: int, failed: int, waiting: int
) -> None:
    """``decide`` says passed or failed exactly when every way to go on ends so."""
    planned = passed + failed + waiting
    ends = {passed + sum(rest) >= rule.needed(planned) for rest in product((0, 1), repeat=waiting)}
    expected = {frozenset({True}): "passed", frozenset({False}): "failed"}.get(frozenset(ends), "open")
    assert rule.decide(passed, failed, planned) == expected


@given(rules, st.lists(verdicts, max_size=6), st.integers(0, 3))
def test_an_invalid_trial_is_neither_a_pass_nor_a_fail(
    rule: PassIf, seen: list[Verdict], missing: int
) -> None:
    """A case passes or fails only if it does so whatever its invalid trials might have been."""
    planned = len(seen) + missing
    verdict = case_verdict(seen, rule, planned)
    tally = Tally.of(seen)
    if tally.error:
        assert verdict == "error"
    elif tally.invalid:
        unknown = planned - tally.scored
        ends = {tally.passed + extra >= rule.needed(planned) for extra in range(unknown + 1)}
        assert verdict == ("invalid" if len(ends) > 1 else "passed" if ends == {True} else "failed")


@given(rules.filter(lambda rule: rule.rate is None), st.lists(st.booleans(), min_size=10, max_size=10))
def test_stopping_early_never_changes_a_count(rule: PassIf, outcomes: list[bool]) -> None:
    """For "all" and "at least k" the early answer is the one that all trials would have given."""
    seen: list[Verdict] = []
    full: list[Verdict] = ["passed" if outcome else "failed" for outcome in outcomes]
    while not decided(seen, Trials(10, stop_when_decided=True), rule):
        seen.append(full[len(seen)])
    assert case_verdict(seen, rule, 10) == case_verdict(full, rule, 10)


def test_an_interval_settles_a_rate_early() -> None:
    """Two failures out of two leave no hope for 80 % although eight trials are still to come."""
    seen: list[Verdict] = ["failed", "failed"]
    rule = PassIf(rate=0.8)
    assert rule.decide(0, 2, 10) == "open"
    assert decided(seen, Trials(10, stop_when_decided=True), rule)
    assert case_verdict(seen, rule, 10) == "failed"


@pytest.mark.parametrize("rate", [0.5, 0.8, 0.9])
@pytest.mark.parametrize("truth", [0.3, 0.5, 0.7, 0.8, 0.9, 0.95])
def test_stopping_early_seldom_changes_a_rate(rate: float, truth: float) -> None:
    """Over all ways that ten trials can end, the early answer differs from the late one in at most 5 %."""
    trials, rule = Trials(10, stop_when_decided=True), PassIf(rate=rate)
    differing = 0.0
    for outcomes in product((True, False), repeat=trials.max):
        full: list[Verdict] = ["passed" if outcome else "failed" for outcome in outcomes]
        seen = next(full[:count] for count in range(trials.max + 1) if decided(full[:count], trials, rule))
        if case_verdict(seen, rule, trials.max) != case_verdict(full, rule, trials.max):
            differing += math.prod(truth if outcome else 1 - truth for outcome in outcomes)
    assert differing <= 0.05


def test_looking_often_asks_for_more() -> None:
    """An interval that is looked at ten times is wider, so that one bad start does not settle a case."""
    assert wilson(0, 1).high < 0.8 < wilson(0, 1, looks=10).high
    assert not decided(["failed"], Trials(10, stop_when_decided=True), PassIf(rate=0.8))


def test_trials_run_to_the_end_unless_told_otherwise() -> None:
    """Without ``stop_when_decided`` a settled case goes on, so that its rate is known."""
    assert not decided(["failed"], Trials(3), PassIf())
    assert decided(["failed"], Trials(3, stop_when_decided=True), PassIf())
    assert decided(["failed"] * 3, Trials(3), PassIf())


@given(rules)
def test_a_rule_is_read_back_from_its_text(rule: PassIf) -> None:
    """``parse`` undoes ``str``, so that the record can keep the rule as text."""
    assert PassIf.parse(str(rule)) == rule


@pytest.mark.parametrize(
    ("given_rule", "text"),
    [
        ("all", "all"),
        (2, "at least 2"),
        (0.8, "rate 0.8"),
        (1.0, "rate 1.0"),
        (PassIf(count=3), "at least 3"),
    ],
)
def test_a_rule_is_a_word_a_count_or_a_share(given_rule: Any, text: str) -> None:
    """``pass_if`` takes "all", a whole number of trials or a fraction of them."""
    assert str(PassIf.parse(given_rule)) == text


@pytest.mark.parametrize("rule", ["most", 0, -1, 0.0, 1.5, True, "rate 7", "at least 0", "rate ..", None])
def test_a_senseless_rule_is_refused(rule: Any) -> None:
    """Anything else is an error that lists what can be given."""
    with pytest.raises(UsageError, match="pass_if"):
        PassIf.parse(rule)


def test_a_share_of_few_trials_is_rounded_up() -> None:
    """80 % of three trials are three of them; rounding errors do not ask for one more than 70 % of ten."""
    assert PassIf(rate=0.8).needed(3) == 3
    assert PassIf(rate=0.7).needed(10) == 7


def test_a_case_is_tried_at_least_once() -> None:
    """``Trials(0)`` is an error."""
    with pytest.raises(UsageError, match="at least once"):
        Trials(0)


@given(st.lists(verdicts))
def test_flaky_means_both_passed_and_failed(seen: list[Verdict]) -> None:
    """An invalid trial makes no case flaky."""
    assert Tally.of(seen).flaky == ({"passed", "failed"} <= set(seen))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_a_spread_describes_its_values(values: list[float]) -> None:
    """Mean and deviation follow their definitions; a single value has no deviation."""
    spread = Spread.of(values)
    assert spread is not None
    mean = sum(values) / len(values)
    squares = sum((value - mean) ** 2 for value in values)
    assert spread.mean == pytest.approx(mean)
    assert spread.deviation == pytest.approx(math.sqrt(squares / max(1, len(values) - 1)), abs=1e-9)
    assert spread.low <= spread.mean + 1e-12
    assert spread.high >= spread.mean - 1e-12


def test_nothing_has_no_spread() -> None:
    """No values, no mean: not a zero."""
    assert Spread.of([]) is None
    assert Tally.of(["invalid"]).rate is None


@given(st.tuples(st.integers(0, 30), st.integers(0, 30)), st.tuples(st.integers(0, 30), st.integers(0, 30)))
def test_a_comparison_turns_round_with_its_sides(first: tuple[int, int], second: tuple[int, int]) -> None:
    """B against A is A against B with the signs changed, and the difference lies in its interval."""
    one, two = Tally(*first), Tally(*second)
    forth, back = compare_rates(one, two), compare_rates(two, one)
    if forth is None or back is None:
        assert not one.scored or not two.scored
        return
    assert forth.difference == pytest.approx(-back.difference)
    assert (forth.interval.low, forth.interval.high) == pytest.approx(
        (-back.interval.high, -back.interval.low)
    )
    assert forth.interval.low - 1e-12 <= forth.difference <= forth.interval.high + 1e-12


def test_a_comparison_gives_published_values() -> None:
    """56/70 against 48/80 differ by 0.2 (0.0524 to 0.3339), as in Newcombe's paper on differences (1998)."""
    comparison = compare_rates(Tally(48, 32), Tally(56, 14))
    assert comparison is not None
    found = (comparison.difference, comparison.interval.low, comparison.interval.high)
    assert found == pytest.approx((0.2, 0.0524, 0.3339), abs=5e-5)
    assert comparison.clear


def test_pairs_are_compared_pair_by_pair() -> None:
    """A gain that is the same in every pair is clear however much the pairs differ among themselves."""
    comparison = compare_paired([0.1, 0.5, 0.9], [0.2, 0.6, 1.0])
    assert comparison is not None
    assert comparison.difference == pytest.approx(0.1)
    assert comparison.clear
    assert compare_paired([0.1], [0.9]) is None


@pytest.mark.parametrize("freedom", [1, 2, 3, 7, 15, 29, 30])
def test_students_quantiles_leave_five_per_cent(freedom: int) -> None:
    """Between minus and plus the tabled value lie 95 % of Student's distribution, by numeric integration."""
    scale = math.gamma((freedom + 1) / 2) / (math.sqrt(freedom * math.pi) * math.gamma(freedom / 2))

    def density(value: float) -> float:
        return scale * math.pow(1 + value * value / freedom, -(freedom + 1) / 2)

    steps, end = 20_000, student_t(freedom)
    width = end / steps
    inside = sum(density((index + 0.5) * width) for index in range(steps)) * width * 2
    assert inside == pytest.approx(0.95, abs=1e-4)


def test_many_degrees_of_freedom_are_normal() -> None:
    """Beyond the table the normal distribution is used."""
    assert student_t(31) == pytest.approx(Z)
