"""Scorers called as an eval calls them, for the tests of scorers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from roadtest.calling import Asks
from roadtest.results import Run, Score
from roadtest.trajectory import Trajectory
from tests.calls_made import made


def score(scorer: Callable[..., Any], **known: Any) -> Score:
    """What the scorer says of a run, called with what it asks for by name."""
    run = known.pop("run", None) or Run(**known.pop("about", {}), session_id="s")
    if "trajectory" in known:
        run.trajectory = known["trajectory"] = Trajectory(known["trajectory"])
    values = {"run": run, "trajectory": run.trajectory, "output": run.output, "workspace": run.workspace}
    values |= {"input": "Go", "expected": None, "case": None, **known}
    asks = Asks.of(scorer)
    found = scorer(**{name: values[name] for name in (*asks.required, *asks.optional)})
    assert isinstance(found, Score)
    assert found.reason, "a score never travels without its reason"
    return found


def passes(scorer: Callable[..., Any], **known: Any) -> bool:
    value = score(scorer, **known).value
    assert value in (0.0, 1.0)
    return value == 1.0


SEARCH = [
    made("Glob", pattern="**/*.py"),
    made("Grep", pattern="TODO", path="src"),
    made("Grep", pattern="FIXME", path="src"),
    made("Bash", command="cd src && grep -rn XXX . | head"),
    made("Read", file_path="/w/src/store.py"),
]
