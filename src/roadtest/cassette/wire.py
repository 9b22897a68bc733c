"""What passes between Claude Code and the model, with no socket in sight.

The server turns each HTTP request into a ``Request``, asks the run's session for an ``Answer`` and carries it out. A
session decides; it neither reads nor writes sockets. All calls of one session come from the server's event loop, one
at a time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, TypeAlias, TypeVar

import msgspec

Json: TypeAlias = dict[str, Any]
T = TypeVar("T")

_ESCAPE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.",
    re.DOTALL,
)
"""Every escape of a JSON text, one after another: a pair of surrogates, half of one, or any other."""

LANE_HEADER = "x-roadtest-lane"
"""Names the lane of a request that does not come from Claude Code, such as a judge's."""


class Envelope(msgspec.Struct):
    """A request's body, its conversation left closed: all but the end of it came with the requests before."""

    messages: list[msgspec.Raw]
    model: Any = ""
    stream: Any = False
    system: Any = None
    tools: msgspec.Raw = msgspec.Raw(b"[]")


@dataclass(frozen=True, eq=False)
class Request:
    """One request of a client; ``path`` is what follows the run's prefix, header names are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    query: str = ""

    @cached_property
    def payload(self) -> Json:
        return _decoded(self.body, dict[str, Any])

    @cached_property
    def envelope(self) -> Envelope:
        return _decoded(self.body, Envelope)

    @property
    def agent_id(self) -> str | None:
        """The subagent that asks; None for the main agent."""
        return self.headers.get("x-claude-code-agent-id")

    @property
    def parent_agent_id(self) -> str | None:
        return self.headers.get("x-claude-code-parent-agent-id")

    @property
    def lane(self) -> str | None:
        """The lane that a client other than Claude Code asks for."""
        return self.headers.get(LANE_HEADER)

    @property
    def claude_version(self) -> str:
        """``2.1.325`` of the user agent ``claude-cli/2.1.325 (...)``; empty for another client."""
        name, _, rest = self.headers.get("user-agent", "").partition("/")
        return rest.partition(" ")[0] if name == "claude-cli" else ""

    @property
    def wants_stream(self) -> bool:
        return bool(self.envelope.stream)


def _decoded(body: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.DecodeError:
        if b"\\u" not in body:
            raise
    # JavaScript lets half a surrogate pair stand alone; nothing that speaks UTF-8 can keep one.
    readable = _ESCAPE.sub(lambda escape: rb"\ufffd" if escape["half"] else escape[0], body)
    return msgspec.json.decode(readable, type=kind)


@dataclass(frozen=True)
class Replay:
    """Answer with this message, as a stream or as plain JSON, whichever the client asked for."""

    message: Json


@dataclass(frozen=True)
class ReplayError:
    """Answer with the error that the API gave when this was recorded."""

    status: int
    body: Any
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Refuse:
    """Answer with an error, at once, in a way that does not make Claude Code try again."""

    text: str
    status: int = 500
    kind: str = "api_error"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Hold:
    """Not yet: ask again, with the same request, after any other event of this run or after so many seconds."""

    seconds: float


class Tap(Protocol):
    """Listens to an answer on its way from the upstream to the client; never raises."""

    def start(self, status: int, headers: Mapping[str, str]) -> None: ...

    def feed(self, data: bytes) -> None: ...

    def end(self, failure: str = "") -> None:
        """The answer is over; ``failure`` says why it is not whole."""


@dataclass(frozen=True)
class Forward:
    """Pass the request on to this address and stream the answer through, letting the tap listen."""

    base_url: str
    headers: Mapping[str, str]
    """Set over those of the request: the credentials that the client does not have."""
    tap: Tap


@dataclass(frozen=True)
class Raw:
    """Answer with exactly this body, right or wrong, and then drop the connection in mid-answer if ``cut``."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False
    piece: int = 0
    """How many bytes to send at a time; 0 for all at once."""


@dataclass(frozen=True)
class Delay:
    """Ask again, with the same request, after so many seconds and not before."""

    seconds: float


Answer: TypeAlias = Replay | ReplayError | Refuse | Hold | Forward | Raw | Delay


class Session(Protocol):
    """The model's side of one run."""

    def answer(self, request: Request) -> Answer: ...
