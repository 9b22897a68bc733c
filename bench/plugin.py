"""What the plugin costs a pytest run that does not use it: every project has it loaded once roadtest is installed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from bench.environment import plain, user_python
from bench.measure import Rounds, Took, command, interleave
from bench.question import Question, Setup, compare
from bench.results import Figure, Target

WITHOUT = "pytest -p no:roadtest"


def measure(setup: Setup) -> tuple[list[Figure], list[str]]:
    (setup.folder / "test_nothing.py").write_text("def test_nothing() -> None:\n    pass\n")
    (setup.folder / "pytest.ini").write_text("[pytest]\n")
    run = partial(_pytest, setup)
    took = interleave({"loaded": run([]), WITHOUT: run(["-p", "no:roadtest"])}, setup.rounds)
    target = {WITHOUT: Target("difference", 15.0)}
    wall = compare(Rounds.of(took, "wall"), "loaded", target, case="one empty test", unit="ms")
    cpu = compare(Rounds.of(took, "cpu"), "loaded", target, case="one empty test, processor time", unit="ms")
    return [*wall, *cpu], []


def _pytest(setup: Setup, options: list[str]) -> Callable[[], Took]:
    argv = [user_python(), "-m", "pytest", "-q", *options]
    return lambda: command(argv, env=plain(), cwd=setup.folder)


QUESTION = Question("plugin", "What does the plugin cost where it is not used?", measure, rounds=31)
