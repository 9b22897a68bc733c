"""The session that plays a ``roadtest.script.Script``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from roadtest.cassette.placeholders import fill
from roadtest.cassette.wire import Answer, Json, Refuse, Replay, Request
from roadtest.script import Call, Part, Say, Script, Think, Turn


@dataclass
class _Lane:
    """The turns of one agent; a subagent's lane is taken by the first agent that asks with its prompt."""

    name: str
    turns: tuple[Turn, ...]
    prompt: str | None = None
    agent_id: str | None = None
    played: int = 0


class ScriptSession:
    def __init__(self, script: Script, values: Mapping[str, str]) -> None:
        self._values = values
        self._lanes = [_Lane("main", script.turns), *_subagent_lanes(script.turns)]
        self._calls = 0

    @property
    def unplayed(self) -> list[str]:
        """Turns that were written and never asked for, a line each."""
        return [
            f"lane {lane.name}: {len(lane.turns) - lane.played} of {len(lane.turns)} turns were not asked for"
            for lane in self._lanes
            if lane.played < len(lane.turns)
        ]

    def answer(self, request: Request) -> Answer:
        lane = self._lane_of(request)
        if lane is None:
            return Refuse(
                "the script has no lane for this subagent: no unused script.delegate(...) carries the prompt "
                f"{_first_prompt(request.payload)[:200]!r}"
            )
        if lane.played == len(lane.turns):
            return Refuse(
                f"the script ended: lane {lane.name} has {len(lane.turns)} turns and the agent asked for one more; "
                'end it with script.say("...")'
            )
        turn = lane.turns[lane.played]
        lane.played += 1
        return Replay(self._message(turn, request.payload.get("model", "scripted")))

    def _lane_of(self, request: Request) -> _Lane | None:
        if request.agent_id is None:
            return self._lanes[0]
        for lane in self._lanes:
            if lane.agent_id == request.agent_id:
                return lane
        asked = _first_prompt(request.payload)
        for lane in self._lanes:
            if lane.prompt is not None and lane.agent_id is None and fill(lane.prompt, self._values) in asked:
                lane.agent_id = request.agent_id
                return lane
        return None

    def _message(self, turn: Turn, model: str) -> Json:
        content = [self._block(part) for part in turn]
        calls = any(block["type"] == "tool_use" for block in content)
        return {
            "id": f"msg_script_{sum(lane.played for lane in self._lanes):04}",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": content,
            "stop_reason": "tool_use" if calls else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 0, "output_tokens": 0},
        }

    def _block(self, part: Part) -> dict[str, Any]:
        match part:
            case Say(text):
                return {"type": "text", "text": fill(text, self._values)}
            case Think(text, signature):
                return {"type": "thinking", "thinking": fill(text, self._values), "signature": signature}
            case Call(tool, args):
                self._calls += 1
                filled = fill(args, self._values)
                return {
                    "type": "tool_use",
                    "id": f"toolu_script_{self._calls:04}",
                    "name": tool,
                    "input": filled,
                }


def _subagent_lanes(turns: tuple[Turn, ...]) -> Iterator[_Lane]:
    for turn in turns:
        for part in turn:
            if isinstance(part, Call) and part.lane is not None:
                yield _Lane(
                    str(part.args.get("subagent_type", part.tool)), part.lane, str(part.args["prompt"])
                )
                yield from _subagent_lanes(part.lane)


def _first_prompt(payload: Json) -> str:
    """All text of the first user message."""
    for message in payload.get("messages", []):
        if message["role"] == "user":
            content = message["content"]
            return (
                content if isinstance(content, str) else "\n".join(block.get("text", "") for block in content)
            )
    return ""
