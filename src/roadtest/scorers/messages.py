"""Trajectories as chat messages, in the form that AgentEvals and OpenEvals read.

One assistant message for each turn of the model, with all tool calls of that turn; after it one tool message for each
result. Turns of a subagent come after the call that spawned it and carry its name. A call without a result has no tool
message.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from roadtest.calls import ToolCall
from roadtest.errors import UsageError
from roadtest.matching import ExpectedCall
from roadtest.matching.expected import expected_calls
from roadtest.matching.names import canonical_tool
from roadtest.matching.values import is_plain

Message = dict[str, Any]
_NOTHING: Mapping[str, str] = {}


def to_messages(
    calls: Iterable[ToolCall], *, prompt: Any = None, answer: str = "", said: Mapping[str, str] = _NOTHING
) -> list[Message]:
    """The conversation that these calls were part of; ``said`` is what the model wrote beside the calls of a turn."""
    messages: list[Message] = [] if prompt is None else [{"role": "user", "content": _text(prompt)}]
    for turn in _turns(calls):
        messages += _turn_messages(turn, said)
    return [*messages, {"role": "assistant", "content": answer}] if answer else messages


def _turns(calls: Iterable[ToolCall]) -> list[list[tuple[str, ToolCall]]]:
    """The calls by turn, each with an id; a call whose turn is not known is a turn of its own."""
    turns: dict[object, list[tuple[str, ToolCall]]] = {}
    for number, call in enumerate(calls):
        key = (call.agent_id, call.turn) if call.turn else number
        turns.setdefault(key, []).append((call.id or f"call-{number}", call))
    return list(turns.values())


def _turn_messages(turn: list[tuple[str, ToolCall]], said: Mapping[str, str]) -> list[Message]:
    agent = turn[0][1].agent
    asked = {
        "role": "assistant",
        "content": said.get(turn[0][1].turn or "", ""),
        **({"name": agent} if agent else {}),
        "tool_calls": [_tool_call(call_id, call) for call_id, call in turn],
    }
    results = [
        {"role": "tool", "tool_call_id": call_id, "name": call.name, "content": _result(call)}
        for call_id, call in turn
        if call.status != "unfinished"
    ]
    return [asked, *results]


def _tool_call(call_id: str, call: ToolCall) -> Message:
    arguments = msgspec.json.encode(call.args).decode()
    return {"id": call_id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _result(call: ToolCall) -> str:
    return call.error or (call.status if call.status == "denied" else "") or _text(call.output)


def _text(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return msgspec.json.encode(value).decode()


def reference_messages(expected: Any, *, prompt: Any, answer: str) -> list[Message]:
    """Expected calls as messages, each in a turn of its own; messages are taken as they are."""
    if isinstance(expected, Mapping) and "messages" in expected:
        expected = expected["messages"]
    if (
        isinstance(expected, list)
        and expected
        and all(isinstance(one, Mapping) and "role" in one for one in expected)
    ):
        return [dict(one) for one in expected]
    calls = [_plain_call(one) for one in expected_calls(expected)]
    return to_messages(calls, prompt=prompt, answer=answer)


def _plain_call(expected: ExpectedCall) -> ToolCall:
    """The one call that this expectation stands for, where it stands for one."""
    names = {canonical_tool(name) for name in expected.tool.names}
    (name,) = names if len(names) == 1 else ("",)
    args = expected.args or {}
    if (
        not name
        or expected.tool.globs
        or expected.inside is not None
        or expected.statuses
        or not is_plain(args)
    ):
        raise UsageError(
            f"{expected} says more than a message can: AgentEvals compares one tool name and plain arguments.",
            hint="use scorers.trajectory_match(...), which understands it",
        )
    return ToolCall(name=name, args=args)


def texts_of_turns(stream: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """What the model wrote in each turn, by the id of its message, from the stream of a run."""
    texts: dict[str, str] = {}
    for event in stream:
        message = event.get("message")
        if event.get("type") != "assistant" or not isinstance(message, Mapping):
            continue
        turn, content = str(message.get("id")), message.get("content")
        for block in content if isinstance(content, list) else ():
            if isinstance(block, Mapping) and block.get("type") == "text":
                texts[turn] = texts.get(turn, "") + str(block.get("text", ""))
    return texts
