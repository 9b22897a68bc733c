"""The fuzzy rules accept what means the same and refuse what does not."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roadtest.matching import call, match
from roadtest.scorers import fuzzy
from tests.calls_made import made

RULES = {"Grep": fuzzy.grep, "Glob": fuzzy.glob, "Read": fuzzy.read, "Bash": fuzzy.bash}


def accepts(tool: str, actual: dict[str, Any], expected: dict[str, Any]) -> bool:
    return bool(match([made(tool, **actual)], [call(tool, expected)], overrides=RULES))


@pytest.mark.parametrize(
    ("tool", "actual", "expected"),
    [
        (
            "Grep",
            {"pattern": r"\bTODO\b", "path": "/w/src", "output_mode": "content"},
            {"pattern": "TODO", "path": "src"},
        ),
        ("Grep", {"pattern": "(?i)todo"}, {"pattern": "TODO"}),
        ("Grep", {"pattern": r"foo\(", "glob": "**/*.py"}, {"pattern": "foo(", "glob": "*.py"}),
        ("Grep", {"pattern": "TODO:"}, {"pattern": "TODO"}),
        ("Glob", {"pattern": "**/*.py"}, {"pattern": "*.py"}),
        ("Glob", {"pattern": "src/**/*.py"}, {"pattern": "**/*.py", "path": "src"}),
        ("Glob", {"pattern": "./src/**/*.py", "path": "."}, {"pattern": "src/**/*.py"}),
        ("Read", {"file_path": "/w/src/a.py", "limit": 10}, {"file_path": "src/a.py"}),
        ("Read", {"file_path": "./a.py"}, {"file_path": "a.py"}),
        ("Bash", {"command": "pytest  -q   tests"}, {"command": "pytest tests -q"}),
        ("Bash", {"command": 'grep -n -r "TODO" src'}, {"command": "grep -r -n TODO src"}),
        ("Bash", {"command": "cd /w && pytest -q", "description": "Run tests"}, {"command": "pytest -q"}),
        ("Bash", {"command": "/usr/bin/git status; ls"}, {"command": "git status"}),
        ("Bash", {"command": "git add .\ngit commit -m 'x y'"}, {"command": 'git commit -m "x y"'}),
        ("Bash", {"command": "ls"}, {"command": re.compile("^ls")}),
        ("Read", {"file_path": "a", "offset": 5}, {"file_path": "a", "offset": 5}),
    ],
)
def test_what_means_the_same_is_accepted(tool: str, actual: dict[str, Any], expected: dict[str, Any]) -> None:
    """Other ways to write the same search, file or command."""
    assert accepts(tool, actual, expected)


@pytest.mark.parametrize(
    ("tool", "actual", "expected"),
    [
        ("Grep", {"pattern": "FIXME"}, {"pattern": "TODO"}),
        ("Grep", {"pattern": "TODO"}, {"pattern": "TODO", "path": "src"}),
        ("Grep", {"pattern": "TODO", "path": "lib"}, {"pattern": "TODO", "path": "src"}),
        ("Grep", {"pattern": "TODO", "path": "mysrc"}, {"pattern": "TODO", "path": "src"}),
        ("Glob", {"pattern": "*.js"}, {"pattern": "*.py"}),
        ("Glob", {"pattern": "lib/**/*.py"}, {"pattern": "**/*.py", "path": "src"}),
        ("Glob", {"path": "src"}, {"pattern": "*.py"}),
        ("Read", {"file_path": "/w/src/b.py"}, {"file_path": "src/a.py"}),
        ("Read", {"file_path": "/w/env"}, {"file_path": ".env"}),
        ("Read", {"file_path": "a"}, {"file_path": "a", "offset": 5}),
        ("Read", {"file_path": 3}, {"file_path": "3"}),
        ("Bash", {"command": "pytest"}, {"command": "pytest -q"}),
        ("Bash", {"command": "echo pytest -q"}, {"command": "pytest -q"}),
        ("Bash", {"command": "rm -rf src"}, {"command": "rm -rf lib"}),
        ("Bash", {"command": "mv a b"}, {"command": "mv b a"}),
        ("Bash", {}, {"command": "ls"}),
    ],
)
def test_what_means_something_else_is_refused(
    tool: str, actual: dict[str, Any], expected: dict[str, Any]
) -> None:
    """Another search, file or command."""
    assert not accepts(tool, actual, expected)


KEYS = {"Grep": "pattern", "Glob": "pattern", "Read": "file_path", "Bash": "command"}


@settings(deadline=None)
@given(
    st.sampled_from(sorted(KEYS)), st.text(st.sampled_from("ab /*.'\"\\-|&;()$^\n"), min_size=1, max_size=12)
)
def test_everything_means_the_same_as_itself(tool: str, text: str) -> None:
    """A rule accepts the very same arguments, however odd they are."""
    assert accepts(tool, {KEYS[tool]: text}, {KEYS[tool]: text})
