"""Matching two trajectories, beside AgentEvals' evaluator on the same calls.

The calls are such as agents make: some twenty tools, most arguments distinct. A mismatch is two calls with another argument
and one of another tool, so that the number of calls does not decide: once for the verdict alone, and once with the
explanation written, of which AgentEvals has none. Where order does not count the calls also come shuffled.

Either side gets its own form of what is expected before the clock runs: AgentEvals messages, roadtest expected calls. What
it takes to build ours, from recorded calls or by ``call()``, is measured on top where the case says so.
"""

from __future__ import annotations

import json
import math
import random
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from typing import Any, Literal

from bench.environment import peers_python, plain
from bench.measure import Rounds, clock, interleave
from bench.question import Question, Setup, compare
from bench.results import Figure, Target
from roadtest.calls import ToolCall
from roadtest.matching import call
from roadtest.trajectory import Trajectory

Calls = list[tuple[str, dict[str, Any]]]
SIZES = (10, 50, 500, 10_000)
OUTCOMES = ("match", "mismatch", "mismatch, explained")
MODES = ("strict", "unordered", "subset", "superset")
SHUFFLED_SIZES = (50, 10_000)
PATIENCE_S = 10.0
"""How long AgentEvals may take for one comparison before it counts as not finished."""
LONG_S = 0.02
"""Comparisons are repeated until they take this long together: the clock says nothing about microseconds."""


@dataclass(frozen=True)
class Job:
    mode: str
    actual: Calls
    expected: Calls
    matches: bool
    explained: bool = False
    shuffled: bool = False
    builds: Literal["", "recorded calls", "call()"] = ""
    """What ours builds the expected calls from, each time; by default they are built before."""

    @property
    def outcome(self) -> str:
        words = [
            "shuffled" * self.shuffled,
            "match" if self.matches else "mismatch",
            "explained" * self.explained,
            f"built from {self.builds}" * bool(self.builds),
        ]
        return ", ".join(filter(None, words))

    def ours(self) -> Callable[[], None]:
        trajectory = Trajectory(_recorded(self.actual))
        expected = self._expected()

        def compare_and_explain() -> None:
            wanted = self._expected() if self.builds == "call()" else expected
            match = trajectory.matches(wanted, mode=self.mode, args="superset")
            if bool(match) != self.matches:
                raise RuntimeError(f"roadtest is wrong about {self.mode}")
            if self.explained:
                str(match)

        return compare_and_explain

    def _expected(self) -> Sequence[Any]:
        """What a test would hand over; recorded calls are made expected ones by the match."""
        if self.builds == "recorded calls":
            return _recorded(self.expected)
        return [call(name, **args) for name, args in self.expected]


def measure(setup: Setup) -> tuple[list[Figure], list[str]]:
    sizes = SIZES[:2] if setup.quick else SIZES
    with _worker() as worker:
        figures = [
            figure for size in sizes for job in _jobs(size) for figure in _compare(setup, worker, size, job)
        ]
    in_order = list(_in_order(setup, sizes))
    return [*figures, *in_order], [_growth(figures)] if not setup.quick else []


def _recorded(calls: Calls) -> list[ToolCall]:
    return [ToolCall(name=name, args=args, id=str(n)) for n, (name, args) in enumerate(calls)]


def _jobs(size: int) -> Iterator[Job]:
    for mode in MODES:
        for outcome in OUTCOMES:
            yield _job(size, mode, outcome)
    if size in SHUFFLED_SIZES:
        for mode in MODES[1:]:
            for outcome in OUTCOMES[:2]:
                yield _shuffled(_job(size, mode, outcome))
    if size == min(SHUFFLED_SIZES):
        for mode in MODES[1:]:
            yield replace(_shuffled(_job(size, mode, "match")), builds="recorded calls")
            yield replace(_shuffled(_job(size, mode, "match")), builds="call()")


def _shuffled(job: Job) -> Job:
    return replace(
        job, shuffled=True, actual=random.Random(len(job.actual)).sample(job.actual, len(job.actual))
    )


