"""The way to the real model: a request goes on, its answer streams through, and a tap listens."""

from __future__ import annotations

import ipaddress
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from roadtest.cassette.wire import Forward, Request

if TYPE_CHECKING:
    import httpx2

Start = Callable[[int, Mapping[str, str]], Awaitable[None]]
Write = Callable[[bytes], Awaitable[None]]

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


class UpstreamUnreachable(Exception):  # noqa: N818 - names the state, is caught one call up
    pass


async def forward(answer: Forward, request: Request, start: Start, write: Write) -> None:
    """Carry the request out, handing over status and headers first and then each piece as it comes.

    Raises ``UpstreamUnreachable`` if nothing was handed over yet. A stream that breaks later just ends, for the client
    as for the tap, as it would without anyone in between.
    """
    import httpx2  # noqa: PLC0415 - only a recording needs an HTTP client

    started = False
    try:
        async with _client(_is_loopback(answer.base_url)).stream(
            request.method,
            answer.base_url.rstrip("/") + request.path + (f"?{request.query}" if request.query else ""),
            headers=_onward(request.headers) | dict(answer.headers),
            content=request.body,
        ) as response:
            answer.tap.start(response.status_code, response.headers)
            await start(response.status_code, _back(response.headers))
            started = True
            async for piece in response.aiter_raw():
                answer.tap.feed(piece)
                await write(piece)
        answer.tap.end()
    except (httpx2.HTTPError, httpx2.InvalidURL) as problem:
        reason = f"{type(problem).__name__}: {problem}".rstrip(": ")
        answer.tap.end(reason)
        if not started:
            raise UpstreamUnreachable(f"{answer.base_url} could not be reached ({reason})") from problem
    except BaseException as problem:
        answer.tap.end(f"the run ended first ({type(problem).__name__})")
        raise


def _onward(headers: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in headers.items() if name not in _NOT_PASSED_ON}
    return {**kept, "accept-encoding": "identity"}


def _back(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name not in _NOT_HANDED_BACK}


@cache
def _client(direct: bool) -> httpx2.AsyncClient:
    """One for the server's loop, which lasts as long as the process. A proxy of the user's is for the outside only."""
    import httpx2  # noqa: PLC0415

    # How long an answer may take is for Claude Code to say; it hangs up when it has waited enough.
    return httpx2.AsyncClient(timeout=httpx2.Timeout(None, connect=30.0), trust_env=not direct)


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
