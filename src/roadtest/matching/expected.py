"""What a test expects of one call, and how it is written: ``call(...)`` in Python, an object in JSON fixtures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args

import msgspec

from roadtest.calls import SPAWNING_TOOLS, Status, ToolCall
from roadtest.errors import UsageError
from roadtest.matching.names import ToolName, exactly
from roadtest.matching.operators import Comparable
from roadtest.matching.values import are_scalars, are_unambiguous, holds, is_plain, prepare

_STATUSES: tuple[str, ...] = get_args(Status)
_FIELDS = ("tool", "args", "inside", "status")
_PLAIN_FIELDS = frozenset({"tool", "args"})
_ANY_STATUS: frozenset[Status] = frozenset()


class ExpectedCall(msgspec.Struct, frozen=True):
    """One expected call; build it with ``call(...)``.

    ``args`` is None where only the tool was named: such a call accepts any arguments in every args mode.

    A struct, whose fields all have to be given: a test may build hundreds, and this is how they are built soonest.
    """

    tool: ToolName
    args: dict[str, Any] | None
    inside: tuple[ExpectedCall, ...] | None
    statuses: frozenset[Status]
    simple: bool
    """Whether its arguments decide, by Python's own equality of dicts, which is many times faster."""
    foreign: bool
    """Whether code that is not ours takes part: it may raise, and say something else when it is asked again."""

    @classmethod
    def of(
        cls,
        tool: ToolName,
        args: dict[str, Any] | None = None,
        inside: tuple[ExpectedCall, ...] | None = None,
        statuses: frozenset[Status] = _ANY_STATUS,
    ) -> ExpectedCall:
        simple = args is not None and inside is None and not statuses and are_unambiguous(args)
        foreign = not simple and (holds(args, Comparable) or any(one.foreign for one in inside or ()))
        return cls(tool, args, inside, statuses, simple, foreign)

    @classmethod
    def from_json(cls, data: Any, where: str = "expected call") -> ExpectedCall:
        """Read ``{"tool": "Grep", "args": {...}, "inside": [...], "status": "ok"}``; errors name the field."""
        if not isinstance(data, Mapping):
            raise UsageError(f"{where}: a call is an object with the field 'tool', not {data!r}.")
        for name in data:
            if name not in _FIELDS:
                raise UsageError(f"{where}: there is no field {name!r}; the fields are {', '.join(_FIELDS)}.")
        if "tool" not in data:
            raise UsageError(f"{where}: the field 'tool' is missing.")
        tool = ToolName.parse(data["tool"], f"{where}.tool")
        args = _prepare_args(data.get("args", {}), f"{where}.args")
        inside = _inside(data.get("inside"), tool, f"{where}.inside")
        statuses = _status_list(data["status"], f"{where}.status") if "status" in data else ()
        return cls.of(tool, args, inside, frozenset(statuses))

    def with_status(self, *statuses: Status) -> ExpectedCall:
        """The same call, which must also have ended so: ``ok``, ``failed``, ``denied`` or ``unfinished``.

        Without this a call counts whatever came of it, because the model chose to make it.
        """
        for status in statuses:
            if status not in _STATUSES:
                raise UsageError(f"there is no status {status!r}; a call ends {', '.join(_STATUSES)}.")
        return ExpectedCall.of(self.tool, self.args, self.inside, frozenset(statuses))

    def __str__(self) -> str:
        shown = ["…"] if self.args is None else [f"{key}={show(value)}" for key, value in self.args.items()]
        if self.inside is not None:
            shown.append(f"inside=[{', '.join(map(str, self.inside))}]")
        status = f" [{'|'.join(sorted(self.statuses))}]" if self.statuses else ""
        return f"{self.tool}({', '.join(shown)}){status}"

    __repr__ = __str__


