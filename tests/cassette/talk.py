"""A client that speaks like Claude Code, and a model that answers what it is told: conversations as scripts."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any

import msgspec

from roadtest.cassette.reading import Reader
from roadtest.cassette.record import RecordSession, Upstream
from roadtest.cassette.records import Cassette, Fingerprints
from roadtest.cassette.redact import Redactor
from roadtest.cassette.replay import ReplaySession
from roadtest.cassette.sse import encode
from roadtest.cassette.volatile import Volatile
from roadtest.cassette.wire import Answer, Forward, Json, Replay, Request, Session
from roadtest.results import Policies

_numbers = count(1)


class Agent:
    """One agent's conversation with the model, as Claude Code keeps it."""

    def __init__(
        self,
        session: Session,
        prompt: str = "Go on.",
        *,
        agent_id: str | None = None,
        parent: str | None = None,
        environment: str = "Today's date is 2026-01-02.",
        version: str = "2.1.325",
        system: str = "You are an agent.",
        tools: tuple[str, ...] = ("Bash", "Agent"),
    ) -> None:
        self.session = session
        self.headers = {"user-agent": f"claude-cli/{version} (external)"}
        self.headers |= {"x-claude-code-agent-id": agent_id} if agent_id else {}
        self.headers |= {"x-claude-code-parent-agent-id": parent} if parent else {}
        self.payload: Json = {
            "model": "claude-test",
            "system": [{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}],
            "tools": [{"name": name, "input_schema": {}} for name in tools],
        }
        self.messages: list[Json] = [
            {"role": "user", "content": prompt},
            {"role": "system", "content": [{"type": "text", "text": environment}]},
        ]

    def request(self) -> Request:
        body = msgspec.json.encode({**self.payload, "messages": self.messages, "stream": True})
        return Request("POST", "/v1/messages", self.headers, body)

    def ask(self) -> Answer:
        """What the session answers; a replayed message becomes part of the conversation."""
        answer = self.session.answer(self.request())
        if isinstance(answer, Replay):
            self.heard(answer.message)
        return answer

    def record(self, *blocks: Json) -> Json:
        """Ask a session that records, with a model that answers these blocks."""
        answered = message(*blocks)
        answer = self.session.answer(self.request())
        assert isinstance(answer, Forward)
        answer.tap.start(200, {"content-type": "text/event-stream; charset=utf-8"})
        for piece in encode(answered):
            answer.tap.feed(piece)
        answer.tap.end()
        self.heard(answered)
        return answered

    def heard(self, answered: Json) -> None:
        self.messages.append({"role": "assistant", "content": answered["content"]})

    def tells(self, **results: Any) -> Agent:
        """The results of calls come in, in this order."""
        content = [
            {"type": "tool_result", "tool_use_id": name, "content": text, "is_error": False}
            for name, text in results.items()
        ]
        self.messages.append({"role": "user", "content": content})
        return self

    def says(self, text: str) -> Agent:
        self.messages.append({"role": "user", "content": [{"type": "text", "text": text}]})
        return self

    def notes(self, *tool_use_ids: str, result: str = "done") -> Agent:
        """Background tasks are said to have ended."""
        texts = [
            f"<system-reminder>\n[SYSTEM NOTIFICATION]\n{_notice(name, result)}\n</system-reminder>"
            for name in tool_use_ids
        ]
        self.messages.append({"role": "user", "content": [{"type": "text", "text": text} for text in texts]})
        return self


def _notice(tool_use_id: str, result: str) -> str:
    return (
        f"<task-notification>\n<task-id>a{next(_numbers):016x}</task-id>\n<tool-use-id>{tool_use_id}</tool-use-id>\n"
        f"<result>{result}</result>\n<duration_ms>{next(_numbers)}</duration_ms></task-notification>"
    )


def message(*blocks: Json) -> Json:
    calls = any(block["type"] == "tool_use" for block in blocks)
    return {
        "id": f"msg_{next(_numbers)}",
        "type": "message",
        "role": "assistant",
        "model": "claude-test",
        "content": list(blocks),
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 3, "output_tokens": 5},
    }


def text(said: str) -> Json:
    return {"type": "text", "text": said}


def call(tool_use_id: str, name: str = "Bash", **given: Any) -> Json:
    return {"type": "tool_use", "id": tool_use_id, "name": name, "input": given}


def spawn(tool_use_id: str, prompt: str) -> Json:
    return call(tool_use_id, "Agent", subagent_type="general-purpose", prompt=prompt)


def reader(values: Mapping[str, str] | None = None, *volatile: str) -> Reader:
    return Reader(values or {}, Volatile(volatile), Redactor({}))


def recorder(values: Mapping[str, str] | None = None) -> RecordSession:
    return RecordSession(reader(values), Upstream("http://127.0.0.1:1"))


def taped(session: RecordSession) -> Cassette:
    return session.cassette(Fingerprints(), "2026-01-02T03:04:05+00:00")


def player(
    cassette: Cassette,
    values: Mapping[str, str] | None = None,
    *volatile: str,
    clock: Any = lambda: 0.0,
    **policies: Any,
) -> ReplaySession:
    return ReplaySession(cassette, reader(values, *volatile), Policies(**policies), clock)


def replayed(answer: Answer) -> list[Json]:
    """The content of an answer from the cassette."""
    assert isinstance(answer, Replay), answer
    content: list[Json] = answer.message["content"]
    return content
