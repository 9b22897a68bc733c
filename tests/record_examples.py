"""Record the cassettes of the example evals through the real Claude Code: ``python -m tests.record_examples``.

The model is a scripted upstream on loopback, not the live API; ``examples/README.md`` says so to its readers.
"""

from __future__ import annotations

import os
import subprocess
import sys

from roadtest.cli.demo import EXAMPLES
from roadtest.script import Script, call, delegate, say
from roadtest.testing import upstream

TODOS = """\
Three TODO comments:
- src/main.py:13: number the items
- src/store.py:6: an unreadable file should not look like an empty list
- src/store.py:11: write to a temporary file first"""

REVIEW = """\
- load() returns whatever JSON the file holds, also when it is not a list.
- save() is not atomic: a crash in the middle leaves half a file."""

MODELS = {
    "find todos": Script(
        [say("I'll use the todo-finder skill."), call("Skill", skill="todo-finder")],
        call("Grep", pattern="TODO", path="{{workspace}}", output_mode="content", **{"-n": True}),
        say(TODOS),
    ),
    "explain a file": Script(
        call("Read", file_path="{{workspace}}/src/main.py"),
        say("It adds its arguments to the to-do list in todo.json, then prints the list."),
    ),
    "delegates": Script(
        delegate(
            "reviewer",
            "Review src/store.py",
            [call("Read", file_path="{{workspace}}/src/store.py"), say(REVIEW)],
        ),
        say("The reviewer found two problems, both in how the file is read and written."),
    ),
}


def main() -> None:
    for name, model in MODELS.items():
        with upstream(model) as api:
            env = {**os.environ, "ROADTEST_UPSTREAM": api.url, "ANTHROPIC_API_KEY": "scripted"}
            command = [
                sys.executable,
                "-m",
                "roadtest",
                "demo",
                "--",
                "-k",
                name.replace(" ", " and "),
                "--cassettes=rewrite",
            ]
            subprocess.run(command, env=env, check=True)
            assert not api.unplayed, api.unplayed
    print(f"recorded into {EXAMPLES / 'cassettes'}")  # noqa: T201


if __name__ == "__main__":
    main()
