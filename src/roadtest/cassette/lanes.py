"""Who is speaking, and which answer a request goes on from; the same for a recording and for its replay.

A lane is one agent's conversation: ``main``, a subagent's (``agent-1`` and so on, in the order of appearance), or one
that a client other than Claude Code names. Within a lane a request continues the answer whose calls its last assistant
message carries; tool_use ids come from the answers themselves, so that is exact. An answer without calls is found again
by its text.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from roadtest.cassette.canonical import text_of, tool_use_ids
from roadtest.cassette.wire import Json, Request

MAIN = "main"


@dataclass
class LaneState:
    """One conversation as far as it has come."""

    name: str
    system: str = ""
    """Digest of the system prompt it began with."""
    asked: int = 0
    answers: list[_Answer] = field(default_factory=list)

    @property
    def last_text(self) -> Json | None:
        """The last answer that made no call."""
        return next((answer.message for answer in reversed(self.answers) if not answer.calls), None)


@dataclass(frozen=True)
class _Answer:
    number: int
    message: Json
    text: str
    calls: bool
    length: int
    """Of the conversation that it answered, in messages."""


@dataclass(frozen=True)
class Place:
    """Where in its lane a request stands."""

    continues: int | None
    """The number of the answer that it goes on from."""
    aside: bool = False
    """It stands beside the conversation: a title, the summary of a page."""


class Lanes:
    """All conversations of a run."""

    def __init__(self) -> None:
        self._states: dict[str, LaneState] = {}
        self._agents: dict[str, str] = {}
        self._by_tool_use: dict[str, int] = {}

    def of(self, request: Request) -> LaneState | None:
        """The lane of a request; None for a subagent that was not heard before."""
        if request.lane is not None:
            return self.open(request.lane)
        if request.agent_id is None:
            return self.open(MAIN)
        name = self._agents.get(request.agent_id)
        return None if name is None else self.open(name)

    def parent_of(self, request: Request) -> str:
        return self._agents.get(request.parent_agent_id or "", MAIN)

    def bind(self, agent_id: str, name: str) -> LaneState:
        self._agents[agent_id] = name
        return self.open(name)

    def open(self, name: str) -> LaneState:
        return self._states.setdefault(name, LaneState(name))

    def place(self, lane: LaneState, assistant: Json | None, length: int, system: str) -> Place:
        """Where in its lane a conversation stands that has this length and this last answer."""
        continues = self._continued(lane, assistant, length)
        if continues is None and lane.asked and system != lane.system:
            return Place(None, aside=True)
        if continues is None and assistant is not None and lane.answers:
            # What came back is not what was said, as when an empty answer is left out: then position decides.
            continues = lane.answers[-1].number
        return Place(continues)

    def _continued(self, lane: LaneState, assistant: Json | None, length: int) -> int | None:
        if assistant is None:
            return None
        for tool_use_id in tool_use_ids(assistant):
            if tool_use_id in self._by_tool_use:
                return self._by_tool_use[tool_use_id]
        text = text_of(assistant)
        same = [answer for answer in lane.answers if answer.text == text and not answer.calls]
        # An answer given to a conversation of the same length cannot be in it yet: this is the same question again.
        earlier = [answer for answer in same if answer.length < length]
        return (earlier or same)[-1].number if same else None

    def asked(self, lane: LaneState, system: str) -> None:
        lane.system = lane.system if lane.asked else system
        lane.asked += 1

    def answered(
        self, lane: LaneState, number: int, message: Json, length: int, *, aside: bool = False
    ) -> None:
        ids = tool_use_ids(message)
        self._by_tool_use |= dict.fromkeys(ids, number)
        if not aside:
            lane.answers.append(_Answer(number, message, text_of(message), bool(ids), length))
