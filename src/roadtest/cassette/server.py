"""The loopback server that plays the model for every run of this process.

One server, one unguessable path prefix per run. It owns the socket and decides nothing: a run's session does. It is also the
proxy of the runs it serves: whatever else a run tries to reach arrives here as CONNECT or as an absolute URL, is refused,
and is remembered for the run that tried (the egress canary).
"""

from __future__ import annotations

import asyncio
import base64
import binascii
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
from roadtest.cassette.wire import (
    Answer,
    Delay,
    Forward,
    Hold,
    Raw,
    Refuse,
    Replay,
    ReplayError,
    Request,
    Session,
)

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_COUNT_TOKENS = "/v1/messages/count_tokens"


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

    async def decide(self, request: Request) -> Forward | Raw | Refuse | Replay | ReplayError:
        """The session's answer, once it is no longer held back.

        To be asked, and to be answered, are both events that an answer held for another request may wait for.
        """
        announced = False
        while True:
            answer = self._ask(request)
            if isinstance(answer, Delay):
                await asyncio.sleep(answer.seconds)
                continue
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

    def _ask(self, request: Request) -> Answer:
        try:
            return self.session.answer(request)
        except Exception as problem:  # noqa: BLE001 - the run has to end at once, and say why
            return Refuse(f"this request could not be answered: {problem!r}")

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


class Server:
    """Serves until the process ends; started by ``shared()`` on first use."""

    def __init__(self) -> None:
        self._mounts: dict[str, Mount] = {}
        _keep_freed_memory()
        # asyncio turns Nagle's algorithm off only where the protocol is named; left on, it holds back the body of every
        # answer until the client acknowledges the head, 40 ms later.
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
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
            proxy_headers=False,
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
        target: str = scope["path"].removeprefix(
            f"http://127.0.0.1:{self.port}"
        )  # a client that minds no NO_PROXY
        if scope["method"] == "CONNECT" or not target.startswith("/"):
            self._note_egress(scope["method"], target, headers)
            await _send_error(
                send, Refuse("roadtest lets a run reach the model only", 403, "permission_error")
            )
            return
        _, token, path = target.split("/", 2) if target.count("/") > 1 else ("", target[1:], "")
        body = await _read(receive)
        if body is None:
            return
        mount = self._mounts.get(token)
        if mount is None:
            await _send_error(send, Refuse("no run is served under this address", 404, "not_found_error"))
            return
        request = Request(scope["method"], f"/{path}", headers, body, scope["query_string"].decode("latin-1"))
        await _respond(mount, request, send)

    def _note_egress(self, method: str, target: str, headers: dict[str, str]) -> None:
        if mount := self._mounts.get(_proxy_user(headers)):
            mount.egress.append(f"{method} {target}")


@cache
def shared() -> Server:
    """The one server of this process."""
    return Server()


def _keep_freed_memory() -> None:
    """Let requests use the same memory one after another.

    glibc hands large freed blocks back to the kernel; to have them given anew for each copy of each request, page by page,
    takes longer than all else that is done with it. Having seen a block as large as this freed, it keeps them.
    """
    bytes(16 << 20)


def _proxy_user(headers: Mapping[str, str]) -> str:
    scheme, _, encoded = headers.get("proxy-authorization", "").partition(" ")
    try:
        return base64.b64decode(encoded).decode("latin-1").partition(":")[0] if scheme == "Basic" else ""
    except (binascii.Error, ValueError):
        return ""


async def _read(receive: Receive) -> bytes | None:
    """The whole body; None if the client went away before its end."""
    pieces = []
    more = True
    while more:
        event = await receive()
        if event["type"] == "http.disconnect":
            return None
        pieces.append(event.get("body", b""))
        more = event.get("more_body", False)
    return b"".join(pieces)


async def _respond(mount: Mount, request: Request, send: Send) -> None:
    if request.method != "POST" or request.path not in {"/v1/messages", _COUNT_TOKENS}:
        await _respond_to_probe(request, send)
        return
    if problem := _malformed(request):
        await _send_error(send, Refuse(problem, 400, "invalid_request_error"))
        return
    if request.path == _COUNT_TOKENS:
        # Four bytes a token is as near as one comes without the model; it only steers when to compact.
        await _send_json(send, 200, {"input_tokens": len(request.body) // 4})
        return
    answer = await mount.decide(request)
    match answer:
        case Raw():
            await _send_raw(send, answer)
        case Refuse():
            await _send_error(send, answer)
        case ReplayError(status, body, headers):
            await _send_json(send, status, body, headers)
        case Replay(message) if request.wants_stream:
            await _send(send, 200, "text/event-stream", b"".join(sse.encode(message)))
        case Replay(message):
            await _send_json(send, 200, sse.complete(message))
        case Forward():
            await _forward(answer, request, send)


async def _respond_to_probe(request: Request, send: Send) -> None:
    """A HEAD before the first request only wants to know that somebody is there; there is nothing else here."""
    if request.method == "HEAD":
        await _send(send, 200, "application/json", b"")
    else:
        await _send_error(
            send, Refuse(f"there is no {request.method} {request.path} here", 404, "not_found_error")
        )


def _malformed(request: Request) -> str:
    try:
        _ = request.envelope
        request.body.decode()  # messages are left closed at first, and may hold anything between their quotes
    except (msgspec.DecodeError, ValueError, RecursionError) as problem:
        return f"the body of this request is not a JSON object with messages: {problem}"
    return ""


async def _send_raw(send: Send, answer: Raw) -> None:
    await send({"type": "http.response.start", "status": answer.status, "headers": _encoded(answer.headers)})
    size = answer.piece or len(answer.body) or 1
    for start in range(0, len(answer.body), size):
        await send(
            {"type": "http.response.body", "body": answer.body[start : start + size], "more_body": True}
        )
    if not answer.cut:  # left incomplete, a response ends with its connection
        await send({"type": "http.response.body", "body": b""})


async def _forward(answer: Forward, request: Request, send: Send) -> None:
    try:
        await upstream.forward(answer, request, _Asker(send))
    except upstream.UpstreamUnreachable as problem:
        await _send_error(send, Refuse(str(problem), 502))


@dataclass(frozen=True)
class _Asker:
    """The client, to the upstream."""

    send: Send

    async def start(self, status: int, headers: Mapping[str, str]) -> None:
        await self.send({"type": "http.response.start", "status": status, "headers": _encoded(headers)})

    async def write(self, piece: bytes) -> None:
        await self.send({"type": "http.response.body", "body": piece, "more_body": True})

    async def end(self) -> None:
        await self.send({"type": "http.response.body", "body": b""})


async def _send_error(send: Send, refusal: Refuse) -> None:
    body = {"type": "error", "error": {"type": refusal.kind, "message": f"roadtest: {refusal.text}"}}
    headers = {"x-should-retry": "false", **refusal.headers}
    await _send_json(send, refusal.status, body, headers)


async def _send_json(send: Send, status: int, body: Any, headers: Mapping[str, str] | None = None) -> None:
    await _send(send, status, "application/json", msgspec.json.encode(body), headers)


async def _send(
    send: Send, status: int, kind: str, body: bytes, headers: Mapping[str, str] | None = None
) -> None:
    pairs = {"content-type": kind, "content-length": str(len(body)), **(headers or {})}
    await send({"type": "http.response.start", "status": status, "headers": _encoded(pairs)})
    await send({"type": "http.response.body", "body": body})


def _encoded(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
