"""Values that the model copied from a result, in the words of the live run."""

from __future__ import annotations

from roadtest.cassette.live_values import LiveValues
from roadtest.cassette.volatile import Pair

RECORDED, LIVE = "0c1d2e3f-1111-4222-8333-444455556666", "f3e2d1c0-6666-4333-8222-555544441111"
CALL = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": f"cat {RECORDED}.txt"}}
FILLED = {**CALL, "input": {"command": f"cat {LIVE}.txt"}}


def test_a_subagent_knows_what_its_parent_learns_later() -> None:
    """A value that the parent sees after its subagent has begun to speak is live in what the subagent says next."""
    parent = LiveValues()
    child = LiveValues(parent)
    child.learn([Pair("id", "1234567890abcdef", "fedcba0987654321")])
    assert child.fill([CALL]) == [CALL]
    parent.learn([Pair("id", RECORDED, LIVE)])
    assert child.fill([CALL]) == [FILLED]


def test_thoughts_stay_as_they_were_signed() -> None:
    """A signature would not fit another text."""
    values = LiveValues()
    values.learn([Pair("id", RECORDED, LIVE)])
    thought = {"type": "thinking", "thinking": f"It is {RECORDED}.", "signature": "s"}
    assert values.fill([thought]) == [thought]
