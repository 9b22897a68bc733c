"""What the server says on its sockets, besides carrying out what a session decides."""

from __future__ import annotations

import base64
import http.client
import json
import socket
import struct
from collections.abc import Iterator
from typing import Any

import pytest

from roadtest import script
from roadtest.cassette import sse
from roadtest.cassette.scripted import ScriptSession
from roadtest.cassette.server import Mount, Server, shared
from roadtest.cassette.wire import Answer, Replay, Request

BODY = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}


class Echo:
    """Says how long the prompt was."""

    def answer(self, request: Request) -> Answer:
        text = str(len(request.payload["messages"][0]["content"]))
        return Replay({"id": "m", "content": [{"type": "text", "text": text}], "usage": {"output_tokens": 1}})


@pytest.fixture
def mount() -> Iterator[Mount]:
    with shared().mount(Echo()) as mount:
        yield mount


def ask(mount: Mount, method: str, target: str, body: Any = None, **headers: str) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", mount.port)
    data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    connection.request(method, target, data, headers)
    response = connection.getresponse()
    content = response.read()
    connection.close()
    return response.status, json.loads(content) if content else None


def test_plain_json_where_no_stream_is_asked_for(mount: Mount) -> None:
    """A client that asks for no stream gets the message as it is."""
    status, message = ask(mount, "POST", f"/{mount.token}/v1/messages?beta=true", BODY)
    assert (status, message["content"][0]["text"]) == (200, "2")


def test_a_stream_where_one_is_asked_for(mount: Mount) -> None:
    """A client that asks for a stream gets events that make up the message."""
    connection = http.client.HTTPConnection("127.0.0.1", mount.port)
    connection.request("POST", f"/{mount.token}/v1/messages", json.dumps({**BODY, "stream": True}))
    response = connection.getresponse()
    accumulator = sse.Accumulator()
    accumulator.feed(response.read())
    connection.close()
    assert response.headers["content-type"] == "text/event-stream"
    assert accumulator.message["content"] == [{"type": "text", "text": "2"}]


def test_count_tokens(mount: Mount) -> None:
    """Counting tokens gives a number that grows with the request, and asks no session."""
    counts = [
        ask(mount, "POST", f"/{mount.token}/v1/messages/count_tokens", {**BODY, "system": "x" * size})[1]
        for size in (0, 40_000)
    ]
    assert 0 < counts[0]["input_tokens"] < 100
    assert 10_000 <= counts[1]["input_tokens"] < 11_000


@pytest.mark.parametrize("path", ["", "/", "/api/hello", "/v1/messages"])
def test_probes(mount: Mount, path: str) -> None:
    """A HEAD request is told that somebody is there."""
    assert ask(mount, "HEAD", f"/{mount.token}{path}") == (200, None)


@pytest.mark.parametrize(("method", "path"), [("GET", "/v1/messages"), ("GET", "/"), ("POST", "/v1/files")])
def test_unknown_paths(mount: Mount, method: str, path: str) -> None:
    """What the server does not have is a 404 in the API's own form."""
    status, body = ask(mount, method, f"/{mount.token}{path}", {})
    assert status == 404
    assert body["error"]["type"] == "not_found_error"
    assert f"{method} {path}" in body["error"]["message"]


def test_an_unknown_prefix(mount: Mount) -> None:
    """Without the prefix of a run there is nothing, not even for a moment after the run."""
    for target in ("/v1/messages", "/wrong/v1/messages", "/"):
        status, body = ask(mount, "POST", target, BODY)
        assert (status, body["error"]["type"]) == (404, "not_found_error")


def test_a_prefix_ends_with_its_run() -> None:
    """Once a run is over its prefix answers no more."""
    with shared().mount(Echo()) as mount:
        assert ask(mount, "POST", f"/{mount.token}/v1/messages", BODY)[0] == 200
    assert ask(mount, "POST", f"/{mount.token}/v1/messages", BODY)[0] == 404


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'"\xff"',
        b"{}",
        b'{"messages": 3}',
        b'\xff\xfe{"messages": []}',
        b'{"messages": [{"role": "user", "content": "caf\xe9"}]}',
        pytest.param(b"[" * 100_000, id="deep"),
    ],
)
def test_malformed_bodies(mount: Mount, body: bytes) -> None:
    """A body that is no request is refused as invalid, in a way that is not tried again."""
    for path in ("/v1/messages", "/v1/messages/count_tokens"):
        status, answer = ask(mount, "POST", f"/{mount.token}{path}", body)
        assert (status, answer["error"]["type"]) == (400, "invalid_request_error")


