"""The comparisons of trajectories among the details of a score."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from roadtest.results import Score

_OUTCOME = {"mode", "passed", "score", "pairs", "required", "counts", "rows"}


def differences(score: Score) -> Iterator[Mapping[str, Any]]:
    """Every comparison: the details themselves, or parts of those of a combined score."""
    yield from _comparisons(score.details)


def _comparisons(data: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(data, Mapping):
        if data.keys() >= _OUTCOME:
            yield data
        else:
            for value in data.values():
                yield from _comparisons(value)
    elif isinstance(data, list):
        for value in data:
            yield from _comparisons(value)
