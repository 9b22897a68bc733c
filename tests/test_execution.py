"""Jobs on threads: handed in ahead, collected one by one, ended all at once."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from roadtest.execution import Execution, Stopped


def giving(value: int) -> Callable[[], int]:
    return lambda: value


@pytest.fixture
def execution() -> Execution[str, int]:
    return Execution(2)


def test_results_are_collected_by_key(execution: Execution[str, int]) -> None:
    """Each job's result is found under its key, in any order, and then forgotten."""
    for number in range(10):
        execution.submit(str(number), giving(number))
    assert [execution.result(str(number)) for number in reversed(range(10))] == list(reversed(range(10)))
    assert "3" not in execution
    assert (execution.done, execution.running, execution.waiting) == (10, 0, 0)


def test_what_a_job_raises_is_raised_for_who_asks(execution: Execution[str, int]) -> None:
    """An exception belongs to whoever asks for the result, and the other jobs go on."""
    execution.submit("bad", lambda: 1 // 0)
    execution.submit("good", giving(1))
    with pytest.raises(ZeroDivisionError):
        execution.result("bad")
    assert execution.result("good") == 1


def test_results_are_told_before_they_are_collected() -> None:
    """Whoever writes results down has done so when the result is given out."""
    told: list[int] = []
    execution: Execution[str, int] = Execution(1, told.append)
    execution.submit("one", giving(1))
    assert execution.result("one") == 1
    assert told == [1]


def test_a_chain_stops_when_it_is_enough(execution: Execution[str, int]) -> None:
    """Jobs of a chain run one after the other until the results suffice; those not needed are None."""
    execution.submit_in_turn({str(n): giving(n) for n in range(5)}, lambda results: sum(results) >= 3)
    assert [execution.result(str(n)) for n in range(5)] == [0, 1, 2, None, None]


def test_stopping_calls_off_what_waits_and_ends_what_runs() -> None:
    """A stop reaches a running job by its cancel, and what has not started never does."""
    execution: Execution[str, bool] = Execution(1)
    started, ended = threading.Event(), threading.Event()

    def job() -> bool:
        with execution.cancel.calling(ended.set):
            started.set()
            return ended.wait()

    execution.submit("runs", job)
    execution.submit("waits", job)
    execution.submit_in_turn({"first": job, "second": job}, lambda _results: False)
    started.wait()
    execution.stop("enough")
    execution.stop("later reasons do not count")
    execution.submit("too late", job)
    assert execution.result("runs") is True
    for key in ("waits", "first", "second", "too late"):
        with pytest.raises(Stopped, match="not run: enough"):
            execution.result(key)
    execution.close()
    assert execution.running == 0


def test_waiting_can_end_early(execution: Execution[str, bool]) -> None:
    """One can wait for a while and look again."""
    go = threading.Event()
    execution.submit("one", go.wait)
    assert not execution.settled("one", within=0.01)
    go.set()
    assert execution.settled("one", within=20)
