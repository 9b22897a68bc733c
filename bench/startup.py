"""What it costs to start: the import, and the shortest command."""

from __future__ import annotations

from collections.abc import Callable

from bench.environment import plain, user_python
from bench.measure import Rounds, Took, command, interleave
from bench.question import Question, Setup, compare
from bench.results import Figure, Target

NAMES = "from roadtest import Case, ClaudeCode, Workspace, call, describe_eval, scorers, script"
NOTHING, PYTEST = "python -c pass", "import pytest"
COMMANDS = {
    # case: what is run, what it stands beside, and the target
    "import roadtest": (["-c", "import roadtest"], NOTHING, Target("ours", 150.0)),
    "roadtest --help": (["-m", "roadtest", "--help"], NOTHING, Target("ours", 150.0)),
    # An eval file is read by pytest, which is there already.
    "import of what an eval file uses": (["-c", f"import pytest; {NAMES}"], PYTEST, None),
}


def measure(setup: Setup) -> tuple[list[Figure], list[str]]:
    beside = {NOTHING: _start(["-c", "pass"]), PYTEST: _start(["-c", PYTEST])}
    contenders = {case: _start(arguments) for case, (arguments, _, _) in COMMANDS.items()}
    took = interleave({**beside, **contenders}, setup.rounds)
    wall, cpu = Rounds.of(took, "wall"), Rounds.of(took, "cpu")
    figures: list[Figure] = []
    for case, (_, against, target) in COMMANDS.items():
        figures += compare(wall, case, {against: target}, case=case, unit="ms")
        figures += compare(cpu, case, {against: target}, case=f"{case}, processor time", unit="ms")
    return figures, []


def _start(arguments: list[str]) -> Callable[[], Took]:
    return lambda: command([user_python(), *arguments], env=plain())


QUESTION = Question("startup", "How long does it take to start?", measure, rounds=21)
