"""A model as a scorer: asked only where that is allowed, and through the cassette of the run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from roadtest import script, testing
from roadtest.errors import InvalidRun, UsageError
from roadtest.judge import _read, judge

EVAL = """\
from roadtest import Case, ClaudeCode, describe_eval, scorers
from roadtest.judge import judge

describe_eval(
    "greeting",
    data=[Case("hello", input="Say hello", expected="hello")],
    task=ClaudeCode(),
    scorers=[scorers.output_contains("Hello"), judge("The answer is a greeting.")],
)
"""


def run_pytest(folder: Path, *args: str, **env: str) -> str:
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith(("ANTHROPIC", "ROADTEST"))
    }
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *args]
    done = subprocess.run(
        command, cwd=folder, env={**inherited, **env}, capture_output=True, text=True, check=False
    )
    return done.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "test_greeting.py").write_text(EVAL)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    return tmp_path


def record(folder: Path, score: float) -> str:
    model = script.Script(
        script.say("Hello, world."), script.call("verdict", score=score, reason="'Hello' is a greeting.")
    )
    with testing.upstream(model) as api:
        env = {"ROADTEST_UPSTREAM": api.url, "ANTHROPIC_API_KEY": "a-key-for-the-upstream"}
        return run_pytest(folder, "--cassettes=record", EVAL_LLM_JUDGE="1", **env)


def test_a_verdict_is_recorded_and_replayed(folder: Path) -> None:
    """What the judge said when it was recorded decides again on replay, with nobody to ask."""
    assert "1 passed" in record(folder, 1)
    assert "1 passed" in run_pytest(folder, EVAL_LLM_JUDGE="1")


def test_a_low_verdict_fails_with_its_reason(folder: Path) -> None:
    """A case that the judge does not like fails, and shows what the judge said."""
    output = record(folder, 0.2)
    assert "1 failed" in output
    assert "'Hello' is a greeting." in output


def test_a_judge_is_left_out_unless_it_is_allowed(folder: Path) -> None:
    """Without EVAL_LLM_JUDGE=1 no model is asked and the other scorers decide."""
    record(folder, 0.2)
    assert "1 passed" in run_pytest(folder)


def test_a_judge_that_was_not_recorded_makes_the_run_invalid(folder: Path) -> None:
    """A cassette without the judge's answer is not enough when the judge is asked."""
    with testing.upstream(script.Script(script.say("Hello, world."))) as api:
        run_pytest(folder, "--cassettes=record", ROADTEST_UPSTREAM=api.url, ANTHROPIC_API_KEY="a-key")
    output = run_pytest(folder, EVAL_LLM_JUDGE="1")
    assert "1 error" in output
    assert "passed" not in output.splitlines()[-1]


@pytest.mark.parametrize(
    "content",
    [
        [],
        [{"type": "text", "text": "I would say 1."}],
        [{"type": "tool_use", "input": {"score": 1}}],
        [{"type": "tool_use", "input": {"score": "high", "reason": "x"}}],
        [{"type": "tool_use", "input": {"score": 7, "reason": "x"}}],
    ],
)
def test_anything_but_a_verdict_proves_nothing(content: list[dict[str, Any]]) -> None:
    """An answer that is no verdict makes the run invalid; it is neither a zero nor a pass."""
    with pytest.raises(InvalidRun):
        _read({"content": content})


def test_a_judge_needs_a_criterion() -> None:
    """An empty criterion is refused when the scorer is built."""
    with pytest.raises(UsageError, match="criterion"):
        judge("  ")
