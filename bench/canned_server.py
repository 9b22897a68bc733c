"""A model that answers from a list, in a process of its own: the least that Claude Code can be served with.

    python canned_server.py TURNS.json [--log FOLDER]

TURNS.json is a list of lists of content blocks. Which turn a request gets is read off the request (the number of tool
results it carries), so runs need no telling apart. Prints its port first. Anything but a POST is refused and counted;
``GET /requests`` tells how many were answered and refused. ``--log`` keeps every request for the bench of cassettes.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Block = dict[str, Any]


def main() -> None:
    turns = json.loads(Path(sys.argv[1]).read_text())
    log = Path(sys.argv[sys.argv.index("--log") + 1]) if "--log" in sys.argv else None
    asyncio.run(serve(Model(turns, log)))


async def serve(model: Model) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(model), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


class Model:
    """The answers, encoded once, before the clock runs."""

    def __init__(self, turns: list[list[Block]], log: Path | None) -> None:
        self._answers = [
            response("text/event-stream", stream(turn, number)) for number, turn in enumerate(turns)
        ]
        self._log = log
        self.answered = 0
        self.refused = 0

    def reply(self, head: bytes, body: bytes) -> bytes:
        if head.startswith(b"GET /requests "):
            return response("application/json", json.dumps([self.answered, self.refused]).encode())
        if not head.startswith(b"POST"):
            self.refused += 1
            return b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n"
        if self._log:
            (self._log / f"{self.answered:04}.head").write_bytes(head)
            (self._log / f"{self.answered:04}.json").write_bytes(body)
        self.answered += 1
        turn = body.count(b'"type":"tool_result"')
        return self._answers[min(turn, len(self._answers) - 1)]


class Connection(asyncio.Protocol):
    """HTTP/1.1 with Content-Length, which is all that the client speaks."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._received = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # create_server makes no other
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        while (end := self._received.find(b"\r\n\r\n")) >= 0:
            head = bytes(self._received[:end])
            size = end + 4 + content_length(head)
            if len(self._received) < size:
                return
            body = bytes(self._received[end + 4 : size])
            del self._received[:size]
            self._transport.write(self._model.reply(head, body))


def content_length(head: bytes) -> int:
    _, found, rest = head.lower().partition(b"content-length:")
    return int(rest.split(b"\r\n", 1)[0]) if found else 0


def response(kind: str, body: bytes) -> bytes:
    return f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body


def stream(blocks: list[Block], number: int) -> bytes:
    return b"".join(
        f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events(blocks, number)
    )


def events(blocks: list[Block], number: int) -> Iterator[Block]:
    usage = {"input_tokens": 10, "output_tokens": 5}
    message = {
        "id": f"msg_{number:04}",
        "type": "message",
        "role": "assistant",
        "model": "canned",
        "content": [],
    }
    yield {
        "type": "message_start",
        "message": {**message, "stop_reason": None, "stop_sequence": None, "usage": usage},
    }
    for index, block in enumerate(blocks):
        is_call = block["type"] == "tool_use"
        empty = {**block, "input": {}} if is_call else {"type": "text", "text": ""}
        delta = (
            {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            if is_call
            else {"type": "text_delta", "text": block["text"]}
        )
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    reason = "tool_use" if any(block["type"] == "tool_use" for block in blocks) else "end_turn"
    yield {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage}
    yield {"type": "message_stop"}


if __name__ == "__main__":
    main()
