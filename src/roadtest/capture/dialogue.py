"""Hooks as questions: Claude Code asks whoever started it about each event, over its standard input and output.

That is how its SDK has hooks (``--input-format stream-json``): it takes neither a process nor a connection for each event,
and no setting of a project can turn it off. The prompt goes the same way.
"""

from __future__ import annotations

import json
import re
from typing import Any

from roadtest.capture import hook
from roadtest.capture.receiver import Receiver
from roadtest.capture.settings import ASKED_EVENTS, TOOL_EVENTS

_FIRST = "roadtest-hooks"
_QUESTION = re.compile(rb'\{"type":"control_request","request_id":"([^"\\]+)"')


class Dialogue:
    """What to tell one run of ``claude``: hooks and prompt to begin with, then an answer to each question."""

    arguments = ("--input-format", "stream-json")

    def __init__(self, prompt: str, receiver: Receiver) -> None:
        self._receiver = receiver
        self.refusal = "Claude Code never said that it would ask about them"
        """Why the hooks were not taken; empty when they were."""
        hooks = {event: [_group(event)] for event in ASKED_EVENTS}
        self.opening = _line(
            type="control_request", request_id=_FIRST, request={"subtype": "initialize", "hooks": hooks}
        ) + _line(type="user", message={"role": "user", "content": prompt})

    def reply(self, line: bytes) -> bytes | None:
        """What to say to this line; None where it is not a part of the dialogue but of the stream."""
        if b'"control_' not in line:
            return None
        try:
            message = hook.decode(line)
        except (hook.Refused, RecursionError):
            return self._shrug(line)
        match message:
            case {"type": "control_request", "request_id": str(number), "request": dict(question)}:
                return self._answer(number, question)
            case {"type": "control_response", "response": dict(response)}:
                self._note(response)
                return b""
        return None

    def _answer(self, number: str, question: dict[str, Any]) -> bytes:
        kind = question.get("subtype")
        if kind != "hook_callback":
            return _response(number, subtype="error", error=f"nobody here answers {kind}")
        self._receiver.keep(question.get("input"))
        return _response(number, subtype="success", response={})

    def _shrug(self, line: bytes) -> bytes | None:
        """The agent waits for an answer even to what cannot be read."""
        question = _QUESTION.match(line)
        if question is None:
            return None
        self._receiver.problems.append(
            f"the capture hook failed: an event of {len(line)} bytes cannot be read"
        )
        return _response(question[1].decode(), subtype="success", response={})

    def _note(self, response: dict[str, Any]) -> None:
        if response.get("request_id") == _FIRST:
            accepted = response.get("subtype") == "success"
            self.refusal = "" if accepted else str(response.get("error", "no reason given"))


def _group(event: str) -> dict[str, Any]:
    return {"matcher": "*" if event in TOOL_EVENTS else None, "hookCallbackIds": ["roadtest"]}


def _response(number: str, **answer: Any) -> bytes:
    return _line(type="control_response", response={"request_id": number, **answer})


def _line(**message: Any) -> bytes:
    """In plain ASCII, so that half a surrogate pair in a prompt can be told, too."""
    return json.dumps(message).encode("ascii") + b"\n"
