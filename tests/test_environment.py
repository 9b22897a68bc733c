"""The environment and the settings of a run: made from nothing, complete, and not to be led astray."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roadtest.errors import UsageError
from roadtest.isolation import (
    Workspace,
    engine_variables,
    merge_settings,
    open_world,
    protective_settings,
    settings_arguments,
)


def environment(base: Path, **options: Any) -> dict[str, str]:
    with open_world(
        Workspace.empty(), base=base, test_id="run/case", output_dir=base / "out", **options
    ) as world:
        return world.environment()


def test_nothing_but_the_path_comes_from_the_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two hosts with nothing in common give environments that differ only in places."""
    first = environment(tmp_path)
    for name in list(os.environ):
        if name not in ("PATH", "TMPDIR"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("CANARY", "sings")
    second = environment(tmp_path)
    assert first.keys() == second.keys()
    differing = {name for name in first if first[name] != second[name]}
    assert all(first[name].startswith("/") for name in differing)
    assert "CANARY" not in second


def test_the_agent_has_a_world_of_its_own(tmp_path: Path) -> None:
    """Home, configuration, XDG and temporary folders exist, are private, and are the run's own."""
    with open_world(
        Workspace.empty(), base=tmp_path, test_id="run/case", output_dir=tmp_path / "out"
    ) as world:
        env = world.environment()
        slot = str(world.home.parent)
        for name in ("HOME", "CLAUDE_CONFIG_DIR", "TMPDIR", "CLAUDE_CODE_TMPDIR", "XDG_RUNTIME_DIR"):
            assert env[name].startswith(slot)
            assert Path(env[name]).stat().st_mode & 0o777 == 0o700
        for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
            assert env[name].startswith(env["HOME"])
    assert not world.home.parent.exists()


def test_the_run_is_told_where_it_belongs(tmp_path: Path) -> None:
    """What the capture hook and other tools of the project rely on is set."""
    with open_world(
        Workspace.empty(), base=tmp_path, test_id="run/case", output_dir=tmp_path / "out"
    ) as world:
        env = world.environment()
    assert env["TEST_MODE"] == "true"
    assert env["TEST_RUN_ID"] == "run/case"
    assert env["ROADTEST_OUTPUT_DIR"] == str(tmp_path / "out")
    assert env["CLAUDE_PROJECT_DIR"] == str(world.path)
    assert env["SESSIONS_DISABLED"] == "true"
    assert (env["LANG"], env["LC_ALL"], env["TZ"]) == ("C.UTF-8", "C.UTF-8", "UTC")


def test_a_case_can_add_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values are given with env=, and taken from the host with pass_env= where it has them."""
    monkeypatch.setenv("FROM_HOST", "host")
    env = environment(tmp_path, env={"GIVEN": "given", "TZ": "Asia/Tokyo"}, pass_env=["FROM_HOST", "ABSENT"])
    assert (env["GIVEN"], env["FROM_HOST"], env["TZ"]) == ("given", "host", "Asia/Tokyo")
    assert "ABSENT" not in env


@pytest.mark.parametrize(
    "name", ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "TEST_RUN_ID", "CLAUDE_CONFIG_DIR"]
)
def test_a_case_cannot_lead_itself_astray(tmp_path: Path, name: str) -> None:
    """Credentials, the model's address and the run id are roadtest's to set."""
    with pytest.raises(UsageError, match=name):
        environment(tmp_path, env={name: "x"})
    with pytest.raises(UsageError, match=name):
        environment(tmp_path, pass_env=[name])


def test_no_credential_reaches_the_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever keys the host has, the environment has none: the server of roadtest keeps them."""
    for name in (
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
    ):
        monkeypatch.setenv(name, "planted")
    assert "planted" not in environment(tmp_path).values()


def test_settings_become_arguments() -> None:
    """Project settings by default, none, or the user's too; never the local ones."""
    assert settings_arguments("project") == ["--setting-sources", "project"]
    assert settings_arguments("none") == ["--setting-sources", ""]
    assert settings_arguments("user") == ["--setting-sources", "user,project"]


def test_the_users_settings_are_copied_without_credentials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Skills, agents, memory and settings come along on request; keys, helpers, history and plugins do not."""
    home = tmp_path / "claude"
    for name in (
        "CLAUDE.md",
        "skills/x/SKILL.md",
        "agents/a.md",
        ".credentials.json",
        "projects/p/s.jsonl",
        ".claude.json",
    ):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(name)
    settings = {
        "model": "opus",
        "env": {"ANTHROPIC_API_KEY": "x"},
        "apiKeyHelper": "cat key",
        "hooks": {"Stop": []},
    }
    (home / "settings.json").write_text(json.dumps(settings))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home))
    with open_world(
        Workspace.empty(), base=tmp_path, test_id="t", output_dir=tmp_path, settings="user"
    ) as world:
        found = {
            str(path.relative_to(world.config_dir)) for path in world.config_dir.rglob("*") if path.is_file()
        }
        assert found == {"CLAUDE.md", "skills/x/SKILL.md", "agents/a.md", "settings.json"}
        assert json.loads((world.config_dir / "settings.json").read_text()) == {
            "model": "opus",
            "hooks": {"Stop": []},
        }
    with open_world(Workspace.empty(), base=tmp_path, test_id="t", output_dir=tmp_path) as world:
        assert [path.name for path in world.config_dir.iterdir()] == [".claude.json"]


def test_memories_above_the_workspace_are_shut_out(tmp_path: Path) -> None:
    """Those that exist are named, in every folder above, with special characters matched by any character."""
    trees = tmp_path / "me (x)" / "[app]" / ".trees"
    for memory in ("CLAUDE.md", ".claude/rules/style.md", "1/CLAUDE.md"):
        (trees / memory).parent.mkdir(parents=True, exist_ok=True)
        (trees / memory).touch()
    (tmp_path / "me (x)" / "AGENTS.md").symlink_to("nowhere")
    above = [
        f"{tmp_path}/me ?x?/?app?/.trees/CLAUDE.md",
        f"{tmp_path}/me ?x?/?app?/.trees/.claude/rules/**",
        f"{tmp_path}/me ?x?/AGENTS.md",
    ]
    assert protective_settings(trees / "1", {})["claudeMdExcludes"] == above


JSON = st.recursive(
    st.integers(0, 9) | st.sampled_from("ab"),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)
SETTINGS = st.dictionaries(st.sampled_from("abc"), JSON, max_size=3)  # few names, so that they meet


@given(SETTINGS, SETTINGS, SETTINGS)
def test_merging_settings_is_associative(
    one: dict[str, Any], two: dict[str, Any], three: dict[str, Any]
) -> None:
    """Hooks and other settings can be merged in any grouping, and nothing is a neutral part."""
    merged = merge_settings(one, two, three)
    assert merge_settings(merge_settings(one, two), three) == merged
    assert merge_settings({}, one, {}) == one


def test_hooks_of_all_parts_run() -> None:
    """Lists are joined, so that no part's hooks replace another's; of plain values the last wins."""
    ours = {"hooks": {"PreToolUse": [{"matcher": "*"}]}, "model": "a"}
    theirs = {"hooks": {"PreToolUse": [{"matcher": "Bash"}], "Stop": []}, "model": "b"}
    assert merge_settings(ours, theirs) == {
        "hooks": {"PreToolUse": [{"matcher": "*"}, {"matcher": "Bash"}], "Stop": []},
        "model": "b",
    }


def test_the_reference_names_every_variable(tmp_path: Path) -> None:
    """The page on the child's environment and the environment itself have the same names."""
    page = (Path(__file__).parent.parent / "docs/reference/environment.md").read_text()
    table = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    documented = {name.strip("` ") for cell in table for name in cell.split(",")}
    assert documented == {*environment(tmp_path), *engine_variables(), "IS_SANDBOX"}
