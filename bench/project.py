"""The case that whole runs are measured with: a small project, three answers of the model, two calls of tools."""

from __future__ import annotations

import subprocess
from pathlib import Path

from bench import bare
from bench.environment import plain
from roadtest.installation import find_claude

PROMPT = "Find every TODO comment."
ANSWER = "There is one TODO, in src/main.py."
TURNS: bare.Turns = [
    [bare.call("Read", 1, file_path="src/main.py")],
    [bare.call("Read", 2, file_path="README.md")],
    [bare.say(ANSWER)],
]
FILES = {"src/main.py": "def main() -> None:\n    # TODO: greet\n    pass\n", "README.md": "# A project\n"}

_SUITE = """
from roadtest import Case, ClaudeCode, Workspace, call, describe_eval, scorers, script

describe_eval(
    "bench",
    data=[
        Case(f"case {{number:02}}", input={prompt!r}, expected=[call("Read"), call("Read")])
        for number in range({cases})
    ],
    task=ClaudeCode(
        workspace=Workspace.copy("project"),
        permission_mode="bypassPermissions",
        {model}
    ),
    scorers=[
        scorers.trajectory_match(mode="strict"),
        scorers.output_contains("one TODO"),
    ],
)
"""
_SCRIPT = """script=script.Script(
            script.call("Read", file_path="src/main.py"),
            script.call("Read", file_path="README.md"),
            script.say({answer!r}),
        ),"""


def lay_out(folder: Path) -> Path:
    """The project as a git repository, which is what a workspace is too."""
    for name, content in FILES.items():
        path = folder / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    project = folder / "project"
    identity = ["-c", "user.name=Bench", "-c", "user.email=bench@localhost"]
    for arguments in (["init", "-q"], ["add", "."], [*identity, "commit", "-q", "-m", "Start"]):
        subprocess.run(["git", *arguments], cwd=project, check=True)
    return project


def write_suite(folder: Path, *, cases: int, scripted: bool) -> None:
    (folder / "pytest.ini").write_text("[pytest]\n")
    model = _SCRIPT.format(answer=ANSWER) if scripted else ""
    (folder / "test_bench.py").write_text(_SUITE.format(prompt=PROMPT, cases=cases, model=model))


def roadtest_environment(**more: str) -> dict[str, str]:
    return {**plain(), "ROADTEST_CLAUDE": str(find_claude().path), "IS_SANDBOX": "1", **more}
