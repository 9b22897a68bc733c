"""Call a function with what it asks for by parameter name, as pytest calls a test; await it where it is async."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@dataclass(frozen=True)
class Asks:
    """What a function asks for: the names it must have, and those it takes if there are any."""

    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    first: str = ""
    """The first positional parameter, whatever its name; empty where there is none."""

    @classmethod
    def of(cls, function: Callable[..., Any]) -> Asks:
        try:
            parameters = inspect.signature(function).parameters.values()
        except ValueError:  # some builtins do not tell
            return cls(first="input")
        named = [parameter for parameter in parameters if parameter.kind in _BY_NAME]
        positional = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        return cls(
            required=tuple(p.name for p in named if p.default is p.empty),
            optional=tuple(p.name for p in named if p.default is not p.empty),
            first=positional[0] if positional else "",
        )

    def unknown(self, known: Collection[str]) -> list[str]:
        """The names that are asked for and cannot be given."""
        return [name for name in self.required if name not in known]


def call_by_name(function: Callable[..., Any], values: Mapping[str, Any], *leading: Any) -> Any:
    """Call ``function`` with those of ``values`` that it names, after any leading positional values."""
    asks = Asks.of(function)
    names = [name for name in (*asks.required, *asks.optional) if name in values]
    if leading:
        names = [name for name in names if name != asks.first]
    return finish(function(*leading, **{name: values[name] for name in names}))


def finish(result: Any) -> Any:
    """The value itself, or what an awaitable gives in the end."""
    if not inspect.isawaitable(result):
        return result
    import asyncio  # noqa: PLC0415 - slow to load, and most functions are not async

    return asyncio.run(_wait_for(result))


async def _wait_for(awaitable: Any) -> Any:
    return await awaitable


def name_of(function: Callable[..., Any]) -> str:
    """What to call it in reports: its own ``name``, or how it was defined."""
    for attribute in ("name", "__name__"):
        name = getattr(function, attribute, None)
        if isinstance(name, str) and name:
            return name
    return type(function).__name__
