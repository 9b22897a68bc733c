"""Numbers and lists in the reasons of scorers, as one would say them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


def how_often(low: int, high: int | None) -> str:
    """A number of times, or a range of them."""
    if low == high:
        return so_often(low)
    if high is None:
        return f"at least {so_often(low)}"
    return f"{low} to {so_often(high)}" if low else f"at most {so_often(high)}"


def so_often(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def number_of(items: Sequence[Any], noun: str) -> str:
    return f"{len(items)} {noun}{'' if len(items) == 1 else 's'}"


def listed(items: Iterable[Any], most: int = 5) -> str:
    texts = [str(item) for item in items]
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more
