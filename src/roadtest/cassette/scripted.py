"""The session that plays a ``roadtest.script.Script``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from roadtest.cassette.faults import spoil
from roadtest.cassette.placeholders import fill
from roadtest.cassette.wire import Answer, Json, Refuse, Replay, Request
from roadtest.errors import UsageError
from roadtest.script import (
    Asked,
    Block,
    Call,
    Fault,
    Part,
    Say,
    Script,
    Step,
    Think,
    ToolResult,
    Turn,
    as_step,
)


@dataclass
class _Lane:
    """The turns of one agent; a subagent's lane is taken by the first agent that asks with its prompt."""

    name: str
    steps: Sequence[Step]
    prompt: str = ""
    agent_id: str | None = None
    played: int = 0


class ScriptSession:
    def __init__(self, script: Script, values: Mapping[str, str]) -> None:
        self._values = values
        self._lanes = [_Lane("main", _each_time(script.turns))]
        self._messages = 0
        self._calls = 0

    @property
    def unplayed(self) -> list[str]:
        """Turns that were written and never asked for, a line each."""
        return [
            f"lane {lane.name}: {len(lane.steps) - lane.played} of {len(lane.steps)} turns were not asked for"
            for lane in self._lanes
            if lane.played < len(lane.steps)
        ]

    def answer(self, request: Request) -> Answer:
        lane = self._lane_of(request)
        if lane is None:
            return Refuse(
                "the script has no lane for this subagent: no unused script.delegate(...) carries the prompt "
                f"{_text_of(_first_user_message(request.payload))[:200]!r}"
            )
        if lane.played == len(lane.steps):
            return Refuse(
                f"the script ended: lane {lane.name} has {len(lane.steps)} turns and the agent asked for one more; "
                'end it with script.say("...")'
            )
        step = lane.steps[lane.played]
        lane.played += 1
        return self._play(step, request, f"turn {lane.played} of lane {lane.name}")

    def _play(self, step: Step, request: Request, where: str) -> Answer:
        if callable(step):
            try:
                step = as_step(step(_asked(request.payload)), where)
            except Exception as problem:  # noqa: BLE001 - a user's function may raise anything
                detail = problem.message if isinstance(problem, UsageError) else f"raised {problem!r}"
                return Refuse(f"the script's function for {where} gave no answer: {detail}")
            return self._play(step, request, where)
        if isinstance(step, Fault):
            return spoil(step, streaming=request.wants_stream)
        return Replay(self._message(step, str(request.payload.get("model", "scripted"))))

    def _lane_of(self, request: Request) -> _Lane | None:
        """The lane that this agent has, or takes: of those nobody has, the one with the longest fitting prompt."""
        if request.agent_id is None:
            return self._lanes[0]
        for lane in self._lanes:
            if lane.agent_id == request.agent_id:
                return lane
        asked = _text_of(_first_user_message(request.payload))
        free = [lane for lane in self._lanes[1:] if lane.agent_id is None and lane.prompt in asked]
        taken = max(free, key=lambda lane: len(lane.prompt), default=None)
        if taken is not None:
            taken.agent_id = request.agent_id
        return taken

    def _message(self, turn: Turn, model: str) -> Json:
        self._messages += 1
        content = [self._block(part) for part in turn.parts]
        calls = any(block["type"] == "tool_use" for block in content)
        return {
            "id": f"msg_script_{self._messages:04}",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": content,
            "stop_reason": turn.stop_reason or ("tool_use" if calls else "end_turn"),
            "stop_sequence": None,
            "usage": {"input_tokens": 0, "output_tokens": 0, **turn.usage},
        }

    def _block(self, part: Part) -> Json:
        match part:
            case Say(text):
                return {"type": "text", "text": fill(text, self._values)}
            case Think(text, signature):
                return {"type": "thinking", "thinking": fill(text, self._values), "signature": signature}
            case Block(fields):
                return fill(fields, self._values)
            case Call(tool, args, lane):
                self._calls += 1
                given = fill(args, self._values)
                if lane is not None:
                    self._open_lane(given, lane)
                return {
                    "type": "tool_use",
                    "id": f"toolu_script_{self._calls:04}",
                    "name": tool,
                    "input": given,
                }

    def _open_lane(self, args: dict[str, Any], steps: tuple[Step, ...]) -> None:
        name = str(args.get("subagent_type", "subagent"))
        self._lanes.append(_Lane(name, _each_time(steps), str(args["prompt"])))


def _each_time(steps: tuple[Step, ...]) -> list[Step]:
    """The steps, with a fault that happens several times written out."""
    return [step for step in steps for _ in range(step.times if isinstance(step, Fault) else 1)]


def _asked(payload: Json) -> Asked:
    last = payload["messages"][-1] if payload.get("messages") else {"content": ""}
    results = [
        ToolResult(block["tool_use_id"], _text_of(block), bool(block.get("is_error")))
        for block in _blocks(last)
        if block.get("type") == "tool_result"
    ]
    return Asked(payload, results, _text_of(last))


def _first_user_message(payload: Json) -> Json:
    return next((message for message in payload.get("messages", []) if message["role"] == "user"), {})


def _blocks(message: Json) -> Iterator[Json]:
    content = message.get("content", "")
    yield from [{"type": "text", "text": content}] if isinstance(content, str) else content


def _text_of(message: Json) -> str:
    """All text of a message or of a tool's result."""
    return "\n".join(block["text"] for block in _blocks(message) if block.get("type") == "text")
