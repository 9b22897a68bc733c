"""Scorers of the workspace see what the agent left behind, and run code there with care."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from roadtest import scorers
from roadtest.errors import UsageError
from roadtest.matching import call
from tests.calls_made import made
from tests.scoring import SEARCH, passes, score


def test_trajectory_match_knows_the_workspace() -> None:
    """$path means the file in the workspace of the run."""
    scorer = scorers.trajectory_match(mode="superset", expected=[call("Read", file_path=Path("store.py"))])
    assert passes(scorer, trajectory=SEARCH, workspace=Path("/w/src"))
    assert not passes(scorer, trajectory=SEARCH, workspace=Path("/w"))


@pytest.mark.parametrize(
    ("command", "runs"),
    [
        ("grep -r x", True),
        ("ls | grep x", True),
        ("cd a && /usr/bin/grep x", True),
        ("LANG=C grep x", True),
        ("(grep x)", True),
        ("echo grep", False),
        ("zgrep x", False),
        ("grep-all x", False),
        ("cat grep.txt", False),
    ],
)
def test_a_program_is_recognised_where_a_command_starts(command: str, runs: bool) -> None:
    """Bash grep is a command that runs grep, not one that mentions it."""
    scorer = scorers.prefers("Grep", over="Bash grep", partial=True)
    found = score(scorer, trajectory=[made("Grep"), made("Bash", command=command)])
    assert found.details["other"] == int(runs)


def test_file_contains(tmp_path: Path) -> None:
    """The final file has each of the texts and patterns; without any it has to exist."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.py").write_text("def main():\n    return 1\n")
    assert passes(scorers.file_contains("src/a.py", "def main", re.compile(r"return \d")), workspace=tmp_path)
    assert passes(scorers.file_contains("src/a.py"), workspace=tmp_path)
    assert not passes(scorers.file_contains("src/b.py"), workspace=tmp_path)
    failed = score(scorers.file_contains("src/a.py", "def main", "return 2"), workspace=tmp_path)
    assert failed.reason == "src/a.py contains 1 of 2 texts, not 'return 2'"


def test_file_contains_does_not_follow_links_out(tmp_path: Path) -> None:
    """A link that leads out of the workspace is no file of it."""
    (tmp_path / "secret").write_text("x")
    (tmp_path / "w").mkdir()
    (tmp_path / "w/link").symlink_to(tmp_path / "secret")
    assert (
        score(scorers.file_contains("link", "x"), workspace=tmp_path / "w").reason
        == "link leads out of the workspace"
    )


@pytest.mark.parametrize(
    ("globs", "passed"),
    [
        (["src/a.py", "src/deep/b.py"], True),
        (["src/**"], True),
        (["src/**/*.py"], True),
        (["**/*.py"], True),
        (["src/"], True),
        (["src/*.py"], False),
        (["*.py"], False),
        ([], False),
    ],
)
def test_only_changes(globs: list[str], passed: bool) -> None:
    """No file is changed but those that a glob names; a star stays within a folder."""
    assert (
        passes(scorers.only_changes(*globs), about={"changed_files": ["src/a.py", "src/deep/b.py"]}) is passed
    )


def test_only_changes_without_globs_wants_no_change() -> None:
    """Nothing changed, nothing to complain about; what changed is named."""
    assert passes(scorers.only_changes(), about={"changed_files": []})
    assert (
        score(scorers.only_changes(), about={"changed_files": ["a"]}).reason
        == "a changed; allowed is no file"
    )


def test_command_succeeds(tmp_path: Path) -> None:
    """The command runs in the workspace; its exit code decides and its output is the reason."""
    (tmp_path / "test_it.py").write_text("def test_it():\n    assert 1 + 1 == 2\n")
    pytest_quietly = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    assert passes(scorers.command_succeeds(pytest_quietly), workspace=tmp_path)
    failed = score(scorers.command_succeeds("sh -c 'pwd; echo oops >&2; exit 3'"), workspace=tmp_path)
    assert failed.value == 0.0
    assert failed.reason.splitlines() == [
        "`sh -c 'pwd; echo oops >&2; exit 3'` ended with exit code 3",
        str(tmp_path),
        "oops",
    ]


def test_command_succeeds_sees_no_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code that an agent wrote gets an environment from an allow-list, and what the test gives it."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "planted")
    scorer = scorers.command_succeeds(["sh", "-c", "env; exit 1"], env={"MODE": "ci"})
    names = {line.partition("=")[0] for line in score(scorer, workspace=tmp_path).reason.splitlines()[1:]}
    assert "MODE" in names
    assert "ANTHROPIC_API_KEY" not in names
    assert names <= {
        "PATH",
        "HOME",
        "TMPDIR",
        "LANG",
        "LC_ALL",
        "TZ",
        "PYTHONDONTWRITEBYTECODE",
        "MODE",
        "PWD",
        "SHLVL",
        "_",
        "OLDPWD",
    }


def test_command_succeeds_ends_what_takes_too_long(tmp_path: Path) -> None:
    """A command that does not end is ended with all its children, and has failed."""
    scorer = scorers.command_succeeds(["sh", "-c", "echo $$ > pid; sleep 600 & wait"], timeout=0.5)
    assert score(scorer, workspace=tmp_path).reason.startswith("`sh -c")
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_a_command_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    """A misspelt command says nothing about the agent."""
    with pytest.raises(Exception, match="could not be started"):
        score(scorers.command_succeeds("no-such-command-anywhere"), workspace=tmp_path)


@pytest.mark.parametrize("scorer", [scorers.file_contains("a"), scorers.command_succeeds("true")])
def test_no_workspace_is_an_error(scorer: Callable[..., Any], tmp_path: Path) -> None:
    """Without a workspace nothing can be said of it."""
    with pytest.raises(UsageError, match="this run has none"):
        score(scorer)
    with pytest.raises(UsageError, match="no longer there"):
        score(scorer, workspace=tmp_path / "gone")


def test_unknown_changes_are_an_error() -> None:
    """A run that was not watched did not change nothing."""
    with pytest.raises(UsageError, match="does not say"):
        score(scorers.only_changes())


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", ""])
def test_paths_stay_inside_the_workspace(path: str) -> None:
    """A path that leads out of the workspace raises when the scorer is built."""
    with pytest.raises(UsageError, match="not a path inside the workspace"):
        scorers.file_contains(path)
    with pytest.raises(UsageError, match="not a path inside the workspace"):
        scorers.only_changes(path)
