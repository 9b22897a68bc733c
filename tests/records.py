"""A record with one of each kind, for the tests of whatever reads records."""

from __future__ import annotations

from typing import Any

from roadtest.calls import ToolCall
from roadtest.matching import call, match
from roadtest.results import CaseResult, Drift, Git, Record, Run, Score, Totals, Usage
from roadtest.trajectory import Trajectory

RUN_ID = "2026-11-15T10-00-00-a1b2"
WORKSPACE = "/tmp/roadtest/w"


def a_call(name: str, status: str = "ok", **args: Any) -> ToolCall:
    return ToolCall(name=name, args=args, id=f"toolu_{name}", status=status)  # type: ignore[arg-type]


def a_run(*calls: ToolCall, **fields: Any) -> Run:
    known = {
        "output": "I found two TODO comments.",
        "usage": Usage(120, 45, 3000, 12000),
        "cost_usd": 0.0123,
        "duration_s": 1.2,
        "turns": 3,
        "exit_code": 0,
        "model": "claude-sonnet-4-5",
        "claude_version": "2.1.325",
        "session_id": "0b1c2d3e",
    }
    return Run(trajectory=Trajectory(calls), **{**known, **fields})


def a_result(case: str, verdict: str = "passed", suite: str = "file search", **fields: Any) -> CaseResult:
    known = {
        "node_id": f"evals/test_search.py::{suite}::{case}",
        "file": "evals/test_search.py",
        "input": "Find every TODO comment",
        "cassette": f"evals/cassettes/{suite}/{case}".replace(" ", "-"),
        "played": "replayed",
        "started_at": "2026-11-15T10:00:01.000Z",
        "duration_s": 1.4,
    }
    return CaseResult(suite=suite, case=case, verdict=verdict, **{**known, **fields})  # type: ignore[arg-type]


def trajectory_score(*made: ToolCall, expected: list[Any]) -> Score:
    found = match(Trajectory(made), expected, mode="superset")
    return Score(found.score, found.summary, found.to_data(), "trajectory_match")


GREP = a_call("Grep", pattern="TODO", path=f"{WORKSPACE}/src")
READ = a_call("Read", file_path=f"{WORKSPACE}/src/main.py")
BASH = a_call("Bash", "denied", command="grep -rn FIXME .")
NO_WRITES = Score(1.0, "none of Write, Edit was called", {}, "never_calls")

PASSED = a_result(
    "find todos",
    runs=[a_run(GREP, READ)],
    scores=[trajectory_score(GREP, READ, expected=[call("Grep", pattern="TODO")]), NO_WRITES],
)
FAILED = a_result(
    "find fixmes",
    "failed",
    tags=["slow"],
    scores=[
        NO_WRITES,
        trajectory_score(GREP, BASH, expected=[call("Grep", pattern="FIXME"), call("Read")]),
    ],
    reason="superset match failed",
    runs=[a_run(GREP, BASH, output="\n".join(f"line {number}" for number in range(1, 15)))],
)
INVALID = a_result(
    "skill fires",
    "invalid",
    suite="skills",
    reason="the cassette is stale: .claude/skills/todo-finder/SKILL.md changed",
    runs=[
        a_run(
            invalid="the cassette is stale",
            stderr="boom\n",
            drift=[Drift("context", ".claude/skills/todo-finder/SKILL.md changed")],
        )
    ],
)
ERROR = a_result(
    "scorer raises",
    "error",
    suite="skills",
    reason="KeyError: 'x' in the scorer no_such_key",
    traceback="Traceback (most recent call last):\n  File \"evals/test_search.py\", line 7, in no_such_key\nKeyError: 'x'\n",
    runs=[a_run(GREP)],
    cassette="",
    played="scripted",
)


def trial(number: int, verdict: str, score: float, variant: str, cost: float = 0.01) -> CaseResult:
    return a_result(
        "pick a tool",
        verdict,
        suite="models",
        trial=number,
        trials=3,
        pass_if="at least 2",
        variant=variant,
        node_id=f"evals/test_models.py::models::pick a tool[{variant}-trial-{number}]",
        file="evals/test_models.py",
        scores=[Score(score, "judged", {}, "style")],
        runs=[a_run(GREP, cost_usd=cost)],
        played="live",
        cassette="",
    )


TRIALS = [
    trial(1, "passed", 0.9, "haiku"),
    trial(2, "failed", 0.4, "haiku"),
    trial(3, "passed", 1.0, "haiku"),
    trial(1, "passed", 1.0, "sonnet", 0.03),
    trial(2, "passed", 0.9, "sonnet", 0.03),
    trial(3, "passed", 1.0, "sonnet", 0.03),
]


def a_record(*cases: CaseResult, **fields: Any) -> Record:
    known = {
        "run_id": RUN_ID,
        "started_at": "2026-11-15T10:00:00.000Z",
        "finished_at": "2026-11-15T10:00:09.000Z",
        "root": "/home/someone/project",
        "command": ["pytest", "evals"],
        "settings": {"cassettes": "replay", "jobs": 2},
        "versions": {"roadtest": "0.1.0", "python": "3.11.7", "pytest": "9.0.0", "claude": "2.1.325"},
        "git": Git("0123456789abcdef0123456789abcdef01234567", "main", dirty=True),
        "exit_status": 1,
    }
    return Record(cases=list(cases), totals=Totals.of(cases), **{**known, **fields})


FULL = a_record(PASSED, FAILED, INVALID, ERROR, *TRIALS)
