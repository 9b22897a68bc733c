"""Requests in the form in which two of them can be compared, and in which one is stored.

Between two runs of the same conversation Claude Code moves ``cache_control`` about, flips a message's content between a
text and a list of blocks, and gives the results of parallel calls in the order in which they ended. It adds reminders
and environment messages of its own, which are kept as digests only. None of this is left here.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from roadtest.cassette.records import News, Notice, Result
from roadtest.cassette.wire import Json

_NOTICE = re.compile(r"<task-notification>.*?</task-notification>", re.DOTALL)
_NOTICE_ID = re.compile(r"<(?:tool-use|task)-id>(.*?)</(?:tool-use|task)-id>", re.DOTALL)
_TOOL_USE_ID = re.compile(r"<tool-use-id>(.*?)</tool-use-id>", re.DOTALL)
_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>\n?", re.DOTALL)
_LARGEST_BLOB = 1024
_LONGEST_TEXT = 2000
_OPENING = 60

Digest = Callable[[str], str]


def digest(text: str | bytes) -> str:
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return hashlib.sha256(data).hexdigest()[:16]


def last_assistant(messages: Sequence[msgspec.Raw]) -> tuple[Json | None, list[Json]]:
    """The last message of the model, and all that came after it; what came before is not even decoded."""
    after: list[Json] = []
    for raw in reversed(messages):
        message = msgspec.json.decode(raw)
        if message["role"] == "assistant":
            return message, after[::-1]
        after.append(message)
    return None, after[::-1]


def blocks(content: Any) -> list[Json]:
    """Content as a list of blocks, whichever of the two forms it came in."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return list(content or [])


def tool_use_ids(message: Json) -> list[str]:
    return [block["id"] for block in blocks(message["content"]) if block.get("type") == "tool_use"]


def text_of(message: Json) -> str:
    """The text of a message of the model, as it can be compared with what comes back from the client."""
    return "".join(
        block.get("text", "") for block in blocks(message["content"]) if block.get("type") == "text"
    ).strip()


def news(messages: Sequence[Json], order: Sequence[str], digested: Digest, *, first: bool) -> News:
    """What the messages say; ``order`` is that of the calls they answer, ``digested`` digests what is not stored.

    Only the ``first`` request of a conversation keeps long texts. Later ones are Claude Code's own instructions, as for
    a compaction, and are known by how they begin and by their digest.
    """
    reading = _Reading(digested)
    for message in messages:
        for block in blocks(message["content"]):
            reading.take(message["role"], block)
    position = {tool_use_id: index for index, tool_use_id in enumerate(order)}
    results = sorted(reading.results, key=lambda result: position.get(result.tool_use_id, len(position)))
    if results:
        # Beside results no user speaks: it is the text of a skill, or an instruction of Claude Code's own.
        injected = [digested(_as_text(said)) for said in reading.text]
        return News(results, [], reading.notices, [*reading.injected, *injected])
    said = reading.text if first else [_shortened(text, digested) for text in reading.text]
    return News([], said, reading.notices, reading.injected)


class _Reading:
    def __init__(self, digested: Digest) -> None:
        self._digested = digested
        self.results: list[Result] = []
        self.text: list[Any] = []
        self.notices: list[Notice] = []
        self.injected: list[str] = []

    def take(self, role: str, block: Json) -> None:
        match block.get("type"):
            case "tool_result":
                self.results.append(self._result(block))
            case "text":
                self._text(role, block.get("text", ""))
            case _ if role == "user":
                self.text.append(_slim(without_cache_control(block)))

    def _result(self, block: Json) -> Result:
        content = _content(block.get("content"))
        if isinstance(content, str) and content.rstrip().endswith("</system-reminder>"):
            content, reminders = _without_reminders(content)
            self.injected.append(self._digested(reminders))
        return Result(block["tool_use_id"], content, bool(block.get("is_error")))

    def _text(self, role: str, text: str) -> None:
        if "<task-notification>" in text:
            found = _NOTICE.findall(text)
            # Which of several calls it answers is said beside it: subagents that are alike change places.
            self.notices += [Notice(_notice_id(notice), _TOOL_USE_ID.sub("", notice)) for notice in found]
            text = _NOTICE.sub("", text) if role == "user" else ""
            text = _REMINDER.sub("", text)
        if role != "user":
            self.injected += [self._digested(text)] if text else []
            return
        self.injected += [self._digested(reminder.strip()) for reminder in _REMINDER.findall(text)]
        if said := _REMINDER.sub("", text).strip():
            self.text.append(said)


def _without_reminders(text: str) -> tuple[str, str]:
    """A text and the reminders that it ends with."""
    end = len(text)
    while (
        text[:end].rstrip().endswith("</system-reminder>")
        and (start := text.rfind("<system-reminder>", 0, end)) >= 0
    ):
        end = start
    return text[:end].rstrip(), text[end:].strip()


def _shortened(said: Any, digested: Digest) -> Any:
    if isinstance(said, str) and len(said) > _LONGEST_TEXT:
        return {"type": "text", "begins": said[:_OPENING], "digest": digested(said)}
    return said


def _notice_id(notice: str) -> str:
    found = _TOOL_USE_ID.search(notice) or _NOTICE_ID.search(notice)
    return found[1] if found else ""


def _content(content: Any) -> Any:
    """A text where the content is nothing else, otherwise a list of blocks."""
    parts = [_slim(without_cache_control(block)) for block in blocks(content)]
    if all(part.keys() == {"type", "text"} and part["type"] == "text" for part in parts):
        return "\n".join(part["text"] for part in parts)
    return parts


def without_cache_control(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_cache_control(item) for key, item in value.items() if key != "cache_control"}
    if isinstance(value, list):
        return [without_cache_control(item) for item in value]
    return value


def _slim(value: Any) -> Any:
    """Images and documents by digest: they are compared, never sent again."""
    if isinstance(value, dict):
        return {
            key: f"sha256:{digest(item)}"
            if key == "data" and isinstance(item, str) and len(item) > _LARGEST_BLOB
            else _slim(item)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_slim(item) for item in value]
    return value


def _as_text(said: Any) -> str:
    return said if isinstance(said, str) else msgspec.json.encode(said).decode()


def texts(parts: Sequence[Any]) -> Iterator[str]:
    """Each part as a text that can be compared and shown."""
    yield from map(_as_text, parts)


def result_text(result: Result) -> str:
    """A result as one text that can be compared and shown."""
    mark = "[error] " if result.is_error else ""
    if isinstance(result.content, str):
        return mark + result.content
    return mark + "\n".join(
        part["text"] if part.get("type") == "text" else msgspec.json.encode(part).decode()
        for part in result.content
    )
