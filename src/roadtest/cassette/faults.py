"""Things that go wrong between Claude Code and the model, on purpose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol
from weakref import WeakValueDictionary

import msgspec

from roadtest.cassette import sse
from roadtest.cassette.wire import Answer, Delay, Json, Raw, Request, Session
from roadtest.script import Fault, FaultKind

_ERRORS: dict[FaultKind, tuple[int, str, str]] = {
    "overloaded": (529, "overloaded_error", "Overloaded"),
    "rate_limited": (429, "rate_limit_error", "This request would exceed the rate limit."),
    "server_error": (500, "api_error", "Internal server error"),
}


class Played(Session, Protocol):
    """A session that was written or recorded beforehand."""

    @property
    def unplayed(self) -> list[str]:
        """What was there and never asked for, a line each."""


class FaultySession:
    """Another session, with faults at chosen requests, counted from 1; those requests never reach it.

    So what it had to say is not lost: Claude Code's retry, or its next question, gets it.
    """

    def __init__(self, inner: Played, faults: Mapping[int, Fault]) -> None:
        self._inner = inner
        self._faults = {
            first + again: fault for first, fault in sorted(faults.items()) for again in range(fault.times)
        }
        self._asked = 0
        self._current: WeakValueDictionary[int, Request] = WeakValueDictionary()

    @property
    def unplayed(self) -> list[str]:
        """What the other session had left, and faults at requests that never came, a line each."""
        missed = [
            f"fault {fault.kind} at request {number} did not happen: the agent made {self._asked} requests"
            for number, fault in self._faults.items()
            if number > self._asked
        ]
        return [*self._inner.unplayed, *missed]

    def answer(self, request: Request) -> Answer:
        fault = self._faults.get(self._asked) if self._is_new(request) else None
        return self._inner.answer(request) if fault is None else spoil(fault, streaming=request.wants_stream)

    def _is_new(self, request: Request) -> bool:
        """Whether this request is seen for the first time; one that was told to wait is put again."""
        if any(request is known for known in self._current.values()):
            return False
        self._asked += 1
        self._current[self._asked] = request
        return True


def spoil(fault: Fault, *, streaming: bool) -> Answer:
    """What Claude Code gets in place of an answer, or before it."""
    if fault.kind == "slow":
        return Delay(fault.seconds)
    if fault.kind in _ERRORS or (fault.kind == "error_event" and not streaming):
        return _error(fault)
    if not streaming:
        half = msgspec.json.encode(_UNFINISHED)[:-20]
        return Raw(200, half, {"content-type": "application/json"}, cut=fault.kind == "cut")
    events = list(sse.encode(_UNFINISHED))
    half = b"".join(events[:3])
    stream = {"content-type": "text/event-stream"}
    if fault.kind == "cut":
        return Raw(200, half, stream, cut=True)
    if fault.kind == "malformed":
        return Raw(
            200, half + b'event: content_block_delta\ndata: {"type": "content_bl\n\n' + events[-1], stream
        )
    overload = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    return Raw(200, half + sse.event(overload), stream)


def _error(fault: Fault) -> Raw:
    status, kind, message = _ERRORS.get(fault.kind, _ERRORS["overloaded"])
    headers = {"content-type": "application/json"}
    if fault.retry_after is not None:
        headers["retry-after"] = f"{fault.retry_after:g}"
    body = {"type": "error", "error": {"type": kind, "message": message}}
    return Raw(fault.status or status, msgspec.json.encode(body), headers)


_UNFINISHED: Json = {
    "id": "msg_fault",
    "type": "message",
    "role": "assistant",
    "model": "faulty",
    "content": [{"type": "text", "text": "This answer breaks off"}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 0, "output_tokens": 0},
}
