"""Interleaved rounds: machines are noisy, so a figure is a ratio of two things measured side by side.

Every round measures each contender once, in an order that rotates from round to round; a ratio is taken within a round, and
what is reported is the median over the rounds with the quartiles as its spread.
"""

from __future__ import annotations

import os
import resource
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles
from typing import Literal, TypeVar

from bench.results import Spread

T = TypeVar("T")
Samples = Mapping[str, Sequence[T]]


@dataclass(frozen=True)
class Took:
    """What a whole command took: seconds on the clock, and seconds of processor by it and all it waited for."""

    wall: float
    cpu: float


@dataclass(frozen=True)
class Rounds:
    """The samples of each contender, by round."""

    samples: Samples[float]

    @classmethod
    def of(cls, took: Samples[Took], what: Literal["wall", "cpu"]) -> Rounds:
        return cls({name: [getattr(one, what) for one in samples] for name, samples in took.items()})

    def pick(self, names: Mapping[str, str]) -> Rounds:
        """The samples of some contenders, each under a name for the table."""
        return Rounds({shown: self.samples[name] for shown, name in names.items()})

    def minus(self, baseline: str, share: int = 1) -> Rounds:
        """What each other contender adds to the baseline, a ``share``-th of it."""
        floor = self.samples[baseline]
        added = {
            name: [(s - f) / share for s, f in zip(samples, floor, strict=True)]
            for name, samples in self.samples.items()
        }
        del added[baseline]
        return Rounds(added)

    def spread(self, name: str) -> Spread:
        return spread(self.samples[name])

    def ratio(self, name: str, against: str) -> Spread:
        return spread([ours / theirs for ours, theirs in self._pairs(name, against)])

    def difference(self, name: str, against: str) -> Spread:
        return spread([ours - theirs for ours, theirs in self._pairs(name, against)])

    def _pairs(self, name: str, against: str) -> list[tuple[float, float]]:
        return list(zip(self.samples[name], self.samples[against], strict=True))


def interleave(contenders: Mapping[str, Callable[[], T]], rounds: int, *, warm_up: bool = True) -> Samples[T]:
    """Measure every contender once a round; a warm-up round fills caches and is thrown away."""
    names = list(contenders)
    samples: dict[str, list[T]] = {name: [] for name in names}
    for number in range(-1 if warm_up else 0, rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            sample = contenders[name]()
            if number >= 0:
                samples[name].append(sample)
    return samples


def spread(samples: Sequence[float]) -> Spread:
    """The median and the quartiles."""
    if len(samples) == 1:
        return Spread(samples[0], samples[0], samples[0])
    low, median, high = quantiles(samples, n=4, method="inclusive")
    return Spread(median, low, high)


def clock(work: Callable[[], object], times: int = 1) -> float:
    """Seconds that one call of ``work`` takes, averaged over ``times`` calls in a row."""
    started = time.perf_counter()
    for _ in range(times):
        work()
    return (time.perf_counter() - started) / times


def command(
    argv: Sequence[object],
    *,
    env: Mapping[str, str],
    cwd: Path | None = None,
    stdin: Path | None = None,
    ok: Sequence[int] = (0,),
) -> Took:
    """Run a command to its end; an exit code that is not ``ok`` is an error, for its time means nothing."""
    with (stdin or Path(os.devnull)).open("rb") as source:
        started = time.perf_counter()
        process = subprocess.Popen(
            [str(word) for word in argv],
            stdin=source,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=dict(env),
            cwd=cwd,
        )
        output = process.stdout.read() if process.stdout else b""
        usage = ended(process)
        wall = time.perf_counter() - started
    if process.returncode not in ok:
        raise RuntimeError(
            f"exit code {process.returncode}: {argv}\n{output.decode(errors='replace')[-4000:]}"
        )
    return Took(wall, usage.ru_utime + usage.ru_stime)


def ended(process: subprocess.Popen[bytes]) -> resource.struct_rusage:
    """Wait for the end of a process, and tell what it and all it waited for used."""
    _, status, usage = os.wait4(process.pid, 0)
    # It was reaped here, which subprocess does not know: without this it would look for it again.
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage
