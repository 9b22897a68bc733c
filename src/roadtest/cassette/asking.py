"""The model for scorers: a judge asks through the run's own cassette, so that its answers are recorded and replayed too.

    message = ask_model(model="claude-opus-5", max_tokens=500, messages=[{"role": "user", "content": "..."}])

A library with a client of its own is given ``model_endpoint()``: its address, and the header that names the lane.
"""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import msgspec

from roadtest.cassette.wire import LANE_HEADER, Json
from roadtest.errors import CassetteError, UsageError

_OK = 200


@dataclass(frozen=True)
class Endpoint:
    """Where the model of the present run answers."""

    url: str

    def headers(self, lane: str = "judge") -> dict[str, str]:
        return {LANE_HEADER: lane}


_current: ContextVar[Endpoint | None] = ContextVar("roadtest_model", default=None)


@contextmanager
def answering(endpoint: Endpoint) -> Iterator[None]:
    """Scorers that run inside ask here."""
    token = _current.set(endpoint)
    try:
        yield
    finally:
        _current.reset(token)


def model_endpoint() -> Endpoint:
    """Where a scorer finds the model of the run that it scores."""
    endpoint = _current.get()
    if endpoint is None:
        raise UsageError(
            "No run with a cassette is being scored here, so there is no model to ask.",
            hint="ask from a scorer of a suite whose task is ClaudeCode(...) without a script",
        )
    return endpoint


def ask_model(*, lane: str = "judge", **payload: Any) -> Json:
    """One request to the Messages API through the run's cassette; the message that it answers with."""
    endpoint = model_endpoint()
    address = urlsplit(endpoint.url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port)
    try:
        headers = {
            "content-type": "application/json",
            "anthropic-version": "2023-06-01",
            **endpoint.headers(lane),
        }
        connection.request("POST", f"{address.path}/v1/messages", msgspec.json.encode(payload), headers)
        response = connection.getresponse()
        body = response.read()
    finally:
        connection.close()
    if response.status != _OK:
        raise CassetteError(f"The model did not answer a scorer ({response.status}): {_message(body)}")
    return msgspec.json.decode(body, type=dict[str, Any])


def _message(body: bytes) -> str:
    try:
        return str(msgspec.json.decode(body)["error"]["message"])
    except (msgspec.DecodeError, KeyError, TypeError):
        return body.decode("utf-8", "replace")
