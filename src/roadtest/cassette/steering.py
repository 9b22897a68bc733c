"""The recorded order of a run with several lanes, kept on replay.

An answer is released once every request that was asked before it was complete when it was recorded has been asked
again. What is asked after an answer depends on it; what was asked before cannot, so waiting for it is safe. Should the
live run take another way and never ask, the wait ends by itself.
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

    def asked(self, exchange: Exchange) -> None:
        self._asked.add(exchange.number)
        self._quiet_since = self._clock()

    def answered(self, exchange: Exchange) -> None:
        self._answered.add(exchange.number)
        self._quiet_since = self._clock()

    def wait(self, exchange: Exchange) -> float:
        """Seconds to hold the answer back, unless something happens before; zero to release it."""
        last = exchange.response.after or exchange.number
        awaited = [
            number for number in range(1, last + 1) if number not in self._asked and self._is_steered(number)
        ]
        if not awaited:
            return 0.0
        patience = LONG_PATIENCE if any(map(self._is_coming, awaited)) else PATIENCE
        return max(0.0, self._quiet_since + patience - self._clock())

    def _is_steered(self, number: int) -> bool:
        """Scorers and side calls come when they come, or not at all."""
        exchange = self._tape.exchanges.get(number)
        return (
            exchange is not None and self._tape.is_agent(exchange.request.lane) and not exchange.request.aside
        )

    def _is_coming(self, number: int) -> bool:
        """Whether something under way leads to this request: a tool that runs, or a subagent that starts."""
        request = self._tape.exchanges[number].request
        before = self._tape.spawning(request.lane) if request.continues is None else request.continues
        return before in self._answered and bool(self._tape.exchanges[before].tool_uses)
