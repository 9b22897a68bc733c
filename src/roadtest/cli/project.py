"""Where the evals of the project at hand leave their records, found as pytest finds it but without starting it."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from configparser import ConfigParser, Error
from pathlib import Path

DEFAULT = "test-output"
_INI_FILES = {
    "pytest.ini": "pytest",
    ".pytest.ini": "pytest",
    "tox.ini": "pytest",
    "setup.cfg": "tool:pytest",
}


def output_dir(environ: Mapping[str, str] = os.environ) -> Path:
    """``ROADTEST_OUTPUT_DIR``, or what the nearest configuration of pytest says; relative to its folder."""
    here = Path.cwd()
    root, configured = _nearest_configuration(here)
    chosen = Path(root, environ.get("ROADTEST_OUTPUT_DIR") or configured or DEFAULT)
    return chosen.relative_to(here) if chosen.is_relative_to(here) else chosen


def _nearest_configuration(here: Path) -> tuple[Path, str]:
    """The folder of the project and the setting in it; without any configuration, where outputs lie already."""
    ancestors = (here, *here.parents)
    for folder in ancestors:
        settings = _settings(folder)
        if settings is not None:
            return folder, settings.get("roadtest_output_dir", "")
    return next((folder for folder in ancestors if (folder / DEFAULT).is_dir()), here), ""


def _settings(folder: Path) -> Mapping[str, str] | None:
    """What configures pytest in this folder; None if nothing does."""
    for name, section in _INI_FILES.items():
        parser = ConfigParser(interpolation=None, strict=False)
        try:
            parser.read(folder / name, "utf-8")
        except (Error, UnicodeDecodeError):
            continue
        if parser.has_section(section):
            return parser[section]
    try:
        tools = tomllib.loads((folder / "pyproject.toml").read_text("utf-8")).get("tool", {})
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError):
        return None
    pytest = tools.get("pytest")
    if not isinstance(pytest, dict):
        return None
    settings: dict[str, str] = pytest.get("ini_options", pytest)
    return settings
