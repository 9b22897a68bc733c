"""The loopback server that plays the model for every run of this process.

One server, one unguessable path prefix per run. It owns the socket and decides nothing: a run's session does. It is also the
proxy of the runs it serves: whatever else a run tries to reach arrives here as CONNECT or as an absolute URL, is refused,
and is remembered for the run that tried (the egress canary).
"""

from __future__ import annotations

import asyncio
import base64
import secrets
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import msgspec
import uvicorn

from roadtest.cassette import sse, upstream
from roadtest.cassette.wire import Forward, Hold, Refuse, Replay, ReplayError, Request, Session

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


@dataclass
class Mount:
    """One run's place on the server."""

    session: Session
    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(18))
    egress: list[str] = field(default_factory=list)
    """Where the run tried to connect besides the model."""
    closed: bool = False
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/{self.token}"

    @property
    def proxy_url(self) -> str:
        return f"http://{self.token}:x@127.0.0.1:{self.port}"

    async def decide(self, request: Request) -> Forward | Refuse | Replay | ReplayError:
        """The session's answer, once it is no longer held back.

        To be asked, and to be answered, are both events that an answer held for another request may wait for.
        """
        announced = False
        while True:
            answer = self.session.answer(request)
            if not isinstance(answer, Hold):
                self._wake()
                return answer
            if self.closed:
                return Refuse("the run is over")
            if not announced:
                self._wake()
                announced = True
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), answer.seconds)

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


class Server:
    """Serves until the process ends; started by ``shared()`` on first use."""

    def __init__(self) -> None:
        self._mounts: dict[str, Mount] = {}
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        # Listening before the loop runs lets clients connect at once; their requests wait in the backlog.
        self._socket.listen(128)
        self.port: int = self._socket.getsockname()[1]
        config = uvicorn.Config(
            self._app,
            interface="asgi3",  # a bound method is taken for an ASGI 2 application unless told
            http="h11",
            ws="none",
            loop="asyncio",
            lifespan="off",
            log_level="critical",
            access_log=False,
        )
        server = uvicorn.Server(config)
        serve = server.serve(sockets=[self._socket])
        threading.Thread(target=asyncio.run, args=(serve,), name="roadtest-server", daemon=True).start()

    @contextmanager
    def mount(self, session: Session) -> Iterator[Mount]:
        mount = Mount(session, self.port)
        self._mounts[mount.token] = mount
        try:
            yield mount
        finally:
            mount.closed = True
            del self._mounts[mount.token]

    async def _app(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        headers = {key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]}
        target: str = scope["path"]
        if scope["method"] == "CONNECT" or not target.startswith("/"):
            self._note_egress(scope["method"], target, headers)
            await _send_error(
                send, Refuse("roadtest lets a run reach the model only", 403, "permission_error")
            )
            return
        _, token, path = target.split("/", 2) if target.count("/") > 1 else ("", target[1:], "")
        body = await _read(receive)
        mount = self._mounts.get(token)
        if mount is None:
            await _send_error(send, Refuse("no run is served under this address", 404, "not_found_error"))
            return
        request = Request(scope["method"], f"/{path}", headers, body, scope["query_string"].decode("latin-1"))
        await _respond(mount, request, send)

    def _note_egress(self, method: str, target: str, headers: dict[str, str]) -> None:
        scheme, _, encoded = headers.get("proxy-authorization", "").partition(" ")
        token = base64.b64decode(encoded).decode("latin-1").partition(":")[0] if scheme == "Basic" else ""
        if mount := self._mounts.get(token):
            mount.egress.append(f"{method} {target}")


@cache
def shared() -> Server:
    """The one server of this process."""
    return Server()


async def _read(receive: Receive) -> bytes:
    pieces = []
    more = True
    while more:
        event = await receive()
        pieces.append(event.get("body", b""))
        more = event.get("more_body", False)
    return b"".join(pieces)


async def _respond(mount: Mount, request: Request, send: Send) -> None:
    if request.path != "/v1/messages" or request.method != "POST":
        # A probe before the first request (HEAD, /api/hello) only wants to know that somebody is there.
        await _send(send, 200 if request.method == "HEAD" else 404, "application/json", b"{}")
        return
    answer = await mount.decide(request)
    match answer:
        case Refuse():
            await _send_error(send, answer)
        case ReplayError(status, body, headers):
            await _send(send, status, "application/json", msgspec.json.encode(body), headers)
        case Replay(message) if request.wants_stream:
            await _send(send, 200, "text/event-stream", b"".join(sse.encode(message)))
        case Replay(message):
            await _send(send, 200, "application/json", msgspec.json.encode(message))
        case Forward():
            await _forward(answer, request, send)


async def _forward(answer: Forward, request: Request, send: Send) -> None:
    async def start(status: int, headers: Mapping[str, str]) -> None:
        await send({"type": "http.response.start", "status": status, "headers": _encoded(headers)})

    async def write(piece: bytes) -> None:
        await send({"type": "http.response.body", "body": piece, "more_body": True})

    try:
        await upstream.forward(answer, request, start, write)
    except upstream.UpstreamUnreachable as problem:
        await _send_error(send, Refuse(str(problem), 502))
        return
    await send({"type": "http.response.body", "body": b""})


async def _send_error(send: Send, refusal: Refuse) -> None:
    body = {"type": "error", "error": {"type": refusal.kind, "message": f"roadtest: {refusal.text}"}}
    headers = {"x-should-retry": "false", **refusal.headers}
    await _send(send, refusal.status, "application/json", msgspec.json.encode(body), headers)


async def _send(
    send: Send, status: int, kind: str, body: bytes, headers: Mapping[str, str] | None = None
) -> None:
    pairs = {"content-type": kind, "content-length": str(len(body)), **(headers or {})}
    await send({"type": "http.response.start", "status": status, "headers": _encoded(pairs)})
    await send({"type": "http.response.body", "body": body})


def _encoded(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
