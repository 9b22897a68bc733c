"""The same cases over several options, and the first choice of tools alone, on the real Claude Code."""

from __future__ import annotations

import pytest

from roadtest.record import find_run, read_record


def test_variants_run_the_same_cases_with_other_options(pytester: pytest.Pytester) -> None:
    """Each variant replaces options or takes files away, has node ids of its own, and is compared in the summary."""
    template = pytester.mkdir("project")
    skill = template / ".claude" / "skills" / "todo-finder"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: todo-finder\ndescription: finds todos\n---\nUse Grep.\n")
    pytester.makepyfile(
        test_it="""
        from roadtest import Case, ClaudeCode, Workspace, describe_eval, script

        describe_eval(
            "skill", data=[Case("one", "Find todos")],
            task=ClaudeCode(
                workspace=Workspace.copy("project"), permission_mode="bypassPermissions",
                script=script.Script(script.call("Bash", command="find .claude -type f"), script.say("Done.")),
            ),
            scorers=[lambda trajectory: "SKILL.md" in trajectory[0].output["stdout"]],
            variants={"with": {"model": "claude-sonnet-4-5"}, "without": {"without": [".claude/skills/todo-finder"]}},
        )
        """
    )
    result = pytester.runpytest("-v", "--agent-model=claude-haiku-4-5")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*one?with? PASSED*", "*one?without? FAILED*", "*without against with*"])
    first, second = read_record(find_run("", pytester.path / "test-output")).cases
    assert (first.variant, first.runs[0].model) == ("with", "claude-sonnet-4-5")
    assert (second.variant, second.runs[0].model) == ("without", "claude-haiku-4-5")


def test_a_callable_task_is_told_its_variant(pytester: pytest.Pytester) -> None:
    """Variants of a custom task reach it by name."""
    pytester.makepyfile(
        test_it="""
        from roadtest import Case, describe_eval
        describe_eval("suite", data=[Case("one", "x")], task=lambda text, variant: variant,
                      scorers=[lambda output: output == "good"], variants={"good": {}, "bad": {}}, trials=2)
        """
    )
    result = pytester.runpytest("-v")
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(["*one?good-trial-2? PASSED*", "*one?bad-trial-1? FAILED*"])


def test_routing_only_denies_what_was_chosen(pytester: pytest.Pytester) -> None:
    """The first tools that the model chooses are captured and denied, nothing runs, and no second answer is asked for."""
    pytester.makepyfile(
        test_it="""
        from roadtest import Case, ClaudeCode, call, describe_eval, scorers, script

        turns = [
            [script.call("Bash", command="touch made"), script.delegate("general-purpose", "Look", [script.say("Ok")])],
            script.say("Never asked for."),
        ]
        describe_eval(
            "routing", data=[Case("one", "Go", expected=[call("Bash"), call("Agent")])],
            task=ClaudeCode(permission_mode="bypassPermissions", script=script.Script(*turns)),
            routing_only=True,
            scorers=[
                scorers.trajectory_match(),
                scorers.delegated_to("general-purpose"),
                lambda trajectory: {one.status for one in trajectory} == {"denied"},
                lambda run: run.exit_code == 0 and run.diff == "" and "Never" not in run.output,
                lambda run: any("lane main: 1 of 2 turns were not asked for" in note for note in run.notes),
            ],
        )
        """
    )
    pytester.runpytest().assert_outcomes(passed=1)
