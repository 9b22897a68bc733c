"""Capture on the real Claude Code: every call is there, with what became of it and with its parent."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from roadtest import script
from roadtest.calls import ToolCall
from roadtest.capture import get_tool_calls, plugin
from roadtest.capture.install import install
from roadtest.claude_code import ClaudeCode
from roadtest.isolation import Workspace
from roadtest.place import Place
from roadtest.runner import converse
from roadtest.trajectory import Trajectory
from tests.conftest import PATIENCE, RunScript

MCP_SERVER = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    match request["method"]:
        case "initialize":
            result = {"protocolVersion": request["params"]["protocolVersion"], "capabilities": {"tools": {}},
                      "serverInfo": {"name": "greeter", "version": "1"}}
        case "tools/list":
            schema = {"type": "object", "properties": {"name": {"type": "string"}}}
            result = {"tools": [{"name": "greet", "description": "Greets.", "inputSchema": schema}]}
        case "tools/call":
            result = {"content": [{"type": "text", "text": "Hello " + request["params"]["arguments"]["name"]}]}
        case _:
            result = {}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"""

files = Workspace.empty().with_files({f"{name}.txt": f"{name}\n" for name in "abcdef"})


def settings(**content: Any) -> Workspace:
    """The same files with settings of the project."""
    return files.with_files({".claude/settings.json": msgspec.json.encode(content).decode()})


def pre_tool_use(**commands: str) -> dict[str, Any]:
    """Settings with a command that is asked before each use of a tool."""
    groups = [
        {"matcher": tool, "hooks": [{"type": "command", "command": command}]}
        for tool, command in commands.items()
    ]
    return {"hooks": {"PreToolUse": groups}}


def told(**decision: Any) -> str:
    """A command that answers a hook with a decision."""
    answer = {"hookSpecificOutput": {"hookEventName": "PreToolUse", **decision}}
    return f"echo '{msgspec.json.encode(answer).decode()}'"


def facts(call: ToolCall) -> tuple[str, str, int | None]:
    return call.name, call.status, call.exit_code


def from_lines(place: Place) -> Trajectory:
    return Trajectory.from_jsonl(place.capture_folder / "tool-calls.jsonl")


def test_parallel_calls_stand_in_the_order_of_the_model(run_claude: RunScript, place: Place) -> None:
    """Six reads in one message are one turn and keep their order, in the run and in its lines alone."""
    names = ["d", "a", "f", "c", "b", "e"]
    reads = [script.call("Read", file_path=f"{{{{workspace}}}}/{name}.txt") for name in names]
    run = run_claude(script=script.Script(reads, script.say("Read.")), workspace=files)

    assert run.invalid == ""
    for trajectory in (run.trajectory, from_lines(place)):
        assert [Path(call.args["file_path"]).stem for call in trajectory] == names
        assert {call.status for call in trajectory} == {"ok"}
        assert len({call.turn for call in trajectory}) == 1


def test_each_outcome_of_bash_has_its_exit_code(run_claude: RunScript, place: Place) -> None:
    """Success is 0, a failure says its own, a grep without a match is 1 and no failure, a background job has none."""
    commands = ["true", "echo out; exit 3", "grep nothing a.txt", "exit 255"]
    model = script.Script(
        *(script.call("Bash", command=command) for command in commands),
        script.call("Bash", command="true", run_in_background=True),
        script.say("Tried."),
        script.say("I hear that the job is done."),  # not asked for where the notice of its end comes in time
    )
    run = run_claude(script=model, workspace=files, background_agents=True)

    assert run.invalid == ""
    expected = [("ok", 0), ("failed", 3), ("ok", 1), ("failed", 255), ("ok", None)]
    assert [(call.status, call.exit_code) for call in run.trajectory] == expected
    assert run.trajectory[1].error == "Exit code 3\nout"
    assert [facts(call) for call in from_lines(place)] == [facts(call) for call in run.trajectory]


