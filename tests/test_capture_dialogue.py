"""Hooks as questions: each is answered, each event is kept, and the run is the one that ``claude -p "..."`` would be."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from roadtest import Workspace, script
from roadtest.capture import Dialogue, Receiver, hook_settings, read, spooling_settings
from roadtest.cassette.scripted import ScriptSession
from roadtest.cassette.wire import Answer, Request
from roadtest.claude_code import ClaudeCode
from roadtest.place import Place
from roadtest.results import Run
from roadtest.runner import Conversation, run_once
from tests.conftest import RunScript

PRE = {
    "hook_event_name": "PreToolUse",
    "tool_name": "Read",
    "tool_input": {"file_path": "a"},
    "tool_use_id": "1",
}


@pytest.fixture
def receiver(tmp_path: Path) -> Receiver:
    return Receiver(tmp_path / "case", {}, tmp_path / "spool")


@pytest.fixture
def dialogue(receiver: Receiver) -> Dialogue:
    return Dialogue("Go on.", receiver)


def line(**message: Any) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode()


def question(number: str = "q1", **request: Any) -> bytes:
    return line(type="control_request", request_id=number, request=request)


def replied(answer: bytes | None) -> dict[str, Any]:
    assert answer is not None
    message: dict[str, Any] = json.loads(answer)
    assert message.pop("type") == "control_response"
    return message["response"]  # type: ignore[no-any-return]


def test_it_opens_with_the_hooks_and_the_prompt(receiver: Receiver) -> None:
    """Every event is either asked about or left in the spool, and the prompt is told to the letter."""
    prompt = 'Say "hé"\nand \ud83d'
    hooks, told = map(json.loads, Dialogue(prompt, receiver).opening.splitlines())
    assert told["message"] == {"role": "user", "content": prompt}
    asked = hooks["request"]["hooks"]
    left = spooling_settings(receiver.spool)["hooks"]
    installed = hook_settings()["hooks"]
    assert {**asked, **left}.keys() == installed.keys()
    assert not asked.keys() & left.keys()
    for event, groups in asked.items():
        assert groups[0]["matcher"] == installed[event][0].get("matcher")


def test_an_event_is_kept_and_nothing_said_about_it(
    dialogue: Dialogue, receiver: Receiver, tmp_path: Path
) -> None:
    """The line is written before the answer is given, and the answer leaves everything to the agent."""
    answer = replied(dialogue.reply(question(subtype="hook_callback", callback_id="roadtest", input=PRE)))
    assert answer == {"request_id": "q1", "subtype": "success", "response": {}}
    assert [(event.phase, event.tool_name) for event in read(tmp_path / "case").events] == [("pre", "Read")]
    assert receiver.problems == []


def test_other_questions_are_declined(dialogue: Dialogue, tmp_path: Path) -> None:
    """Whatever else Claude Code may come to ask gets an answer, too, and is no event."""
    answer = replied(dialogue.reply(question(subtype="can_use_tool", input=PRE)))
    assert answer == {"request_id": "q1", "subtype": "error", "error": "nobody here answers can_use_tool"}
    assert not (tmp_path / "case").exists()


@pytest.mark.parametrize(
    "event",
    [
        b"[" * 100_000 + b"]" * 100_000,
        b'{"hook_event_name":"PreToolUse","tool_name":',
    ],
    ids=["deep", "torn"],
)
def test_what_cannot_be_read_is_answered_and_remembered(
    dialogue: Dialogue, receiver: Receiver, event: bytes
) -> None:
    """The agent is not kept waiting, and the run is told that an event is missing."""
    asked = (
        b'{"type":"control_request","request_id":"q7","request":{"subtype":"hook_callback","input":'
        + event
        + b"}}"
    )
    assert replied(dialogue.reply(asked))["request_id"] == "q7"
    assert [problem.split(":")[0] for problem in receiver.problems] == ["the capture hook failed"]


@pytest.mark.parametrize(
    "part_of_stream",
    [
        line(type="assistant", message={"content": 'it says {"type":"control_request"}'}),
        line(type="user", content={"control_request": {"type": "control_request", "request_id": "1"}}),
        line(type="result", result="done"),
        line(type="control_request", request_id=1),
        b'not JSON: "control_request"',
        b"",
    ],
)
def test_the_stream_is_left_alone(dialogue: Dialogue, part_of_stream: bytes) -> None:
    """A line that only speaks of questions is not one."""
    assert dialogue.reply(part_of_stream) is None


def test_hooks_have_to_be_taken(dialogue: Dialogue) -> None:
    """Until Claude Code says that it took the hooks it has not, and where it declines there is a reason."""
    assert dialogue.refusal
    declined = {"subtype": "error", "request_id": "roadtest-hooks", "error": "no hooks today"}
    assert dialogue.reply(line(type="control_response", response=declined)) == b""
    assert dialogue.refusal == "no hooks today"
    dialogue.reply(line(type="control_response", response={**declined, "request_id": "other"}))
    dialogue.reply(line(type="control_response", response={**declined, "subtype": "success"}))
    assert dialogue.refusal == ""


# On the real Claude Code

SKILL = "---\nname: finder\ndescription: Finds things\n---\nFind $ARGUMENTS.\n"
AGAIN = """[ -e "$HOME/again" ] || { touch "$HOME/again"; echo '{"decision": "block", "reason": "Look again."}'; }"""
FILES = {"a.txt": "alpha\n", ".claude/skills/finder/SKILL.md": SKILL}


def with_hook(event: str, command: str) -> Workspace:
    hooks = {event: [{"hooks": [{"type": "command", "command": command}]}]}
    return Workspace.empty().with_files({**FILES, ".claude/settings.json": json.dumps({"hooks": hooks})})


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What the model was asked, in every run of the test."""
    bodies: list[bytes] = []
    answer = ScriptSession.answer

    def noting(session: ScriptSession, request: Request) -> Answer:
        bodies.append(request.body)
        return answer(session, request)

    monkeypatch.setattr(ScriptSession, "answer", noting)
    return bodies


