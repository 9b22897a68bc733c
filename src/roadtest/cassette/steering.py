"""The recorded order of a run with several lanes, kept on replay.

An answer is released once every request that was asked before it was complete has been asked again, and every answer that
was complete before it has been given. What came after an answer may depend on it; what came before cannot, so waiting for
it is safe. Should the live run take another way and never ask, the wait ends by itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Mapping
from itertools import takewhile

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
        steered = [
            exchange
            for exchange in tape.exchanges.values()
            if tape.is_agent(exchange.request.lane) and not exchange.request.aside
        ]
        self._steered = {exchange.number for exchange in steered}
        self._to_ask = _Queue({exchange.number: exchange.number for exchange in steered}, self._asked)
        self._to_answer = _Queue({exchange.number: _rank(exchange) for exchange in steered}, self._answered)

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
        awaited = [*self._to_ask.up_to(last), *self._to_answer.up_to(_rank(exchange) - 1)]
        if not awaited:
            return 0.0
        patience = LONG_PATIENCE if any(map(self._is_coming, awaited)) else PATIENCE
        return max(0.0, self._quiet_since + patience - self._clock())

    def _is_coming(self, number: int) -> bool:
        """Whether something under way leads to this request: a tool that runs, or a subagent that starts."""
        request = self._tape.exchanges[number].request
        before = self._tape.spawning(request.lane) if request.continues is None else request.continues
        return before in self._answered and bool(self._tape.exchanges[before].tool_uses)


class _Queue:
    """Numbers of exchanges by place, to be found from the first that is not done: a long recording is mostly done."""

    def __init__(self, places: Mapping[int, int], done: Container[int]) -> None:
        self._left = deque(sorted((place, number) for number, place in places.items()))
        self._done = done

    def up_to(self, last: int) -> list[int]:
        """Those at this place or before that are not done."""
        while self._left and self._left[0][1] in self._done:
            self._left.popleft()
        near = takewhile(lambda item: item[0] <= last, self._left)
        return [number for _, number in near if number not in self._done]


def _rank(exchange: Exchange) -> int:
    return exchange.response.rank or exchange.number
