"""Which recorded request a live one repeats.

Candidates are the requests that were recorded after the same answer in the same lane. Of these the live one repeats the
first that was not asked for yet and says the same; if all of them were asked for, it is a retry of the last.

Completion notices of background tasks are apart: Claude Code delivers each with whatever request comes next, so the same
notices arrive in other groups from run to run. They are counted, not matched request by request:

- a request that only delivers notices repeats a recorded one as soon as that one's notices have all been delivered;
- until then, or when they were delivered with an earlier request already, there is nothing new to answer, and the
  lane's last words are repeated (``Repeat``);
- recorded requests that only delivered notices which live came earlier will not be asked: they are passed over, and
  the answer is that to the last of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from roadtest.cassette.drift import same_text
from roadtest.cassette.lanes import LaneState
from roadtest.cassette.records import Exchange, News, Notice
from roadtest.cassette.tape import Tape
from roadtest.cassette.volatile import Volatile


@dataclass(frozen=True)
class Found:
    exchange: Exchange
    passed_over: list[Exchange] = field(default_factory=list)


@dataclass(frozen=True)
class Repeat:
    """Nothing new to answer: say the lane's last words again."""

    reason: str


@dataclass(frozen=True)
class Missing:
    nearest: Exchange | None


Outcome: TypeAlias = Found | Repeat | Missing
Played: TypeAlias = Callable[[int], bool]


class Continuations:
    def __init__(self, tape: Tape, volatile: Volatile, played: Played) -> None:
        self._tape = tape
        self._volatile = volatile
        self._played = played
        self._delivered: Counter[str] = Counter()
        self._seen: set[tuple[str, str]] = set()

    def deliver(self, notices: Sequence[Notice]) -> list[Notice]:
        """Count the notices of a request; gives those that are new, which those of a retry are not."""
        if not notices:
            return []
        new = [notice for notice in notices if (notice.tool_use_id, notice.text) not in self._seen]
        self._seen |= {(notice.tool_use_id, notice.text) for notice in new}
        self._delivered += self._tape.counted(new)
        return new

    def find(self, lane: LaneState, continues: int | None, news: News) -> Outcome:
        candidates = self._tape.following(lane.name, continues)
        if news.notices and not news.results and not news.text:
            return self._wake_up(lane, candidates, news)
        fitting = [exchange for exchange in candidates if self._says_the_same(exchange.request.new, news)]
        if not fitting:
            return Missing(self._nearest(lane, candidates))
        return self._forward(lane, self._first_unplayed(fitting, news))

    def _says_the_same(self, recorded: News, live: News) -> bool:
        ours = Counter(self._tape.twin(result.tool_use_id) for result in recorded.results)
        theirs = Counter(self._tape.twin(result.tool_use_id) for result in live.results)
        return ours == theirs and same_text(recorded.text, live.text, self._volatile)

    def _first_unplayed(self, fitting: Sequence[Exchange], news: News) -> Exchange:
        """What Claude Code injects tells a compaction from a plain continuation, but only if nothing else changed."""
        unplayed = [exchange for exchange in fitting if not self._played(exchange.number)]
        same = [exchange for exchange in unplayed if exchange.request.new.injected == news.injected]
        return next(iter(same or unplayed), fitting[-1])

    def _wake_up(self, lane: LaneState, candidates: Sequence[Exchange], news: News) -> Outcome:
        unknown = [
            notice.tool_use_id
            for notice in news.notices
            if self._tape.twin(notice.tool_use_id) not in self._tape.notices
        ]
        if unknown:
            return Missing(self._nearest(lane, candidates))
        for exchange in candidates:
            if _only_notices(exchange.request.new) and self._were_delivered(exchange):
                return self._forward(lane, exchange)
        if lane.last_text is None:
            return Missing(self._nearest(lane, candidates))
        return Repeat("completion notices came in other groups than when they were recorded")

    def _forward(self, lane: LaneState, exchange: Exchange) -> Found:
        """Pass over what will not be asked because its notices are here already."""
        passed = []
        while not exchange.tool_uses and (after := self._delivered_early(lane, exchange)):
            passed.append(exchange)
            exchange = after
        return Found(exchange, passed)

    def _delivered_early(self, lane: LaneState, exchange: Exchange) -> Exchange | None:
        for after in self._tape.following(lane.name, exchange.number):
            if _only_notices(after.request.new) and self._were_delivered(after):
                return after
        return None

    def _were_delivered(self, exchange: Exchange) -> bool:
        """Whether every notice that the lane had got by this request when it was recorded has come."""
        needed: Counter[str] = Counter()
        for earlier in self._tape.lane(exchange.request.lane):
            if earlier.number <= exchange.number:
                needed += self._tape.counted(earlier.request.new.notices)
        return needed <= self._delivered

    def _nearest(self, lane: LaneState, candidates: Sequence[Exchange]) -> Exchange | None:
        waiting = [exchange for exchange in candidates if not self._played(exchange.number)]
        rest = [exchange for exchange in self._tape.lane(lane.name) if not self._played(exchange.number)]
        return next(iter([*waiting, *rest]), None)


def _only_notices(news: News) -> bool:
    return bool(news.notices) and not news.results and not news.text
