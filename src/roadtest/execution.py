"""Many jobs on an executor: handed in ahead, collected one by one, ended all at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor, wait
from typing import Generic, TypeVar

from roadtest.errors import InvalidRun
from roadtest.isolation import Cancel

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class Stopped(InvalidRun):
    """The job did not run, or not to its end: everything was stopped first."""


class Execution(Generic[K, T]):
    """Jobs by key. ``cancel`` is what a job hands to whatever it starts, so that ``stop`` reaches it.

    ``on_done`` is called in the thread of the job, before anybody can collect the result.
    """

    def __init__(
        self, jobs: int, on_done: Callable[[T], None] | None = None, executor: Executor | None = None
    ) -> None:
        self.cancel = Cancel()
        self.stopped = ""
        """Why everything was stopped; empty while it goes on."""
        self._executor = executor or ThreadPoolExecutor(jobs, thread_name_prefix="roadtest")
        self._on_done = on_done
        self._futures: dict[K, Future[T | None]] = {}
        self._lock = threading.Lock()
        self.running = 0
        self.done = 0

    def __contains__(self, key: K) -> bool:
        return key in self._futures

    @property
    def waiting(self) -> int:
        return max(0, sum(not future.done() for future in list(self._futures.values())) - self.running)

    def submit(self, key: K, job: Callable[[], T]) -> None:
        self.submit_in_turn({key: job}, lambda _results: False)

    def submit_in_turn(
        self, jobs: Mapping[K, Callable[[], T]], enough: Callable[[Sequence[T]], bool]
    ) -> None:
        """Run these one after the other until ``enough`` says so of the results; the rest are None."""
        futures: dict[K, Future[T | None]] = {key: Future() for key in jobs}
        self._futures |= futures
        if self.stopped:
            _call_off(futures.values())
            return
        turns = list(zip(jobs.values(), futures.values(), strict=True))
        self._executor.submit(self._take_turns, turns, enough).add_done_callback(
            lambda outer: _call_off(futures.values()) if outer.cancelled() else None
        )

    def settled(self, key: K, within: float) -> bool:
        """Wait up to so many seconds; whether there is a result."""
        return bool(wait([self._futures[key]], timeout=within).done)

    def result(self, key: K) -> T | None:
        """Wait for a job and forget it; None when it was not needed."""
        try:
            return self._futures[key].result()
        except CancelledError:
            raise Stopped(f"not run: {self.stopped}") from None
        finally:
            self._futures.pop(key, None)

    def stop(self, reason: str) -> None:
        """Call off what waits and end what runs; the first reason given is the one that counts."""
        with self._lock:
            self.stopped = self.stopped or reason
        self._executor.shutdown(wait=False, cancel_futures=True)
        self.cancel.set()

    def close(self, reason: str = "the session is over") -> None:
        """Stop, and wait until nothing runs any more."""
        self.stop(reason)
        self._executor.shutdown(wait=True)

    def _take_turns(
        self, turns: Sequence[tuple[Callable[[], T], Future[T | None]]], enough: Callable[[Sequence[T]], bool]
    ) -> None:
        results: list[T] = []
        for job, future in turns:
            if self.stopped:
                _call_off([future])
            elif enough(results):
                future.set_result(None)
            else:
                self._run(job, future, results)

    def _run(self, job: Callable[[], T], future: Future[T | None], results: list[T]) -> None:
        self._count(running=1)
        try:
            result = job()
            if self._on_done:
                self._on_done(result)
            results.append(result)
        except BaseException as problem:  # noqa: BLE001 - it belongs to whoever asks for the result
            self._count(running=-1, done=1)
            future.set_exception(problem)
        else:
            self._count(running=-1, done=1)
            future.set_result(result)

    def _count(self, *, running: int, done: int = 0) -> None:
        with self._lock:
            self.running += running
            self.done += done


def _call_off(futures: Iterable[Future[T | None]]) -> None:
    for future in futures:
        future.cancel()