def call(
    tool: Any,
    args: Mapping[str, Any] | None = None,
    /,
    *,
    inside: Sequence[Any] | None = None,
    **arguments: Any,
) -> ExpectedCall:
    """Expect a call of a tool: ``call("Grep", pattern="TODO")``.

    Args:
        tool: a name, alternatives (``"Edit|Write"`` or a collection), a pattern (``"mcp__*"``) or a regular expression.
        args: arguments whose names are no Python names, or clash with ``inside``; merged with the others.
        inside: what the subagent that this ``Agent`` call spawns must do.
        arguments: plain values, regular expressions, ``Path`` for the same file in any workspace, dirty-equals objects,
            or ``{"$contains": ...}`` and the like.
    """
    name = ToolName.parse(tool, "call()")
    if args:
        arguments = {**args, **arguments}
    if inside is None and (plain := _of_scalars(name, arguments)):
        return plain
    prepared = _prepare_args(arguments, f"call({name})")
    return ExpectedCall.of(name, prepared, _inside(inside, name, f"call({name}, inside=...)"))


def expected_calls(expected: Any, where: str = "expected") -> tuple[ExpectedCall, ...]:
    """Read a list of expected calls: names, ``call(...)``, objects as in JSON fixtures, or recorded calls."""
    if type(expected) not in (list, tuple) and (
        isinstance(expected, str | bytes | Mapping) or not isinstance(expected, Iterable)
    ):
        raise UsageError(f"{where} is a list of calls or names of tools, not {expected!r}.")
    items = tuple(expected)
    kinds = set(map(type, items))
    if kinds <= {ExpectedCall}:
        return items
    if kinds == {ToolCall}:
        return tuple([_recorded(item) for item in items])
    return tuple(_expected_call(item, where, index) for index, item in enumerate(items))


def _expected_call(item: Any, where: str, index: int) -> ExpectedCall:
    if plain := _plain(item):
        return plain
    if isinstance(item, ExpectedCall):
        return item
    if isinstance(item, ToolCall):
        return _recorded(item)
    where = f"{where}[{index}]"
    if isinstance(item, Mapping):
        return ExpectedCall.from_json(item, where)
    return ExpectedCall.of(ToolName.parse(item, where))


def _recorded(call: ToolCall) -> ExpectedCall:
    """A call like the recorded one, whose arguments mean what they say: a dollar sign in them is none of ours."""
    tool = exactly(call.name)
    return _of_scalars(tool, call.args) or ExpectedCall.of(tool, call.args)


def _plain(item: Any) -> ExpectedCall | None:
    """A name, or an object with a name and plain arguments; all else, mistakes included, is for the full reading."""
    try:
        if type(item) is str:
            return ExpectedCall(ToolName.parse(item), None, None, _ANY_STATUS, simple=False, foreign=False)
        if type(item) is dict and item.keys() == _PLAIN_FIELDS:
            tool, args = item["tool"], item["args"]
            if type(tool) is str and type(args) is dict:
                return _of_scalars(ToolName.parse(tool), dict(args))
    except UsageError:
        pass
    return None


def _of_scalars(tool: ToolName, args: dict[str, Any]) -> ExpectedCall | None:
    """The call, if nothing about its arguments needs to be prepared or looked into."""
    simple = are_unambiguous(args)
    if simple or are_scalars(args):
        return ExpectedCall(tool, args, None, _ANY_STATUS, simple=simple, foreign=False)
    return None


def _prepare_args(args: Any, where: str) -> dict[str, Any]:
    if not isinstance(args, Mapping):
        raise UsageError(f"{where}: arguments are an object, not {args!r}.")
    return {key: prepare(value, f"{where}.{key}") for key, value in args.items()}


def _inside(inside: Any, tool: ToolName, where: str) -> tuple[ExpectedCall, ...] | None:
    if inside is None:
        return None
    if not any(map(tool.accepts, SPAWNING_TOOLS)):
        raise UsageError(f"{where}: only an Agent call has calls inside, {tool} has none.")
    return expected_calls(inside, where)


def _status_list(status: Any, where: str) -> list[Any]:
    statuses = status if isinstance(status, list) else [status]
    if not statuses:
        raise UsageError(f"{where}: no status is named, so that none could match.")
    for one in statuses:
        if one not in _STATUSES:
            raise UsageError(f"{where}: there is no status {one!r}; a call ends {', '.join(_STATUSES)}.")
    return statuses


def show(value: Any) -> str:
    """A value as a reader would write it: plain values as in Python, operators by their name."""
    if isinstance(value, str) or is_plain(value):
        return repr(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {show(item)}" for key, item in value.items()) + "}"
    return f"[{', '.join(map(show, value))}]" if isinstance(value, list) else str(value)
