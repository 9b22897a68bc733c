"""The way to the real model: a request goes on, its answer streams through, and a tap listens."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from roadtest.cassette.wire import Forward, Request

_NOT_PASSED_ON = frozenset(
    {
        "accept-encoding",
        "authorization",
        "connection",
        "content-length",
        "host",
        "keep-alive",
        "proxy-authorization",
        "proxy-connection",
        "transfer-encoding",
        "x-api-key",
        "x-roadtest-lane",
    }
)
_NOT_HANDED_BACK = frozenset({"connection", "content-length", "keep-alive", "transfer-encoding"})
# How long an answer may take is for Claude Code to say; it hangs up when it has waited enough.
_TIMEOUTS = {"timeout": {"connect": 30.0}}


class UpstreamUnreachable(Exception):  # noqa: N818 - names the state, is caught one call up
    pass


class Asker(Protocol):
    """Whoever made the request, and gets the answer as it comes."""

    async def start(self, status: int, headers: Mapping[str, str]) -> None: ...

    async def write(self, piece: bytes) -> None:
        """Hand a piece over; once that is done, return before anything else happens."""

    async def end(self) -> None: ...


async def forward(answer: Forward, request: Request, asker: Asker) -> None:
    """Carry the request out, handing over status and headers first and then each piece as it comes.

    Raises ``UpstreamUnreachable`` if nothing was handed over yet. A stream that breaks later just ends, for the client
    as for the tap, as it would without anyone in between.
    """
    started = False
    try:
        async for heard in _asked(answer, request):
            if isinstance(heard, bytes):
                # The asker need not wait for the tap. It cannot have asked again before the tap has heard this, either:
                # nothing else of this loop runs between the two.
                await asker.write(heard)
                answer.tap.feed(heard)
            else:
                answer.tap.start(heard.status, heard.headers)
                await asker.start(heard.status, _back(heard.headers))
                started = True
        answer.tap.end()
        await asker.end()
    except _Broken as problem:
        answer.tap.end(str(problem))
        if not started:
            raise UpstreamUnreachable(f"{answer.base_url} could not be reached ({problem})") from problem
        await asker.end()
    except BaseException as problem:
        answer.tap.end(f"the run ended first ({type(problem).__name__})")
        raise


class _Broken(Exception):  # noqa: N818 - names the state, is caught one call up
    """The upstream, or the way there, failed."""


@dataclass(frozen=True)
class _Head:
    status: int
    headers: dict[str, str]


async def _asked(answer: Forward, request: Request) -> AsyncIterator[_Head | bytes]:
    """What the upstream says, as it comes.

    A thread listens: the asynchronous side of the HTTP client would need anyio, and with that every pytest run of every
    project that has roadtest installed would load the pytest plugin of anyio, which takes longer than all of ours.
    """
    loop = asyncio.get_running_loop()
    heard: asyncio.Queue[_Head | bytes | Exception | None] = asyncio.Queue()

    def tell(something: _Head | bytes | Exception | None) -> None:
        loop.call_soon_threadsafe(heard.put_nowait, something)

    threading.Thread(
        target=_listen, args=(answer, request, tell), name="roadtest-upstream", daemon=True
    ).start()
    while (something := await heard.get()) is not None:
        if isinstance(something, Exception):
            raise something
        yield something


def _listen(
    answer: Forward, request: Request, tell: Callable[[_Head | bytes | Exception | None], None]
) -> None:
    from roadtest.cassette import route  # noqa: PLC0415 - only a recording needs an HTTP client

    try:
        way = route.to(answer.base_url)
        with way.pool.stream(
            request.method,
            way.address + request.path + (f"?{request.query}" if request.query else ""),
            headers=_encoded({**_onward(request.headers), **way.headers, **answer.headers}),
            content=request.body,
            extensions=_TIMEOUTS,
        ) as response:
            tell(_Head(response.status, _readable(response.headers)))
            for piece in response.iter_stream():
                tell(piece)
            tell(None)  # nobody need wait for the connection to be put back
    except route.FAILURES as problem:
        tell(_Broken(f"{type(problem).__name__}: {problem}".rstrip(": ")))
    except Exception as problem:  # noqa: BLE001 - it belongs to whoever listens to us
        tell(problem)


def _onward(headers: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in headers.items() if name not in _NOT_PASSED_ON}
    return {**kept, "accept-encoding": "identity"}


def _back(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name not in _NOT_HANDED_BACK}


def _encoded(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]


def _readable(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """By names in lower case; what comes several times is one list, as the standard has it."""
    readable: dict[str, str] = {}
    for raw_name, raw_value in headers:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        readable[name] = f"{readable[name]}, {value}" if name in readable else value
    return readable