def test_a_session_that_raises(mount: Mount) -> None:
    """A request that a session chokes on is answered at once, with what it choked on."""
    status, body = ask(mount, "POST", f"/{mount.token}/v1/messages", {"messages": []})
    assert status == 500
    assert "IndexError" in body["error"]["message"]


def test_huge_bodies(mount: Mount) -> None:
    """A request of 30 MB is answered like any other."""
    huge = {"messages": [{"role": "user", "content": "x" * 30_000_000}]}
    assert ask(mount, "POST", f"/{mount.token}/v1/messages", huge)[1]["content"][0]["text"] == "30000000"


def test_headers_in_any_bytes(mount: Mount) -> None:
    """Header values that are no UTF-8 do no harm."""
    with socket.create_connection(("127.0.0.1", mount.port)) as client:
        head = f"HEAD /{mount.token}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Odd: ".encode()
        client.sendall(head + b"\xff\xfe\xe9\r\nProxy-Authorization: Basic ***\xff\r\n\r\n")
        assert client.makefile("rb").readline().startswith(b"HTTP/1.1 200")


def test_a_client_that_goes_away_in_mid_request(mount: Mount) -> None:
    """Half a request followed by a reset disturbs nobody else."""
    client = socket.create_connection(("127.0.0.1", mount.port))
    head = f"POST /{mount.token}/v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n"
    client.sendall(head.encode() + b'{"messages": [')
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()
    assert ask(mount, "POST", f"/{mount.token}/v1/messages", BODY)[0] == 200


def proxy_credentials(mount: Mount) -> str:
    return "Basic " + base64.b64encode(f"{mount.token}:x".encode()).decode()


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_requests_through_the_proxy_to_elsewhere(mount: Mount, method: str) -> None:
    """A plain HTTP request that goes through the proxy is refused, and remembered for its run."""
    credentials = {"Proxy-Authorization": proxy_credentials(mount)}
    status, body = ask(mount, method, "http://example.invalid/x", None, **credentials)
    assert (status, body["error"]["type"]) == (403, "permission_error")
    assert mount.egress == [f"{method} http://example.invalid/x"]


def test_tunnels_are_refused_and_remembered(mount: Mount) -> None:
    """A CONNECT is refused, and remembered for its run; without credentials it is refused all the same."""
    with socket.create_connection(("127.0.0.1", mount.port)) as client:
        head = "CONNECT example.invalid:443 HTTP/1.1\r\nHost: example.invalid:443\r\n"
        client.sendall(f"{head}Proxy-Authorization: {proxy_credentials(mount)}\r\n\r\n".encode())
        assert client.recv(12) == b"HTTP/1.1 403"
    with socket.create_connection(("127.0.0.1", mount.port)) as client:
        client.sendall(f"{head}\r\n".encode())
        assert client.recv(12) == b"HTTP/1.1 403"
    assert mount.egress == ["CONNECT example.invalid:443"]


def test_the_servers_own_address_through_its_proxy(mount: Mount) -> None:
    """A client that sends even loopback requests through the proxy is served, and is not trying to leave."""
    assert ask(mount, "POST", f"{mount.base_url}/v1/messages", BODY)[0] == 200
    assert mount.egress == []


def test_only_loopback(mount: Mount) -> None:
    """The server listens on loopback and nowhere else."""
    assert Server()._socket.getsockname()[0] == "127.0.0.1"
    assert mount.base_url.startswith("http://127.0.0.1:")


def test_prefixes_cannot_be_guessed() -> None:
    """Each run has a prefix of its own, of well over 100 random bits."""
    server = shared()
    with server.mount(Echo()) as one, server.mount(Echo()) as other:
        assert one.token != other.token
        assert len(one.token) >= 24


def test_a_cut_answer_ends_with_its_connection() -> None:
    """After a cut the client has the first half, and no end of the body."""
    with shared().mount(ScriptSession(script.Script(script.fault("cut")), {})) as mount:
        connection = http.client.HTTPConnection("127.0.0.1", mount.port)
        connection.request("POST", f"/{mount.token}/v1/messages", json.dumps({**BODY, "stream": True}))
        response = connection.getresponse()
        with pytest.raises(http.client.IncompleteRead) as cut:
            response.read()
        connection.close()
    assert b"message_start" in cut.value.partial
    assert b"message_stop" not in cut.value.partial


def test_answers_are_not_held_back() -> None:
    """The head of an answer and its body leave at once: no connection waits for the acknowledgement of either."""
    # asyncio sets TCP_NODELAY on what it accepts only if the listening socket names its protocol.
    assert Server()._socket.proto == socket.IPPROTO_TCP
