"""A whole replayed suite, beside as many bare runs of Claude Code at the same concurrency."""

from __future__ import annotations

import resource
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from bench import bare, project
from bench.environment import user_python
from bench.measure import Rounds, Took, command, interleave
from bench.question import Question, Setup, compare
from bench.results import Figure, Target
from roadtest.capture import Receiver

OURS = "replayed"
BARE = "bare `claude -p`"
HOOKED = "`claude -p` with the hooks alone"
JOBS = (1, 2)


def measure(setup: Setup) -> tuple[list[Figure], list[str]]:
    cases = 4 if setup.quick else 40
    folder = project.lay_out(setup.folder)
    project.write_suite(setup.folder, cases=cases, scripted=False)
    contenders: dict[str, Callable[[], Took]] = {}
    with bare.canned_model(project.TURNS, setup.folder) as model:
        _record(setup.folder, model.url)
        for jobs in JOBS:
            contenders |= {
                _named(OURS, jobs): partial(_replay, setup.folder, jobs),
                _named(HOOKED, jobs): partial(bare_runs, folder, model.url, cases, jobs, hooks=True),
                _named(BARE, jobs): partial(bare_runs, folder, model.url, cases, jobs),
            }
        took = interleave(
            contenders, setup.rounds, warm_up=False
        )  # half a minute each; recording has warmed up
    rounds = Rounds.of(took, "wall")
    return [figure for jobs in JOBS for figure in _figures(rounds, cases, jobs)], []


def _figures(rounds: Rounds, cases: int, jobs: int) -> Iterator[Figure]:
    """Beside the limit; how much of that are Claude Code's own hooks; and what more cases in flight gain."""
    alone = f"{JOBS[0]} in flight"
    picked = rounds.pick(
        {name: _named(name, jobs) for name in (OURS, HOOKED, BARE)} | {alone: _named(OURS, JOBS[0])}
    )
    targets = {BARE: Target("ratio", 1.10), HOOKED: None, alone: Target("ratio", 0.60)}
    if jobs == JOBS[0]:
        del targets[alone]
    yield from compare(picked, OURS, targets, case=f"{cases} cases, {jobs} in flight", unit="s")


def _named(contender: str, jobs: int) -> str:
    return f"{contender}, {jobs} in flight"


def _record(folder: Path, upstream: str) -> None:
    env = project.roadtest_environment(ROADTEST_UPSTREAM=upstream, ANTHROPIC_API_KEY="bench-needs-no-key")
    command([user_python(), "-m", "pytest", "-q", "--cassettes=record"], env=env, cwd=folder)


def _replay(folder: Path, jobs: int) -> Took:
    argv = [user_python(), "-m", "pytest", "-q", "--cassettes=replay", f"--agent-jobs={jobs}"]
    return command(argv, env=project.roadtest_environment(), cwd=folder)


def bare_runs(folder: Path, model: str, runs: int, jobs: int, *, hooks: bool = False) -> Took:
    """Run Claude Code that often with nothing around it but a home of its own each; with our hooks, if asked for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as homes, ThreadPoolExecutor(jobs) as pool:
        list(pool.map(lambda number: _bare_run(folder, Path(homes) / str(number), model, hooks), range(runs)))
    wall = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Took(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def _bare_run(folder: Path, home: Path, model: str, hooks: bool) -> None:
    env = bare.environment(home, model)
    if hooks:
        receiver = Receiver(home / "captured", {}, home / "spool")
        _, printed = bare.talk(project.PROMPT, receiver, env=env, cwd=folder)
        if receiver.problems:
            raise RuntimeError(receiver.problems[0])
    else:
        argv = bare.claude_command(project.PROMPT)
        printed = subprocess.run(
            argv, cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=True
        ).stdout
    if project.ANSWER.encode() not in printed:
        raise RuntimeError(f"Claude Code did not get to its last answer:\n{printed.decode()[-2000:]}")


QUESTION = Question("replayed", "How close is a replayed suite to bare Claude Code?", measure, rounds=5)
