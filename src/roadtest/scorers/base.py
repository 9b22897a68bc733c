"""What all scorers share: a name, a verdict with its reason, and refusing to judge what is not known."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from roadtest.errors import UsageError
from roadtest.results import Run, Score

Scorer = Callable[..., Score]
F = TypeVar("F", bound=Callable[..., Any])


def named(name: str) -> Callable[[F], F]:
    """Give a scorer made by a factory the factory's name, by which reports call it."""

    def rename(function: F) -> F:
        function.__name__ = function.__qualname__ = name
        return function

    return rename


def verdict(passed: bool, reason: str, **details: Any) -> Score:
    return Score(float(passed), reason, details)


def share(found: int, total: int, reason: str, *, partial: bool, **details: Any) -> Score:
    """All or nothing; with ``partial`` the share that was found."""
    value = found / total if partial else float(found == total)
    return Score(value, reason, details)


def require_calls(run: Run | None) -> None:
    """Refuse to judge calls that nobody captured: an empty trajectory proves something only if one was watched for."""
    if run is None or len(run.trajectory) or _is_claude_code(run):
        return
    raise UsageError(
        "This run has no tool calls, and nothing says that they were captured.",
        hint="have the task return Run(trajectory=...), or run Claude Code with ClaudeCode(...)",
    )


def require_measured(run: Run, value: float, what: str) -> None:
    """Refuse to judge a figure that is zero because nobody measured it."""
    if not value and not _is_claude_code(run):
        raise UsageError(f"This run does not say {what}.", hint="have the task return a Run that does")


def require_workspace(workspace: Path | None, scorer: str) -> Path:
    if workspace is None:
        raise UsageError(f"{scorer} needs the workspace of the run, and this run has none.")
    if not workspace.is_dir():
        raise UsageError(
            f"{scorer} needs the workspace of the run, and {workspace} is no longer there.",
            hint="score while the run's workspace exists, or keep it with --keep-workspaces",
        )
    return workspace


def _is_claude_code(run: Run) -> bool:
    return bool(run.session_id or run.claude_version)