def test_calls_refused_by_permission_rules_are_denied(run_claude: RunScript, place: Place) -> None:
    """A deny rule and a permission that nobody can grant give denied calls with the reason; an allowed call runs."""
    model = script.Script(
        script.call("Bash", command="rm a.txt"),
        script.call("Write", file_path="/outside/x", content="x"),
        script.call("Bash", command="echo fine"),
        script.say("Two of three were refused."),
    )
    rules = {"deny": ["Bash(rm:*)"], "allow": ["Bash(echo:*)"]}
    run = run_claude(script=model, workspace=settings(permissions=rules), permission_mode="default")

    assert run.invalid == ""
    for trajectory in (run.trajectory, from_lines(place)):
        assert [call.status for call in trajectory] == ["denied", "denied", "ok"]
        assert "denied" in str(trajectory[0].error)
        assert "granted" in str(trajectory[1].error)


def test_a_call_blocked_by_a_hook_of_the_project_is_denied(run_claude: RunScript, place: Place) -> None:
    """A hook that exits with 2 or answers deny leaves a denied call with its words, and others run."""
    blocking = {
        "Bash": "echo 'not here' >&2; exit 2",
        "Write": told(permissionDecision="deny", permissionDecisionReason="not here either"),
    }
    model = script.Script(
        [
            script.call("Bash", command="rm a.txt"),
            script.call("Write", file_path="{{workspace}}/b.txt", content=""),
            script.call("Read", file_path="{{workspace}}/a.txt"),
        ],
        script.say("Blocked."),
    )
    run = run_claude(script=model, workspace=settings(**pre_tool_use(**blocking)))

    assert run.invalid == ""
    for trajectory in (run.trajectory, from_lines(place)):
        bash, write, read = trajectory
        assert (bash.name, bash.status) == ("Bash", "denied")
        assert "not here" in str(bash.error)
        assert (write.name, write.status) == ("Write", "denied")
        assert "not here either" in str(write.error)
        assert (read.name, read.status) == ("Read", "ok")


def test_an_input_that_a_hook_rewrote_is_kept_beside_the_models_own(
    run_claude: RunScript, place: Place
) -> None:
    """The call says what the model asked for and what the tool ran with."""
    rewrite = told(permissionDecision="allow", updatedInput={"command": "echo tamed"})
    model = script.Script(script.call("Bash", command="echo wild"), script.say("Done."))
    run = run_claude(script=model, workspace=settings(**pre_tool_use(Bash=rewrite)))

    assert run.invalid == ""
    for call in (run.trajectory[0], from_lines(place)[0]):
        assert call.args == {"command": "echo wild"}
        assert call.rewritten == {"command": "echo tamed"}
        assert call.output["stdout"] == "tamed"


def test_calls_that_never_reach_a_hook_are_failed_calls(run_claude: RunScript, place: Place) -> None:
    """A tool that does not exist and an input that does not fit count, in their places, with what the model was told."""
    model = script.Script(
        [
            script.call("Bash", command="echo first"),
            script.call("NoSuchTool", x=1),
            script.call("Read", wrong="field"),
            script.call("Bash", command="echo last"),
        ],
        script.call("NoSuchTool", x=2),
        script.say("Some failed."),
    )
    run = run_claude(script=model)

    assert run.invalid == ""
    for trajectory in (run.trajectory, from_lines(place)):
        assert [facts(call) for call in trajectory] == [
            ("Bash", "ok", 0),
            ("NoSuchTool", "failed", None),
            ("Read", "failed", None),
            ("Bash", "ok", 0),
            ("NoSuchTool", "failed", None),
        ]
        assert "No such tool available: NoSuchTool" in str(trajectory[1].error)
        assert "InputValidationError" in str(trajectory[2].error)
        assert (trajectory[1].args, trajectory[4].args) == ({"x": 1}, {"x": 2})


