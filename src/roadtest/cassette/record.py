"""The session that passes requests on to the model and keeps what comes back."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from time import monotonic
from typing import Any

import msgspec

from roadtest.cassette.canonical import last_assistant, news, result_text, tool_use_ids
from roadtest.cassette.eventstream import inflate
from roadtest.cassette.lanes import Lanes, LaneState
from roadtest.cassette.reading import Reader
from roadtest.cassette.records import (
    FORMAT,
    Cassette,
    Exchange,
    Fingerprints,
    Harness,
    Lane,
    Metadata,
    RecordedError,
    RecordedRequest,
    RecordedResponse,
    Timing,
)
from roadtest.cassette.sse import Accumulator
from roadtest.cassette.wire import Answer, Forward, Json, Request
from roadtest.errors import CassetteError
from roadtest.results import Drift

_HEADERS_THAT_MATTER = ("retry-after", "retry-after-ms", "x-should-retry")
_OK = 200


@dataclass(frozen=True)
class Upstream:
    """Where the model is, and the credentials for it, which Claude Code itself is not given."""

    base_url: str
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass
class _Take:
    """One exchange under way."""

    number: int
    lane: LaneState
    length: int
    request: RecordedRequest
    response: RecordedResponse | None = None
    failure: str = ""


class RecordSession:
    """Everything is forwarded; ``cassette`` is what came of it."""

    def __init__(self, reader: Reader, upstream: Upstream, clock: Callable[[], float] = monotonic) -> None:
        self._reader = reader
        self._upstream = upstream
        self._clock = clock
        self._lanes = Lanes()
        self._agents: dict[str, tuple[str, str]] = {}
        """Agent id to the name of its lane and that of its parent's."""
        self._takes: list[_Take] = []
        self._harness: dict[str, Harness] = {}
        self._version = ""
        self._turn = 0
        self._ranks = count(1)

    drift: list[Drift] = []  # noqa: RUF012 - a recording has nothing to differ from
    notes: list[str] = []  # noqa: RUF012
    unplayed: list[str] = []  # noqa: RUF012

    def begin_turn(self) -> None:
        self._turn += 1

    @property
    def problem(self) -> str:
        """Why what was recorded cannot be kept; empty if it can."""
        lost = [take for take in self._takes if take.response is None and not self._asked_again(take)]
        if not lost:
            return "" if self._takes else "nothing was recorded: the agent did not ask the model anything"
        return "\n".join(
            f"the answer to request {take.number} ({take.request.lane}) cannot be kept: {take.failure or 'it never ended'}"
            for take in lost
        )

    def answer(self, request: Request) -> Answer:
        lane = self._lanes.of(request) or self._new_agent(request)
        messages = request.envelope.messages
        assistant, tail = last_assistant(messages)
        harness = self._reader.harness(request.envelope)
        place = self._lanes.place(lane, assistant, len(messages), harness.system)
        self._lanes.asked(lane, harness.system)
        self._version = self._version or request.claude_version
        order = tool_use_ids(assistant) if assistant else []
        recorded = RecordedRequest(
            lane=lane.name,
            continues=place.continues,
            turn=max(self._turn, 1),
            aside=place.aside,
            new=news(tail, order, self._reader.digest, first=assistant is None),
            harness=harness if harness != self._harness.get(lane.name) else None,
        )
        self._harness[lane.name] = harness
        take = _Take(len(self._takes) + 1, lane, len(messages), recorded)
        self._takes.append(take)
        tap = _Tap(lambda response, failure: self._finish(take, response, failure), self._clock)
        return Forward(self._upstream.base_url, self._upstream.headers, tap)

    def cassette(self, context: Fingerprints, recorded_at: str) -> Cassette:
        """What was recorded, with live values as names and without secrets."""
        if self.problem:
            raise CassetteError(self.problem, hint="record again")
        kept = [take for take in self._takes if take.response is not None]
        metadata = Metadata(
            format=FORMAT,
            recorded_at=recorded_at,
            claude_version=self._version,
            exchanges=len(kept),
            lanes=self._subagent_lanes(),
            context=context,
        )
        return Cassette(metadata, list(self._stored(kept)))

    def _new_agent(self, request: Request) -> LaneState:
        name, agent_id = f"agent-{len(self._agents) + 1}", str(request.agent_id)
        self._agents[agent_id] = name, self._lanes.parent_of(request)
        self._reader.placeholders.add(name, agent_id)
        return self._lanes.bind(agent_id, name)

    def _finish(self, take: _Take, response: RecordedResponse | None, failure: str) -> None:
        take.response, take.failure = response, failure
        if response is None:
            return
        response.after = len(self._takes)
        response.rank = next(self._ranks)
        if response.message is not None:
            self._lanes.answered(
                take.lane, take.number, response.message, take.length, aside=take.request.aside
            )

    def _asked_again(self, take: _Take) -> bool:
        """Whether an answer that was lost on the way was asked for again and came."""
        return any(
            later.response is not None
            and (later.request.lane, later.request.continues) == (take.request.lane, take.request.continues)
            and later.request.new == take.request.new
            for later in self._takes[take.number :]
        )

    def _stored(self, kept: Sequence[_Take]) -> Iterator[Exchange]:
        """The exchanges as they go to disk, numbered without gaps."""
        asked = [take.number for take in kept]
        numbers = {number: new for new, number in enumerate(asked, 1)}
        finished = sorted(take.response.rank or 0 for take in kept if take.response)
        ranks = {rank: new for new, rank in enumerate(finished, 1)}
        for take in kept:
            assert take.response is not None  # noqa: S101 - that is why it is kept
            number = numbers[take.number]
            after = bisect_right(asked, take.response.after or take.number)
            rank = ranks[take.response.rank or 0]
            request = msgspec.structs.replace(
                take.request, continues=numbers.get(take.request.continues or 0)
            )
            response = msgspec.structs.replace(
                take.response, after=after if after > number else None, rank=rank if rank != number else None
            )
            yield Exchange(number, self._reader.stored(request), self._reader.stored(response))

    def _subagent_lanes(self) -> dict[str, Lane]:
        spawns = dict(self._spawning_calls())
        return {
            name: Lane(parent, spawns.get(agent_id, "")) for agent_id, (name, parent) in self._agents.items()
        }

    def _spawning_calls(self) -> Iterator[tuple[str, str]]:
        """Agent ids with the call that spawned them, as the results and notices tell."""
        for take in self._takes:
            told = [(item.tool_use_id, result_text(item)) for item in take.request.new.results]
            told += [(item.tool_use_id, item.text) for item in take.request.new.notices]
            for tool_use_id, text in told:
                yield from ((agent_id, tool_use_id) for agent_id in self._agents if agent_id in text)


