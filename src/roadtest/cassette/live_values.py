"""Values that the model copied from a tool's result: what the recording has there, and what the live result has instead."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from roadtest.cassette.volatile import FILLABLE, Pair
from roadtest.cassette.wire import Json

_SHORTEST = 4
"""A shorter token is more likely to mean something else where it appears again."""
_SHORTEST_PREFIX = 7
_HEX = re.compile(r"(?<![A-Za-z0-9])[0-9a-f]{7,64}(?![A-Za-z0-9])")


class LiveValues:
    """What a lane has seen; a subagent starts with what its parent has seen, since its prompt may hold some of it."""

    def __init__(self, parent: LiveValues | None = None) -> None:
        self._parent = parent
        self._live: dict[str, str] = {}

    def learn(self, pairs: Iterable[Pair]) -> None:
        for pair in pairs:
            if pair.kind in FILLABLE and len(pair.recorded) >= _SHORTEST:
                self._live[pair.recorded] = pair.live

    def fill(self, content: list[Json]) -> list[Json]:
        """The blocks with recorded values replaced in what is said and called; thoughts stay as they were signed."""
        known = self._known()
        return [_filled(block, known) for block in content] if known else content

    def _known(self) -> dict[str, str]:
        return {**(self._parent._known() if self._parent else {}), **self._live}  # noqa: SLF001 - of the same class


def _filled(block: Json, known: dict[str, str]) -> Json:
    pattern = _any_of(tuple(known))

    def replaced(text: str) -> str:
        text = pattern.sub(lambda found: known[found[0]], text)
        return _HEX.sub(lambda found: _abbreviated(found[0], known), text)

    match block.get("type"):
        case "text":
            return {**block, "text": replaced(block["text"])}
        case "tool_use":
            return {**block, "input": _map_strings(block["input"], replaced)}
        case _:
            return block


@lru_cache(maxsize=64)
def _any_of(tokens: tuple[str, ...]) -> re.Pattern[str]:
    """Any of the tokens where it stands by itself, the longest first."""
    alternatives = "|".join(re.escape(token) for token in sorted(tokens, key=len, reverse=True))
    return re.compile(rf"(?<!\w)(?:{alternatives})(?!\w)")


def _abbreviated(token: str, known: dict[str, str]) -> str:
    """A commit is often named by the beginning of its hash."""
    for recorded, live in known.items():
        if len(recorded) > len(token) >= _SHORTEST_PREFIX and recorded.startswith(token):
            return live[: len(token)]
    return token


def _map_strings(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: _map_strings(item, change) for key, item in value.items()}
    if isinstance(value, list):
        return [_map_strings(item, change) for item in value]
    if isinstance(value, int) and not isinstance(value, bool):
        changed = change(str(value))
        return int(changed) if changed.isdecimal() else value
    return value
