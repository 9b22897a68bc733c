"""Play the model by hand: turns written in Python or in a file, given to the real Claude Code by the local server.

    from roadtest import script

    model = script.Script(
        script.call("Bash", command="rm -rf /"),
        script.say("I was not allowed to."),
    )

Each argument is one answer of the model: a part, a list of parts (text and parallel calls in one message), a fault, or a
function that is given what the agent asks and returns one of these. A call that spawns a subagent carries the subagent's
own turns: ``script.delegate("reviewer", "Review a.py", [script.say("Fine.")])``. ``{{workspace}}`` in any text or argument
becomes the path of the live workspace.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import msgspec

from roadtest.errors import UsageError

FaultKind = Literal["overloaded", "rate_limited", "server_error", "error_event", "cut", "malformed", "slow"]


class Say(msgspec.Struct, frozen=True):
    text: str


class Think(msgspec.Struct, frozen=True):
    text: str
    signature: str = ""


class Call(msgspec.Struct, frozen=True):
    tool: str
    args: dict[str, Any] = {}
    lane: tuple[Step, ...] | None = None
    """What the subagent that this call spawns will answer; None for every other call."""


class Block(msgspec.Struct, frozen=True):
    """A content block of any type, given as the API would."""

    fields: dict[str, Any]


Part: TypeAlias = Say | Think | Call | Block


class Turn(msgspec.Struct, frozen=True):
    """One answer of the model."""

    parts: tuple[Part, ...]
    stop_reason: str | None = None
    """None: ``tool_use`` if there is a call, else ``end_turn``."""
    usage: dict[str, Any] = {}


class Fault(msgspec.Struct, frozen=True):
    """Something that goes wrong between Claude Code and the model; see ``fault``."""

    kind: FaultKind
    seconds: float = 0.0
    retry_after: float | None = None
    status: int | None = None
    times: int = 1


class ToolResult(msgspec.Struct, frozen=True):
    """What a tool answered, as the model gets to read it."""

    id: str
    text: str
    is_error: bool = False


class Asked(msgspec.Struct, frozen=True):
    """What a turn that is a function is given: the request that it has to answer."""

    payload: dict[str, Any]
    """The whole body of the request."""
    results: list[ToolResult]
    """The results of the calls of the turn before."""
    text: str
    """All text of the last message: the prompt, a notice, or empty after calls."""


Step: TypeAlias = Turn | Fault | Callable[[Asked], Any]
Written: TypeAlias = Part | Turn | Fault | Sequence[Part] | Callable[[Asked], Any]


class Script:
    """The answers of a model, in order; the turns of subagents hang on the calls that spawn them."""

    def __init__(self, *turns: Written) -> None:
        if not turns:
            raise UsageError("A script needs at least one turn.", hint='Script(script.say("Done."))')
        self.turns = tuple(
            as_step(item, f"Turn {number} of the script") for number, item in enumerate(turns, 1)
        )

    @classmethod
    def from_file(cls, path: str | Path) -> Script:
        """Turns from a YAML or JSON file, or from the folder of a cassette; docs/how-to/scripted-model.md shows how."""
        from roadtest.script_files import read_turns  # noqa: PLC0415 - few scripts are files, and it needs this module

        return cls(*read_turns(Path(path)))


def say(text: str) -> Say:
    return Say(text)


def think(text: str, signature: str = "") -> Think:
    return Think(text, signature)


def call(tool: str, /, **args: Any) -> Call:
    return Call(tool, args)


def block(type: str, /, **fields: Any) -> Block:  # noqa: A002 - it is what the API calls it
    """A content block that has no function of its own here: ``block("redacted_thinking", data="...")``."""
    return Block({"type": type, **fields})


def delegate(agent: str, prompt: str, turns: Sequence[Written], /, **args: Any) -> Call:
    """A call that spawns a subagent, with the subagent's own turns."""
    args = {"description": f"ask {agent}", "subagent_type": agent, "prompt": prompt, **args}
    return Call("Agent", args, Script(*turns).turns)


def turn(*parts: Part, stop_reason: str | None = None, usage: Mapping[str, Any] | None = None) -> Turn:
    """An answer that also says why it stopped, or what it used."""
    return Turn(parts, stop_reason, dict(usage or {}))


def fault(
    kind: FaultKind,
    *,
    seconds: float = 1.0,
    retry_after: float | None = None,
    status: int | None = None,
    times: int = 1,
) -> Fault:
    """Let the request that comes here fail; the turn after it answers the next request, such as a retry.

    - ``overloaded``: status 529; ``rate_limited``: 429; ``server_error``: 500. ``retry_after`` adds the header of that
      name, ``status`` sets another status.
    - ``error_event``: the stream begins and then reports an overload.
    - ``cut``: the connection ends in mid-stream; ``malformed``: an event in mid-stream is garbled.
    - ``slow``: the next turn is given ``seconds`` later.

    ``times`` lets it happen that often in a row.
    """
    if kind not in get_args(FaultKind):
        raise UsageError(
            f"There is no fault called {kind!r}.", hint=f"one of {', '.join(get_args(FaultKind))}"
        )
    if times < 1 or seconds < 0:
        raise UsageError(
            f"A fault cannot happen {times} times or take {seconds} seconds.", hint="times=1, seconds=0"
        )
    return Fault(kind, seconds, retry_after, status, times)


def as_step(item: Any, where: str) -> Step:
    """What was written as one turn, checked; ``where`` is how an error calls it."""
    if isinstance(item, Turn | Fault) or (callable(item) and not isinstance(item, type)):
        return item
    parts = tuple(item) if isinstance(item, list | tuple) else (item,)
    for part in parts:
        if not isinstance(part, Part):
            raise UsageError(
                f"{where} holds {part!r}, which is not a part of a message.",
                hint="use script.say(...), script.think(...), script.call(...), script.delegate(...) or a list of them",
            )
    if not parts:
        raise UsageError(f"{where} is empty.", hint='use script.say("") for an empty answer')
    return Turn(parts)
