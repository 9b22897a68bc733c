"""The scaffold that a new user starts from."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import roadtest


def test_the_first_eval_passes_as_it_is(tmp_path: Path) -> None:
    """What ``roadtest init`` writes passes on the real Claude Code at once, with no key."""
    assert roadtest("init", cwd=tmp_path).returncode == 0
    command = [sys.executable, "-m", "pytest", "evals"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    """Running it again keeps changed files and adds what is missing; .gitignore gets each line once."""
    (tmp_path / ".gitignore").write_text("dist/")
    roadtest("init", cwd=tmp_path)
    changed = tmp_path / "evals" / "test_first_eval.py"
    changed.write_text("mine")
    (tmp_path / "evals" / "fixtures" / "project" / "notes.md").unlink()
    done = roadtest("init", cwd=tmp_path)

    assert changed.read_text() == "mine"
    assert "kept     evals/test_first_eval.py" in done.stdout
    assert (tmp_path / "evals" / "fixtures" / "project" / "notes.md").exists()
    assert (tmp_path / ".gitignore").read_text().splitlines() == ["dist/", "test-output/", ".trees/"]


@pytest.mark.parametrize("name", ["a-file"])
def test_a_file_in_the_way_is_an_error(tmp_path: Path, name: str) -> None:
    """A FOLDER that is a file is refused before anything is written."""
    (tmp_path / name).write_text("")
    done = roadtest("init", name, cwd=tmp_path)
    assert done.returncode == 2
    assert not (tmp_path / ".gitignore").exists()
