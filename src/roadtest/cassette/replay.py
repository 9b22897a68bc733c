"""The session that answers from a cassette.

It never guesses: a request either repeats a recorded one or is refused at once, with the nearest recorded request and the
difference; what the user said must be the same, and what the tools gave must be the same but for volatile tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from time import monotonic

from roadtest.cassette import drift
from roadtest.cassette.canonical import last_assistant, news, result_text, texts, tool_use_ids
from roadtest.cassette.continuation import Continuations, Found, Missing, Repeat
from roadtest.cassette.drift import Comparison
from roadtest.cassette.lanes import Lanes, LaneState, Place
from roadtest.cassette.live_values import LiveValues
from roadtest.cassette.reading import Reader
from roadtest.cassette.records import Cassette, Exchange, Harness, News
from roadtest.cassette.steering import Steering
from roadtest.cassette.tape import Tape
from roadtest.cassette.wire import Answer, Hold, Json, Refuse, Replay, ReplayError, Request
from roadtest.results import Drift, DriftKind, Policies

REWRITE = "record it anew with --cassettes=rewrite"


@dataclass
class _Asked:
    """A live request, read."""

    request: Request
    lane: LaneState
    place: Place
    news: News
    harness: Harness
    length: int


@dataclass
class _Pending:
    asked: _Asked
    exchange: Exchange


@dataclass
class Findings:
    """What the runner wants to know after a run."""

    refusal: str = ""
    drift: list[Drift] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)


class ReplaySession:
    """Answers from ``cassette``; ``reader`` knows this run's live values, secrets and volatile tokens."""

    def __init__(
        self,
        cassette: Cassette,
        reader: Reader,
        policies: Policies = Policies(),  # noqa: B008 - frozen
        clock: Callable[[], float] = monotonic,
        *,
        same_files: bool = True,
    ) -> None:
        self._same_files = same_files
        self._tape = Tape(cassette)
        self._reader = reader
        self._policies = policies
        self._lanes = Lanes()
        self._live: dict[str, LiveValues] = {}
        self._played: set[int] = set()
        self._held: dict[Request, _Pending] = {}
        self._waiting = {twin: list(notices) for twin, notices in self._tape.notices.items()}
        self._continuations = Continuations(self._tape, reader.volatile, self._played.__contains__)
        self._steering = Steering(self._tape, clock)
        self._findings = Findings()
        self._turn = 0
        self._repeats = 0

    # What the runner asks after the run

    def begin_turn(self) -> None:
        """Another prompt is about to be sent."""
        self._turn += 1

    @property
    def problem(self) -> str:
        """Why the run proves nothing; empty if it followed the recording, as far as it went."""
        failing = [item.message for item in self._findings.drift if item.policy == "fail"]
        return self._findings.refusal or "\n".join(failing)

    @property
    def drift(self) -> list[Drift]:
        return list(self._findings.drift)

    @property
    def notes(self) -> list[str]:
        return list(self._findings.notes)

    @property
    def unplayed(self) -> list[str]:
        """Recorded answers that the agent did not ask for, up to and including this turn, a line each.

        Scorers ask later, and a title that Claude Code no longer makes proves nothing.
        """
        return [
            f"the answer to {drift.summary(exchange)} was not asked for"
            for exchange in self._tape.exchanges.values()
            if exchange.number not in self._played
            and not exchange.request.aside
            and self._tape.is_agent(exchange.request.lane)
            and exchange.request.turn <= max(self._turn, 1)
        ]

    @property
    def prompts_left(self) -> int:
        """How many prompts the recording goes on with that were not sent."""
        last = max((exchange.request.turn for exchange in self._tape.exchanges.values()), default=0)
        return max(0, last - max(self._turn, 1))

    # What the server asks

    def answer(self, request: Request) -> Answer:
        if self._findings.refusal:
            return Refuse(_STOPPED)
        if pending := self._held.get(request):
            return self._release(pending)
        asked = self._read(request)
        return asked if isinstance(asked, Refuse) else self._decide(asked)

    def _read(self, request: Request) -> _Asked | Refuse:
        messages = request.envelope.messages
        assistant, tail = last_assistant(messages)
        order = tool_use_ids(assistant) if assistant else []
        told = self._reader.stored(news(tail, order, self._reader.digest, first=assistant is None))
        harness = self._reader.harness(request.envelope)
        self._note_version(request)
        lane = self._lanes.of(request) or self._bind(request, assistant, told, len(messages), harness)
        if lane is None:
            return self._refuse_subagent(request, told)
        place = self._lanes.place(lane, assistant, len(messages), harness.system)
        return _Asked(request, lane, place, told, harness, len(messages))

    def _bind(
        self, request: Request, assistant: Json | None, told: News, length: int, harness: Harness
    ) -> LaneState | None:
        """Give a subagent the first recorded lane that its parent spawned with the same words, if any."""
        parent, agent_id = self._lanes.parent_of(request), str(request.agent_id)
        place = self._lanes.place(LaneState("unbound"), assistant, length, harness.system)
        fitting = [
            first
            for first in map(self._tape.first, self._tape.subagents(parent))
            if first.number not in self._played
            and first.request.continues == place.continues
            and drift.same_text(first.request.new.text, told.text, self._reader.volatile)
        ]
        if not fitting:
            return None
        # Agents of several types may be given the same words; their system prompts tell them apart.
        first = min(fitting, key=lambda one: one.request.harness != harness)
        name = first.request.lane
        self._reader.placeholders.add(name, agent_id)
        self._live[name] = LiveValues(self._live.get(parent))
        return self._lanes.bind(agent_id, name)

    def _decide(self, asked: _Asked) -> Answer:
        if refusal := self._compare_notices(asked):
            return refusal
        outcome = self._continuations.find(asked.lane, asked.place.continues, asked.news)
        self._lanes.asked(asked.lane, asked.harness.system)
        match outcome:
            case Missing() if asked.place.aside:
                # Should the conversation depend on it, what it lacks is found there.
                self._add_drift("harness", f"a side call was not recorded: {drift.describe_news(asked.news)}")
                return Refuse("this side call was not recorded")
            case Missing(nearest):
                return self._refuse(asked, nearest)
            case Repeat(reason):
                self._findings.note(reason)
                return self._repeat(asked.lane)
            case Found(exchange, passed_over):
                for skipped in passed_over:
                    self._played.add(skipped.number)
                    self._steering.passed_over(skipped)
                self._played.add(exchange.number)
                self._steering.asked(exchange)
                if refusal := self._compare(asked, [*passed_over, exchange][0]):
                    return refusal
                return self._release(_Pending(asked, exchange))

    def _release(self, pending: _Pending) -> Answer:
        exchange, asked = pending.exchange, pending.asked
        if (seconds := self._steering.wait(exchange)) > 0:
            self._held[asked.request] = pending
            return Hold(seconds)
        self._held.pop(asked.request, None)
        self._steering.answered(exchange)
        if error := exchange.response.error:
            return ReplayError(error.status, self._reader.placeholders.fill(error.body), error.headers)
        message = self._filled(asked.lane, exchange)
        self._lanes.answered(asked.lane, exchange.number, message, asked.length, aside=asked.place.aside)
        return Replay(message)

    def _filled(self, lane: LaneState, exchange: Exchange) -> Json:
        message = exchange.response.message or {}
        content = self._live_values(lane).fill(message["content"])
        return self._reader.placeholders.fill({**message, "content": content})

    def _live_values(self, lane: LaneState) -> LiveValues:
        return self._live.setdefault(lane.name, LiveValues())

    def _repeat(self, lane: LaneState) -> Answer:
        self._repeats += 1
        last = lane.last_text or {}
        return Replay({**last, "id": f"{last.get('id', 'msg')}_again_{self._repeats}"})

    # What differs

    def _compare_notices(self, asked: _Asked) -> Refuse | None:
        new = self._continuations.deliver(asked.news.notices)
        known = [notice for notice in new if self._tape.twin(notice.tool_use_id) in self._waiting]
        return self._judge(
            asked, drift.compare_notices(self._waiting, known, self._tape.twin, self._reader.volatile)
        )

    def _compare(self, asked: _Asked, exchange: Exchange) -> Refuse | None:
        recorded = exchange.request.new
        compared = drift.compare_results(
            self._tape,
            recorded.results,
            asked.news.results,
            self._reader.volatile,
            same_files=self._same_files,
        )
        for ours, theirs in zip(texts(recorded.text), texts(asked.news.text), strict=False):
            compared.pairs += self._reader.volatile.pairs(ours, theirs) or []
        self._note_harness(asked, exchange)
        return self._judge(asked, compared)

    def _judge(self, asked: _Asked, compared: Comparison) -> Refuse | None:
        self._live_values(asked.lane).learn(compared.pairs)
        for difference in compared.differences:
            self._add_drift("result", f"{difference}\n  → {_RESULT_HINT}")
        if compared.differences and self._policies.result == "fail":
            # Every later difference would be a consequence of this one.
            return self._refused("\n".join(compared.differences) + f"\n  → {_RESULT_HINT}")
        return None

    def _note_harness(self, asked: _Asked, exchange: Exchange) -> None:
        if exchange.request.harness:
            for difference in drift.harness_differences(exchange.request.harness, asked.harness):
                self._add_drift("harness", f"{difference} ({asked.lane.name})")
        if exchange.request.new.injected != asked.news.injected and not asked.news.notices:
            self._add_drift("harness", "what Claude Code itself adds to the conversation differs")

    def _note_version(self, request: Request) -> None:
        recorded, live = self._tape.metadata.claude_version, request.claude_version
        if recorded and live and recorded != live:
            self._add_drift("harness", f"Claude Code {live} runs, recorded with {recorded}")

    def _add_drift(self, kind: DriftKind, message: str) -> None:
        policy = getattr(self._policies, kind)
        found = Drift(kind, message, policy)
        if policy != "ignore" and found not in self._findings.drift:
            self._findings.drift.append(found)

    # What cannot be answered

    def _refuse(self, asked: _Asked, nearest: Exchange | None) -> Refuse:
        return self._refused("\n".join(self._explain(asked, nearest)))

    def _explain(self, asked: _Asked, nearest: Exchange | None) -> Iterator[str]:
        yield (
            f"no recorded answer fits this request of {asked.lane.name}, which brings {drift.describe_news(asked.news)}"
        )
        if nearest is None:
            yield f"the recording of {asked.lane.name} has nothing left"
        else:
            yield f"nearest is {drift.summary(nearest)}"
            recorded = "\n".join(
                [*texts(nearest.request.new.text), *map(result_text, nearest.request.new.results)]
            )
            live = "\n".join([*texts(asked.news.text), *map(result_text, asked.news.results)])
            yield drift.diff(recorded, live)
        yield f"  → {REWRITE}"

    def _refuse_subagent(self, request: Request, told: News) -> Refuse:
        waiting = [
            drift.summary(self._tape.first(name))
            for name in self._tape.subagents(self._lanes.parent_of(request))
            if self._tape.first(name).number not in self._played
        ]
        return self._refused(
            f"no recorded subagent of {self._lanes.parent_of(request)} began with {drift.describe_news(told)}\n"
            f"waiting to be asked: {'; '.join(waiting) or 'none'}\n  → {REWRITE}"
        )

    def _refused(self, text: str) -> Refuse:
        self._findings.refusal = self._findings.refusal or text
        return Refuse(text.partition("\n")[0])


_STOPPED = "an earlier request did not follow the recording"
_RESULT_HINT = f"if the new result is right, {REWRITE}; if it may differ, say so with volatile=[regex]"
