"""What the plugin costs a pytest run that does not use it: every project has it loaded once roadtest is installed.

Dependencies can bring plugins, too, so the other side loads none at all.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from bench.environment import plain, user_python
from bench.measure import Rounds, Took, command, interleave
from bench.question import Question, Setup, compare
from bench.results import Figure, Target

WITHOUT = "pytest without plugins"


def measure(setup: Setup) -> tuple[list[Figure], list[str]]:
    (setup.folder / "test_nothing.py").write_text("def test_nothing() -> None:\n    pass\n")
    (setup.folder / "pytest.ini").write_text("[pytest]\n")
    run = partial(_pytest, setup)
    took = interleave({"loaded": run(), WITHOUT: run(PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")}, setup.rounds)
    target = {WITHOUT: Target("difference", 15.0)}
    wall = compare(Rounds.of(took, "wall"), "loaded", target, case="one empty test", unit="ms")
    cpu = compare(Rounds.of(took, "cpu"), "loaded", target, case="one empty test, processor time", unit="ms")
    return [*wall, *cpu], []


def _pytest(setup: Setup, **more: str) -> Callable[[], Took]:
    argv = [user_python(), "-m", "pytest", "-q"]
    return lambda: command(argv, env={**plain(), **more}, cwd=setup.folder)


QUESTION = Question("plugin", "What does the plugin cost where it is not used?", measure, rounds=31)
