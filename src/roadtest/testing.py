"""For tests of your own scorers, tasks and recordings: runs built by hand, and a model's API on loopback.

    from roadtest import script, testing

    run = testing.run("Found 2.", calls=[("Grep", {"pattern": "TODO"}), "Read"])

    with testing.upstream(script.Script(script.say("Hi."))) as api:
        ...  # ROADTEST_UPSTREAM=api.url

``upstream`` is a real HTTP server that speaks the Messages API. It can be told to behave as badly as a network does.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeAlias

import msgspec

from roadtest.calls import SPAWNING_TOOLS, ToolCall
from roadtest.cassette import sse
from roadtest.cassette.scripted import ScriptSession
from roadtest.cassette.server import Server
from roadtest.cassette.wire import Answer, Raw, Replay, Request
from roadtest.results import Run
from roadtest.script import Script
from roadtest.trajectory import Trajectory

__all__ = ["Upstream", "run", "trajectory", "upstream"]

Made: TypeAlias = str | tuple[str, dict[str, Any]] | tuple[str, dict[str, Any], Sequence[Any]] | ToolCall

_NOISE = b': keep-alive\n\nevent: ping\ndata: {"type": "ping"}\n\nevent: yet_unknown\ndata: {"type": "yet_unknown"}\n\n'
_WORKSPACE = re.compile(rb"Primary working directory: (.+?)\\n")


def run(output: str = "", calls: Iterable[Made] = (), **fields: Any) -> Run:
    """A run as a scorer gets it: its last words, its calls (see ``trajectory``) and any other field of ``Run``."""
    return Run(output=output, trajectory=trajectory(*calls), **fields)


def trajectory(*calls: Made) -> Trajectory:
    """Calls written down: ``"Read"``, ``("Grep", {"pattern": "x"})``, or a ``ToolCall`` for all that can be said.

    A third item holds the calls of the subagent that the call spawns:
    ``("Agent", {"subagent_type": "reviewer"}, [("Read", {"file_path": "a.py"})])``.
    """
    made: list[ToolCall] = []
    for call in calls:
        _write_down(call, made, None)
    return Trajectory(made)


def _write_down(call: Made, made: list[ToolCall], parent: ToolCall | None) -> None:
    number = f"{len(made) + 1:04}"
    if isinstance(call, ToolCall):
        made.append(call)
        return
    name, args, inside = (call, {}, ()) if isinstance(call, str) else (*call, ())[:3]
    agent = str(parent.args.get("subagent_type", "general-purpose")) if parent else None
    written = ToolCall(
        name=name,
        args=args,
        id=f"toolu_test_{number}",
        agent=agent,
        agent_id=f"agent-of-{parent.id}" if parent else None,
        parent_id=parent.id if parent else None,
    )
    made.append(written)
    if inside and name not in SPAWNING_TOOLS:
        raise ValueError(f"{name} spawns no subagent, so nothing can be called inside it")
    for call_inside in inside:
        _write_down(call_inside, made, written)


@dataclass
class Upstream:
    """The API that ``upstream`` serves: give ``url`` to whoever records, read ``requests`` afterwards."""

    script: Script
    url: str = ""
    piece: int = 0
    line_end: str = "\n"
    noise: bool = False
    compress: bool = False
    requests: list[Request] = field(default_factory=list)
    _values: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._session = ScriptSession(self.script, self._values)

    @property
    def unplayed(self) -> list[str]:
        """Turns of the script that nobody asked for, a line each."""
        return self._session.unplayed

    def answer(self, request: Request) -> Answer:
        self.requests.append(request)
        if not (request.headers.get("x-api-key") or request.headers.get("authorization")):
            return _unauthenticated()
        if "workspace" not in self._values and (told := _WORKSPACE.search(request.body)):
            self._values["workspace"] = told[1].decode()
        answer = self._session.answer(request)
        return self._as_sent(answer.message, request) if isinstance(answer, Replay) else answer

    def _as_sent(self, message: dict[str, Any], request: Request) -> Raw:
        if request.wants_stream:
            kind, body = "text/event-stream", (_NOISE if self.noise else b"").join(sse.encode(message))
            body = body.replace(b"\n", self.line_end.encode())
        else:
            kind, body = "application/json", msgspec.json.encode(message)
        headers = {"content-type": kind, "request-id": f"req_{len(self.requests):04}"}
        if self.compress:
            body, headers["content-encoding"] = gzip.compress(body), "gzip"
        return Raw(200, body, headers, piece=self.piece)


@contextmanager
def upstream(
    script: Script, *, piece: int = 0, line_end: str = "\n", noise: bool = False, compress: bool = False
) -> Iterator[Upstream]:
    """Serve the Messages API from a script on loopback, to whoever shows a key.

    It streams where a stream is asked for. ``piece`` is how many bytes it sends at a time, ``line_end`` ends the lines of
    its events, ``noise`` puts comments, pings and unknown events between them, ``compress`` sends gzip whatever the client
    accepts. What goes wrong at one request is said in the script: ``script.fault("rate_limited", retry_after=1)``.
    ``{{workspace}}`` in the script is the working directory that Claude Code tells.
    """
    api = Upstream(script, piece=piece, line_end=line_end, noise=noise, compress=compress)
    with _server().mount(api) as mount:
        api.url = mount.base_url
        yield api


@cache
def _server() -> Server:
    """A server beside that of the runs: what is recorded passes through two real sockets."""
    return Server()


def _unauthenticated() -> Raw:
    error = {"type": "authentication_error", "message": "x-api-key header is required"}
    body = msgspec.json.encode({"type": "error", "error": error})
    return Raw(401, body, {"content-type": "application/json"})
