"""Messages to server-sent events and back, exactly, however the bytes arrive."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roadtest.cassette import sse
from roadtest.cassette.wire import Json
from roadtest.errors import CassetteError

words = st.text(max_size=20)
scalars = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | words
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(words, values, max_size=3)
RESERVED = {"type", "text", "citations", "thinking", "signature", "input", "content", sse.DELTAS}
extra = objects.map(lambda fields: {key: value for key, value in fields.items() if key not in RESERVED})


def block(kind: str, optional: dict[str, Any] | None = None, **fields: Any) -> st.SearchStrategy[Json]:
    shape = st.fixed_dictionaries({"type": st.just(kind), **fields}, optional=optional or {})
    return st.tuples(extra, shape).map(lambda pair: {**pair[0], **pair[1]})


blocks = st.one_of(
    block("text", text=words, optional={"citations": st.none() | st.lists(objects, max_size=3)}),
    block("thinking", thinking=words, optional={"signature": words}),
    block("redacted_thinking", data=words),
    block("tool_use", id=words, name=words, input=objects),
    block("server_tool_use", id=words, name=words, input=objects),
    block("mcp_tool_use", id=words, name=words, server_name=words, input=objects),
    block("web_search_tool_result", tool_use_id=words, content=st.lists(objects, max_size=2) | objects),
    block("compaction", content=st.none() | words, optional={"encrypted_content": words}),
    block("an_unknown_type", anything=values),
)
counts = st.integers(0, 10**7)
usages = st.fixed_dictionaries(
    {"input_tokens": counts, "output_tokens": counts},
    optional={
        "cache_creation_input_tokens": st.none() | counts,
        "cache_read_input_tokens": st.none() | counts,
        "cache_creation": objects,
        "server_tool_use": st.none() | objects,
        "service_tier": st.none() | words,
        "a_count_yet_unknown": values,
    },
)
messages = st.fixed_dictionaries(
    {
        "id": words,
        "type": st.just("message"),
        "role": st.just("assistant"),
        "model": words,
        "content": st.lists(blocks, max_size=4),
        "stop_reason": st.none()
        | st.sampled_from(["end_turn", "tool_use", "refusal", "max_tokens", "pause_turn"]),
        "stop_sequence": st.none() | words,
        "usage": usages,
    },
    optional={
        "container": st.none() | objects,
        "stop_details": objects,
        "context_management": objects,
        "new": values,
    },
)


def decode(pieces: Iterable[bytes], content_encoding: str = "") -> sse.Accumulator:
    accumulator = sse.Accumulator(content_encoding)
    for piece in pieces:
        accumulator.feed(piece)
    accumulator.close()
    return accumulator


def cut(data: bytes, lengths: list[int]) -> Iterable[bytes]:
    for length in lengths:
        yield data[:length]
        data = data[length:]
    yield data


def in_bytes(data: bytes) -> Iterable[bytes]:
    return (data[i : i + 1] for i in range(len(data)))


def stream(message: Json) -> bytes:
    return b"".join(sse.encode(message))


def spoken(text: str = "ok", **fields: Any) -> Json:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 3, "output_tokens": 7},
        **fields,
    }


@given(messages, st.lists(st.integers(0, 40), max_size=40))
def test_any_message_survives(message: Json, lengths: list[int]) -> None:
    """Decoding what was encoded gives the message again, for any blocks, fields and pieces."""
    assert decode(cut(stream(message), lengths)).message == message


@given(messages, st.sampled_from([b"\r\n", b"\r", b"\n"]))
def test_line_ends_and_single_bytes(message: Json, end: bytes) -> None:
    """CRLF, CR and LF mean the same, also when every byte arrives alone."""
    assert decode(in_bytes(stream(message).replace(b"\n", end))).message == message


@given(messages, st.data())
def test_a_cut_stream_is_never_half_a_message(message: Json, data: st.DataObject) -> None:
    """A stream that ends before its last event gives a problem and no message."""
    whole = stream(message)
    accumulator = decode([whole[: data.draw(st.integers(0, len(whole) - len(b'top"}\n\n')))]])
    assert not accumulator.complete
    with pytest.raises(CassetteError, match="cannot be recorded"):
        _ = accumulator.message


@given(
    messages, st.lists(st.integers(0, 40), max_size=20), st.sampled_from(["gzip", "deflate", "raw deflate"])
)
def test_compressed_streams(message: Json, lengths: list[int], kind: str) -> None:
    """A stream that came compressed although identity was asked for is read all the same."""
    compress: dict[str, Callable[[bytes], bytes]] = {
        "gzip": gzip.compress,
        "deflate": zlib.compress,
        "raw deflate": lambda data: zlib.compress(data, wbits=-zlib.MAX_WBITS),
    }
    encoding = kind.removeprefix("raw ")
    assert decode(cut(compress[kind](stream(message)), lengths), encoding).message == message


def test_comments_pings_and_unknown_events_are_passed_over() -> None:
    """Comments, pings, ids, retry fields, a byte order mark and events of unknown kinds change nothing."""
    pieces = list(sse.encode(spoken("grüße 🚗")))
    noise = (
        b': keep-alive\n\nid: 1\nretry: 5\nevent: ping\ndata: {"type": "ping"}\n\ndata: {"type":"new"}\n\n'
    )
    noisy = b"\xef\xbb\xbf" + noise + noise.join(pieces)
    assert decode(in_bytes(noisy)).message == spoken("grüße 🚗")


def test_data_on_several_lines_is_one_event() -> None:
    """The data lines of one event are joined before they are read."""
    split = stream(spoken()).replace(b',"', b',\ndata:"')
    assert decode([split]).message == spoken()


def test_an_unterminated_last_event_counts_when_it_is_whole() -> None:
    """A stream that ends right after its last brace is complete: nothing of the message is missing."""
    assert decode([stream(spoken()).rstrip(b"\n")]).message == spoken()


def test_an_error_event_is_kept_as_the_api_sent_it() -> None:
    """An error in mid-stream gives the API's own words and no message."""
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    accumulator = decode([*list(sse.encode(spoken()))[:3], sse.event(error), b"event: ping\n\n"])
    assert accumulator.error == error
    assert "overloaded_error: Overloaded" in str(accumulator.problem)
    with pytest.raises(CassetteError):
        _ = accumulator.message


