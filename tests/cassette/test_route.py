from __future__ import annotations

import base64
import http.client
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from roadtest.cassette import route
from roadtest.cassette.opening import LiveSession
from roadtest.cassette.record import Upstream
from roadtest.cassette.server import shared

PASSWORD = "open" + "sesame"


class Proxy(HTTPServer):
    """Answers for every host that it is asked for, and lets nobody tunnel."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[tuple[str, str, dict[str, str]]] = []

    @property
    def url(self) -> str:
        return f"http://me:{PASSWORD}@127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Proxy

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self._note()
        self.send_response(200)
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def do_CONNECT(self) -> None:
        self._note()
        self.send_error(403, "Not from here")

    def log_message(self, *_: object) -> None:
        pass

    def _note(self) -> None:
        self.server.asked.append((self.command, self.path, dict(self.headers)))


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    with Proxy() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for name in ("http_proxy", "https_proxy"):
            monkeypatch.delenv(name, raising=False)
            monkeypatch.setenv(name.upper(), server.url)
        monkeypatch.setenv("NO_PROXY", "inside.invalid")
        yield server
        server.shutdown()


def ask(base_url: str) -> tuple[int, str]:
    with shared().mount(LiveSession(Upstream(base_url))) as mount:
        connection = http.client.HTTPConnection("127.0.0.1", mount.port)
        body = json.dumps({"messages": []})
        connection.request("POST", f"/{mount.token}/v1/messages?beta=true", body, {"x-odd": "\xe9"})
        response = connection.getresponse()
        answer = response.read().decode()
        connection.close()
    return response.status, answer


def test_the_users_proxy_is_asked(proxy: Proxy) -> None:
    """An upstream outside is asked through the proxy of the user's environment, with the user's name and password."""
    assert ask("http://model.invalid/gateway/") == (200, "{}")
    method, target, headers = proxy.asked[0]
    assert (method, target) == ("POST", "http://model.invalid/gateway/v1/messages?beta=true")
    assert (headers["Host"], headers["x-odd"]) == ("model.invalid", "\xe9")
    credentials = base64.b64encode(f"me:{PASSWORD}".encode()).decode()
    assert headers["Proxy-Authorization"] == f"Basic {credentials}"


def test_an_encrypted_upstream_is_asked_through_a_tunnel(proxy: Proxy) -> None:
    """A proxy that refuses the tunnel to an encrypted upstream sees nothing else, and its reason is told."""
    status, answer = ask("https://safe.invalid")
    assert (status, "403 Not from here" in answer) == (502, True)
    assert [(method, target) for method, target, _ in proxy.asked] == [("CONNECT", "safe.invalid:443")]


@pytest.mark.parametrize("address", ["http://inside.invalid", "http://127.0.0.1:1", "http://localhost:1"])
def test_what_needs_no_proxy(proxy: Proxy, address: str) -> None:
    """Loopback, and what NO_PROXY names, is reached directly."""
    status, answer = ask(address)
    assert (status, "ConnectError" in answer) == (502, True)
    assert proxy.asked == []


@pytest.mark.parametrize("address", ["model.invalid", "ftp://model.invalid", "http://model.invalid:none", ""])
def test_an_address_that_is_none(address: str) -> None:
    """An upstream that cannot be asked over HTTP is named in the answer."""
    status, answer = ask(address)
    assert status == 502
    assert f"{address} could not be reached" in answer


def test_a_name_in_the_address() -> None:
    """Name and password in an upstream's address go into a header, not into the request line."""
    way = route.to(f"http://me:{PASSWORD}@127.0.0.1:1/x/")
    assert way.address == "http://127.0.0.1:1/x"
    assert way.headers == {"authorization": "Basic " + base64.b64encode(f"me:{PASSWORD}".encode()).decode()}
