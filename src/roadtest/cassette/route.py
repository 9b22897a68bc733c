"""Which way an upstream is reached: directly, or by the proxy that the user's environment names for it."""

from __future__ import annotations

import atexit
import base64
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

import httpcore2

FAILURES = (
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    httpcore2.ProxyError,
    httpcore2.TimeoutException,
    httpcore2.UnsupportedProtocol,
    ImportError,  # the package that speaks SOCKS
    ValueError,  # an address that is none
)
"""Whatever may come of asking: the upstream, or the way there, is to blame."""

_IDLE = 5.0
"""Seconds that an unused connection is kept; servers drop it not much later."""


@dataclass(frozen=True)
class Route:
    pool: httpcore2.ConnectionPool
    address: str
    """What the path of a request is put behind."""
    headers: Mapping[str, str] = field(default_factory=dict)


@cache
def to(base_url: str) -> Route:
    """The same for as long as the process lasts, so that connections can be kept."""
    url = urlsplit(base_url)
    _ = url.port  # raises, where it is no number
    proxy = _proxy(url)
    pool = httpcore2.ConnectionPool(
        proxy=_as_proxy(proxy) if proxy else None, max_connections=None, keepalive_expiry=_IDLE
    )
    atexit.register(pool.close)
    host = url.netloc.rpartition("@")[2]
    return Route(pool, f"{url.scheme}://{host}{url.path.rstrip('/')}", _credentials(url))


def _proxy(url: SplitResult) -> str:
    host = url.hostname or ""
    if _is_loopback(host) or proxy_bypass(url.netloc.rpartition("@")[2]):
        return ""
    proxies = getproxies()
    return proxies.get(url.scheme) or proxies.get("all", "")


def _as_proxy(address: str) -> httpcore2.Proxy:
    url = urlsplit(address if "://" in address else f"http://{address}")
    user = (unquote(url.username), unquote(url.password or "")) if url.username else None
    return httpcore2.Proxy(f"{url.scheme}://{url.netloc.rpartition('@')[2]}", auth=user)


def _credentials(url: SplitResult) -> dict[str, str]:
    if not url.username:
        return {}
    user = f"{unquote(url.username)}:{unquote(url.password or '')}"
    return {"authorization": f"Basic {base64.b64encode(user.encode()).decode()}"}


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
