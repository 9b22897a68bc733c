"""A model as a scorer: asked only where that is allowed, and through the cassette of the run."""

from __future__ import annotations

from collections.abc import Callable
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


Session = Callable[..., pytest.RunResult]


@pytest.fixture
def session(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Session:
    """Run the eval, with or without leave to ask a judge."""
    pytester.makepyfile(test_greeting=EVAL)

    def run(*args: str, judged: bool, **env: str) -> pytest.RunResult:
        with monkeypatch.context() as patch:
            for name, value in {**env, "EVAL_LLM_JUDGE": "1" if judged else ""}.items():
                patch.setenv(name, value)
            return pytester.runpytest(*args)

    return run


def record(session: Session, *answers: script.Part, judged: bool = True) -> pytest.RunResult:
    with testing.upstream(script.Script(script.say("Hello, world."), *answers)) as api:
        env = {"ROADTEST_UPSTREAM": api.url, "ANTHROPIC_API_KEY": "a-key-for-the-upstream"}
        return session("--cassettes=record", judged=judged, **env)


def verdict(score: float) -> script.Call:
    return script.call("verdict", score=score, reason="'Hello' is a greeting.")


def test_a_verdict_is_recorded_and_replayed(session: Session) -> None:
    """What the judge said when it was recorded decides again on replay, with nobody to ask."""
    record(session, verdict(1)).assert_outcomes(passed=1)
    session(judged=True).assert_outcomes(passed=1)


def test_a_low_verdict_counts_where_a_judge_is_allowed(session: Session) -> None:
    """A case that the judge does not like fails with its reason; without EVAL_LLM_JUDGE=1 the other scorers decide."""
    failed = record(session, verdict(0.2))
    failed.assert_outcomes(failed=1)
    failed.stdout.fnmatch_lines(["*'Hello' is a greeting.*"])
    session(judged=False).assert_outcomes(passed=1)


def test_a_judge_that_was_not_recorded_makes_the_run_invalid(session: Session) -> None:
    """A cassette without the judge's answer is not enough when the judge is asked."""
    record(session, judged=False).assert_outcomes(passed=1)
    session(judged=True).assert_outcomes(errors=1)


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
