"""Does the skill fire on the right prompts, stay quiet on the wrong ones, and use the right tools?"""

from roadtest import Case, ClaudeCode, Workspace, call, describe_eval, scorers

AGENT = ClaudeCode(
    workspace=Workspace.copy("todo-app"),
    model="claude-sonnet-4-5",
    allowed_tools=["Skill", "Read", "Grep", "Glob"],
    max_turns=5,
)

describe_eval(
    "todo-finder fires",
    data=[
        Case(
            "find todos",
            input="Find every TODO comment",
            expected=[call("Skill", skill="todo-finder"), call("Grep", pattern="TODO")],
        ),
    ],
    task=AGENT,
    scorers=[
        scorers.trajectory_match(mode="superset", args="superset"),
        scorers.never_calls("Write", "Edit", "Bash"),
        scorers.output_contains("store.py", "main.py"),
    ],
)

describe_eval(
    "todo-finder stays quiet",
    data=[Case("explain a file", input="What does src/main.py do?", expected=[call("Read")])],
    task=AGENT,
    scorers=[scorers.skill_not_used("todo-finder"), scorers.trajectory_match(mode="superset")],
)
