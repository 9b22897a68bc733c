"""What the capture hook writes: one JSON object a line.

``tool-calls.jsonl`` holds a ``ToolEvent`` a line, ``lifecycle.jsonl`` a ``LifecycleEvent``. Fields that this version does
not know are kept in ``extra``, so that a newer Claude Code loses nothing on its way through.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, Literal, TypeVar

import msgspec

from roadtest.errors import CaptureError

Phase = Literal["pre", "post", "failure", "denied"]


class Truncated(msgspec.Struct, frozen=True):
    """Size and digest of an output, as JSON, of which only the beginning was kept."""

    bytes: int
    sha256: str


class ToolEvent(msgspec.Struct, frozen=True, kw_only=True):
    timestamp: str
    phase: Phase
    tool_name: str
    tool_use_id: str
    tool_input: dict[str, Any] = {}
    session_id: str = ""
    cwd: str = ""
    tool_output: Any = None
    tool_output_truncated: Truncated | None = None
    exit_code: int | None = None
    error: str | None = None
    duration_ms: float | None = None
    agent_id: str | None = None
    agent_type: str | None = None
    extra: dict[str, Any] = {}


class LifecycleEvent(msgspec.Struct, frozen=True, kw_only=True):
    timestamp: str
    event: str
    session_id: str = ""
    agent_id: str | None = None
    agent_type: str | None = None
    extra: dict[str, Any] = {}


E = TypeVar("E", ToolEvent, LifecycleEvent)


class TornLineWarning(UserWarning):
    """The last line of a capture file has no end: its writer was killed."""


def parse_tool_events(data: bytes, source: str) -> list[ToolEvent]:
    return [_convert(fields, ToolEvent, source, number) for number, fields in _objects(data, source)]


def parse_lifecycle_events(data: bytes, source: str) -> list[LifecycleEvent]:
    return [_convert(fields, LifecycleEvent, source, number) for number, fields in _objects(data, source)]


def _objects(data: bytes, source: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each line's object with its number; a torn last line is skipped with a warning, any other bad line raises."""
    *whole, last = data.split(b"\n")
    for number, line in enumerate(whole, 1):
        if not line.strip():
            continue
        try:
            yield number, msgspec.json.decode(line, type=dict[str, Any])
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as problem:
            raise _corrupt(source, number, line, str(problem)) from None
    if last.strip():
        warnings.warn(
            f"{source}: the last line is torn and was skipped: {_excerpt(last)}",
            TornLineWarning,
            stacklevel=4,
        )


def _convert(fields: dict[str, Any], kind: type[E], source: str, number: int) -> E:
    known = {name: fields.pop(name) for name in kind.__struct_fields__ if name in fields and name != "extra"}
    try:
        return msgspec.convert({**known, "extra": fields}, kind)
    except msgspec.ValidationError as problem:
        raise _corrupt(source, number, msgspec.json.encode(known), str(problem)) from None


def _corrupt(source: str, number: int, line: bytes, problem: str) -> CaptureError:
    return CaptureError(
        f"{source}, line {number} is corrupt: {problem}\n  {_excerpt(line)}",
        hint="the file was changed by something other than the hook; run the case again",
    )


def _excerpt(line: bytes, limit: int = 120) -> str:
    text = line.decode("utf-8", "replace")
    return text if len(text) <= limit else f"{text[:limit]}… ({len(line)} bytes)"
