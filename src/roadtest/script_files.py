"""Scripts from files: turns in YAML or JSON, or the answers in the folder of a cassette."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from roadtest.errors import UsageError
from roadtest.script import Block, Call, Fault, Part, Say, Turn, Written, delegate, fault, say, think

_RESPONSE = re.compile(r"response-(\d+)\.json")


def read_turns(path: Path) -> list[Written]:
    return _from_cassette(path) if path.is_dir() else _from_file(path)


def _from_file(path: Path) -> list[Written]:
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise UsageError(
            f"The script {path} cannot be read: {problem}.", hint="give the path of a YAML file"
        ) from None
    import yaml  # noqa: PLC0415 - only scripts in files need it

    try:
        entries = yaml.safe_load(text)  # JSON is YAML too
    except yaml.YAMLError as problem:
        raise UsageError(
            f"The script {path} is not valid YAML: {problem}", hint="see what the line says"
        ) from None
    if not isinstance(entries, list) or not entries:
        raise UsageError(f"The script {path} holds no list of turns.", hint="begin each turn with '- '")
    return [_read_turn(entry, f"{path}, turn {number}") for number, entry in enumerate(entries, 1)]


def _read_turn(entry: Any, where: str) -> Written:
    if isinstance(entry, list):
        return [_read_part(part, where) for part in entry]
    if isinstance(entry, dict) and "fault" in entry:
        failing: Fault = _build(fault, "fault", entry, where)
        return failing
    return _read_part(entry, where)


def _read_part(entry: Any, where: str) -> Part:
    if isinstance(entry, str):
        return Say(entry)
    builders: dict[str, Callable[..., Part]] = {
        "say": say,
        "think": think,
        "call": lambda tool, args=None: Call(tool, args or {}),
        "block": Block,
        "delegate": lambda agent, prompt, turns, args=None: delegate(
            agent, prompt, [_read_turn(item, f"{where}, subagent {agent}") for item in turns], **(args or {})
        ),
    }
    for name, builder in builders.items():
        if isinstance(entry, dict) and name in entry:
            part: Part = _build(builder, name, entry, where)
            return part
    raise UsageError(
        f"{where} is {entry!r}, which says nothing.", hint=f"a text, or one of {', '.join(builders)}"
    )


def _build(builder: Callable[..., Any], name: str, entry: Mapping[str, Any], where: str) -> Any:
    try:
        return builder(entry[name], **{key: value for key, value in entry.items() if key != name})
    except TypeError as problem:
        raise UsageError(
            f"{where}: {name} is written wrong: {problem}.", hint="see the how-to on scripts"
        ) from None


def _from_cassette(folder: Path) -> list[Written]:
    """The recorded answers as turns, for whatever the agent asks; each subagent's hang on the call that spawned it."""
    numbers = sorted(int(found[1]) for path in folder.iterdir() if (found := _RESPONSE.fullmatch(path.name)))
    if not numbers:
        raise UsageError(
            f"There is no response-1.json in {folder}.", hint="give the folder of a cassette, or a file"
        )
    by_lane: dict[str, list[Any]] = {"main": []}
    for number in numbers:
        lane = _load(folder / f"request-{number}.json", missing={}).get("lane", "main")
        by_lane.setdefault(lane, []).append(_load(folder / f"response-{number}.json"))
    lanes = _load(folder / "metadata.json", missing={}).get("lanes", {})
    spawned = {lane.get("spawned_by"): by_lane.get(name, []) for name, lane in lanes.items()}
    return [_recorded(response, spawned) for response in by_lane["main"]]


def _recorded(response: Mapping[str, Any], spawned: Mapping[Any, list[Any]]) -> Turn | Fault:
    if error := response.get("error"):
        after = error.get("headers", {}).get("retry-after")
        return Fault("server_error", status=error["status"], retry_after=float(after) if after else None)
    message = response["message"]
    parts = tuple(_recorded_part(block, spawned) for block in message["content"])
    return Turn(parts, message.get("stop_reason"), message.get("usage", {}))


def _recorded_part(block: dict[str, Any], spawned: Mapping[Any, list[Any]]) -> Part:
    match block:
        case {"type": "tool_use", "id": call_id, "name": tool, "input": given}:
            answers = spawned.get(call_id)
            lane = tuple(_recorded(answer, spawned) for answer in answers) if answers else None
            return Call(tool, given, lane)
        case _:
            return Block(block)


def _load(path: Path, missing: Any = None) -> Any:
    if missing is not None and not path.exists():
        return missing
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise UsageError(f"The script {path} cannot be read: {problem}.", hint="restore the file") from None
