"""What Claude Code prints with ``--output-format stream-json``, taken in line by line as it comes.

The stream is the second witness of a run. It shows every ``tool_use`` block of the main agent and of its subagents, in the
order in which the model issued them, and what became of each; subagents of subagents appear only as tasks.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import msgspec

from roadtest.results import Usage


@dataclass
class StreamCall:
    """One ``tool_use`` block, with its result where one came."""

    id: str
    name: str
    args: dict[str, Any]
    turn: str
    agent_id: str | None
    agent: str | None
    parent_id: str | None
    result: str | None = None
    """What the model was told."""
    output: Any = None
    """The same as the tool gave it, where the stream shows that."""
    is_error: bool = False
    refused: bool = False
    """Permission rules or a hook kept it from running."""


@dataclass
class Stream:
    messages: list[dict[str, Any]] = field(default_factory=list)
    noise: list[str] = field(default_factory=list)
    """Lines that are not JSON objects."""
    calls: list[StreamCall] = field(default_factory=list)
    spawns: dict[str, str] = field(default_factory=dict)
    """Agent id to the id of the call that spawned it."""
    tool_uses: dict[str, int] = field(default_factory=dict)
    """Agent id to the number of its calls, as its task reported at the end."""
    sessions: list[str] = field(default_factory=list)
    init: dict[str, Any] = field(default_factory=dict)
    results: list[dict[str, Any]] = field(default_factory=list)
    hooks_ran: set[str] = field(default_factory=set)
    """Hook events that the stream itself reports; only that of the session's start is certain to be there."""

    def feed(self, line: bytes) -> None:
        """Take in one line."""
        if not line.strip():
            return
        message = _decoded(line)
        if message is None:
            self.noise.append(line.decode("utf-8", "replace").rstrip("\r\n"))
            return
        self.messages.append(message)
        self._note_session(message)
        match message.get("type"):
            case "assistant":
                self._take_calls(message)
            case "user":
                self._take_results(message)
            case "result":
                self.results.append(message)
            case "system":
                self._take_system(message)

    @property
    def finished(self) -> bool:
        return bool(self.results)

    @property
    def output(self) -> str:
        """The last answer of the main agent."""
        texts = (_text(result.get("result")) for result in reversed(self.results))
        return next(filter(None, texts), "")

    @property
    def structured(self) -> Any:
        found = (
            result["structured_output"] for result in reversed(self.results) if "structured_output" in result
        )
        return next(found, None)

    @property
    def is_error(self) -> bool:
        return any(result.get("is_error") is True for result in self.results)

    @property
    def subtype(self) -> str:
        return _text(self.results[-1].get("subtype")) if self.results else ""

    @property
    def stopped_by_hook(self) -> bool:
        """Whether a hook ended the run; Claude Code then does not wait for the hooks beside it."""
        return any(result.get("terminal_reason") == "hook_stopped" for result in self.results)

    @property
    def api_error(self) -> str:
        """What the model's side said instead of answering, or nothing."""
        for result in self.results:
            if result.get("is_error") is True and result.get("subtype") == "success":
                return _text(result.get("result")) or "no reason given"
        return ""

    @property
    def broken_off(self) -> str:
        """Why Claude Code itself could not go on, or nothing; running out of turns or money is an end like any other."""
        for result in self.results:
            if result.get("subtype") == "error_during_execution":
                return "; ".join(map(str, _list(result.get("errors")))) or "no reason given"
        return ""

    @property
    def usage(self) -> Usage:
        """Tokens of all agents in all results; where results do not count per model, those of the main agent."""
        if parts := list(self._usage_by_model()):
            return Usage(
                **{name: sum(int(_number(part.get(key))) for part in parts) for name, key in _COUNTS.items()}
            )
        usages = [_dict(result.get("usage")) for result in self.results]
        return Usage(**{name: sum(int(_number(usage.get(name))) for usage in usages) for name in _COUNTS})

    @property
    def cost_usd(self) -> float:
        """What this run cost; ``total_cost_usd`` of a result is a running total of its session."""
        if parts := list(self._usage_by_model()):
            return sum(_number(part.get("costUSD")) for part in parts)
        return max((_number(result.get("total_cost_usd")) for result in self.results), default=0.0)

    def _usage_by_model(self) -> Iterator[dict[str, Any]]:
        for result in self.results:
            yield from map(_dict, _dict(result.get("model_usage_since_last_result")).values())

    @property
    def turns(self) -> int:
        return int(sum(_number(result.get("num_turns")) for result in self.results))

    @property
    def model(self) -> str:
        return _text(self.init.get("model"))

    @property
    def claude_version(self) -> str:
        return _text(self.init.get("claude_code_version"))

    @property
    def session_id(self) -> str:
        return self.sessions[0] if self.sessions else ""

    @property
    def tools(self) -> list[str]:
        return [name for name in _list(self.init.get("tools")) if isinstance(name, str)]

    def _note_session(self, message: dict[str, Any]) -> None:
        session = message.get("session_id")
        if isinstance(session, str) and session and session not in self.sessions:
            self.sessions.append(session)

    def _take_system(self, message: dict[str, Any]) -> None:
        match message.get("subtype"):
            case "init":
                self.init = self.init or message
            case "task_started":
                self._note_spawn(message.get("task_id"), message.get("tool_use_id"))
            case "task_notification" if message.get("status") == "completed":
                self._note_tool_uses(_text(message.get("task_id")), _dict(message.get("usage")))
            case "permission_denied":
                for call in self._calls_named(_text(message.get("tool_use_id")), message.get("agent_id")):
                    call.refused = True
            case "hook_started" | "hook_response":
                self.hooks_ran.add(_text(message.get("hook_event")))

    def _take_calls(self, message: dict[str, Any]) -> None:
        agent_id = _text(message.get("agent_id")) or None
        parent_id = _text(message.get("parent_tool_use_id")) or None
        self._note_spawn(agent_id, parent_id)
        inner = _dict(message.get("message"))
        for block in _blocks(inner, "tool_use"):
            self.calls.append(
                StreamCall(
                    id=_text(block.get("id")),
                    name=_text(block.get("name")),
                    args=_dict(block.get("input")),
                    turn=_text(inner.get("id")),
                    agent_id=agent_id,
                    agent=_text(message.get("subagent_type")) or None,
                    parent_id=parent_id,
                )
            )

    def _take_results(self, message: dict[str, Any]) -> None:
        metas = {_text(_dict(meta).get("id")): _dict(meta) for meta in _list(message.get("tool_result_meta"))}
        for block in _blocks(_dict(message.get("message")), "tool_result"):
            call_id = _text(block.get("tool_use_id"))
            decision = _dict(metas.get(call_id, {}).get("permission_decision")).get("decision")
            for call in self._calls_named(call_id, message.get("agent_id")):
                call.result = _plain(block.get("content"))
                call.output = message.get("tool_use_result", call.result)
                call.is_error = block.get("is_error") is True
                call.refused = call.refused or decision == "reject"

    def _calls_named(self, call_id: str, agent_id: Any) -> Iterator[StreamCall]:
        """The newest call with this id: a scripted model may use one id in several agents, or again."""
        same = (
            call
            for call in reversed(self.calls)
            if call.id == call_id and call.agent_id == (agent_id or None)
        )
        yield from islice(same, 1)

    def _note_tool_uses(self, agent_id: str, usage: dict[str, Any]) -> None:
        if agent_id in self.spawns:
            self.tool_uses[agent_id] = int(_number(usage.get("tool_uses")))

    def _note_spawn(self, agent_id: Any, call_id: Any) -> None:
        if isinstance(agent_id, str) and isinstance(call_id, str) and agent_id and call_id:
            self.spawns.setdefault(agent_id, call_id)


_COUNTS = {
    "input_tokens": "inputTokens",
    "output_tokens": "outputTokens",
    "cache_creation_input_tokens": "cacheCreationInputTokens",
    "cache_read_input_tokens": "cacheReadInputTokens",
}


def _decoded(line: bytes) -> dict[str, Any] | None:
    """The object in a line; half a surrogate pair, which only the slower parser takes, becomes a replacement mark."""
    try:
        return msgspec.json.decode(line, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        if b"\\u" not in line:
            return None
    try:
        text = json.dumps(json.loads(line), ensure_ascii=False).encode("utf-16", "surrogatepass")
        return msgspec.json.decode(text.decode("utf-16", "replace"), type=dict[str, Any])
    except (ValueError, RecursionError):
        return None


def _blocks(message: dict[str, Any], kind: str) -> Iterator[dict[str, Any]]:
    return (block for block in map(_dict, _list(message.get("content"))) if block.get("type") == kind)


def _plain(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(_text(_dict(block).get("text")) for block in _list(content))


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _number(value: Any) -> float:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else 0
