"""Several scorers make one, and the value can be computed from its reason."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from roadtest import scorers
from roadtest.calling import Asks
from roadtest.errors import UsageError
from roadtest.results import Score
from tests.scoring import score


def fixed(value: Any, name: str = "fixed") -> Callable[..., Any]:
    def scorer(output: str) -> Any:
        return value

    scorer.__name__ = name
    return scorer


def test_combine_is_the_weighted_mean() -> None:
    """The value can be computed from the reason."""
    parts = [fixed(Score(1.0, "good"), "a"), fixed(0.5, "b"), fixed(False, "c")]
    assert score(scorers.combine(*parts)).value == 0.5
    weighed = score(scorers.combine(*parts, weights=[2, 1, 1]))
    assert weighed.value == 0.625
    assert weighed.reason.splitlines() == [
        "a 1.00 (weight 2), b 0.50 (weight 1), c 0.00 (weight 1)",
        "a: good",
        "b: scored 0.5",
        "c: scored 0",
    ]


def test_all_of_and_any_of() -> None:
    """All is the lowest, any the highest."""
    parts = [fixed(0.2), fixed(0.9)]
    assert score(scorers.all_of(*parts)).value == 0.2
    assert score(scorers.any_of(*parts)).value == 0.9
    assert [part["value"] for part in score(scorers.all_of(*parts)).details["parts"]] == [0.2, 0.9]


def test_a_combination_asks_for_what_its_parts_ask_for() -> None:
    """Combined scorers, nested and async ones too, are called with what they ask for by name."""

    async def later(expected: Any) -> float:
        await asyncio.sleep(0)
        return float(expected)

    both = scorers.all_of(scorers.any_of(later, fixed(False)), scorers.max_turns(3))
    assert Asks.of(both).required == ("expected", "output", "run")
    assert score(both, expected=1, about={"turns": 2}).value == 1.0


def test_a_part_that_raises_is_an_error_of_the_whole() -> None:
    """any_of does not hide a broken scorer behind a good one."""
    with pytest.raises(UsageError, match="this run has none"):
        score(scorers.any_of(fixed(True), scorers.file_contains("a")))
    with pytest.raises(UsageError, match="returned 'yes'"):
        score(scorers.all_of(fixed("yes")))


@pytest.mark.parametrize("weights", [[1], [-1, 2], [0, 0], [float("nan"), 1]])
def test_weights_that_cannot_be_are_refused(weights: list[float]) -> None:
    """Weights are as many as scorers, not negative, and not all zero."""
    with pytest.raises(UsageError):
        scorers.combine(fixed(1), fixed(1), weights=weights)


def test_a_combination_of_nothing_is_refused() -> None:
    """No scorers give no score."""
    for factory in (scorers.combine, scorers.all_of, scorers.any_of):
        with pytest.raises(UsageError, match="at least one"):
            factory()


def test_a_combination_with_a_judge_needs_a_judge() -> None:
    """Where a part asks a model, so does the whole."""
    judge = fixed(1)
    judge.needs_judge = True  # type: ignore[attr-defined]
    assert scorers.all_of(fixed(1), judge).needs_judge  # type: ignore[attr-defined]
    assert not scorers.all_of(fixed(1)).needs_judge  # type: ignore[attr-defined]
