from __future__ import annotations

from pathlib import Path

import pytest

from roadtest.cassette.fingerprint import context_differences, fingerprint

CONTEXT = [
    "CLAUDE.md",
    "CLAUDE.local.md",
    "src/deep/CLAUDE.md",
    "AGENTS.md",
    ".mcp.json",
    ".claude/settings.json",
    ".claude/skills/greet/SKILL.md",
    ".claude/skills/greet/scripts/run.sh",
    ".claude/agents/reviewer.md",
    ".claude/commands/fix.md",
    "docs/style.md",
]
OTHER = ["src/main.py", "node_modules/x/CLAUDE.md", ".git/CLAUDE.md", "docs/other.md", "src/.mcp.json"]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    for name in [*CONTEXT, *OTHER]:
        path = tmp_path / "ws" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"This is {name}.\n")
    (tmp_path / "ws" / "CLAUDE.md").write_text(
        "Follow @docs/style.md, not me@docs/other.md nor `@docs/other.md`.\n"
    )
    return tmp_path / "ws"


def test_context_files_are_found(workspace: Path) -> None:
    """Memories, what they import, skills, agents, commands, settings and MCP files are context; the rest is not."""
    assert sorted(fingerprint(workspace).files) == sorted(CONTEXT)


@pytest.mark.parametrize("name", CONTEXT)
def test_a_changed_file_is_named(workspace: Path, name: str) -> None:
    """Editing, adding or removing a context file says which one."""
    before = fingerprint(workspace)
    path = workspace / name
    text = path.read_text()
    path.write_text(text + "More.\n")
    assert list(context_differences(before, fingerprint(workspace))) == [f"{name} changed"]
    path.write_text(text)
    assert list(context_differences(before, fingerprint(workspace))) == []
    if name != "CLAUDE.md":
        path.unlink()
        assert list(context_differences(before, fingerprint(workspace))) == [f"{name} is gone"]
        assert list(context_differences(fingerprint(workspace), before)) == [f"{name} is new"]


def test_other_files_do_not_matter(workspace: Path) -> None:
    """Editing what the model is not told by itself makes nothing stale."""
    before = fingerprint(workspace)
    for name in OTHER:
        (workspace / name).write_text("Changed.\n")
    assert list(context_differences(before, fingerprint(workspace))) == []


def test_plugins_are_context(tmp_path: Path) -> None:
    """The files of a plugin are told by its name."""
    skill = tmp_path / "plug" / "skills" / "x" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("One.")
    before = fingerprint(tmp_path / "ws", plugins=[tmp_path / "plug"])
    skill.write_text("Two.")
    changes = context_differences(before, fingerprint(tmp_path / "ws", plugins=[tmp_path / "plug"]))
    assert list(changes) == ["plugin plug: skills/x/SKILL.md changed"]


def test_prompt_and_options_are_context(tmp_path: Path) -> None:
    """Another prompt, model or option is told, short values as they are and long ones not at all."""
    before = fingerprint(
        tmp_path, prompt="One", options={"model": "a", "tools": ("Bash",), "system": "x" * 500, "n": None}
    )
    after = fingerprint(
        tmp_path, prompt="Two", options={"model": "b", "tools": ["Bash"], "system": "y" * 500}
    )
    changes = list(context_differences(before, after))
    assert changes[0] == "the prompt changed"
    assert changes[1] == 'option model changed from "a" to "b"'
    assert changes[2].startswith('option system changed from "sha256:')
    assert len(changes) == 3
