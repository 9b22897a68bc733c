"""Reading the lines of the hook back."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roadtest.errors import CaptureError
from roadtest.events import TornLineWarning, parse_lifecycle_events, parse_tool_events

LINE = {
    "timestamp": "2026-01-01T00:00:00.000Z",
    "phase": "pre",
    "tool_name": "Bash",
    "tool_use_id": "toolu_1",
}


def lines(*records: Any) -> bytes:
    return b"".join(msgspec.json.encode(record) + b"\n" for record in records)


def test_fields_that_are_not_known_are_kept() -> None:
    """What a newer Claude Code adds is in extra."""
    (event,) = parse_tool_events(lines({**LINE, "novelty": [1], "extra": {"x": 2}}), "f")
    assert event.extra == {"novelty": [1], "extra": {"x": 2}}
    (start,) = parse_lifecycle_events(lines({"timestamp": "t", "event": "New", "novelty": 1}), "f")
    assert (start.event, start.extra) == ("New", {"novelty": 1})


def test_a_torn_last_line_is_skipped_with_a_warning() -> None:
    """A writer that was killed costs its own line and no other."""
    with pytest.warns(TornLineWarning, match=r'f: the last line is torn and was skipped: {"time'):
        assert len(parse_tool_events(lines(LINE) + b'{"time', "f")) == 1


def test_empty_lines_are_nothing() -> None:
    """Empty files and empty lines hold no events."""
    assert parse_tool_events(b"", "f") == []
    assert len(parse_tool_events(b"\n" + lines(LINE) + b"\n \n", "f")) == 1


@pytest.mark.parametrize(
    "bad",
    [
        b"nonsense",
        b'{"timestamp": ',
        b"[1]",
        b'{"x": "\xff"}',
        b"\xff\xfe",
        json.dumps({**LINE, "phase": "never"}).encode(),
        json.dumps({**LINE, "tool_use_id": 3}).encode(),
        b"{}",
        b'{"a":' * 100_000,
    ],
)
def test_a_corrupt_line_is_an_error_that_names_it(bad: bytes) -> None:
    """File, line number and the beginning of the line are in the message."""
    with pytest.raises(CaptureError) as caught:
        parse_tool_events(lines(LINE) + bad + b"\n" + lines(LINE), "some/file.jsonl")
    message = str(caught.value)
    assert message.startswith("some/file.jsonl, line 2 is corrupt: ")
    assert bad[:5].decode("utf-8", "replace") in message
    assert len(message) < 500


@given(st.binary() | st.text(alphabet='{}[]":,\n1a').map(str.encode))
@pytest.mark.filterwarnings("ignore::roadtest.events.TornLineWarning")
def test_any_bytes_are_events_or_a_capture_error(data: bytes) -> None:
    """Whatever is in the file, the reader never fails in another way."""
    for parse in (parse_tool_events, parse_lifecycle_events):
        with contextlib.suppress(CaptureError):
            parse(data, "f")