def unnamed(run: Run, text: str) -> str:
    """Without what is another in every run: its folders, its ids, its times."""
    assert run.workspace is not None
    world = str(run.workspace.parent)
    for name in (world, world.replace("/", "-").replace(".", "-").replace("_", "-")):
        text = text.replace(name, "WORLD")
    text = re.sub(r"[0-9a-f]{64}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "ID", text)
    return re.sub(r'"duration_ms":\d+', '"duration_ms":0', text)


@pytest.mark.parametrize(
    ("prompt", "options"),
    [
        pytest.param(
            "/finder the TODOs in @a.txt",
            {"permission_mode": "default", "workspace": with_hook("Stop", AGAIN)},
            id="a skill, a mention, a denied call and a hook that goes on",
        ),
        pytest.param("Go on,\nthen ünd 🙂 stop.", {"max_turns": 1}, id="the last turn"),
        pytest.param("No.", {"workspace": with_hook("UserPromptSubmit", "exit 2")}, id="a refused prompt"),
    ],
)
def test_a_run_that_is_talked_to_is_the_same_run(
    run_claude: RunScript,
    asked: list[bytes],
    monkeypatch: pytest.MonkeyPatch,
    prompt: str,
    options: dict[str, Any],
) -> None:
    """The model is asked the same to the letter, and output, calls and exit code are those of ``claude -p "prompt"``."""
    model = script.Script(
        [script.call("Write", file_path="b.txt", content="b"), script.call("Read", file_path="a.txt")],
        script.say("Done."),
        script.say("Done again."),
    )
    seen = []
    for talked_to in (True, False):
        if not talked_to:
            monkeypatch.setattr(Conversation, "_dialogue", lambda *_: None)
        run = run_claude(prompt, script=model, **options)
        assert run.invalid == ""
        seen.append(
            (
                [unnamed(run, body.decode()) for body in asked],
                [(call.name, unnamed(run, str(call.args)), call.status) for call in run.trajectory],
                [message["type"] for message in run.messages],
                (run.output, run.exit_code, run.turns, run.usage),
            )
        )
        asked.clear()
    assert seen[0] == seen[1]


def test_a_long_prompt_is_told_whole(run_claude: RunScript, asked: list[bytes]) -> None:
    """A prompt may be longer than what the system lets a command line be."""
    prompt = "Read this. " + "x" * 300_000
    run = run_claude(prompt, script=script.Script(script.say("Done.")))
    assert run.invalid == ""
    assert prompt.encode() in asked[0]


def test_a_run_that_was_not_asked_is_invalid(place: Place, tmp_path: Path) -> None:
    """Where Claude Code never heard of the hooks, even a run without calls proves nothing."""
    deaf = tmp_path / "claude"
    deaf.write_text(f'#!/bin/sh\nread -r hooks; exec "{place.claude}" "$@"\n')
    deaf.chmod(0o755)
    task = ClaudeCode(script=script.Script(script.say("Done.")), timeout=60.0)
    run = run_once(task, "Go on.", replace(place, claude=deaf))
    assert run.output == "Done."
    assert "the capture hooks were not taken" in run.invalid
