"""All cassettes below a folder: finding them, describing them, and telling which hold a secret."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from roadtest.cassette import files
from roadtest.cassette.canonical import result_text
from roadtest.cassette.drift import describe_call
from roadtest.cassette.records import Cassette, Exchange
from roadtest.cassette.redact import Redactor
from roadtest.errors import CassetteError

FOLDER = "cassettes"
_PART = re.compile(r"metadata\.json|(?:request|response)-\d+\.json")
_NOT_SEARCHED = frozenset(
    {".git", ".hg", ".svn", ".trees", ".tox", ".venv", "__pycache__", "node_modules", "venv"}
)
_LONGEST_LINE = 160


@dataclass(frozen=True)
class Found:
    """A cassette, or what should be one."""

    folder: Path
    cassette: Cassette | None
    problem: CassetteError | None
    size: int


def find(root: Path) -> list[Found]:
    """Every cassette below this folder, which may also be one itself; broken ones included."""
    return [_examine(folder, names) for folder, names in _folders(root) if not _in_leftover(folder)]


def leftovers(root: Path) -> list[Path]:
    """What recorders that were killed left behind."""
    return [folder for folder, _ in _folders(root) if files.is_leftover(folder)]


def secrets_in(folder: Path, redactor: Redactor) -> Iterator[tuple[Path, list[str]]]:
    """The files of a cassette that hold a secret, with the names of what was found."""
    for path in sorted(folder.iterdir()):
        if path.is_file() and (found := redactor.find(_content(path))):
            yield path, found


def _folders(root: Path) -> Iterator[tuple[Path, list[str]]]:
    for parent, folders, names in os.walk(root.absolute()):
        folders[:] = sorted(set(folders) - _NOT_SEARCHED)
        folder = Path(parent)
        parts = [name for name in names if _PART.fullmatch(name)]
        if FOLDER in folder.parts and (parts or files.is_leftover(folder)):
            yield folder, parts


def _in_leftover(folder: Path) -> bool:
    return any(files.is_leftover(place) for place in (folder, *folder.parents))


def _examine(folder: Path, names: list[str]) -> Found:
    size = sum((folder / name).stat().st_size for name in names)
    try:
        return Found(folder, files.load(folder), None, size)
    except CassetteError as problem:
        return Found(folder, None, problem, size)


def _content(path: Path) -> Any:
    data = path.read_bytes()
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return data.decode("utf-8", "replace")


def outline(cassette: Cassette) -> Iterator[str]:
    """The conversation as a person reads it: what was new in each request, and what the model made of it."""
    calls: dict[str, str] = {}
    for exchange in cassette.exchanges:
        lane = exchange.request.lane + (" (aside)" if exchange.request.aside else "")
        for position, line in enumerate([*_said(exchange, calls), *_answered(exchange)]):
            yield f"{f'{exchange.number:3}  {lane}' if position == 0 else '':24}  {line}"
        calls |= {call_id: use["name"] for call_id, use in exchange.tool_uses.items()}


def _said(exchange: Exchange, calls: dict[str, str]) -> Iterator[str]:
    new = exchange.request.new
    for text in new.text:
        yield _short(f"user: {text if isinstance(text, str) else msgspec.json.encode(text).decode()}")
    for result in new.results:
        name = calls.get(result.tool_use_id, result.tool_use_id)
        yield _short(f"{name} {'failed' if result.is_error else 'gave'}: {result_text(result)}")
    for notice in new.notices:
        yield _short(f"notice: {notice.text}")
    if not (new.text or new.results or new.notices):
        yield "(nothing new)"


def _answered(exchange: Exchange) -> Iterator[str]:
    response = exchange.response
    if response.error is not None:
        yield _short(f"→ error {response.error.status}: {msgspec.json.encode(response.error.body).decode()}")
    for block in response.message["content"] if response.message else ():
        match block:
            case {"type": "text", "text": text}:
                yield _short(f"→ {text}")
            case {"type": "tool_use", "name": name, "input": dict(given)}:
                yield _short(f"→ {describe_call(name, given)}")
            case _:
                yield f"→ [{block['type']}]"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}… ({len(text)} characters)"
