"""What it costs to start: the import, and the shortest command."""

from __future__ import annotations

from collections.abc import Callable

from bench.environment import plain, user_python
from bench.measure import Rounds, Took, command, interleave
from bench.question import Question, Setup, compare
from bench.results import Figure, Target

NAMES = "from roadtest import Case, ClaudeCode, Workspace, call, describe_eval, scorers, script"
NOTHING = "python -c pass"
COMMANDS = {
    "import roadtest": ["-c", "import roadtest"],
    "import of what an eval file uses": ["-c", NAMES],
    "roadtest --help": ["-m", "roadtest", "--help"],
}


def measure(setup: Setup) -> tuple[list[Figure], list[str]]:
    contenders = {case: _start(arguments) for case, arguments in COMMANDS.items()}
    took = interleave({NOTHING: _start(["-c", "pass"]), **contenders}, setup.rounds)
    rounds = Rounds.of(took, "wall")
    target = Target("ours", 150.0)
    cpu = Rounds.of(took, "cpu")
    figures: list[Figure] = []
    for case in COMMANDS:
        figures += compare(rounds, case, {NOTHING: target}, case=case, unit="ms")
        figures += compare(cpu, case, {NOTHING: target}, case=f"{case}, processor time", unit="ms")
    return figures, []


def _start(arguments: list[str]) -> Callable[[], Took]:
    return lambda: command([user_python(), *arguments], env=plain())


QUESTION = Question("startup", "How long does it take to start?", measure, rounds=21)
