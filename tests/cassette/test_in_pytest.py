"""Cassettes as a user meets them: recorded once, replayed by plain pytest, stale when the skill is edited."""

from __future__ import annotations

from pathlib import Path

import pytest

from roadtest import script, testing
from roadtest.script import Script

EVALS = """
from roadtest import Case, ClaudeCode, Workspace, describe_eval, scorers
from roadtest.cassette.asking import ask_model

def judged(output):
    asked = [{"role": "user", "content": f"Is this good? {output}"}]
    return ask_model(model="judge", max_tokens=5, messages=asked)["content"][0]["text"] == "Yes."

describe_eval(
    "greeting",
    data=[Case("says hello", input="Greet me.")],
    task=ClaudeCode(workspace=Workspace.copy("app"), permission_mode="bypassPermissions", timeout=60),
    scorers=[scorers.skill_used("greet"), judged],
)

def test_two_agents(agent):
    first = agent.run("One.", timeout=60)
    second = agent.run("Two.", timeout=60)
    assert (first.output, first.resume("More.").output, second.output) == ("one", "more", "two")
"""


def answers(asked: script.Asked) -> script.Part:
    """A model that answers by what it is asked."""
    if asked.results:
        return script.say("Hello.")
    told = [str(message["content"]) for message in asked.payload["messages"] if message["role"] == "user"][-1]
    if "Greet me." in told:
        return script.call("Skill", skill="greet")
    said = {"One.": "one", "Two.": "two", "More.": "more"}
    return script.say(next((answer for prompt, answer in said.items() if prompt in told), "Yes."))


def test_record_replay_edit(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Recorded cases pass from the cassette without a model; after the skill was edited the case is invalid, by name."""
    pytester.makepyfile(test_evals=EVALS)
    skill = pytester.mkdir("app") / ".claude" / "skills" / "greet" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: greet\ndescription: Greets.\n---\nSay hello.\n")
    missing = pytester.runpytest("-q")
    missing.assert_outcomes(errors=2)
    missing.stdout.fnmatch_lines(["*no cassette at*", "*cassettes/greeting/says-hello*"])

    with testing.upstream(Script(*[answers] * 6)) as api, monkeypatch.context() as patch:
        patch.setenv("ROADTEST_UPSTREAM", api.url)
        patch.setenv("ANTHROPIC_API_KEY", "a-key-for-the-upstream")
        pytester.runpytest("-q", "--cassettes=record").assert_outcomes(passed=2)
        assert not api.unplayed
        again = pytester.runpytest("-q", "--cassettes=record", "-k", "greeting")
        again.assert_outcomes(passed=1, deselected=1)
        assert len(api.requests) == 6

    pytester.runpytest("-q", "-k", "greeting").assert_outcomes(passed=1, deselected=1)
    assert _folders(pytester.path / "cassettes") == {
        "greeting/says-hello",
        "test_evals/test_two_agents",
        "test_evals/test_two_agents/run-2",
    }

    skill.write_text(skill.read_text().replace("hello", "goodbye"))
    stale = pytester.runpytest("-q")
    stale.assert_outcomes(
        passed=1, errors=1
    )  # the two agents, who do not have the skill, are replayed as before
    stale.stdout.fnmatch_lines(["*SKILL.md changed*", "*--cassettes=record*"])


def _folders(cassettes: Path) -> set[str]:
    return {str(path.parent.relative_to(cassettes)) for path in cassettes.rglob("metadata.json")}
