"""Messages as the stream of server-sent events that the Messages API speaks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from roadtest.cassette.wire import Json

_START_USAGE = {"output_tokens": 1}


def encode(message: Json) -> Iterator[bytes]:
    """The events of a message, one piece of bytes each."""
    yield _event({"type": "message_start", "message": _opening(message)})
    for index, block in enumerate(message["content"]):
        yield from _block(index, block)
    yield _event(
        {
            "type": "message_delta",
            "delta": {
                "stop_reason": message.get("stop_reason"),
                "stop_sequence": message.get("stop_sequence"),
            },
            "usage": message.get("usage", {}),
        }
    )
    yield _event({"type": "message_stop"})


def _opening(message: Json) -> Json:
    return {
        **message,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {**message.get("usage", {}), **_START_USAGE},
    }


def _block(index: int, block: Json) -> Iterator[bytes]:
    start, deltas = _split(block)
    yield _event({"type": "content_block_start", "index": index, "content_block": start})
    for delta in deltas:
        yield _event({"type": "content_block_delta", "index": index, "delta": delta})
    yield _event({"type": "content_block_stop", "index": index})


def _split(block: Json) -> tuple[Json, list[Json]]:
    """The block as its start event shows it, and the deltas that complete it."""
    match block["type"]:
        case "text":
            return {**block, "text": ""}, [{"type": "text_delta", "text": block["text"]}]
        case "thinking":
            deltas = [{"type": "thinking_delta", "thinking": block["thinking"]}]
            deltas.append({"type": "signature_delta", "signature": block.get("signature", "")})
            return {**block, "thinking": "", "signature": ""}, deltas
        case "tool_use" | "server_tool_use":
            partial = msgspec.json.encode(block["input"]).decode()
            return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": partial}]
        case _:
            return block, []


def _event(data: dict[str, Any]) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (data["type"].encode(), msgspec.json.encode(data))
