"""The environments of the bench, below .bench/: roadtest as a user has it, and what it is compared with.

``user`` holds roadtest and its own dependencies, nothing of the development environment: plugins of pytest that only we
use would blur what loading ours costs. ``peers`` holds agentevals, vcrpy and mitmproxy at the versions of requirements.txt.
"""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import sys
import venv
from functools import cache
from pathlib import Path

from roadtest.installation import find_claude

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / ".bench"
PEERS = Path(__file__).with_name("requirements.txt")
PINS = ROOT / "requirements" / "dev.txt"


@cache
def user_python() -> Path:
    """An interpreter that has roadtest from this checkout."""
    install = ["--constraint", str(PINS), "--editable", str(ROOT)]
    return _environment("user", install, _digest(PINS, ROOT / "pyproject.toml"))


@cache
def peers_python() -> Path:
    """An interpreter that has the programs to compare with."""
    # The list is complete, and pip takes many minutes to find that out for itself.
    return _environment("peers", ["--no-deps", "--requirement", str(PEERS)], _digest(PEERS))


def plain() -> dict[str, str]:
    """An environment with no more than a program needs to start."""
    return {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TZ": "UTC", "HOME": str(FOLDER)}


@cache
def machine() -> str:
    """What figures depend on, in one line."""
    claude = subprocess.run(
        [find_claude().path, "--version"], env=plain(), capture_output=True, check=True, text=True
    )
    return ", ".join(
        [
            f"{os.cpu_count()} cores",
            f"{platform.system()} {platform.machine()}",
            f"Python {platform.python_version()}",
            f"Claude Code {claude.stdout.split()[0]}",
        ]
    )


def _environment(name: str, install: list[str], wanted: str) -> Path:
    folder = FOLDER / name
    python, stamp = folder / "bin" / "python", folder / "installed"
    if not stamp.exists() or stamp.read_text() != wanted:
        print(f"Setting up {folder.relative_to(ROOT)} (once)…", file=sys.stderr)
        venv.create(folder, clear=True, with_pip=True)
        quiet = ["--quiet", "--disable-pip-version-check"]
        subprocess.run([python, "-m", "pip", "install", *quiet, *install], check=True)
        stamp.write_text(wanted)
    return python


def _digest(*files: Path) -> str:
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
