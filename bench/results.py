"""What was measured, as data: bench/results.json, the one thing that the terminal table and the page are made from."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec

RESULTS = Path(__file__).parent / "results.json"

Unit = Literal["s", "ms", "µs", "bytes"]


class Spread(msgspec.Struct, frozen=True):
    """A median with its quartiles."""

    median: float
    low: float
    high: float


class Target(msgspec.Struct, frozen=True):
    """What a figure should reach: at most ``limit`` as a ratio, as a difference, or by itself."""

    of: Literal["ratio", "difference", "ours"]
    limit: float


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """roadtest beside one other thing, in the same rounds."""

    case: str
    unit: Unit
    ours: Spread
    against: str
    theirs: Spread
    ratio: Spread
    difference: Spread
    target: Target | None = None

    @property
    def reached(self) -> bool | None:
        """Whether the median is within the target; None where there is none."""
        if self.target is None:
            return None
        value: Spread = getattr(self, self.target.of)
        return value.median <= self.target.limit


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """All figures of one question, and what they were measured on."""

    question: str
    rounds: int
    figures: list[Figure]
    notes: list[str] = []
    """What the figures say together, such as how something grows."""
    machine: str = ""
    taken: str = msgspec.field(default_factory=lambda: datetime.now(UTC).date().isoformat())


def load(path: Path = RESULTS) -> dict[str, Answer]:
    """The answers by the name of their question."""
    return msgspec.json.decode(path.read_bytes(), type=dict[str, Answer]) if path.exists() else {}


def save(answers: dict[str, Answer], path: Path = RESULTS) -> None:
    encoded = msgspec.json.encode(dict(sorted(answers.items())))
    path.write_bytes(msgspec.json.format(encoded, indent=1) + b"\n")