def _job(size: int, mode: str, outcome: str) -> Job:
    matches = outcome == "match"
    chance = random.Random(size)
    expected = [
        (
            f"Tool{chance.randrange(20)}",
            {"path": f"src/{chance.randrange(size * 4)}.py", "line": chance.randrange(99)},
        )
        for _ in range(size)
    ]
    actual = [(name, {**args}) for name, args in expected]
    if not matches:
        for index in (size // 3, size // 2):
            actual[index][1]["path"] = "src/somewhere/else.py"
        actual[size // 5] = ("AnotherTool", actual[size // 5][1])
    return Job(mode, actual, expected, matches, outcome.endswith("explained"))


def _compare(setup: Setup, worker: Worker, size: int, job: Job) -> Iterator[Figure]:
    ours = job.ours()
    case = f"{size:,} calls, {job.mode}, {job.outcome}"
    faster = None if job.explained or job.builds else Target("ratio", 0.01)
    target = {50: faster, 10_000: Target("ours", 1_000.0)}.get(size)
    times = max(1, int(LONG_S / max(clock(ours), 1e-6)))
    first = worker.time(job, 1)
    against = "agentevals" if first is not None else f"agentevals (not done in {PATIENCE_S:.0f} s)"
    if first is None or first > 1:
        # Once is enough to see a difference of orders of magnitude, and more would take hours.
        theirs: Callable[[], float] = partial(float, first or PATIENCE_S)
    else:
        their_times = max(1, int(LONG_S / first))
        theirs = lambda: worker.time(job, their_times) or math.inf  # noqa: E731
    rounds = interleave({"ours": lambda: clock(ours, times), against: theirs}, setup.rounds, warm_up=False)
    yield from compare(Rounds(rounds), "ours", {against: target}, case=case, unit="ms")


def _in_order(setup: Setup, sizes: tuple[int, ...]) -> Iterator[Figure]:
    """AgentEvals has no such mode, so ours stands beside our own strict mode."""
    for size in sizes:
        for outcome in OUTCOMES:
            contenders = {}
            for mode in ("in_order", "strict"):
                work = _job(size, mode, outcome).ours()
                times = max(1, int(LONG_S / max(clock(work), 1e-6)))
                contenders[mode] = partial(clock, work, times)
            rounds = Rounds(interleave(contenders, setup.rounds, warm_up=False))
            case = f"{size:,} calls, in_order, {outcome}"
            target = Target("ours", 1_000.0) if size == max(SIZES) else None
            theirs = {"strict": "our strict"}
            renamed = Rounds({theirs.get(name, name): samples for name, samples in rounds.samples.items()})
            yield from compare(renamed, "in_order", {"our strict": target}, case=case, unit="ms")


def _growth(figures: list[Figure]) -> str:
    """How time grows from 500 to 10,000 calls, as the power of the number of calls."""
    powers = []
    for mode in MODES:
        small, large = (
            next(f for f in figures if f.case == f"{n:,} calls, {mode}, mismatch, explained")
            for n in SIZES[2:]
        )
        power = math.log(large.ours.median / small.ours.median) / math.log(SIZES[3] / SIZES[2])
        powers.append(f"{mode} {power:.1f}")
    growth = ", ".join(powers)
    return f"From 500 to 10,000 calls the time of an explained mismatch grows with this power of their number: {growth}."


# The other side


class Worker:
    """AgentEvals in its own process, started anew when it has to be stopped."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def time(self, job: Job, times: int) -> float | None:
        """Seconds of one comparison; None where it takes longer than we wait."""
        process = self._process = self._process or self._start()
        assert process.stdin is not None and process.stdout is not None  # noqa: PT018 - both are pipes
        line = {"mode": job.mode, "actual": job.actual, "expected": job.expected, "times": times}
        process.stdin.write(json.dumps(line) + "\n")
        process.stdin.flush()
        with DefaultSelector() as ready:
            ready.register(process.stdout, EVENT_READ)
            if not ready.select(PATIENCE_S * times):
                self.stop()
                return None
        result = json.loads(process.stdout.readline())
        if result["matches"] != job.matches:
            raise RuntimeError(
                f"agentevals says {result['matches']} on a {job.mode} comparison where it must not"
            )
        return float(result["seconds"])

    def _start(self) -> subprocess.Popen[str]:
        script = Path(__file__).parent / "peers" / "agentevals_match.py"
        argv = [str(peers_python()), "-I", str(script)]
        return subprocess.Popen(argv, env=plain(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def stop(self) -> None:
        if self._process:
            self._process.kill()
            self._process.communicate()
            self._process = None


@contextmanager
def _worker() -> Iterator[Worker]:
    worker = Worker()
    try:
        yield worker
    finally:
        worker.stop()


QUESTION = Question("matching", "How fast is matching?", measure, rounds=5)
