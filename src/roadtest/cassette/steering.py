"""The recorded order of a run with several lanes, kept on replay.

An answer is released once every request that was asked before it was complete has been asked again, and every answer that
was complete before it has been given. What came after an answer may depend on it; what came before cannot, so waiting for
it is safe. Should the live run take another way and never ask, the wait ends by itself.
"""

from __future__ import annotations

from collections.abc import Callable

from roadtest.cassette.records import Exchange
from roadtest.cassette.tape import Tape

PATIENCE = 1.0
"""Seconds without any event after which a request that nothing leads to is waited for no longer."""
LONG_PATIENCE = 60.0
"""The same for a request that a running tool will lead to."""


class Steering:
    def __init__(self, tape: Tape, clock: Callable[[], float]) -> None:
        self._tape = tape
        self._clock = clock
        self._asked: set[int] = set()
        self._answered: set[int] = set()
        self._quiet_since = clock()
        # Scorers and side calls come when they come, or not at all.
        self._steered = {
            exchange.number: exchange
            for exchange in tape.exchanges.values()
            if tape.is_agent(exchange.request.lane) and not exchange.request.aside
        }

    def asked(self, exchange: Exchange) -> None:
        self._asked.add(exchange.number)
        self._quiet_since = self._clock()

    def answered(self, exchange: Exchange) -> None:
        self._answered.add(exchange.number)
        self._quiet_since = self._clock()

    def passed_over(self, exchange: Exchange) -> None:
        """It will not be asked."""
        self.asked(exchange)
        self.answered(exchange)

    def wait(self, exchange: Exchange) -> float:
        """Seconds to hold the answer back, unless something happens before; zero to release it."""
        if exchange.number not in self._steered:
            return 0.0
        last = exchange.response.after or exchange.number
        rank = _rank(exchange)
        awaited = [
            other.number
            for other in self._steered.values()
            if (other.number <= last and other.number not in self._asked)
            or (_rank(other) < rank and other.number not in self._answered)
        ]
        if not awaited:
            return 0.0
        patience = LONG_PATIENCE if any(map(self._is_coming, awaited)) else PATIENCE
        return max(0.0, self._quiet_since + patience - self._clock())

    def _is_coming(self, number: int) -> bool:
        """Whether something under way leads to this request: a tool that runs, or a subagent that starts."""
        request = self._tape.exchanges[number].request
        before = self._tape.spawning(request.lane) if request.continues is None else request.continues
        return before in self._answered and bool(self._tape.exchanges[before].tool_uses)


def _rank(exchange: Exchange) -> int:
    return exchange.response.rank or exchange.number
