"""Scorers on a run of the real Claude Code, while its workspace is there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from roadtest import scorers, script
from roadtest.calling import call_by_name, name_of
from roadtest.claude_code import ClaudeCode
from roadtest.cli.demo import EXAMPLES
from roadtest.isolation import Workspace
from roadtest.matching import call
from roadtest.place import Place
from roadtest.results import Run
from roadtest.runner import converse
from roadtest.scorers.messages import texts_of_turns, to_messages

MODEL = script.Script(
    [script.say("I use the skill."), script.call("Skill", skill="todo-finder")],
    [
        script.say("I look in two places."),
        script.call("Grep", pattern="TODO", path="{{workspace}}/src"),
        script.call("Read", file_path="{{workspace}}/src/store.py"),
    ],
    script.call("Bash", command="rm -rf src"),
    script.delegate(
        "reviewer",
        "Review",
        [script.call("Read", file_path="{{workspace}}/src/main.py"), script.say("Fine.")],
    ),
    script.call("Write", file_path="{{workspace}}/todo.md", content="- one\n"),
    script.say('{"todos": 1}'),
)

EXPECTED = [
    call("Skill", skill="todo-finder"),
    call("Grep", pattern="TODO", path=Path("src")),
    call("Read", file_path=Path("src/store.py")),
    call("Bash", command=re.compile("rm")).with_status("denied"),
    call("Agent", subagent_type="reviewer", inside=[call("Read", file_path=Path("src/main.py"))]),
    call("Write", file_path=Path("todo.md")).with_status("ok"),
]

GOOD = [
    scorers.trajectory_match(),
    scorers.trajectory_match(mode="subset", args="superset"),
    scorers.calls("Read", times=2),
    scorers.tools_used("Grep", "Write"),
    scorers.tools_in_order("Skill", "Grep", "Agent", "Write"),
    scorers.never_calls("Edit", call("Bash").with_status("ok")),
    scorers.prefers("Grep", over="Bash grep"),
    scorers.completed(),
    scorers.output_json({"type": "object", "required": ["todos"]}),
    scorers.file_contains("todo.md", "- one"),
    scorers.only_changes("*.md"),
    scorers.command_succeeds("test -f todo.md"),
    scorers.skill_used("todo-finder"),
    scorers.delegated_to("reviewer"),
    scorers.max_calls(7),
    scorers.max_turns(20),
    scorers.max_cost(10),
    scorers.max_duration(120),
    scorers.no_loops(),
]
BAD = [
    scorers.trajectory_match(mode="strict", args="exact"),
    scorers.never_calls("Bash"),
    scorers.skill_not_used("todo-finder"),
    scorers.only_changes("src/**"),
    scorers.file_contains("todo.md", "- two"),
    scorers.command_succeeds("test -f done.md"),
    scorers.max_calls(3),
]


def judge(scorer: Any, run: Run) -> float:
    plain = [call(str(one.tool)) for one in EXPECTED]
    expected = plain if name_of(scorer) == "agentevals_match" else EXPECTED
    values = {
        "input": "Go",
        "output": run.output,
        "trajectory": run.trajectory,
        "run": run,
        "expected": expected,
    }
    return float(call_by_name(scorer, {**values, "workspace": run.workspace}).value)


def test_scorers_agree_with_what_happened(place: Place) -> None:
    """Calls, skill, denial, subagent, output, files and limits of one real run are judged as they were."""
    task = ClaudeCode(
        workspace=Workspace.copy(EXAMPLES / "todo-app"),
        permission_mode="bypassPermissions",
        script=MODEL,
        timeout=90,
    )
    with converse(task, place) as conversation:
        run = conversation.send("Go")
        assert run.invalid == ""
        # AgentEvals takes over a second to load, which whoever only collects this file can do without.
        theirs = scorers.agentevals_match(trajectory_match_mode="superset", tool_args_match_mode="ignore")
        found = {name_of(scorer): judge(scorer, run) for scorer in [*GOOD, theirs]}
        assert found == dict.fromkeys(found, 1.0), str(
            run.trajectory.matches(EXPECTED, workspace=run.workspace)
        )
        refused = {name_of(scorer): judge(scorer, run) for scorer in BAD}
        assert refused == dict.fromkeys(refused, 0.0)

    messages = to_messages(run.trajectory, said=texts_of_turns(run.messages))
    turns = [message for message in messages if message["role"] == "assistant"]
    assert [len(turn["tool_calls"]) for turn in turns] == [1, 2, 1, 1, 1, 1]
    assert [turn["content"] for turn in turns[:2]] == ["I use the skill.", "I look in two places."]
    assert turns[4]["name"] == "reviewer"


def test_a_real_mismatch_is_explained(place: Place) -> None:
    """The explanation names the call that was made instead of the expected one, with the argument that differs."""
    model = script.Script(script.call("Bash", command="echo hello"), script.say("Done."))
    with converse(
        ClaudeCode(permission_mode="bypassPermissions", script=model, timeout=60), place
    ) as conversation:
        run = conversation.send("Go")
    found = run.trajectory.matches([call("Bash", command="echo bye")], mode="superset")
    ((_, actual, (difference,)),) = found.wrong_args
    assert actual is run.trajectory[0]
    assert (difference.path, difference.expected, difference.actual) == ("command", "echo bye", "echo hello")
