"""How a live request differs from the recorded one, in words."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from roadtest.cassette.canonical import result_text, texts
from roadtest.cassette.records import Exchange, Harness, News, Notice, Result
from roadtest.cassette.tape import Tape
from roadtest.cassette.volatile import Pair, Volatile, where_they_differ
from roadtest.cassette.wire import Json

_LONGEST_DIFF = 40
_LONGEST_LINE = 300
_MOST_LINES = 1000
_UNORDERED = frozenset({"Grep", "Glob"})
"""Tools that search with several threads: the same hits come in another order from run to run."""

_SHOWS_FILES = frozenset({"Read", "Grep"})
"""Tools whose results are text of files; a date in there is as old as the file."""


Twin: TypeAlias = Callable[[str], str]


@dataclass
class Comparison:
    """A live request beside the recorded one that it repeats."""

    differences: list[str] = field(default_factory=list)
    pairs: list[Pair] = field(default_factory=list)
    """Volatile tokens that differ, for filling them into later answers."""


def same_text(recorded: Sequence[object], live: Sequence[object], volatile: Volatile) -> bool:
    """Whether the user said the same."""
    ours, theirs = list(texts(recorded)), list(texts(live))
    return len(ours) == len(theirs) and all(
        volatile.pairs(one, other) is not None for one, other in zip(ours, theirs, strict=True)
    )


def compare_results(
    tape: Tape,
    recorded: Sequence[Result],
    live: Sequence[Result],
    volatile: Volatile,
    *,
    same_files: bool = True,
) -> Comparison:
    """Each result beside the recorded one; those of indistinguishable subagents in whichever order they fit.

    Where the workspace is not the one that was recorded in (``same_files`` is false), a time, a port or a number in a
    file may be the very thing that was changed: then what shows files must be the same to the letter.
    """
    comparison = Comparison()
    rest = list(live)
    for result in recorded:
        fitting = [other for other in rest if tape.twin(other.tool_use_id) == tape.twin(result.tool_use_id)]
        call = tape.call(result.tool_use_id)
        name = call["name"] if call else ""
        allowed = volatile.only_own() if name in _SHOWS_FILES and not same_files else volatile
        found = _best(result, fitting, allowed, ordered=name not in _UNORDERED)
        if found is None:
            continue
        other, pairs = found
        rest.remove(other)
        comparison.pairs += pairs or []
        if pairs is None:
            comparison.differences.append(_difference(call, result, other))
            comparison.pairs += _aligned(result_text(result), result_text(other), volatile)
    return comparison


def compare_notices(
    waiting: dict[str, list[Notice]], live: Sequence[Notice], twin: Twin, volatile: Volatile
) -> Comparison:
    """Each notice beside a recorded one about the same task, which is then no longer ``waiting``."""
    comparison = Comparison()
    for notice in live:
        recorded = waiting.get(twin(notice.tool_use_id), [])
        for one in recorded:
            if (pairs := volatile.pairs(one.text, notice.text)) is not None:
                comparison.pairs += pairs
                recorded.remove(one)
                break
        else:
            before = recorded[0].text if recorded else ""
            comparison.differences.append(
                f"the background task of {notice.tool_use_id} ended otherwise than when it was recorded:\n"
                f"{diff(before, notice.text)}"
            )
    return comparison


def _best(
    result: Result, candidates: Sequence[Result], volatile: Volatile, *, ordered: bool
) -> tuple[Result, list[Pair] | None] | None:
    text = _lines(result, ordered=ordered)
    for candidate in candidates:
        if (pairs := volatile.pairs(text, _lines(candidate, ordered=ordered))) is not None:
            return candidate, pairs
    return (candidates[0], None) if candidates else None


def _lines(result: Result, *, ordered: bool) -> str:
    text = result_text(result)
    return text if ordered else "\n".join(sorted(text.splitlines()))


def _difference(call: Json | None, recorded: Result, live: Result) -> str:
    name = describe_call(call["name"], call["input"]) if call else recorded.tool_use_id
    return f"{name} gave another result than when it was recorded:\n{diff(result_text(recorded), result_text(live))}"


def describe_call(name: str, given: dict[str, object]) -> str:
    arguments = ", ".join(f"{key}={_short(value)}" for key, value in given.items())
    return f"{name}({arguments})"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…'"  # noqa: PLR2004


def diff(recorded: str, live: str) -> str:
    """The lines that differ, a few around them, never more than a screen."""
    ours, theirs = (_clipped(text) for text in where_they_differ(recorded, live, around=2))
    lines = list(difflib.unified_diff(ours, theirs, "recorded", "live", lineterm="", n=2))
    lines = [line for line in lines if not line.startswith("@@")]
    if len(lines) > _LONGEST_DIFF:
        lines = [*lines[:_LONGEST_DIFF], f"… and {len(lines) - _LONGEST_DIFF} more lines"]
    return "\n".join(f"    {line}" for line in lines)


def _clipped(text: str) -> list[str]:
    """The beginning of a text in lines of bearable length: comparing takes longer the more there is."""
    lines = text.splitlines()[:_MOST_LINES]
    return [line if len(line) <= _LONGEST_LINE else line[:_LONGEST_LINE] + "…" for line in lines]


def _aligned(recorded: str, live: str, volatile: Volatile) -> list[Pair]:
    """Pairs of tokens from the lines that two otherwise different results share."""
    ours, theirs = recorded.splitlines()[:_MOST_LINES], live.splitlines()[:_MOST_LINES]
    masked = [volatile.mask(line) for line in ours], [volatile.mask(line) for line in theirs]
    pairs = []
    for block in difflib.SequenceMatcher(None, *masked, autojunk=False).get_matching_blocks():
        for offset in range(block.size):
            pairs += volatile.pairs(ours[block.a + offset], theirs[block.b + offset]) or []
    return pairs


def harness_differences(recorded: Harness, live: Harness) -> Iterator[str]:
    if recorded.model != live.model:
        yield f"the model asked for is {live.model}, recorded with {recorded.model}"
    if recorded.tool_names != live.tool_names:
        yield f"the tools offered differ: {_set_difference(recorded.tool_names, live.tool_names)}"
    elif recorded.tools != live.tools:
        yield "the descriptions of the tools differ"
    if recorded.system != live.system:
        yield "the system prompt differs"


def _set_difference(recorded: Sequence[str], live: Sequence[str]) -> str:
    gone = [f"-{name}" for name in recorded if name not in live]
    new = [f"+{name}" for name in live if name not in recorded]
    return " ".join([*gone, *new]) or "another order"


def summary(exchange: Exchange) -> str:
    """A recorded request in one line."""
    return f"request-{exchange.number}.json ({exchange.request.lane}): {describe_news(exchange.request.new)}"


def describe_news(new: News) -> str:
    parts = [f"result of {result.tool_use_id}: {_line(result_text(result))}" for result in new.results]
    parts += [f"text {_line(text)}" for text in texts(new.text)]
    parts += [f"notice about {notice.tool_use_id}" for notice in new.notices]
    return "; ".join(parts) or "nothing new"


def _line(text: str) -> str:
    text = " ".join(text.split())
    return repr(text if len(text) <= 80 else text[:79] + "…")  # noqa: PLR2004
