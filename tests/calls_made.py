"""Calls in few words, for tests of matching and scoring."""

from __future__ import annotations

from typing import Any

from roadtest.calls import ToolCall


def made(tool: str, /, **args: Any) -> ToolCall:
    """A call as an agent would have made it."""
    return ToolCall(name=tool, args=args)
