"""Events that are posted instead of run: the same lines, in the same folder, with the same care."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from roadtest import Workspace, script
from roadtest.capture import Receiver, hook_settings, may_post, posting_settings, read
from tests.conftest import RunScript

PRE = {
    "hook_event_name": "PreToolUse",
    "tool_name": "Read",
    "tool_input": {"file_path": "a"},
    "tool_use_id": "1",
}
URL = "http://127.0.0.1:1/run/hook-events"


def test_an_event_becomes_a_line(tmp_path: Path) -> None:
    """A posted event is kept as the hook script would keep it, in a folder that is made when it is needed."""
    receiver = Receiver(tmp_path / "out" / "case", {}, tmp_path / "spool")
    receiver(json.dumps(PRE).encode())
    receiver(json.dumps({**PRE, "hook_event_name": "PostToolUse", "tool_response": "x"}).encode())
    receiver(json.dumps({"hook_event_name": "Stop", "session_id": "s"}).encode())
    captured = read(tmp_path / "out" / "case")
    assert [(event.phase, event.tool_name) for event in captured.events] == [
        ("pre", "Read"),
        ("post", "Read"),
    ]
    assert [event.event for event in captured.lifecycle] == ["Stop"]
    assert not receiver.problems


def test_what_cannot_be_kept_is_remembered(tmp_path: Path) -> None:
    """An event that is no JSON, or that cannot be written, is a problem of the run and not an exception."""
    receiver = Receiver(tmp_path / "case", {}, tmp_path / "spool")
    receiver(b"{")
    (tmp_path / "case").write_text("in the way")
    receiver(json.dumps(PRE).encode())
    assert [problem.split(":")[1].strip() for problem in receiver.problems] == ["Refused", "FileExistsError"]


def test_long_outputs_are_shortened(tmp_path: Path) -> None:
    """The limit of the run's environment holds for posted events."""
    receiver = Receiver(tmp_path, {"ROADTEST_MAX_OUTPUT_BYTES": "100"}, tmp_path / "spool")
    receiver(json.dumps({**PRE, "hook_event_name": "PostToolUse", "tool_response": "x" * 1000}).encode())
    (line,) = (tmp_path / "tool-calls.jsonl").read_text().splitlines()
    assert json.loads(line)["tool_output_truncated"]["bytes"] == 1002


def test_an_event_in_the_spool_comes_first(tmp_path: Path) -> None:
    """What a command left is taken in before the next posted event, with the time at which it was left."""
    receiver = Receiver(tmp_path / "case", {}, tmp_path / "spool")
    start = {"hook_event_name": "SessionStart", "session_id": "s", "cwd": "/w"}
    left = tmp_path / "spool" / "17"
    left.write_text(json.dumps(start))
    os.utime(left, (1_700_000_000, 1_700_000_000))
    receiver(json.dumps({"hook_event_name": "Stop", "session_id": "s"}).encode())
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
    receiver(json.dumps({"hook_event_name": "Stop", "session_id": "s"}).encode())
    assert not receiver.problems
    (tmp_path / "spool" / "17").write_text('{"hook_event_name": "SessionStart", "session_id": "s"}')
    receiver.close()
    assert [event.event for event in read(tmp_path / "case").lifecycle] == ["Stop", "SessionStart"]
    assert receiver.problems == ["the capture hook failed: 18 in its spool is not whole"]


def test_an_agent_may_remove_the_spool(tmp_path: Path) -> None:
    """The spool is in the agent's home, which is the agent's to clear; events that are posted do not need it."""
    receiver = Receiver(tmp_path / "case", {}, tmp_path / "spool")
    (tmp_path / "spool").rmdir()
    receiver(json.dumps(PRE).encode())
    receiver.close()
    assert len(read(tmp_path / "case").events) == 1
    assert not receiver.problems


def test_what_can_be_posted_is(tmp_path: Path) -> None:
    """Every event is posted but the start of a session, for which Claude Code only runs commands."""
    hooks = posting_settings(URL, tmp_path)["hooks"]
    kinds = {event: groups[0]["hooks"][0]["type"] for event, groups in hooks.items()}
    assert {event for event, kind in kinds.items() if kind == "command"} == {"SessionStart"}
    assert hooks.keys() == hook_settings()["hooks"].keys()


@pytest.mark.parametrize("name", ["settings.json", "settings.local.json"])
def test_a_limit_on_posting_is_respected(tmp_path: Path, name: str) -> None:
    """Where the project or the task says which addresses may be posted to, ours would be left out: commands run instead."""
    assert may_post(tmp_path, {})
    assert not may_post(tmp_path, {"allowedHttpHookUrls": []})
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / name).write_text('{"allowedHttpHookUrls": ["https://example.com/*"]}')
    assert not may_post(tmp_path, {})


@pytest.mark.parametrize(
    "settings", [{}, {"allowedHttpHookUrls": ["https://example.com/*"]}], ids=["free", "limited"]
)
def test_a_project_with_and_without_a_limit(run_claude: RunScript, settings: dict[str, Any]) -> None:
    """The real Claude Code gives the same calls whether it posts events or has to run the hook."""
    workspace = Workspace.empty().with_files({"a.txt": "a", ".claude/settings.json": json.dumps(settings)})
    calls = [script.call("Read", file_path="{{workspace}}/a.txt"), script.call("Bash", command="exit 3")]
    run = run_claude(script=script.Script(calls, script.say("Done.")), workspace=workspace)
    assert run.invalid == ""
    assert [(call.name, call.status) for call in run.trajectory] == [("Read", "ok"), ("Bash", "failed")]