@pytest.mark.parametrize("background", [False, True])
def test_subagents_with_the_same_prompt_keep_their_own_calls(
    run_claude: RunScript, place: Place, background: bool
) -> None:
    """Three parallel subagents with identical prompts and a nested one are each under the call that spawned it."""

    def twin(word: str) -> script.Call:
        return script.delegate(
            "general-purpose",
            "The same for all",
            [script.call("Bash", command=f"echo {word}"), script.say(word)],
        )

    inner = script.delegate(
        "general-purpose", "Innermost", [script.call("Bash", command="echo deep"), script.say("deep")]
    )
    outer = script.delegate("general-purpose", "Outer", [inner, script.say("outer")])
    answers = [script.say("Done.")] * (5 if background else 1)
    model = script.Script([twin("one"), twin("two"), twin("three"), outer], *answers)
    run = run_claude(script=model, background_agents=background)

    assert run.invalid == ""
    for trajectory in (run.trajectory, from_lines(place)):
        spawns = trajectory.main
        assert [call.name for call in spawns] == ["Agent"] * 4
        inside = [trajectory.inside(spawn) for spawn in spawns]
        assert sorted(calls[0].args["command"] for calls in inside[:3]) == [
            "echo one",
            "echo three",
            "echo two",
        ]
        assert [len(calls) for calls in inside] == [1, 1, 1, 1]
        (nested,) = inside[3]
        assert nested.name == "Agent"
        assert [call.args["command"] for call in trajectory.inside(nested)] == ["echo deep"]
        assert {call.status for call in trajectory} == {"ok"}
        assert len({calls[0].agent_id for calls in inside}) == 4
        assert len(trajectory) == 9


def test_calls_of_an_mcp_server_are_captured(run_claude: RunScript, tmp_path: Path) -> None:
    """A tool of a stdio server is a call like any other, under its full name."""
    server = tmp_path / "server.py"
    server.write_text(MCP_SERVER)
    model = script.Script(script.call("mcp__greeter__greet", name="you"), script.say("Greeted."))
    run = run_claude(
        script=model,
        mcp_config={"mcpServers": {"greeter": {"command": sys.executable, "args": [str(server)]}}},
    )

    assert run.invalid == ""
    (call,) = run.trajectory
    assert (call.name, call.args, call.status) == ("mcp__greeter__greet", {"name": "you"}, "ok")
    assert "Hello you" in str(call.output)


def test_a_run_without_calls_is_valid_and_one_without_hooks_is_not(run_claude: RunScript) -> None:
    """Nothing done and nothing seen are told apart."""
    quiet = run_claude(script=script.Script(script.say("Nothing to do.")))
    assert (quiet.invalid, list(quiet.trajectory)) == ("", [])

    blind = run_claude(
        script=script.Script(script.say("Nothing to do.")), extra_settings={"disableAllHooks": True}
    )
    assert "capture was off" in blind.invalid
    assert "disableAllHooks" in blind.invalid


def test_settings_of_the_project_cannot_switch_capture_off_unseen(run_claude: RunScript) -> None:
    """A project that disables all hooks makes its runs invalid, calls or not: hooks of its own did not run either."""
    model = script.Script(script.call("Bash", command="true"), script.say("Done."))
    run = run_claude(script=model, workspace=settings(disableAllHooks=True))

    assert "capture was off" in run.invalid


def test_a_call_cut_off_by_the_timeout_is_unfinished(run_claude: RunScript) -> None:
    """A run that is killed keeps the calls that it had begun; they are unfinished, and nothing is lost."""
    model = script.Script(
        [
            script.call("Bash", command="echo quick"),
            script.call("Bash", command="until false; do sleep 1; done"),
        ],
        script.say("Never."),
    )
    for seconds in PATIENCE:
        run = run_claude(script=model, timeout=seconds)
        if len(run.trajectory) == 2:
            break

    assert run.timed_out
    assert run.invalid == ""
    assert [facts(call) for call in run.trajectory] == [("Bash", "ok", 0), ("Bash", "unfinished", None)]


def test_a_run_that_reaches_its_last_turn_keeps_its_calls(run_claude: RunScript) -> None:
    """The limit of turns ends a run after its calls, not its capture."""
    model = script.Script(*(script.call("Bash", command=f"echo {number}") for number in range(4)))
    run = run_claude(script=model, max_turns=2)

    assert [facts(call) for call in run.trajectory] == [("Bash", "ok", 0)] * 2


def test_a_folder_that_cannot_be_written_makes_the_run_invalid(run_claude: RunScript, place: Place) -> None:
    """Where the hooks cannot write, the run says that they ran and nothing arrived."""
    place.output_dir.mkdir()
    (place.output_dir / place.test_id).write_text("in the way")
    run = run_claude(script=script.Script(script.call("Bash", command="true"), script.say("Done.")))

    assert "capture was off: Claude Code ran its hooks" in run.invalid
    assert run.output == "Done."


