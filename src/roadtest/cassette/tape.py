"""A loaded cassette, indexed by what a request can be found by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from roadtest.calls import SPAWNING_TOOLS
from roadtest.cassette.lanes import MAIN
from roadtest.cassette.records import Cassette, Exchange, Notice
from roadtest.cassette.wire import Json


class Tape:
    def __init__(self, cassette: Cassette) -> None:
        self.metadata = cassette.metadata
        self.exchanges = {exchange.number: exchange for exchange in cassette.exchanges}
        self._following: dict[tuple[str, int | None], list[Exchange]] = {}
        self._twins: dict[str, str] = {}
        self._calls: dict[str, tuple[int, Json]] = {}
        self.notices: dict[str, list[Notice]] = {}
        """Recorded completion notices by the call that they are about."""
        for exchange in cassette.exchanges:
            key = (exchange.request.lane, exchange.request.continues)
            self._following.setdefault(key, []).append(exchange)
            self._index_calls(exchange)
        for exchange in cassette.exchanges:
            for notice in exchange.request.new.notices:
                self.notices.setdefault(self.twin(notice.tool_use_id), []).append(notice)

    def following(self, lane: str, continues: int | None) -> list[Exchange]:
        """The requests that were recorded after an answer, or those that began a conversation in this lane."""
        return self._following.get((lane, continues), [])

    def lane(self, name: str) -> Iterator[Exchange]:
        return (exchange for exchange in self.exchanges.values() if exchange.request.lane == name)

    def first(self, lane: str) -> Exchange:
        return next(self.lane(lane))

    def is_agent(self, lane: str) -> bool:
        """Whether the lane is one of Claude Code's, not one that a scorer named."""
        return lane == MAIN or lane in self.metadata.lanes

    def subagents(self, parent: str) -> list[str]:
        """The lanes of the subagents that an agent spawned, in the order of their first requests."""
        return [name for name, lane in self.metadata.lanes.items() if lane.parent == parent and name != MAIN]

    def spawning(self, lane: str) -> int | None:
        """The number of the answer whose call spawned this lane, where the recording tells."""
        spawned_by = self.metadata.lanes[lane].spawned_by if lane in self.metadata.lanes else ""
        return self._calls[spawned_by][0] if spawned_by in self._calls else None

    def call(self, tool_use_id: str) -> Json | None:
        """The recorded call that a result belongs to."""
        return self._calls[tool_use_id][1] if tool_use_id in self._calls else None

    def twin(self, tool_use_id: str) -> str:
        """One id for all calls of the same answer that spawn the same agent with the same prompt.

        Which of them is which cannot be told when they are replayed, nor does it matter.
        """
        return self._twins.get(tool_use_id, tool_use_id)

    def counted(self, notices: Iterable[Notice]) -> Counter[str]:
        return Counter(self.twin(notice.tool_use_id) for notice in notices)

    def _index_calls(self, exchange: Exchange) -> None:
        firsts: dict[tuple[str, str], str] = {}
        for tool_use_id, call in exchange.tool_uses.items():
            self._calls.setdefault(tool_use_id, (exchange.number, call))
            if call["name"] in SPAWNING_TOOLS:
                begins = str(call["input"].get("subagent_type")), str(call["input"].get("prompt"))
                self._twins[tool_use_id] = firsts.setdefault(begins, tool_use_id)
