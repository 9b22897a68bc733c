"""Does the parent delegate to the right subagent, and what does the subagent do?"""

from roadtest import Case, ClaudeCode, Workspace, call, describe_eval, scorers

describe_eval(
    "review",
    data=[
        Case(
            "delegates to the reviewer",
            input="Have src/store.py reviewed",
            expected=[call("Agent", subagent_type="reviewer", inside=[call("Read")])],
        ),
    ],
    task=ClaudeCode(
        workspace=Workspace.copy("todo-app"),
        model="claude-sonnet-4-5",
        allowed_tools=["Agent", "Read", "Grep"],
        max_turns=5,
    ),
    scorers=[scorers.trajectory_match(), scorers.delegated_to("reviewer"), scorers.only_changes()],
)
