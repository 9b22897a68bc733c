"""One run on the real Claude Code, from prompt to record."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from roadtest import ClaudeCode, script
from roadtest.isolation import Workspace, engine_variables
from roadtest.place import Place
from roadtest.runner import run_once
from tests.conftest import RunScript


def test_every_call_of_a_run_is_in_its_trajectory(run_claude: RunScript) -> None:
    """Five calls, one of them failing, and a subagent with a call of its own are found with status, agent and parent."""
    model = script.Script(
        [
            script.say("I look around."),
            script.call("Bash", command="echo one"),
            script.call("Bash", command="exit 3"),
        ],
        script.call("Write", file_path="{{workspace}}/note.txt", content="hello"),
        script.call("Read", file_path="{{workspace}}/note.txt"),
        script.delegate(
            "general-purpose",
            "Count the files",
            [script.call("Bash", command="ls | wc -l"), script.say("One file.")],
        ),
        script.say("All done."),
    )
    run = run_claude(script=model)

    assert run.invalid == ""
    assert run.output == "All done."
    assert [(call.name, call.status, call.agent) for call in run.trajectory] == [
        ("Bash", "ok", None),
        ("Bash", "failed", None),
        ("Write", "ok", None),
        ("Read", "ok", None),
        ("Agent", "ok", None),
        ("Bash", "ok", "general-purpose"),
    ]
    assert run.trajectory[1].exit_code == 3
    assert run.trajectory[5].parent_id == run.trajectory[4].id
    assert "note.txt" in run.diff


def test_a_connection_elsewhere_makes_the_run_invalid(run_claude: RunScript) -> None:
    """A run that tries to reach anything but the model is refused, and says what it tried to reach."""
    reach = "import urllib.request as u; u.urlopen('https://example.invalid/')"
    model = script.Script(script.call("Bash", command=f'python3 -c "{reach}"'), script.say("Tried."))
    run = run_claude(script=model)

    assert "tried to leave the machine: CONNECT example.invalid:443" in run.invalid


def test_a_script_that_ends_too_early_makes_the_run_invalid(run_claude: RunScript) -> None:
    """An agent that asks for more turns than were written gets an error that says so."""
    run = run_claude(script=script.Script(script.call("Bash", command="true")))

    assert "the script ended: lane main has 1 turns" in run.invalid


def test_captured_calls_are_kept_without_secrets(
    run_claude: RunScript, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A scorer sees what really happened; the files that stay hold neither a secret variable nor a key by its shape."""
    password, key = "correct-horse-" + "battery", "sk-" + "ant-api03-" + "x1" * 20
    monkeypatch.setenv("DEPLOY_PASSWORD", password)
    model = script.Script(
        script.call("Bash", command=f"echo {key} > key.txt; echo {password}"),
        script.call("Read", file_path="{{workspace}}/key.txt"),
        script.say(f"It is {key}."),
    )
    run = run_claude(script=model)

    assert run.invalid == ""
    assert password in str(run.trajectory[0].output)
    kept = [path for path in place.output_dir.rglob("*") if path.is_file()]
    texts = [path.read_text() for path in kept]
    assert {path.name for path in kept} == {"tool-calls.jsonl", "lifecycle.jsonl"}
    assert not [text for text in texts if key in text or password in text]
    assert "{{redacted:DEPLOY_PASSWORD}}" in texts[0] + texts[1]
    assert "{{redacted:anthropic-key}}" in texts[0] + texts[1]


def test_what_a_model_used_is_counted_as_the_api_would_have(run_claude: RunScript) -> None:
    """Usage of several answers, of a stream and of plain JSON, is what Claude Code adds up, and it has a price."""
    usage = {
        "input_tokens": 1000,
        "cache_read_input_tokens": 50,
        "cache_creation_input_tokens": 7,
        "output_tokens": 300,
    }
    model = script.Script(
        script.turn(script.call("Bash", command="true"), usage=usage),
        script.fault("malformed"),
        script.turn(script.say("Done."), usage=usage),
    )
    run = run_claude(script=model)

    assert run.invalid == ""
    assert (run.usage.input_tokens, run.usage.output_tokens) == (2000, 600)
    assert (run.usage.cache_read_input_tokens, run.usage.cache_creation_input_tokens) == (100, 14)
    assert run.cost_usd > 0


def test_a_turn_that_was_not_asked_for_is_reported(run_claude: RunScript) -> None:
    """Turns that the agent never came to are noted in the run."""
    run = run_claude(script=script.Script(script.say("Done."), script.say("Never said.")))

    assert run.invalid == ""
    assert run.notes == ["lane main: 1 of 2 turns were not asked for"]


def test_a_claude_that_cannot_run_makes_the_run_invalid(run_claude: RunScript) -> None:
    """An option that Claude Code does not know ends in an invalid run that quotes its complaint."""
    run = run_claude(script=script.Script(script.say("Hi.")), arguments=["--no-such-option"])

    assert "no result" in run.invalid
    assert "no-such-option" in run.invalid


def test_an_engine_that_takes_no_advice_is_left_alone(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Claude Code that does not start with our variables for its engine is started once more without them."""
    picky, starts = tmp_path / "claude", tmp_path / "starts"
    refuse = "echo 'error: invalid JSC environment variable' >&2; exit 1"
    picky.write_text(
        f'#!/bin/sh\necho >> {starts}\nif env | grep -q BUN_JSC_; then {refuse}; fi\nexec {place.claude} "$@"\n'
    )
    picky.chmod(0o755)
    monkeypatch.setattr("roadtest.isolation.engine._refused", threading.Event())
    task = ClaudeCode(script=script.Script(script.say("Hi.")), timeout=60.0)
    run = run_once(task, "Go on.", replace(place, claude=picky))

    assert (run.invalid, run.output) == ("", "Hi.")
    assert len(starts.read_text()) == 2
    assert engine_variables() == {}


def test_the_template_itself_is_never_touched(run_claude: RunScript, tmp_path: Path) -> None:
    """A run changes its copy of the template and shows the change as a diff; the template stays as it was."""
    template = tmp_path / "template"
    template.mkdir()
    (template / "a.txt").write_text("before\n")
    model = script.Script(script.call("Bash", command="echo after > a.txt"), script.say("Done."))
    run = run_claude(script=model, workspace=Workspace.copy("template"))

    assert (template / "a.txt").read_text() == "before\n"
    assert "-before\n+after" in run.diff


def test_hooks_of_a_run_stand_beside_the_capture_hooks(run_claude: RunScript) -> None:
    """Hooks given in extra_settings do their work, and the calls are captured all the same."""
    deny = "echo 'not today' >&2; exit 2"
    run = run_claude(
        script=script.Script(script.call("Bash", command="date"), script.say("No.")),
        extra_settings={
            "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": deny}]}]}
        },
    )

    assert run.invalid == ""
    assert [(call.name, call.status) for call in run.trajectory] == [("Bash", "denied")]
    assert "not today" in (run.trajectory[0].error or "")
