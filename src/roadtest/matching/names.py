"""Names of tools in expectations: one name, alternatives, or a pattern."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, TypeVar

from roadtest.calls import SPAWNING_TOOLS
from roadtest.errors import UsageError

T = TypeVar("T")

_PLAIN_NAME = re.compile(r"[\w.:/@-]+")
_GLOB_CHARACTERS = frozenset("*?[")
_KEPT = 1_024
"""So many names stay read: a suite writes the same few again and again."""


def canonical_tool(name: str) -> str:
    """The name to compare by: ``Task`` is what older versions of Claude Code call ``Agent``."""
    return "Agent" if name in SPAWNING_TOOLS else name


@dataclass(frozen=True, slots=True)
class ToolName:
    """The tools that an expectation is about."""

    text: str
    names: frozenset[str] = frozenset()
    globs: tuple[str, ...] = ()
    regex: re.Pattern[str] | None = None
    only: str | None = field(init=False, compare=False, default=None)
    """The name, where no other is accepted."""

    def __post_init__(self) -> None:
        if len(self.names) == 1 and not self.globs and self.regex is None:
            object.__setattr__(self, "only", *self.names)

    @classmethod
    def parse(cls, tool: Any, where: str = "tool") -> ToolName:
        """Read ``"Grep"``, ``"Edit|Write"``, ``"mcp__github__*"``, a regular expression (searched for) or names."""
        try:
            return _from_text(tool) if type(tool) is str else cls._from_object(tool)
        except UsageError as problem:
            raise UsageError(f"{where}: {problem.message}") from None

    @classmethod
    def _from_object(cls, tool: Any) -> ToolName:
        if isinstance(tool, ToolName):
            return tool
        if isinstance(tool, re.Pattern):
            return cls(text=f"/{tool.pattern}/", regex=tool)
        return cls._from_operator(tool) if isinstance(tool, dict) else _from_parts(_strings(tool))

    @classmethod
    def _from_operator(cls, tool: dict[str, Any]) -> ToolName:
        match tool:
            case {"$regex": str(expression), **others} if not others:
                try:
                    return cls._from_object(re.compile(expression))
                except re.error as problem:
                    raise UsageError(f"{expression!r} is not a regular expression: {problem}") from None
            case {"$glob": str(pattern), **others} if not others:
                return cls(text=pattern, globs=(pattern,))
        raise UsageError(f"a tool is a name, a list of names, $regex or $glob, not {tool!r}.")

    def accepts(self, name: str) -> bool:
        return bool(
            name in self.names
            or (self.globs and any(fnmatchcase(name, glob) for glob in self.globs))
            or (self.regex is not None and self.regex.search(name) is not None)
        )

    def among(self, tools: Mapping[str, T]) -> list[T]:
        """What belongs to the accepted ones of some tools."""
        if self.globs or self.regex is not None:
            return [item for name, item in tools.items() if self.accepts(name)]
        return [tools[name] for name in self.names if name in tools]

    def __str__(self) -> str:
        return self.text


@lru_cache(_KEPT)
def exactly(name: str) -> ToolName:
    """The tool of this name, whatever its characters."""
    return ToolName(text=name, names=_with_other_names([name]))


@lru_cache(_KEPT)
def _from_text(text: str) -> ToolName:
    return _from_parts(text.split("|"))


def _from_parts(parts: list[str]) -> ToolName:
    plain = [part for part in parts if not _GLOB_CHARACTERS.intersection(part)]
    for part in plain:
        if not _PLAIN_NAME.fullmatch(part):
            raise UsageError(f"{part!r} is not the name of a tool.")
    globs = tuple(part for part in parts if _GLOB_CHARACTERS.intersection(part))
    return ToolName(text="|".join(parts), names=_with_other_names(plain), globs=globs)


def _with_other_names(names: Iterable[str]) -> frozenset[str]:
    """The names, and for that of the tool that spawns subagents the other one, too."""
    found = frozenset(names)
    return found | SPAWNING_TOOLS if found & SPAWNING_TOOLS else found


def _strings(tool: Any) -> list[str]:
    if isinstance(tool, str):
        return tool.split("|")
    parts = list(tool) if isinstance(tool, Iterable) else []
    if not parts or not all(isinstance(part, str) for part in parts):
        raise UsageError(f"a tool is a name, a pattern or a collection of names, not {tool!r}.")
    return sorted(parts) if isinstance(tool, set | frozenset) else parts
