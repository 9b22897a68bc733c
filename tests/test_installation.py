"""Finding Claude Code."""

from __future__ import annotations

from pathlib import Path

import pytest

from roadtest.errors import ClaudeNotFound
from roadtest.installation import find_claude


@pytest.fixture
def fake(tmp_path: Path) -> Path:
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return program


def test_an_explicit_setting_comes_first(fake: Path, tmp_path: Path) -> None:
    """An explicit path wins over the environment and PATH."""
    found = find_claude(fake, {"ROADTEST_CLAUDE": str(tmp_path), "PATH": ""})
    assert (found.path, found.source) == (fake, "setting")


def test_the_variable_comes_before_path(fake: Path) -> None:
    """ROADTEST_CLAUDE wins over PATH."""
    found = find_claude(None, {"ROADTEST_CLAUDE": str(fake), "PATH": ""})
    assert (found.path, found.source) == (fake, "ROADTEST_CLAUDE")


def test_path_comes_before_the_wheel(fake: Path) -> None:
    """A claude on PATH wins over the one in the wheel."""
    found = find_claude(None, {"PATH": str(fake.parent)})
    assert (found.path, found.source) == (fake, "PATH")


def test_the_wheel_comes_last() -> None:
    """Without any of them the binary inside the claude-agent-sdk wheel is used."""
    found = find_claude(None, {"PATH": ""})
    assert found.source == "claude-agent-sdk"
    assert found.path.name == "claude"


@pytest.mark.parametrize("kind", ["missing", "not executable", "a folder"])
def test_a_named_program_that_cannot_run_is_an_error(tmp_path: Path, kind: str) -> None:
    """A path that was asked for by name is never silently replaced by another one."""
    wanted = tmp_path / "claude"
    if kind == "not executable":
        wanted.write_text("")
    elif kind == "a folder":
        wanted.mkdir()
    for explicit, variable, who in (
        (wanted, "", "The setting roadtest_claude"),
        (None, str(wanted), "ROADTEST_CLAUDE"),
        (wanted, str(wanted), "ROADTEST_CLAUDE"),
    ):
        with pytest.raises(ClaudeNotFound, match=f"^{who} names .*, which is not a program that can be run"):
            find_claude(explicit, {"ROADTEST_CLAUDE": variable, "PATH": ""})


def test_no_claude_at_all_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any Claude Code the error says how to install it."""
    monkeypatch.setattr("roadtest.installation.importlib.util.find_spec", lambda _name: None)
    with pytest.raises(ClaudeNotFound, match=r"roadtest\[claude\]"):
        find_claude(None, {"PATH": ""})
