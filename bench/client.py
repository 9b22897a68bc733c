"""A client that has a logged conversation once more; standard library only, for it also runs where roadtest is not."""

from __future__ import annotations

import http.client
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ONWARD = ("content-type", "user-agent", "x-claude-code-session-id", "anthropic-version", "anthropic-beta")


@dataclass(frozen=True)
class Asked:
    """One request as Claude Code made it."""

    headers: dict[str, str]
    body: bytes


def read(log: Path, count: int | None = None) -> list[Asked]:
    """What a canned server with ``--log`` has kept, or the beginning of it."""
    bodies = sorted(log.glob("*.json"))[:count]
    return [
        Asked(_headers(body.with_suffix(".head").read_bytes().decode("latin-1")), body.read_bytes())
        for body in bodies
    ]


def _headers(head: str) -> dict[str, str]:
    pairs = (line.partition(": ") for line in head.split("\r\n")[1:])
    return {name.lower(): value for name, _, value in pairs if name.lower() in ONWARD}


def send(conversation: Sequence[Asked], port: int, prefix: str = "") -> list[float]:
    """Seconds from each request to the end of its answer, one after another on one connection."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    seconds = []
    for asked in conversation:
        started = time.perf_counter()
        connection.request("POST", f"{prefix}/v1/messages?beta=true", asked.body, asked.headers)
        response = connection.getresponse()
        answer = response.read()
        seconds.append(time.perf_counter() - started)
        if response.status != http.HTTPStatus.OK or b"message_stop" not in answer:
            raise RuntimeError(f"status {response.status}: {answer[-1000:].decode(errors='replace')}")
    connection.close()
    return seconds
