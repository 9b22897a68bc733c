"""Play the model by hand: turns written in Python, given to the real Claude Code by the local server.

    from roadtest import script

    model = script.Script(
        script.call("Bash", command="rm -rf /"),
        script.say("I was not allowed to."),
    )

Each argument is one answer of the model: a part, or a list of parts (text and parallel calls) in one message. A call that
spawns a subagent carries the subagent's own turns: ``script.delegate("reviewer", "Review a.py", [script.say("Fine.")])``.
``{{workspace}}`` in any text or argument becomes the path of the live workspace.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import msgspec

from roadtest.errors import UsageError


class Say(msgspec.Struct, frozen=True):
    text: str


class Think(msgspec.Struct, frozen=True):
    text: str
    signature: str = ""


class Call(msgspec.Struct, frozen=True):
    tool: str
    args: dict[str, Any] = {}
    lane: tuple[Turn, ...] | None = None
    """What the subagent that this call spawns will answer; None for every other call."""


Part: TypeAlias = Say | Think | Call
Turn: TypeAlias = tuple[Part, ...]


class Script:
    """The answers of a model, in order; ``lanes`` of subagents hang on the calls that spawn them."""

    def __init__(self, *turns: Part | Sequence[Part]) -> None:
        if not turns:
            raise UsageError("A script needs at least one turn.", hint='Script(script.say("Done."))')
        self.turns = tuple(_turn(item, number) for number, item in enumerate(turns, 1))


def say(text: str) -> Say:
    return Say(text)


def think(text: str, signature: str = "") -> Think:
    return Think(text, signature)


def call(tool: str, /, **args: Any) -> Call:
    return Call(tool, args)


def delegate(agent: str, prompt: str, turns: Sequence[Part | Sequence[Part]], /, **args: Any) -> Call:
    """A call that spawns a subagent, with the subagent's own turns."""
    args = {"description": f"ask {agent}", "subagent_type": agent, "prompt": prompt, **args}
    return Call("Agent", args, Script(*turns).turns)


def _turn(item: Part | Sequence[Part], number: int) -> Turn:
    parts = (item,) if isinstance(item, Say | Think | Call) else tuple(item)
    for part in parts:
        if not isinstance(part, Say | Think | Call):
            raise UsageError(
                f"Turn {number} of the script holds {part!r}, which is not a part of a message.",
                hint="use script.say(...), script.think(...), script.call(...) or script.delegate(...)",
            )
    if not parts:
        raise UsageError(
            f"Turn {number} of the script is empty.", hint='use script.say("") for an empty answer'
        )
    return parts
