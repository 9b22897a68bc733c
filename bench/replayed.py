"""A whole replayed suite, beside as many bare runs of Claude Code at the same concurrency: nothing can be faster."""

from __future__ import annotations

import resource
import subprocess
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from bench import bare, project
from bench.environment import user_python
from bench.measure import Rounds, Took, command, interleave
from bench.question import Question, Setup, compare
from bench.results import Figure, Target

BARE = "bare `claude -p`"
JOBS = (1, 2)


def measure(setup: Setup) -> tuple[list[Figure], list[str]]:
    cases = 4 if setup.quick else 40
    folder = project.lay_out(setup.folder)
    project.write_suite(setup.folder, cases=cases, scripted=False)
    with bare.canned_model(project.TURNS, setup.folder) as model:
        _record(setup.folder, model.url)
        figures = [
            figure
            for jobs in JOBS
            for figure in _compare(setup, cases, jobs, partial(bare_runs, folder, model.url, cases, jobs))
        ]
    return figures, []


def _record(folder: Path, upstream: str) -> None:
    env = project.roadtest_environment(ROADTEST_UPSTREAM=upstream, ANTHROPIC_API_KEY="bench-needs-no-key")
    command([user_python(), "-m", "pytest", "-q", "--cassettes=record"], env=env, cwd=folder)


def _compare(setup: Setup, cases: int, jobs: int, bare_side: Callable[[], Took]) -> list[Figure]:
    contenders: dict[str, Callable[[], Took]] = {
        "replayed": partial(_replay, setup.folder, jobs),
        BARE: bare_side,
    }
    took = interleave(contenders, setup.rounds, warm_up=False)  # a minute each; recording has warmed up
    case, target = f"{cases} cases, {jobs} in flight", {BARE: Target("ratio", 1.10)}
    return list(compare(Rounds.of(took, "wall"), "replayed", target, case=case, unit="s"))


def _replay(folder: Path, jobs: int) -> Took:
    argv = [user_python(), "-m", "pytest", "-q", "--cassettes=replay", f"--agent-jobs={jobs}"]
    return command(argv, env=project.roadtest_environment(), cwd=folder)


def bare_runs(folder: Path, model: str, runs: int, jobs: int) -> Took:
    """Run Claude Code that often with nothing around it but a home of its own each."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as homes, ThreadPoolExecutor(jobs) as pool:
        list(pool.map(lambda number: _bare_run(folder, Path(homes) / str(number), model), range(runs)))
    wall = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Took(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def _bare_run(folder: Path, home: Path, model: str) -> None:
    env = bare.environment(home, model)
    done = subprocess.run(
        bare.claude_command(project.PROMPT),
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
    )
    if project.ANSWER.encode() not in done.stdout:
        raise RuntimeError(f"Claude Code did not get to its last answer:\n{done.stdout.decode()[-2000:]}")


QUESTION = Question("replayed", "How close is a replayed suite to bare Claude Code?", measure, rounds=5)
