"""What comes over the wire while recording, well-formed or not: it is recorded right, or refused and said."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from roadtest import script, testing
from roadtest.cassette import CassetteSession, Fingerprints, files, open_cassette
from roadtest.cassette.server import Mount, Server, shared
from roadtest.cassette.wire import Answer, Raw, Request
from roadtest.errors import CassetteError

BLOCKS: list[dict[str, Any]] = [
    {"type": "thinking", "thinking": "Hm, grüße 🚗", "signature": "c2lnbmF0dXJl"},
    {"type": "redacted_thinking", "data": "b3BhcXVl"},
    {"type": "text", "text": "See here.", "citations": [{"type": "web_search_result_location", "url": "u"}]},
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "roads"}},
    {
        "type": "web_search_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": [{"title": "t", "new_field": 1}],
    },
    {"type": "yet_unknown", "of": {"the": ["future", None, 1.5]}},
    {"type": "text", "text": "", "yet_unknown": True},
]
USAGE = {"input_tokens": 7, "cache_read_input_tokens": 3, "output_tokens": 90, "server_tool_use": {"n": 1}}
EVERYTHING = script.turn(
    *(script.Block(block) for block in BLOCKS),
    stop_reason="refusal",
    usage=USAGE,
)


@contextmanager
def recorder(folder: Path, upstream: str) -> Iterator[tuple[CassetteSession, Mount]]:
    environ = {"ROADTEST_UPSTREAM": upstream, "ANTHROPIC_API_KEY": "any-key"}
    session = open_cassette(
        folder, mode="rewrite", values={}, context=Fingerprints(prompt="p"), environ=environ
    )
    with shared().mount(session) as mount:
        yield session, mount


def ask(mount: Mount, *, stream: bool = True) -> tuple[http.client.HTTPResponse, bytes]:
    """The response and as much of its body as came."""
    payload = {"model": "m", "stream": stream, "messages": [{"role": "user", "content": "Hi"}]}
    connection = http.client.HTTPConnection("127.0.0.1", mount.port)
    headers = {"accept-encoding": "gzip, br", "x-api-key": "dummy"}
    connection.request("POST", f"/{mount.token}/v1/messages", msgspec.json.encode(payload), headers)
    response = connection.getresponse()
    try:
        body = response.read()
    except http.client.IncompleteRead as cut:
        body = cut.partial
    connection.close()
    return response, body


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    "awkward",
    [
        {},
        {"piece": 1, "noise": True},
        {"piece": 3, "line_end": "\r\n"},
        {"piece": 7, "line_end": "\r", "noise": True},
        {"compress": True, "piece": 1},
    ],
)
def test_everything_that_an_answer_holds_is_recorded(
    tmp_path: Path, awkward: dict[str, Any], *, stream: bool
) -> None:
    """Blocks, fields and usage are on disk as the API sent them, however the bytes came and of whatever kind they are."""
    with (
        testing.upstream(script.Script(EVERYTHING), **awkward) as api,
        recorder(tmp_path / "c", api.url) as (session, mount),
    ):
        ask(mount, stream=stream)
        session.save()
    recorded = files.load(tmp_path / "c").exchanges[0].response.message
    assert recorded is not None
    assert recorded["content"] == BLOCKS
    assert recorded["usage"] == USAGE
    assert recorded["stop_reason"] == "refusal"
    assert api.requests[0].headers["accept-encoding"] == "identity"
    assert api.requests[0].headers["x-api-key"] == "any-key"


def test_the_client_gets_the_very_bytes(tmp_path: Path) -> None:
    """What is recorded passes through unchanged, noise and all."""
    model = script.Script(EVERYTHING, EVERYTHING)
    with testing.upstream(model, noise=True) as api, recorder(tmp_path / "c", api.url) as (_, mount):
        _, through = ask(mount)
        host, _, token = api.url.removeprefix("http://").partition("/")
        direct = Mount(api, int(host.partition(":")[2]), token)
        _, alone = ask(direct)
    assert through.replace(b"msg_script_0001", b"") == alone.replace(b"msg_script_0002", b"")
    assert b": keep-alive" in through


def test_twenty_megabytes_are_recorded(tmp_path: Path) -> None:
    """A very long answer is recorded whole, streamed or not."""
    long = script.say("0123456789" * 2_000_000)
    for stream in (True, False):
        with (
            testing.upstream(script.Script(long)) as api,
            recorder(tmp_path / "c", api.url) as (session, mount),
        ):
            ask(mount, stream=stream)
            session.save()
        message = files.load(tmp_path / "c").exchanges[0].response.message
        assert message is not None
        assert message["content"] == [{"type": "text", "text": long.text}]


@pytest.mark.parametrize(
    ("kind", "stream", "said"),
    [
        ("cut", True, "request 1 (main) cannot be kept"),
        ("cut", False, "request 1 (main) cannot be kept"),
        ("malformed", True, "is not a JSON object"),
        ("malformed", False, "neither a stream of events nor a message"),
        ("error_event", True, "overloaded_error: Overloaded"),
    ],
)
def test_broken_answers_are_never_half_recorded(
    tmp_path: Path, kind: script.FaultKind, stream: bool, said: str
) -> None:
    """A cut or garbled answer is refused with a reason, and what was on disk stays."""
    folder = tmp_path / "c"
    with (
        testing.upstream(script.Script(script.say("Old."))) as api,
        recorder(folder, api.url) as (old, mount),
    ):
        ask(mount)
        old.save()
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with (
        testing.upstream(script.Script(script.fault(kind))) as api,
        recorder(folder, api.url) as (session, mount),
    ):
        ask(mount, stream=stream)
    assert said in session.problem
    with pytest.raises(CassetteError, match="cannot be kept"):
        session.save()
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    ("fault", "status", "headers"),
    [
        (script.fault("rate_limited", retry_after=3), 429, {"retry-after": "3"}),
        (script.fault("overloaded"), 529, {}),
        (script.fault("server_error", status=503), 503, {}),
    ],
)
def test_errors_are_recorded_and_played_again(
    tmp_path: Path, fault: script.Fault, status: int, headers: dict[str, str]
) -> None:
    """An error is part of the conversation: status, body and the headers that steer a retry come back the same."""
    with (
        testing.upstream(script.Script(fault, script.say("Better."))) as api,
        recorder(tmp_path / "c", api.url) as (session, mount),
    ):
        first = ask(mount)
        ask(mount)
        session.save()
    error = files.load(tmp_path / "c").exchanges[0].response.error
    assert error is not None
    assert (error.status, error.headers) == (status, headers)

    replaying = open_cassette(tmp_path / "c", values={}, context=Fingerprints(prompt="p"), environ={})
    with shared().mount(replaying) as mount:
        again = ask(mount)
        _, better = ask(mount)
    assert (again[0].status, msgspec.json.decode(again[1])) == (status, msgspec.json.decode(first[1]))
    assert again[0].headers["retry-after"] == headers.get("retry-after")
    assert b"Better." in better


class Brotli:
    """An upstream that compresses in a way that nobody asked for and that is not undone here."""

    def answer(self, request: Request) -> Answer:
        return Raw(
            200, b"\x0b\x02\x80abc\x03", {"content-type": "text/event-stream", "content-encoding": "br"}
        )


def test_an_encoding_that_cannot_be_undone_is_refused(tmp_path: Path) -> None:
    """The reason names the encoding, and the remedy is on the side of the upstream."""
    with (
        Server().mount(Brotli()) as upstream,
        recorder(tmp_path / "c", upstream.base_url) as (session, mount),
    ):
        ask(mount)
        assert "content-encoding 'br'" in session.problem


def test_an_upstream_that_is_not_there(tmp_path: Path) -> None:
    """The client is told at once, and nothing is recorded."""
    with recorder(tmp_path / "c", "http://127.0.0.1:9") as (session, mount):
        response, body = ask(mount)
        assert response.status == 502
        assert response.headers["x-should-retry"] == "false"
        assert b"127.0.0.1:9" in body
        assert session.problem
