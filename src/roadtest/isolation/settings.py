"""Which settings of Claude Code take part in a run."""

from __future__ import annotations

from typing import Literal

Settings = Literal["project", "none", "user"]

_SOURCES: dict[Settings, str] = {"project": "project", "none": "", "user": "user,project"}


def settings_arguments(settings: Settings) -> list[str]:
    """The arguments that make Claude Code read these settings and no others."""
    return ["--setting-sources", _SOURCES[settings]]
