"""``roadtest init``: a first eval that passes, to be changed into one's own."""

from __future__ import annotations

from pathlib import Path

import click

from roadtest.errors import UsageError

EVAL = '''\
"""A first eval. It passes as it is; change it into one of your own."""

from roadtest import Case, ClaudeCode, Workspace, call, describe_eval, scorers, script

# The project that the agent works in: each case gets a fresh copy. Your own repository: Workspace.worktree().
PROJECT = Workspace.copy("fixtures/project")

describe_eval(
    "first eval",
    data=[
        Case(
            "reads the notes",
            input="What is in notes.md?",
            expected=[call("Read", file_path={"$path": "notes.md"})],
        ),
    ],
    task=ClaudeCode(
        workspace=PROJECT,
        allowed_tools=["Read", "Grep", "Glob"],
        max_turns=5,
        # A model played by hand: no key, no cost. Delete this line to use the real one, then record its answers once
        # with `pytest --cassettes=record`; from then on plain `pytest` replays them.
        script=script.Script(script.call("Read", file_path="{{workspace}}/notes.md"), script.say("Milk and bread.")),
    ),
    scorers=[
        scorers.trajectory_match(mode="superset"),
        scorers.never_calls("Write", "Edit", "Bash"),
        scorers.output_contains("bread"),
    ],
)
'''

FILES = {
    "test_first_eval.py": EVAL,
    "fixtures/project/notes.md": "- milk\n- bread\n",
}
IGNORED = ("test-output/", ".trees/")


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), default="evals")
def init(folder: Path) -> None:
    """Write a first eval into FOLDER (default: evals), with everything it needs.

    Never overwrites a file; running it again adds only what is missing.
    """
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is not a folder.", hint="roadtest init SOMEWHERE-ELSE")
    for name, text in FILES.items():
        _write(folder / name, text)
    _ignore(Path(".gitignore"))
    click.echo(f"\nNext:  pytest {folder}\nThen:  roadtest show    (what the agent did)")


def _write(path: Path, text: str) -> None:
    if path.exists():
        click.echo(f"kept     {path}")
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    click.echo(f"wrote    {path}")


def _ignore(path: Path) -> None:
    """Add what runs leave behind to .gitignore, each line once."""
    text = path.read_text() if path.exists() else ""
    missing = [line for line in IGNORED if line not in text.splitlines()]
    if missing:
        separator = "" if not text or text.endswith("\n") else "\n"
        path.write_text(text + separator + "".join(f"{line}\n" for line in missing))
        click.echo(f"ignored  {', '.join(missing)} in {path}")
