"""What a module of the bench is: a question, and a function that answers it with figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.measure import Rounds
from bench.results import Figure, Spread, Target, Unit

SCALE: Mapping[Unit, float] = {"s": 1.0, "ms": 1e3, "µs": 1e6, "bytes": 1.0}


@dataclass(frozen=True)
class Setup:
    """What a measurement is given."""

    rounds: int
    folder: Path
    """A temporary folder of its own."""
    quick: bool = False
    """Only show that everything works: small sizes, meaningless figures."""


@dataclass(frozen=True)
class Question:
    name: str
    text: str
    measure: Callable[[Setup], tuple[list[Figure], list[str]]]
    """Gives the figures, and sentences about what they say together."""
    rounds: int
    """How many, unless told otherwise."""


def compare(
    rounds: Rounds, ours: str, against: Mapping[str, Target | None], *, case: str, unit: Unit
) -> Iterator[Figure]:
    """A figure for each thing that ours is compared with."""
    scale = SCALE[unit]
    for theirs, target in against.items():
        yield Figure(
            case=case,
            unit=unit,
            ours=scaled(rounds.spread(ours), scale),
            against=theirs,
            theirs=scaled(rounds.spread(theirs), scale),
            ratio=rounds.ratio(ours, theirs),
            difference=scaled(rounds.difference(ours, theirs), scale),
            target=target,
        )


def scaled(value: Spread, by: float) -> Spread:
    return Spread(value.median * by, value.low * by, value.high * by)