@pytest.mark.parametrize("event", ["PreToolUse", "PostToolUse"])
def test_a_hook_of_the_project_that_ends_the_run_costs_no_call(run_claude: RunScript, event: str) -> None:
    """Claude Code does not wait for our hook then; the call is known all the same, and the run is valid."""
    stop = {"type": "command", "command": 'echo \'{"continue": false, "stopReason": "enough"}\''}
    workspace = settings(hooks={event: [{"matcher": "Bash", "hooks": [stop]}]})
    run = run_claude(
        script=script.Script(script.call("Bash", command="echo hi"), script.say("?")), workspace=workspace
    )

    assert run.invalid == ""
    (call,) = run.trajectory
    assert (facts(call), call.output["stdout"]) == (("Bash", "ok", 0), "hi")


def test_each_prompt_of_a_conversation_has_its_own_calls(place: Place) -> None:
    """A second prompt on the same session shows its own calls and costs; the lines of both stay in the folder."""
    model = script.Script(
        script.turn(script.call("Bash", command="echo one"), usage={"input_tokens": 100, "output_tokens": 1}),
        script.turn(script.say("First."), usage={"input_tokens": 20, "output_tokens": 2}),
        script.turn(
            script.call("Bash", command="echo two"), usage={"input_tokens": 3000, "output_tokens": 4}
        ),
        script.turn(script.say("Second."), usage={"input_tokens": 400, "output_tokens": 8}),
    )
    with converse(ClaudeCode(script=model, permission_mode="bypassPermissions"), place) as conversation:
        first, second = conversation.send("Begin."), conversation.send("Go on.")

    assert (first.invalid, second.invalid) == ("", "")
    assert [[call.args["command"] for call in run.trajectory] for run in (first, second)] == [
        ["echo one"],
        ["echo two"],
    ]
    assert [(run.usage.input_tokens, run.usage.output_tokens) for run in (first, second)] == [
        (120, 3),
        (3400, 12),
    ]
    assert 0 < first.cost_usd < second.cost_usd
    assert [call.args["command"] for call in from_lines(place)] == ["echo one", "echo two"]


@pytest.mark.parametrize("background", [False, True])
def test_tokens_of_subagents_count(run_claude: RunScript, background: bool) -> None:
    """The usage of a run is that of its main agent and of all subagents, however many results the stream has."""
    inside = [script.turn(script.say("Found."), usage={"input_tokens": 1000})]
    model = script.Script(
        script.turn(script.delegate("general-purpose", "Look", inside), usage={"input_tokens": 10}),
        script.turn(script.say("Waiting."), usage={"input_tokens": 100}),
        *([script.turn(script.say("Done."), usage={"input_tokens": 1})] if background else []),
    )
    run = run_claude(script=model, background_agents=background)

    # A subagent that is quick reports back with the parent's second request, and then there is no third.
    third = background and not run.notes
    assert run.invalid == ""
    assert run.usage.input_tokens == (1111 if third else 1110)
    assert run.output == ("Done." if third else "Waiting.")


@pytest.mark.parametrize("way", ["installed", "plugin", "both"])
def test_installed_hooks_and_the_plugin_capture_alike(
    run_claude: RunScript, place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """Without the hooks of a run, those of the project or of the plugin write the same; together they count once."""
    project = tmp_path / "project"
    if way != "plugin":
        for change in install(project / ".claude" / "settings.json"):
            change.apply()
    project.mkdir(exist_ok=True)
    monkeypatch.setattr("roadtest.capture.hook_settings", lambda **_: {"hooks": {}})
    model = script.Script(
        [script.call("Bash", command="echo one"), script.call("NoSuchTool")],
        script.call("Bash", command="exit 4"),
        script.say("Done."),
    )
    plugins = [] if way == "installed" else [plugin.ROOT]
    run = run_claude(script=model, workspace=Workspace.copy(project), plugins=plugins, background_agents=True)

    assert run.invalid == ""
    expected = [("Bash", "ok", 0), ("NoSuchTool", "failed", None), ("Bash", "failed", 4)]
    assert [facts(call) for call in run.trajectory] == expected
    monkeypatch.setenv("ROADTEST_OUTPUT_DIR", str(place.output_dir))
    assert [facts(call) for call in get_tool_calls(place.test_id)] == expected
