"""What cassettes cost: recording and replaying a request, loading, and the size on disk."""

from __future__ import annotations

from bench.question import Question, Setup
from bench.results import Figure


def measure(setup: Setup) -> tuple[list[Figure], list[str]]:
    return [], []


QUESTION = Question("cassettes", "What do cassettes cost?", measure, rounds=5)
