"""Events that come without a process for each: the same lines, in the same folder, with the same care."""

from __future__ import annotations

import json
import os
from pathlib import Path

from roadtest.capture import Receiver, read

PRE = {
    "hook_event_name": "PreToolUse",
    "tool_name": "Read",
    "tool_input": {"file_path": "a"},
    "tool_use_id": "1",
}


def test_an_event_becomes_a_line(tmp_path: Path) -> None:
    """An event is kept as the hook script would keep it, in a folder that is made when it is needed."""
    receiver = Receiver(tmp_path / "out" / "case", {}, tmp_path / "spool")
    receiver.keep({**PRE})
    receiver.keep({**PRE, "hook_event_name": "PostToolUse", "tool_response": "x"})
    receiver.keep({"hook_event_name": "Stop", "session_id": "s"})
    captured = read(tmp_path / "out" / "case")
    assert [(event.phase, event.tool_name) for event in captured.events] == [
        ("pre", "Read"),
        ("post", "Read"),
    ]
    assert [event.event for event in captured.lifecycle] == ["Stop"]
    assert not receiver.problems


def test_what_cannot_be_kept_is_remembered(tmp_path: Path) -> None:
    """An event that is no object, or that cannot be written, is a problem of the run and not an exception."""
    receiver = Receiver(tmp_path / "case", {}, tmp_path / "spool")
    receiver.keep("{")
    (tmp_path / "case").write_text("in the way")
    receiver.keep({**PRE})
    assert [problem.split(":")[1].strip() for problem in receiver.problems] == ["Refused", "FileExistsError"]


def test_long_outputs_are_shortened(tmp_path: Path) -> None:
    """The limit of the run's environment holds."""
    receiver = Receiver(tmp_path, {"ROADTEST_MAX_OUTPUT_BYTES": "100"}, tmp_path / "spool")
    receiver.keep({**PRE, "hook_event_name": "PostToolUse", "tool_response": "x" * 1000})
    (line,) = (tmp_path / "tool-calls.jsonl").read_text().splitlines()
    assert json.loads(line)["tool_output_truncated"]["bytes"] == 1002


def test_an_event_in_the_spool_comes_first(tmp_path: Path) -> None:
    """What a command left is taken in before the next event, with the time at which it was left."""
    receiver = Receiver(tmp_path / "case", {}, tmp_path / "spool")
    start = {"hook_event_name": "SessionStart", "session_id": "s", "cwd": "/w"}
    left = tmp_path / "spool" / "17"
    left.write_text(json.dumps(start))
    os.utime(left, (1_700_000_000, 1_700_000_000))
    receiver.keep({"hook_event_name": "Stop", "session_id": "s"})
    receiver.close()
    first, second = (tmp_path / "case" / "lifecycle.jsonl").read_text().splitlines()
    assert json.loads(first) == {
        "timestamp": "2023-11-14T22:13:20.000Z",
        "event": "SessionStart",
        "session_id": "s",
        "cwd": "/w",
    }
    assert json.loads(second)["event"] == "Stop"
    assert not receiver.problems


def test_an_event_in_the_spool_may_still_be_written(tmp_path: Path) -> None:
    """Half an event is left alone until it is whole; one that never becomes so is a problem of the run."""
    receiver = Receiver(tmp_path / "case", {}, tmp_path / "spool")
    (tmp_path / "spool" / "17").write_text('{"hook_event_name": "Sess')
    (tmp_path / "spool" / "18").write_text('{"hook_event_name": "Sess')
    receiver.keep({"hook_event_name": "Stop", "session_id": "s"})
    assert not receiver.problems
    (tmp_path / "spool" / "17").write_text('{"hook_event_name": "SessionStart", "session_id": "s"}')
    receiver.close()
    assert [event.event for event in read(tmp_path / "case").lifecycle] == ["Stop", "SessionStart"]
    assert receiver.problems == ["the capture hook failed: 18 in its spool is not whole"]


def test_an_agent_may_remove_the_spool(tmp_path: Path) -> None:
    """The spool is in the agent's home, which is the agent's to clear; other events do not need it."""
    receiver = Receiver(tmp_path / "case", {}, tmp_path / "spool")
    (tmp_path / "spool").rmdir()
    receiver.keep({**PRE})
    receiver.close()
    assert len(read(tmp_path / "case").events) == 1
    assert not receiver.problems
