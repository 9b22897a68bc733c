"""How the texts of one run are turned into what is stored and compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Protocol, TypeVar

import msgspec

from roadtest.cassette.canonical import digest, without_cache_control
from roadtest.cassette.placeholders import Placeholders
from roadtest.cassette.records import Harness
from roadtest.cassette.volatile import Volatile
from roadtest.cassette.wire import Envelope, Json

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

    def harness(self, asked: Envelope) -> Harness:
        """What Claude Code itself brings to a request."""
        system = asked.system or []
        blocks = [system] if isinstance(system, str) else [str(block.get("text", "")) for block in system]
        tools, names = _tools(bytes(asked.tools))
        return Harness(str(asked.model), self.digest("\n".join(blocks)), tools, list(names))

    def _digest(self, text: str) -> str:
        return digest(self.volatile.mask(self.placeholders.extract(text)))


@lru_cache(maxsize=64)
def _tools(offered: bytes) -> tuple[str, tuple[str, ...]]:
    """Digest and names, by the JSON: a conversation brings the same tools every time, and they are long."""
    tools: list[Json] = msgspec.json.decode(offered) or []
    plain = msgspec.json.encode([without_cache_control(tool) for tool in tools])
    return digest(plain), tuple(str(tool.get("name", "")) for tool in tools)
