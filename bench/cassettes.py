"""What cassettes cost: recording and replaying a request, loading, and the size on disk.

The conversation is one of the real Claude Code, as it went over the wire; the same requests then go to the model directly,
through roadtest, through vcrpy (inside its client) and through mitmproxy. A conversation of N turns is the first N requests.
"""

from __future__ import annotations

import math
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from statistics import median

from bench import client
from bench.environment import peers_python, plain, user_python
from bench.measure import Rounds, interleave
from bench.question import Question, Setup, compare
from bench.results import Figure, Target
from bench.traffic import Traffic, converse
from bench.worker import Worker

TURNS = (5, 20, 50, 100, 200)
QUICK_TURNS = (5, 10)
LARGE = 200_000
"""Bytes of the requests whose latency is told."""
WINDOW = 5
"""So many requests up to the large one count."""
DIRECT, VCRPY, MITMPROXY = "direct upstream", "vcrpy", "mitmproxy"


class Side:
    """One way to record and replay the conversation; cassettes are named after their number of turns."""

    name: str

    def __init__(self, traffic: Traffic, folder: Path) -> None:
        self.traffic = traffic
        self.folder = folder
        folder.mkdir()

    def cassette(self, turns: int) -> Path:
        return self.folder / str(turns)

    def size(self, turns: int) -> int:
        path = self.cassette(turns)
        return sum(file.stat().st_size for file in path.rglob("*")) if path.is_dir() else path.stat().st_size

    def record(self, turns: int) -> list[float]:
        """Record anew; seconds of each request."""
        raise NotImplementedError

    def replay(self, turns: int) -> list[float]:
        raise NotImplementedError

    def load(self, turns: int) -> float:
        raise NotImplementedError


class Roadtest(Side):
    name = "roadtest"

    def __init__(self, traffic: Traffic, folder: Path, worker: Worker) -> None:
        super().__init__(traffic, folder)
        self._worker = worker
        self._port: int = worker.hear()

    def record(self, turns: int) -> list[float]:
        return self._serve("rewrite", turns)[0]

    def replay(self, turns: int) -> list[float]:
        return self._serve("replay", turns)[0]

    def load(self, turns: int) -> float:
        return self._serve("replay", turns)[1]

    def _serve(self, mode: str, turns: int) -> tuple[list[float], float]:
        prefix, opened = self._worker.ask([mode, str(self.cassette(turns)), self.traffic.places])
        seconds = client.send(self.traffic.asked[:turns], self._port, prefix)
        self._worker.ask("close")
        return seconds, opened


class Vcrpy(Side):
    name = VCRPY

    def __init__(self, traffic: Traffic, folder: Path, worker: Worker) -> None:
        super().__init__(traffic, folder)
        self._worker = worker

    def cassette(self, turns: int) -> Path:
        return self.folder / f"{turns}.yaml"

    def record(self, turns: int) -> list[float]:
        self.cassette(turns).unlink(missing_ok=True)
        return self._ask("record", turns)

    def replay(self, turns: int) -> list[float]:
        return self._ask("replay", turns)

    def load(self, turns: int) -> float:
        return self._ask("load", turns)[0]

    def _ask(self, job: str, turns: int) -> list[float]:
        words = [job, self.traffic.model.port, str(self.traffic.log), turns, str(self.cassette(turns))]
        seconds: list[float] = self._worker.ask(words)
        return seconds


class Mitmproxy(Side):
    name = MITMPROXY

    def __init__(self, traffic: Traffic, folder: Path, worker: Worker) -> None:
        super().__init__(traffic, folder)
        self._worker = worker

    def record(self, turns: int) -> list[float]:
        self.cassette(turns).unlink(missing_ok=True)
        return self._through(turns, ["--save-stream-file", str(self.cassette(turns))])

    def replay(self, turns: int) -> list[float]:
        return self._through(
            turns, ["--server-replay", str(self.cassette(turns)), "--set", "server_replay_extra=kill"]
        )

    def load(self, turns: int) -> float:
        seconds, flows = self._worker.ask(str(self.cassette(turns)))
        if flows != turns:
            raise RuntimeError(f"mitmproxy has kept {flows} of {turns} requests")
        return float(seconds)

    def _through(self, turns: int, options: list[str]) -> list[float]:
        with _mitmdump(self.traffic, options) as port:
            return client.send(self.traffic.asked[:turns], port)


def measure(setup: Setup) -> tuple[list[Figure], list[str]]:
    lengths = QUICK_TURNS if setup.quick else TURNS
    with ExitStack() as stack:
        traffic = stack.enter_context(converse(max(lengths), setup.folder / "traffic"))
        ours, vcrpy, mitmproxy = _sides(traffic, setup.folder, stack)
        for side in (ours, vcrpy, mitmproxy):
            for turns in lengths:
                side.record(turns)
        sides = [ours, vcrpy, mitmproxy]
        loading = list(_loading(setup, sides, lengths))
        figures = [*_latency(setup, traffic, sides), *loading, *_sizes(sides, lengths)]
    return figures, [
        _growth("loading", loading, lengths),
        _growth("size", figures[-2 * len(lengths) :], lengths),
    ]


