"""How the texts of one run are turned into what is stored and compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Protocol, TypeVar

import msgspec

from roadtest.cassette.canonical import digest, without_cache_control
from roadtest.cassette.placeholders import Placeholders
from roadtest.cassette.records import Harness
from roadtest.cassette.volatile import Volatile
from roadtest.cassette.wire import Json

T = TypeVar("T")
R = TypeVar("R", bound=msgspec.Struct)


class Redacts(Protocol):
    def redact(self, value: T) -> T: ...


class Reader:
    """Live values become names, secrets go, and what is not stored is digested without its volatile tokens."""

    def __init__(self, values: Mapping[str, str], volatile: Volatile, redactor: Redacts) -> None:
        self.placeholders = Placeholders(values)
        self.volatile = volatile
        self._redactor = redactor
        # The same long prompts come with every request; only the first time costs anything.
        self.digest: Callable[[str], str] = lru_cache(maxsize=256)(self._digest)

    def stored(self, record: R) -> R:
        """The record as it goes to disk, and as it is compared with what is there."""
        plain = self.placeholders.extract(self._redactor.redact(msgspec.to_builtins(record)))
        return msgspec.convert(plain, type(record))

    def harness(self, payload: Json) -> Harness:
        """What Claude Code itself brings to a request."""
        system: Any = payload.get("system") or []
        tools: list[Json] = payload.get("tools") or []
        blocks = [system] if isinstance(system, str) else [str(block.get("text", "")) for block in system]
        return Harness(
            model=str(payload.get("model", "")),
            system=self.digest("\n".join(blocks)),
            tools=_tools_digest(msgspec.json.encode(tools)),
            tool_names=[str(tool.get("name", "")) for tool in tools],
        )

    def _digest(self, text: str) -> str:
        return digest(self.volatile.mask(self.placeholders.extract(text)))


@lru_cache(maxsize=64)
def _tools_digest(tools: bytes) -> str:
    """By their JSON, since a conversation brings the same tools every time and looking into them takes longest."""
    return digest(msgspec.json.encode([without_cache_control(tool) for tool in msgspec.json.decode(tools)]))
