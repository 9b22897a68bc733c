from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from roadtest.claude_code import ClaudeCode
from roadtest.config import OPTIONS
from roadtest.installation import Claude, find_claude
from roadtest.place import Place
from roadtest.results import Run
from roadtest.runner import run_once

pytest_plugins = ["pytester"]

# pytester forgets what an inner session imported; what is loaded here stays the same for all of them.
for module in ("agent", "evals.datasets", "plugin.outcomes", "plugin.scheduling"):
    import_module(f"roadtest.{module}")

# How long an example takes says more about the machine than about the code; workers share no database of failures.
hypothesis.settings.register_profile(
    "roadtest", deadline=None, database=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("roadtest")

RunScript = Callable[..., Run]
PATIENCE = (5.0, 60.0)
"""Timeouts for a run that is to be ended in the middle: the long one for a machine that is too busy to get there before."""


@pytest.fixture(scope="session", autouse=True)
def _few_plugins() -> Iterator[None]:
    """An inner session loads roadtest only, and xdist if it says so; some of the plugins take a second to load."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        environment.setenv("PYTEST_PLUGINS", "roadtest.pytest_plugin")
        yield


@pytest.fixture
def pytester(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """An inner session finds none of the settings of the outer one."""
    for name in ("TEST_RUN_ID", "EVAL_LLM_JUDGE", *(f"ROADTEST_{option.name.upper()}" for option in OPTIONS)):
        if name != "ROADTEST_CLAUDE":
            monkeypatch.delenv(name, raising=False)
    return pytester


@pytest.fixture(scope="session")
def claude() -> Claude:
    """The real Claude Code; the tests fail, not skip, where there is none."""
    return find_claude()


@pytest.fixture
def place(claude: Claude, tmp_path: Path) -> Place:
    return Place(test_id="case", base=tmp_path, output_dir=tmp_path / "test-output", claude=claude.path)


@pytest.fixture
def run_claude(place: Place) -> RunScript:
    """Run the real Claude Code on a task: ``run_claude(script=..., workspace=...)``."""

    def run(prompt: str = "Go on.", **options: Any) -> Run:
        return run_once(
            ClaudeCode(**{"permission_mode": "bypassPermissions", "timeout": 60.0, **options}), prompt, place
        )

    return run
