"""Messages as the stream of server-sent events that the Messages API speaks, and back.

``Accumulator()`` fed with ``encode(message)`` gives the message again, exactly, whatever blocks and fields it
has. What cannot be folded into a message (a kind of delta that this version does not know, tool input that
the model broke off) is kept beside the block under ``DELTAS`` as it came, and played again as it came.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from roadtest.cassette.eventstream import EventStream, Inflater
from roadtest.cassette.wire import Json
from roadtest.errors import CassetteError

DELTAS = "roadtest_deltas"
"""The key of a block under which deltas are kept that are not part of its content."""

_IN_DELTA = ("stop_reason", "stop_sequence", "stop_details", "container")
_BESIDE_DELTA = ("context_management", "input_transformations")
_INPUT_COUNTS = frozenset({"input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"})
_APPENDED = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}


def encode(message: Json) -> Iterator[bytes]:
    """The events of a message, one piece of bytes each."""
    message = complete(message)
    yield event({"type": "message_start", "message": _opening(message)})
    for index, block in enumerate(message["content"]):
        yield from _encode_block(index, block)
    yield event(
        {
            "type": "message_delta",
            "delta": {key: message[key] for key in _IN_DELTA if key in message},
            # Claude Code takes each count from the later event that has it, so the totals are right in both.
            "usage": message["usage"],
            **{key: message[key] for key in _BESIDE_DELTA if key in message},
        }
    )
    yield event({"type": "message_stop"})


def complete(message: Json) -> Json:
    """The message with what every answer has; one that was written by hand may say its content and no more."""
    calls = any(block["type"] == "tool_use" for block in message["content"])
    return {
        "id": "msg_by_hand",
        "type": "message",
        "role": "assistant",
        "model": "by-hand",
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 0, "output_tokens": 0},
        **message,
    }


def event(data: dict[str, Any]) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (data["type"].encode(), msgspec.json.encode(data))


def _opening(message: Json) -> Json:
    """The message as it looks before its first block."""
    late = {key: None for key in (*_IN_DELTA, *_BESIDE_DELTA) if key in message}
    usage = message["usage"]
    if isinstance(usage.get("output_tokens"), int):
        usage = {**usage, "output_tokens": min(usage["output_tokens"], 1)}
    return {**message, **late, "content": [], "usage": usage}


def _encode_block(index: int, block: Json) -> Iterator[bytes]:
    kept = block.get(DELTAS, [])
    start, deltas = _split({key: value for key, value in block.items() if key != DELTAS}, kept)
    yield event({"type": "content_block_start", "index": index, "content_block": start})
    for delta in deltas:
        yield event({"type": "content_block_delta", "index": index, "delta": delta})
    yield event({"type": "content_block_stop", "index": index})


def _split(block: Json, kept: list[Json]) -> tuple[Json, list[Json]]:
    """The block as its start event shows it, and the deltas that complete it."""
    start, deltas = dict(block), list(kept)
    match block:
        case {"type": "text", "text": str(text)}:
            start["text"] = ""
            deltas.append({"type": "text_delta", "text": text})
            if isinstance(citations := block.get("citations"), list):
                start["citations"] = []
                deltas.extend({"type": "citations_delta", "citation": item} for item in citations)
        case {"type": "thinking", "thinking": str(text)}:
            start["thinking"] = ""
            deltas.append({"type": "thinking_delta", "thinking": text})
            if isinstance(signature := block.get("signature"), str):
                start["signature"] = ""
                deltas.append({"type": "signature_delta", "signature": signature})
        case {"type": "tool_use" | "server_tool_use" | "mcp_tool_use", "input": given} if not _broke_off(
            kept
        ):
            start["input"] = {}
            deltas.append({"type": "input_json_delta", "partial_json": msgspec.json.encode(given).decode()})
        case {"type": "compaction", "content": content}:
            start["content"] = None
            deltas.append({"type": "compaction_delta", "content": content})
    return start, deltas


def _broke_off(kept: list[Json]) -> bool:
    return any(delta.get("type") == "input_json_delta" for delta in kept)


class Accumulator:
    """Takes the bytes of a streamed answer, in any pieces, and gives its message once the stream is whole.

    ``feed`` and ``close`` never raise, so a client can be served from the same bytes. What is wrong with the
    stream, if anything, is in ``problem``; and ``message`` raises it: there is never half a message.
    """

    def __init__(self, content_encoding: str = "") -> None:
        self.problem: CassetteError | None = None
        self.error: Json | None = None
        """The error event that ended the stream, as the API sent it."""
        self._events = EventStream()
        self._message: Json | None = None
        self._blocks: list[_Block] = []
        self._open: _Block | None = None
        self._complete = False
        self._bytes = 0
        self._inflater = Inflater()
        try:
            self._inflater = Inflater(content_encoding)
        except CassetteError as problem:
            self.problem = problem

    @property
    def complete(self) -> bool:
        return self._complete and self.problem is None

    @property
    def message(self) -> Json:
        if self.problem is not None:
            raise self.problem
        if not self._complete or self._message is None:
            raise _broken(f"the stream has not ended yet ({self._bytes} bytes so far)")
        return self._message

    def feed(self, data: bytes) -> None:
        self._bytes += len(data)
        if self.problem is not None:
            return
        try:
            for name, payload in self._events.feed(self._inflater.feed(data)):
                self._take(name, payload)
        except CassetteError as problem:
            self.problem = problem

    def close(self) -> None:
        """The connection ended."""
        if self.problem is not None:
            return
        try:
            for name, payload in self._events.close():
                self._take(name, payload)
            self._inflater.close()
            if not self._complete:
                raise _broken(f"the stream was cut before message_stop, after {self._bytes} bytes")
        except CassetteError as problem:
            self.problem = problem

    def _take(self, name: str, payload: bytes) -> None:
        if self._complete:
            return
        try:
            data = msgspec.json.decode(payload, type=dict[str, Any])
        except (msgspec.DecodeError, UnicodeDecodeError) as problem:
            raise _broken(f"the event {name or '(unnamed)'!r} is not a JSON object: {problem}") from None
        try:
            self._apply(str(data.get("type", name)), data)
        except (KeyError, TypeError, AttributeError) as problem:
            raise _broken(
                f"the event {name or '(unnamed)'!r} lacks what its type promises: {problem!r}"
            ) from None

    def _apply(self, kind: str, data: Json) -> None:
        if kind == "error":
            self.error = data
            raise _broken(f"the API broke it off: {data['error']['type']}: {data['error']['message']}")
        if kind == "message_start":
            if self._message is not None:
                raise _broken("it holds a second message_start")
            self._message = dict(data["message"])
        elif kind.startswith(("content_block_", "message_")):
            if self._message is None:
                raise _broken(f"{kind} came before message_start")
            self._apply_inside(kind, data, self._message)
        # Pings and events of kinds that are yet to be invented carry nothing of the message.

    def _apply_inside(self, kind: str, data: Json, message: Json) -> None:
        match kind:
            case "content_block_start":
                self._start_block(data["index"], data["content_block"])
            case "content_block_delta":
                self._current(data["index"]).add(data["delta"])
            case "content_block_stop":
                self._current(data["index"])
                self._open = None
            case "message_delta":
                message.update(data["delta"])
                message.update((key, data[key]) for key in data if key not in {"type", "delta", "usage"})
                _add_usage(message, data.get("usage"))
            case "message_stop":
                if self._open is not None:
                    raise _broken(f"content block {len(self._blocks) - 1} never ended")
                message["content"] = [block.whole() for block in self._blocks]
                self._complete = True

    def _start_block(self, index: int, block: Json) -> None:
        if self._open is not None or index != len(self._blocks):
            raise _broken(f"content block {index} began out of order, after {len(self._blocks)} others")
        self._open = _Block(block)
        self._blocks.append(self._open)

    def _current(self, index: int) -> _Block:
        if self._open is None or index != len(self._blocks) - 1:
            raise _broken(f"a delta or stop names content block {index}, which is not open")
        return self._open


class _Block:
    """A content block under way; long texts are joined once, at the end."""

    def __init__(self, start: Json) -> None:
        self._start = dict(start)
        self._pieces: dict[str, list[str]] = {}
        self._citations: list[Json] = []
        self._kept: list[Json] = []

    def add(self, delta: Json) -> None:
        match delta:
            case {"type": "text_delta" | "thinking_delta" | "input_json_delta" as kind}:
                self._pieces.setdefault(_APPENDED[kind], []).append(delta[_APPENDED[kind]])
            case {"type": "signature_delta"}:
                self._start["signature"] = delta["signature"]
            case {"type": "citations_delta"}:
                self._citations.append(delta["citation"])
            case {"type": "compaction_delta"}:
                self._start.update((key, delta[key]) for key in delta if key != "type")
            case _:
                self._kept.append(delta)

    def whole(self) -> Json:
        block = self._start
        for field in ("text", "thinking"):
            if field in self._pieces:
                block[field] = block.get(field, "") + "".join(self._pieces[field])
        if self._citations:
            block["citations"] = [*(block.get("citations") or []), *self._citations]
        if given := "".join(self._pieces.get("partial_json", ())):
            try:
                block["input"] = msgspec.json.decode(given)
            except msgspec.DecodeError:
                self._kept.append({"type": "input_json_delta", "partial_json": given})
        return {**block, DELTAS: self._kept} if self._kept else block


def _add_usage(message: Json, later: Json | None) -> None:
    """Counts are running totals: the later one holds, but null or no input at all takes nothing back."""
    if later is None:
        return
    usage = dict(message.get("usage") or {})
    for key, value in later.items():
        if value is None or (value == 0 and key in _INPUT_COUNTS):
            usage.setdefault(key, value)
        else:
            usage[key] = value
    message["usage"] = usage


def _broken(what: str) -> CassetteError:
    return CassetteError(f"The upstream's answer cannot be recorded: {what}.", hint="record again")
