"""What passes between Claude Code and the model, with no socket in sight.

The server turns each HTTP request into a ``Request``, asks the run's session for an ``Answer`` and carries it out. A session
decides; it neither reads nor writes sockets. All calls of one session come from the server's event loop, one at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import msgspec

Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Request:
    """One request of a client; ``path`` is what follows the run's prefix, header names are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @cached_property
    def payload(self) -> Json:
        return msgspec.json.decode(self.body, type=dict[str, Any])

    @property
    def agent_id(self) -> str | None:
        """The subagent that asks; None for the main agent."""
        return self.headers.get("x-claude-code-agent-id")

    @property
    def parent_agent_id(self) -> str | None:
        return self.headers.get("x-claude-code-parent-agent-id")

    @property
    def wants_stream(self) -> bool:
        return bool(self.payload.get("stream"))


@dataclass(frozen=True)
class Replay:
    """Answer with this message, as a stream or as plain JSON, whichever the client asked for."""

    message: Json


@dataclass(frozen=True)
class Refuse:
    """Answer with an error, at once, in a way that does not make Claude Code try again."""

    text: str
    status: int = 500
    kind: str = "api_error"
    headers: Mapping[str, str] = field(default_factory=dict)


Answer: TypeAlias = Replay | Refuse


class Session(Protocol):
    """The model's side of one run."""

    def answer(self, request: Request) -> Answer: ...
