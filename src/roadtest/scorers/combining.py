"""Several scorers as one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from roadtest.calling import Asks, call_by_name, name_of
from roadtest.errors import UsageError
from roadtest.results import Score
from roadtest.scorers.base import Scorer, named


def combine(*scorers: Callable[..., Any], weights: Sequence[float] | None = None) -> Scorer:
    """The weighted mean of the scores; all weigh the same unless ``weights`` says otherwise."""
    factors = _weights(weights, len(scorers))

    def mean(values: Sequence[float]) -> float:
        return sum(value * factor for value, factor in zip(values, factors, strict=True)) / sum(factors)

    return _together("combine", scorers, mean, factors)


def all_of(*scorers: Callable[..., Any]) -> Scorer:
    """The lowest of the scores: it is high when all are."""
    return _together("all_of", scorers, min)


def any_of(*scorers: Callable[..., Any]) -> Scorer:
    """The highest of the scores: it is high when one is."""
    return _together("any_of", scorers, max)


def _weights(weights: Sequence[float] | None, count: int) -> list[float]:
    factors = [1.0] * count if weights is None else [float(weight) for weight in weights]
    if len(factors) != count:
        raise UsageError(f"combine() has {count} scorers and {len(factors)} weights.")
    if any(not factor >= 0 for factor in factors) or (factors and not sum(factors)):
        raise UsageError(f"weights are not negative, and one at least is not 0; these are {weights!r}.")
    return factors


def _together(
    name: str,
    scorers: Sequence[Callable[..., Any]],
    join: Callable[[Sequence[float]], float],
    weights: Sequence[float] | None = None,
) -> Scorer:
    """One scorer that asks for all that these ask for; one that raises is an error of the whole."""
    if not scorers or not all(map(callable, scorers)):
        raise UsageError(f"{name}() takes scorers, at least one, not {scorers!r}.")

    @named(name)
    def score(**values: Any) -> Score:
        parts = [_part(scorer, values) for scorer in scorers]
        value = join([part.value for part in parts])
        return Score(
            value, _reason(parts, weights), {"parts": [msgspec.structs.asdict(part) for part in parts]}
        )

    score.__signature__ = _signature(scorers)  # type: ignore[attr-defined]
    score.needs_judge = any(getattr(scorer, "needs_judge", False) for scorer in scorers)  # type: ignore[attr-defined]
    return score


def _signature(scorers: Sequence[Callable[..., Any]]) -> inspect.Signature:
    asks = [Asks.of(scorer) for scorer in scorers]
    required = dict.fromkeys(name for ask in asks for name in ask.required)
    optional = dict.fromkeys(name for ask in asks for name in ask.optional if name not in required)
    parameter = inspect.Parameter
    return inspect.Signature(
        [
            *(parameter(name, parameter.KEYWORD_ONLY) for name in required),
            *(parameter(name, parameter.KEYWORD_ONLY, default=None) for name in optional),
        ]
    )


def _part(scorer: Callable[..., Any], values: dict[str, Any]) -> Score:
    answer = call_by_name(scorer, values)
    name = name_of(scorer)
    if isinstance(answer, Score):
        return Score(answer.value, answer.reason, answer.details, answer.name or name)
    if isinstance(answer, bool | int | float) and 0 <= answer <= 1:
        return Score(float(answer), f"scored {float(answer):g}", {}, name)
    raise UsageError(f"the scorer {name} returned {answer!r}, not a Score, a number from 0 to 1 or a bool.")


def _reason(parts: Sequence[Score], weights: Sequence[float] | None) -> str:
    """What the value can be computed from on one line, then the reason of each part."""
    factors = [""] * len(parts) if weights is None else [f" (weight {weight:g})" for weight in weights]
    figures = [f"{part.name} {part.value:.2f}{factor}" for part, factor in zip(parts, factors, strict=True)]
    return "\n".join([", ".join(figures), *(f"{part.name}: {part.reason}" for part in parts)])
