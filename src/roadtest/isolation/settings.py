"""Which settings of Claude Code take part in a run, and what they cannot change."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from roadtest.isolation.environment import PINNED

Settings = Literal["project", "none", "user"]

_SOURCES: dict[Settings, str] = {"project": "project", "none": "", "user": "user,project"}
_MEMORIES = ("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", ".claude/CLAUDE.md", ".claude/rules/**")
_PERSONAL = ("CLAUDE.md", "agents", "commands", "output-styles", "rules", "skills")
_WITHHELD = frozenset(
    {
        "apiKeyHelper",
        "awsAuthRefresh",
        "awsCredentialExport",
        "enabledPlugins",
        "env",
        "extraKnownMarketplaces",
        "gcpAuthRefresh",
        "otelHeadersHelper",
    }
)
"""Settings that hold or fetch credentials, lead the run elsewhere, or need what is not copied."""
FIRST_NOTES = {
    "firstStartTime": "2024-01-01T00:00:00.000Z",
    "machineID": "0" * 64,
    "migrationVersion": 15,
    "userID": "0" * 64,
}
"""What Claude Code notes about itself when it first starts. A newer one adds what it misses."""


def settings_arguments(settings: Settings) -> list[str]:
    """The arguments that make Claude Code read these settings and no others."""
    return ["--setting-sources", _SOURCES[settings]]


def protective_settings(workspace: Path, environment: Mapping[str, str]) -> dict[str, Any]:
    """Settings for ``--settings``, the source that wins, to keep the run in its world.

    The ``env`` of a project's settings replaces variables of the process: without a pin it could send the requests past the
    cassette or the captured calls elsewhere. And Claude Code reads the memories of every folder above the workspace,
    which belong to whoever works there. It looks at the disk anew for every pattern that it is given, so it gets only those
    that there is something to keep out for.
    """
    pins = {"env": {name: environment[name] for name in PINNED if name in environment}}
    foreign = list(_memories_above(workspace))
    return pins | ({"claudeMdExcludes": foreign} if foreign else {})


def merge_settings(*parts: Mapping[str, Any]) -> dict[str, Any]:
    """One settings object out of several: objects are merged, lists joined, and of anything else the last wins."""
    merged: dict[str, Any] = {}
    for part in parts:
        for name, value in part.items():
            before = merged.get(name)
            if isinstance(before, dict) and isinstance(value, Mapping):
                merged[name] = merge_settings(before, value)
            elif isinstance(before, list) and isinstance(value, list):
                merged[name] = [*before, *value]
            else:
                merged[name] = value
    return merged


def copy_user_settings(source: Path, config_dir: Path) -> None:
    """Give a run the user's settings, memory, skills, agents and commands: copies, and never a credential."""
    for name in _PERSONAL:
        if (source / name).is_dir():
            shutil.copytree(source / name, config_dir / name, symlinks=False, ignore_dangling_symlinks=True)
        elif (source / name).is_file():
            shutil.copyfile(source / name, config_dir / name)
    if (source / "settings.json").is_file():
        settings = json.loads((source / "settings.json").read_bytes())
        kept = {name: value for name, value in settings.items() if name not in _WITHHELD}
        (config_dir / "settings.json").write_text(json.dumps(kept))


def settle_in(config_dir: Path) -> None:
    """Spare Claude Code the chores of a first start: it would write its notes eight times, and wait for the disk."""
    (config_dir / ".claude.json").write_text(json.dumps(FIRST_NOTES))


def _memories_above(workspace: Path) -> Iterator[str]:
    for folder in workspace.parents:
        for name in _MEMORIES:
            if os.path.lexists(folder / name.removesuffix("/**")):
                yield f"{_as_pattern(folder)}/{name}".replace("//", "/")


def _as_pattern(folder: Path) -> str:
    """The patterns know no escape, so a character that means something in them is matched by any one character."""
    return "".join("?" if character in "*?[]{}()!+@\\" else character for character in str(folder))