class _Tap:
    """Reads an answer on its way to the client; calls back once, as soon as it is whole or lost."""

    def __init__(
        self, finish: Callable[[RecordedResponse | None, str], None], clock: Callable[[], float]
    ) -> None:
        self._finish = finish
        self._clock = clock
        self._asked_at = clock()
        self._first_byte_at: float | None = None
        self._status = 0
        self._headers: Mapping[str, str] = {}
        self._stream: Accumulator | None = None
        self._body = bytearray()
        self._done = False

    def start(self, status: int, headers: Mapping[str, str]) -> None:
        self._status, self._headers = status, headers
        if status == _OK and "text/event-stream" in headers.get("content-type", ""):
            self._stream = Accumulator(headers.get("content-encoding", ""))

    def feed(self, data: bytes) -> None:
        self._first_byte_at = self._first_byte_at or self._clock()
        if self._stream is None:
            self._body += data
            return
        self._stream.feed(data)
        if self._stream.complete:
            # The client goes on from the last event; it does not wait for the end of the connection.
            self._finished(RecordedResponse(message=self._stream.message, timing=self._timing()))

    def end(self, failure: str = "") -> None:
        if self._done:
            return
        if failure:
            self._finished(None, failure)
        elif self._stream is not None:
            self._stream.close()
            self._finished(None, str(self._stream.problem))
        else:
            self._end_body()

    def _end_body(self) -> None:
        try:
            body = _decoded(bytes(self._body), self._headers.get("content-encoding", ""))
        except CassetteError as problem:
            self._finished(None, problem.message)
            return
        if self._status == _OK and isinstance(body, dict) and "content" in body:
            self._finished(RecordedResponse(message=body, timing=self._timing()))
        elif self._status == _OK:
            self._finished(None, "it is neither a stream of events nor a message")
        else:
            headers = {name: self._headers[name] for name in _HEADERS_THAT_MATTER if name in self._headers}
            error = RecordedError(self._status, body, headers)
            self._finished(RecordedResponse(error=error, timing=self._timing()))

    def _finished(self, response: RecordedResponse | None, failure: str = "") -> None:
        if not self._done:
            self._done = True
            self._finish(response, failure)

    def _timing(self) -> Timing:
        first = self._first_byte_at or self._clock()
        return Timing(_milliseconds(first - self._asked_at), _milliseconds(self._clock() - self._asked_at))


def _decoded(body: bytes, content_encoding: str) -> Json | str:
    plain = inflate(body, content_encoding)
    try:
        return msgspec.json.decode(plain, type=dict[str, Any])
    except msgspec.DecodeError:
        return plain.decode("utf-8", "replace")


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)
