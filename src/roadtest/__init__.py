"""Road-test Claude Code agents, subagents, skills and hooks with pytest.

The names below are the whole public API, with the modules ``roadtest.script`` and ``roadtest.testing``. They are loaded on
first use: pytest imports this package in every project that has it installed, used or not.

PYTEST_DONT_REWRITE: nothing here asserts, and ``roadtest run`` has this module loaded before pytest starts.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from roadtest import scorers, script
    from roadtest.agent import run_agent
    from roadtest.calls import ToolCall
    from roadtest.capture import get_tool_calls
    from roadtest.claude_code import ClaudeCode
    from roadtest.evals import Case, Trials, describe_eval
    from roadtest.isolation import Workspace
    from roadtest.matching import Match, call
    from roadtest.results import Run, Score
    from roadtest.trajectory import Trajectory

__version__ = "0.1.0"

_HOME_OF = {
    "Case": "evals",
    "ClaudeCode": "claude_code",
    "Match": "matching",
    "Run": "results",
    "Score": "results",
    "ToolCall": "calls",
    "Trajectory": "trajectory",
    "Trials": "evals",
    "Workspace": "isolation",
    "call": "matching",
    "describe_eval": "evals",
    "get_tool_calls": "capture",
    "run_agent": "agent",
    "scorers": "",
    "script": "",
}

__all__ = [
    "Case",
    "ClaudeCode",
    "Match",
    "Run",
    "Score",
    "ToolCall",
    "Trajectory",
    "Trials",
    "Workspace",
    "call",
    "describe_eval",
    "get_tool_calls",
    "run_agent",
    "scorers",
    "script",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'roadtest' has no attribute {name!r}")
    home = _HOME_OF[name]
    value = getattr(import_module(f"roadtest.{home}"), name) if home else import_module(f"roadtest.{name}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
