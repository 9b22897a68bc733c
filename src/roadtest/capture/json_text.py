"""Change a JSON text in place: what is not changed keeps its spaces, its order and its line ends.

A text that got an item by ``insert`` is by ``remove`` again what it was, byte for byte. The one thing that a text cannot
tell by itself is whether a list or object was empty before or was not there at all; a space after its first item tells.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_SPACE = re.compile(r"[ \t\r\n]*")
_FIRST_INDENT = re.compile(r"[{\[]\s*\n([ \t]+)(?=[^\s}\]])")
_NOTHING = re.compile(r"\ufeff?\s*(\{\s*\})?\s*")
_DECODER = json.JSONDecoder()
WAS_EMPTY = " "


@dataclass(frozen=True)
class Item:
    """An element of a list, or a member of an object with its key."""

    start: int
    """Where the element or the key begins."""
    value_start: int
    end: int
    key: str | None = None


@dataclass(frozen=True)
class Style:
    """How a text is laid out."""

    indent: str | None
    """None where everything is on one line."""
    newline: str
    comma: str
    colon: str

    @classmethod
    def of(cls, text: str) -> Style:
        newline = "\r\n" if "\r\n" in text else "\n"
        if first := _FIRST_INDENT.search(text):
            indent = first[1].removeprefix(_base(text, first.start()))
            return cls(indent or first[1], newline, ",", ": ")
        if _NOTHING.fullmatch(text):
            return cls("  ", newline, ",", ": ")
        tight = '":' in text and '": ' not in text
        return cls(None, newline, "," if tight else ", ", ":" if tight else ": ")

    def render(self, value: Any, base: str = "") -> str:
        """The value as it would stand in a line that begins with ``base``."""
        if self.indent is None:
            return json.dumps(value, ensure_ascii=False, separators=(self.comma, self.colon))
        text = json.dumps(value, ensure_ascii=False, indent=self.indent, separators=(",", self.colon))
        return text.replace("\n", self.newline + base)

    def gap(self, base: str) -> str:
        """What stands before an item one level below a line that begins with ``base``."""
        return "" if self.indent is None else self.newline + base + self.indent


def items(text: str, start: int) -> list[Item]:
    """The elements or members of the list or object that begins at ``start``."""
    return list(_scan(text, start))


def _scan(text: str, start: int) -> Iterator[Item]:
    at = _skip(text, start + 1)
    while text[at] not in "]}":
        begin, key = at, None
        if text[start] == "{":
            key, at = _DECODER.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)
        _, end = _DECODER.raw_decode(text, at)
        yield Item(begin, at, end, key)
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at


def root(text: str) -> int:
    """Where the outermost value begins."""
    return _skip(text, 1 if text.startswith("\ufeff") else 0)


def insert(text: str, start: int, value: Any, style: Style, key: str | None = None) -> str:
    """Add an item at the end of the list or object that begins at ``start``."""
    present = items(text, start)
    if present:
        last = present[-1]
        gap = _gap_before(text, last)
        base = gap.rpartition("\n")[2]
        one_line = style if "\n" in gap else Style(None, style.newline, ", ", style.colon)
        separator = "," + (gap or style.comma[1:])
        return text[: last.end] + separator + _member(value, key, one_line, base) + text[last.end :]
    close = _skip(text, start + 1)
    base = _base(text, start)
    indent = style.indent or ""
    gap = style.gap(base)
    added = gap + _member(value, key, style, base + indent) + WAS_EMPTY + gap.removesuffix(indent)
    return text[:close] + added + text[close:]


def remove(text: str, path: list[int], style: Style) -> str | None:
    """Take out the item that the path of positions leads to; nothing is left of a text that held nothing else."""
    start = _start_of(text, path[:-1])
    present = items(text, start)
    item = present[path[-1]]
    if len(present) > 1:
        first = path[-1] == 0
        begin, end = (item.start, present[1].start) if first else (present[path[-1] - 1].end, item.end)
        return text[:begin] + text[end:]
    if text.startswith(WAS_EMPTY, item.end):
        gap = style.gap(_base(text, start))
        tail = WAS_EMPTY + gap.removesuffix(style.indent or "")
        return text[: item.start].removesuffix(gap) + text[item.end :].removeprefix(tail)
    return remove(text, path[:-1], style) if len(path) > 1 else None


def _start_of(text: str, path: list[int]) -> int:
    at = root(text)
    for position in path:
        at = items(text, at)[position].value_start
    return at


def _member(value: Any, key: str | None, style: Style, base: str) -> str:
    rendered = style.render(value, base)
    return rendered if key is None else json.dumps(key, ensure_ascii=False) + style.colon + rendered


def _gap_before(text: str, item: Item) -> str:
    begin = item.start
    while text[begin - 1] in " \t\r\n":
        begin -= 1
    return text[begin : item.start]


def _base(text: str, at: int) -> str:
    """The indentation of the line that holds this position."""
    line = text.rfind("\n", 0, at) + 1
    return text[line : _skip_blanks(text, line)]


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _skip_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t":
        at += 1
    return at