@pytest.mark.parametrize(
    ("tamper", "said"),
    [
        (lambda events: events[1:], "before message_start"),
        (lambda events: [events[0], *events], "second message_start"),
        (lambda events: [*events[:3], *events[4:]], "never ended"),
        (lambda events: [events[0], *events[2:]], "not open"),
        (lambda events: [*events[:2], events[1], *events[2:]], "out of order"),
        (lambda events: [*events[:2], b"data: {oops\n\n", *events[2:]], "not a JSON object"),
        (lambda events: [*events[:2], b'data: "\xff"\n\n', *events[2:]], "not a JSON object"),
        (
            lambda events: [*events[:2], b'data: {"type":"content_block_delta"}\n\n'],
            "lacks what its type promises",
        ),
    ],
)
def test_malformed_streams_are_refused(tamper: Callable[[list[bytes]], list[bytes]], said: str) -> None:
    """Events that are missing, doubled or garbled are a problem that says which."""
    assert said in str(decode(tamper(list(sse.encode(spoken())))).problem)


def test_a_message_is_not_given_early() -> None:
    """Asking for the message while the stream is under way raises and leaves the stream usable."""
    accumulator = sse.Accumulator()
    *most, last = sse.encode(spoken())
    for piece in most:
        accumulator.feed(piece)
    with pytest.raises(CassetteError, match="not ended yet"):
        _ = accumulator.message
    accumulator.feed(last)
    assert accumulator.message == spoken()


def test_unknown_deltas_are_kept_and_played_again() -> None:
    """A kind of delta that is not known is stored as it came and sent again as it came."""
    delta = {"type": "mystery_delta", "payload": [1, 2]}
    events = list(sse.encode(spoken()))
    events.insert(2, sse.event({"type": "content_block_delta", "index": 0, "delta": delta}))
    message = decode(events).message
    assert message["content"] == [{"type": "text", "text": "ok", sse.DELTAS: [delta]}]
    assert msgspec.json.encode(delta) in stream(message)
    assert decode(sse.encode(message)).message == message


def test_tool_input_that_the_model_broke_off_is_played_as_it_was() -> None:
    """Input that ends in mid-JSON, as at max_tokens, is neither lost nor completed."""
    called = spoken(
        content=[{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}], stop_reason="max_tokens"
    )
    broken = stream(called).replace(b'"partial_json":"{}"', rb'"partial_json":"{\"command\": \"ec"')
    message = decode([broken]).message
    assert stream(message) == broken
    assert decode(sse.encode(message)).message == message


def test_usage_is_a_running_total() -> None:
    """The later count holds, and a null or an input count of zero in the last event takes nothing back."""
    events = list(
        sse.encode(spoken(usage={"input_tokens": 9, "cache_read_input_tokens": 4, "output_tokens": 1}))
    )
    late = {
        "input_tokens": 0,
        "cache_read_input_tokens": None,
        "output_tokens": 12,
        "server_tool_use": {"n": 1},
    }
    events[-2] = sse.event({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": late})
    usage = {
        "input_tokens": 9,
        "cache_read_input_tokens": 4,
        "output_tokens": 12,
        "server_tool_use": {"n": 1},
    }
    assert decode(events).message["usage"] == usage


def test_the_opening_event_shows_an_empty_message() -> None:
    """The first event carries no content, no stop reason and at most one output token, as the API's does."""
    first = next(sse.encode(spoken()))
    opening = msgspec.json.decode(first.partition(b"data: ")[2])["message"]
    assert opening["content"] == []
    assert opening["stop_reason"] is None
    assert opening["usage"] == {"input_tokens": 3, "output_tokens": 1}


def test_twenty_megabytes() -> None:
    """A long answer in many deltas and a long answer in one line are both read whole, in small pieces."""
    events = list(sse.encode(spoken("")))
    word = "x" * 1000 + "é\n"
    delta = sse.event(
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": word}}
    )
    many = b"".join([*events[:2], *[delta] * 20_000, *events[3:]])
    one = stream(spoken(word * 20_000))
    for data in (many, one):
        assert len(data) > 20_000_000
        accumulator = decode(data[i : i + 1460] for i in range(0, len(data), 1460))
        assert accumulator.message == spoken(word * 20_000)


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, br"])
def test_other_encodings_are_refused(encoding: str) -> None:
    """A content encoding that cannot be undone is a problem that names it."""
    accumulator = decode([b"whatever"], encoding)
    assert repr(encoding) in str(accumulator.problem)


@pytest.mark.parametrize(
    ("body", "said"), [(gzip.compress(b"x" * 999, mtime=0)[:-9], "was cut"), (b"\x1f\x8bplain", "decode")]
)
def test_broken_compression_is_refused(body: bytes, said: str) -> None:
    """A compressed body that is cut or garbled is a problem, not an empty answer."""
    assert said in str(decode([body], "gzip").problem)


def test_gzip_members_end_to_end() -> None:
    """A gzip body made of several members is read to its end."""
    first, *rest = sse.encode(spoken())
    assert decode([gzip.compress(first) + gzip.compress(b"".join(rest))], "gzip").message == spoken()
