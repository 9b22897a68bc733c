"""``roadtest.testing``: runs built by hand, and the Messages API on loopback."""

from __future__ import annotations

import gzip
import http.client
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest

from roadtest import ToolCall, script, testing
from roadtest.cassette import sse

KEY = {"x-api-key": "any"}
QUESTION: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "stream": True}


def ask(
    api: testing.Upstream, headers: dict[str, str] = KEY, **payload: Any
) -> tuple[http.client.HTTPResponse, bytes]:
    url = urlsplit(api.url)
    connection = http.client.HTTPConnection(url.netloc)
    connection.request(
        "POST", f"{url.path}/v1/messages", msgspec.json.encode({**QUESTION, **payload}), headers
    )
    response = connection.getresponse()
    data = response.read()
    connection.close()
    return response, data


def read(data: bytes, encoding: str = "") -> Any:
    accumulator = sse.Accumulator(encoding)
    accumulator.feed(data)
    accumulator.close()
    return accumulator.message["content"]


def test_a_run_in_one_line() -> None:
    """A run is built from its output and its calls, and any other field can be given."""
    run = testing.run("Found.", calls=["Read", ("Grep", {"pattern": "TODO"})], turns=3)
    assert run.output == "Found."
    assert run.tools == ["Read", "Grep"]
    assert run.trajectory[1].args == {"pattern": "TODO"}
    assert run.turns == 3


def test_calls_of_a_subagent() -> None:
    """Calls inside a spawning call belong to the subagent and point at the call that spawned it."""
    spawn: Any = ("Agent", {"subagent_type": "reviewer"}, ["Read", ("Agent", {}, ["Glob"])])
    calls = testing.trajectory("Bash", spawn, ToolCall(name="Edit", status="denied"))
    assert [(call.name, call.agent) for call in calls] == [
        ("Bash", None),
        ("Agent", None),
        ("Read", "reviewer"),
        ("Agent", "reviewer"),
        ("Glob", "general-purpose"),
        ("Edit", None),
    ]
    assert calls.tree().splitlines()[2] == "  Read()"
    assert calls[-1].status == "denied"
    assert len({call.id for call in calls}) == 6


def test_calls_inside_a_tool_that_spawns_nothing() -> None:
    """Only the tool that spawns subagents can have calls inside."""
    with pytest.raises(ValueError, match="Bash spawns no subagent"):
        testing.trajectory(("Bash", {}, ["Read"]))


def test_the_api_streams_the_script() -> None:
    """A request with a key gets the script's turn, as a stream or as plain JSON, and is kept."""
    with testing.upstream(script.Script(script.say("One."), script.say("Two."))) as api:
        response, data = ask(api)
        assert response.headers["content-type"] == "text/event-stream"
        assert read(data) == [{"type": "text", "text": "One."}]
        assert api.unplayed == ["lane main: 1 of 2 turns were not asked for"]
        _, data = ask(api, {"authorization": "Bearer any"}, stream=False)
    assert msgspec.json.decode(data)["content"] == [{"type": "text", "text": "Two."}]
    assert [request.wants_stream for request in api.requests] == [True, False]


def test_the_api_wants_a_key() -> None:
    """Without a key the API refuses as the real one does, and the script does not move on."""
    with testing.upstream(script.Script(script.say("Secret."))) as api:
        response, data = ask(api, {})
    assert response.status == 401
    assert msgspec.json.decode(data)["error"]["type"] == "authentication_error"
    assert api.unplayed


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_the_api_can_be_awkward(line_end: str) -> None:
    """Single bytes, other line ends, comments, pings and unknown events make the same message."""
    with testing.upstream(
        script.Script(script.say("grüße 🚗")), piece=1, line_end=line_end, noise=True
    ) as api:
        _, data = ask(api)
    assert b": keep-alive" in data
    assert read(data) == [{"type": "text", "text": "grüße 🚗"}]


def test_the_api_can_compress_unasked() -> None:
    """A compressed answer says so, whatever the client accepts."""
    with testing.upstream(script.Script(script.say("Small."), script.say("Plain.")), compress=True) as api:
        response, data = ask(api, {**KEY, "accept-encoding": "identity"})
        _, plain = ask(api, stream=False)
    assert response.headers["content-encoding"] == "gzip"
    assert read(data, "gzip") == [{"type": "text", "text": "Small."}]
    assert b"Plain." in gzip.decompress(plain)


def test_the_api_can_fail() -> None:
    """Faults of the script come with the status and the headers of the real API."""
    faults = [script.fault("rate_limited", retry_after=2), script.fault("overloaded")]
    with testing.upstream(script.Script(*faults)) as api:
        limited, _ = ask(api)
        overloaded, _ = ask(api)
    assert (limited.status, limited.headers["retry-after"]) == (429, "2")
    assert overloaded.status == 529


def test_the_api_knows_the_workspace() -> None:
    """``{{workspace}}`` is the working directory that Claude Code tells the model."""
    told = {"role": "system", "content": "\n - Primary working directory: /w/x\n - Platform: linux\n"}
    with testing.upstream(script.Script(script.say("In {{workspace}}."))) as api:
        _, data = ask(api, messages=[*QUESTION["messages"], told])
    assert read(data) == [{"type": "text", "text": "In /w/x."}]