def _sides(traffic: Traffic, folder: Path, stack: ExitStack) -> tuple[Roadtest, Vcrpy, Mitmproxy]:
    here = Path(__file__).parent
    env = {**plain(), "ROADTEST_UPSTREAM": traffic.model.url, "PYTHONPATH": str(here.parent)}
    server = stack.enter_context(Worker([user_python(), "-m", "bench.cassette_server"], env))
    vcrpy = stack.enter_context(Worker([peers_python(), here / "peers" / "vcrpy_traffic.py"], plain()))
    loader = stack.enter_context(Worker([peers_python(), here / "peers" / "mitmproxy_load.py"], plain()))
    return (
        Roadtest(traffic, folder / "roadtest", server),
        Vcrpy(traffic, folder / "vcrpy", vcrpy),
        Mitmproxy(traffic, folder / "mitmproxy", loader),
    )


def _latency(setup: Setup, traffic: Traffic, sides: list[Side]) -> Iterator[Figure]:
    """Each round has the conversation up to the first large request; what counts are the last few requests of it."""
    turns = next(
        (n for n, asked in enumerate(traffic.asked, 1) if len(asked.body) >= LARGE), len(traffic.asked)
    )
    size = len(traffic.asked[turns - 1].body) // 1000
    for job in ("record", "replay"):
        contenders: dict[str, Callable[[], float]] = {
            side.name: partial(_late, getattr(side, job), turns) for side in sides
        }
        contenders[DIRECT] = partial(
            _late, lambda n: client.send(traffic.asked[:n], traffic.model.port), turns
        )
        rounds = Rounds(interleave(contenders, setup.rounds))
        targets = {DIRECT: Target("difference", 2.0), VCRPY: None, MITMPROXY: None}
        yield from compare(rounds, "roadtest", targets, case=f"{job} a request of {size} KB", unit="ms")


def _late(have: Callable[[int], list[float]], turns: int) -> float:
    return median(have(turns)[-WINDOW:])


def _loading(setup: Setup, sides: list[Side], lengths: tuple[int, ...]) -> Iterator[Figure]:
    for turns in lengths:
        rounds = Rounds(interleave({side.name: partial(side.load, turns) for side in sides}, setup.rounds))
        targets = {VCRPY: Target("ours", 20.0) if turns == 50 else None, MITMPROXY: None}  # noqa: PLR2004
        yield from compare(rounds, "roadtest", targets, case=f"load {turns} turns", unit="ms")


def _sizes(sides: list[Side], lengths: tuple[int, ...]) -> Iterator[Figure]:
    for turns in lengths:
        sizes = Rounds({side.name: [float(side.size(turns))] for side in sides})
        targets = {VCRPY: Target("ratio", 0.05) if turns >= 50 else None, MITMPROXY: None}  # noqa: PLR2004
        yield from compare(sizes, "roadtest", targets, case=f"size of {turns} turns", unit="bytes")


def _growth(what: str, figures: list[Figure], lengths: tuple[int, ...]) -> str:
    """As the power of the number of turns: 1 is linear, 2 is what keeping each whole history comes to."""
    step = math.log(lengths[-1] / lengths[-2])
    powers = []
    for against in (VCRPY, MITMPROXY):
        small, large = (
            next(f for f in figures if f.case.endswith(f" {n} turns") and f.against == against)
            for n in lengths[-2:]
        )
        ours = math.log(large.ours.median / small.ours.median) / step
        powers.append(f"{against}'s with {math.log(large.theirs.median / small.theirs.median) / step:.1f}")
    theirs = ", ".join(powers)
    return f"From {lengths[-2]} to {lengths[-1]} turns, our {what} grows with the power {ours:.1f} of turns, {theirs}."


@contextmanager
def _mitmdump(traffic: Traffic, options: list[str]) -> Iterator[int]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    argv: list[object] = [
        peers_python().with_name("mitmdump"),
        "--quiet",
        "--mode",
        f"reverse:{traffic.model.url}",
    ]
    where = ["--listen-host", "127.0.0.1", "--listen-port", str(port)]
    with subprocess.Popen(
        [*map(str, argv), *where, *options], env=plain(), stdin=subprocess.DEVNULL
    ) as process:
        try:
            _wait_for(port, process)
            yield port
        finally:
            process.terminate()
            process.wait()


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    while process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError(f"mitmdump ended with exit code {process.returncode}")


QUESTION = Question("cassettes", "What do cassettes cost?", measure, rounds=5)
