"""The command line: help, doctor, and errors without a traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from roadtest import cli

COMMANDS = ["init", "doctor", "run", "show", "view", "rescore", "hooks", "cassettes", "clean", "demo"]


def roadtest(*args: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "roadtest", *args],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **env},
    )


def test_help_lists_every_command() -> None:
    """``roadtest --help`` names each command with a line about it."""
    done = roadtest("--help")
    assert done.returncode == 0
    assert done.stdout.startswith("Usage: python -m roadtest ")
    assert all(f"\n  {command} " in done.stdout for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_help(command: str) -> None:
    """Each command explains itself."""
    done = CliRunner().invoke(cli.roadtest, [command, "--help"], prog_name="roadtest")
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith(f"Usage: roadtest {command}")


def test_an_unknown_command_is_a_usage_error() -> None:
    """A command that does not exist ends with exit code 2 and no traceback."""
    done = roadtest("nonsense")
    assert done.returncode == 2
    assert "No such command 'nonsense'" in done.stderr


@pytest.mark.parametrize("command", [["hooks", "install", "--settings"], ["init"]])
def test_a_path_that_cannot_be_written_is_no_traceback(command: list[str], tmp_path: Path) -> None:
    """A folder that cannot be made is named, with what to check, and no traceback."""
    (tmp_path / "file").write_text("")
    done = roadtest(*command, str(tmp_path / "file" / "below" / "settings.json"))
    assert done.returncode == 2
    assert f"{tmp_path / 'file'}" in done.stderr
    assert "→ check that the path exists" in done.stderr
    assert "Traceback" not in done.stderr


def test_doctor_sees_that_hooks_fire() -> None:
    """``doctor`` finds Claude Code, runs it once and reports that a scripted call was captured."""
    done = roadtest("doctor", "--json")
    assert done.returncode == 0, done.stderr
    findings = {finding["name"]: finding for finding in json.loads(done.stdout)}
    assert findings["hooks"]["detail"].startswith("fire")
    assert all(finding["ok"] for finding in findings.values())


def test_doctor_without_claude_says_what_to_install(tmp_path: Path) -> None:
    """A claude that cannot be run ends ``doctor`` with exit code 2 and the remedy."""
    done = roadtest("doctor", ROADTEST_CLAUDE=str(tmp_path / "nowhere"))
    assert done.returncode == 2
    assert "roadtest[claude]" in done.stdout
    assert "Traceback" not in done.stderr


def test_doctor_reports_a_claude_that_is_none(tmp_path: Path) -> None:
    """A program that is called claude and is something else is reported, not trusted."""
    impostor = tmp_path / "claude"
    impostor.write_text("#!/bin/sh\nexit 7\n")
    impostor.chmod(0o755)
    done = roadtest("doctor", "--json", "--claude", str(impostor))
    assert done.returncode == 2
    findings = {finding["name"]: finding for finding in json.loads(done.stdout)}
    assert not findings["claude"]["ok"]
