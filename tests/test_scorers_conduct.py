"""Skills, delegation and loops are told from the calls."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from roadtest import scorers
from roadtest.calls import ToolCall
from tests.calls_made import made
from tests.scoring import SEARCH, passes, score


def skill(name: str, **fields: Any) -> ToolCall:
    return ToolCall(name="Skill", args={"skill": name}, **fields)


def test_skill_used() -> None:
    """The skill is called and loads, by its own name or with that of its plugin."""
    assert passes(scorers.skill_used("todo"), trajectory=[skill("todo")])
    assert passes(scorers.skill_used("todo"), trajectory=[skill("plugin:todo")])
    assert passes(scorers.skill_used("plugin:todo"), trajectory=[skill("plugin:todo")])
    assert passes(scorers.skill_used("todo"), trajectory=[skill("todo", status="denied")]), "it was chosen"
    assert not passes(scorers.skill_used("todo"), trajectory=[skill("todo", status="failed")])
    assert score(scorers.skill_used("todo"), trajectory=[skill("done")]).reason == (
        "the skill todo was used 0 times; the skills used are done"
    )


def test_skill_not_used() -> None:
    """Not even an attempt counts as restraint."""
    assert passes(scorers.skill_not_used("todo"), trajectory=[skill("done")])
    assert not passes(scorers.skill_not_used("todo"), trajectory=[skill("todo", status="failed")])
    assert not passes(scorers.skill_not_used(), trajectory=[skill("done")])
    assert passes(scorers.skill_not_used(), trajectory=SEARCH)


def test_delegated_to() -> None:
    """Work is handed to this subagent; Task is the older name of Agent."""
    spawns = [
        made("Task", subagent_type="reviewer"),
        made("Agent", subagent_type="tester"),
        made("Agent", prompt="x"),
    ]
    assert passes(scorers.delegated_to("reviewer"), trajectory=spawns)
    assert passes(scorers.delegated_to("general-purpose"), trajectory=spawns)
    assert not passes(scorers.delegated_to("reviewer", at_least=2), trajectory=spawns)
    failed = [ToolCall(name="Agent", args={"subagent_type": "reviewer"}, status="failed")]
    assert not passes(scorers.delegated_to("reviewer"), trajectory=failed)
    assert "delegated to nobody" in score(scorers.delegated_to("x"), trajectory=SEARCH).reason


def test_no_loops() -> None:
    """The same call, or the same few calls, three times in a row are a loop; of two agents at once they are not."""
    a, b = made("Read", p=1), made("Grep", p=2)
    assert passes(scorers.no_loops(), trajectory=[a, a, b, a, a, b])
    assert not passes(scorers.no_loops(), trajectory=[b, a, a, a])
    assert not passes(scorers.no_loops(), trajectory=[a, b, a, b, a, b])
    assert not passes(scorers.no_loops(2), trajectory=[a, b, b])
    assert passes(scorers.no_loops(), trajectory=[made("Read", p=number) for number in range(9)])
    lanes = [ToolCall(name="Read", agent="x", agent_id=str(number)) for number in range(5)]
    assert passes(scorers.no_loops(), trajectory=lanes)
    assert score(scorers.no_loops(), trajectory=[a, b] * 4).reason == (
        "repeated 4 times in a row: Read(p=1), Grep(p=2)"
    )


@settings(deadline=None)
@given(st.lists(st.sampled_from("ab"), max_size=8))
def test_no_loops_finds_the_longest(tools: list[str]) -> None:
    """The number of rounds is that of the best cycle at any place, as trying all of them shows."""
    text = "".join(tools)
    rounds = max(
        (
            next(n for n in range(len(text), 0, -1) if text[start : start + size] * n in text)
            for start in range(len(text))
            for size in range(1, len(text) - start + 1)
        ),
        default=0,
    )
    found = score(scorers.no_loops(len(text) + 2), trajectory=[made(tool) for tool in text])
    assert found.details["rounds"] == rounds
