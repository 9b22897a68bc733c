"""``roadtest hooks``: install, uninstall, status and the plugin, as commands."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.commands import roadtest


class Project:
    """A project with a home of its own, in which the command runs."""

    def __init__(self, root: Path) -> None:
        self.root = root / "project"
        self.home = root / "home"
        self.root.mkdir()
        self.home.mkdir()
        self.settings = self.root / ".claude" / "settings.json"
        self.env: dict[str, str] = {}

    def hooks(self, *args: str) -> subprocess.CompletedProcess[str]:
        environ = {
            name: value for name, value in os.environ.items() if not name.startswith(("TEST_", "CLAUDE"))
        }
        return roadtest("hooks", *args, cwd=self.root, env={**environ, "HOME": str(self.home), **self.env})

    def files(self) -> list[str]:
        return sorted(str(path.relative_to(self.root)) for path in self.root.rglob("*") if path.is_file())


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_install_and_uninstall_leave_no_trace(project: Project) -> None:
    """Both say what they wrote or removed; a second time there is nothing to do."""
    done = project.hooks("install")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "wrote .claude/settings.json\nwrote .claude/hooks/roadtest-capture.py\n"
    assert project.files() == [".claude/hooks/roadtest-capture.py", ".claude/settings.json"]
    assert project.hooks("install").stdout == "the hooks are installed already\n"
    assert project.hooks("uninstall").returncode == 0
    assert list(project.root.iterdir()) == []
    assert project.hooks("uninstall").stdout == "there are no hooks of ours to remove\n"


def test_a_dry_run_shows_a_diff_and_changes_nothing(project: Project) -> None:
    """The diff is one that patch could apply: context, added lines, and nothing taken away."""
    project.settings.parent.mkdir()
    text = '{\n  "model": "opus",\n  "hooks": {\n    "Stop": [{"hooks": []}]\n  }\n}'
    project.settings.write_text(text)
    done = project.hooks("install", "--dry-run")
    lines = done.stdout.splitlines()
    assert lines[:2] == ["--- .claude/settings.json", "+++ .claude/settings.json"]
    assert '   "model": "opus",' in lines
    assert any(line.startswith("+") and "roadtest-capture.py" in line for line in lines)
    assert lines[-1] == "write .claude/hooks/roadtest-capture.py"
    assert project.settings.read_text() == text
    assert project.files() == [".claude/settings.json"]


@pytest.mark.parametrize(
    ("option", "file"),
    [(["--local"], ".claude/settings.local.json"), (["--settings", "etc/claude.json"], "etc/claude.json")],
)
def test_other_files_can_be_named(project: Project, option: list[str], file: str) -> None:
    """--local and --settings choose the file; the script lies beside it."""
    assert project.hooks("install", *option).returncode == 0
    folder = str(Path(file).parent)
    assert project.files() == sorted([file, f"{folder}/hooks/roadtest-capture.py"])
    assert project.hooks("uninstall", *option).returncode == 0
    assert project.files() == []


def test_broken_settings_are_an_error_with_the_place(project: Project) -> None:
    """Line and column are told, the exit code is that of wrong use, and the file is untouched."""
    project.settings.parent.mkdir()
    project.settings.write_text('{\n  "a": 1,,\n}')
    done = project.hooks("install")
    assert done.returncode == 2
    assert ".claude/settings.json is not JSON" in done.stderr
    assert "line 2, column 10" in done.stderr
    assert "Traceback" not in done.stderr
    assert project.settings.read_text() == '{\n  "a": 1,,\n}'


def test_status_says_that_capture_is_active(project: Project) -> None:
    """With the hooks installed and a test asked for, the answer is yes and the exit code 0."""
    project.hooks("install")
    project.env |= {"TEST_MODE": "true", "TEST_RUN_ID": "mine"}
    done = project.hooks("status")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "capture is active")
    assert "✓ .claude/settings.json has the hooks for all 13 events" in done.stdout
    assert "folder mine" in done.stdout


def nothing(project: Project) -> None:
    project.hooks("uninstall")


def switched_off(project: Project) -> None:
    (project.home / ".claude").mkdir()
    (project.home / ".claude" / "settings.json").write_text('{"disableAllHooks": true}')


def script_gone(project: Project) -> None:
    (project.root / ".claude" / "hooks" / "roadtest-capture.py").unlink()


def script_changed(project: Project) -> None:
    (project.root / ".claude" / "hooks" / "roadtest-capture.py").write_text("print()")


def event_missing(project: Project) -> None:
    settings = json.loads(project.settings.read_text())
    del settings["hooks"]["Stop"]
    project.settings.write_text(json.dumps(settings))


def command_changed(project: Project) -> None:
    project.settings.write_text(project.settings.read_text().replace("-I -S", "-E"))


def broken(project: Project) -> None:
    project.settings.write_text("{")


def no_test(project: Project) -> None:
    del project.env["TEST_MODE"]


def bad_id(project: Project) -> None:
    project.env["TEST_RUN_ID"] = "../x"


def no_python(project: Project) -> None:
    project.env["PATH"] = str(project.home)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (nothing, "no hooks are installed in .claude/settings.json or"),
        (switched_off, "switches all hooks off"),
        (script_gone, "roadtest-capture.py, which they run, is not there"),
        (script_changed, "roadtest-capture.py is of another version"),
        (event_missing, ".claude/settings.json lacks the hooks for Stop"),
        (command_changed, ".claude/settings.json holds the hooks of another version"),
        (broken, ".claude/settings.json is not JSON"),
        (no_test, "this shell does not ask for capture"),
        (bad_id, "is not one or two names"),
        (no_python, "there is no python3 on PATH"),
    ],
)
def test_status_says_why_not(project: Project, change: object, reason: str) -> None:
    """Each reason why nothing would be captured is named with what to do, and the exit code is 1."""
    project.hooks("install")
    project.env |= {"TEST_MODE": "true", "TEST_RUN_ID": "mine"}
    assert callable(change)
    change(project)
    done = project.hooks("status")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "capture is not active"), done.stderr
    (line,) = [line for line in done.stdout.splitlines() if reason in line]
    assert line.startswith("✗ ")


def test_two_files_at_once_are_wrong_use(project: Project) -> None:
    """--settings and --local together are refused by every command."""
    for command in ("install", "uninstall", "status"):
        done = project.hooks(command, "--local", "--settings", "x.json")
        assert done.returncode == 2
        assert "give one of them" in done.stderr


def test_the_plugin_is_printed_or_copied(project: Project) -> None:
    """The printed folder is a plugin; --write makes a copy that stands alone."""
    folder = Path(project.hooks("plugin").stdout.strip())
    assert json.loads((folder / ".claude-plugin" / "plugin.json").read_text())["name"] == "roadtest-capture"
    assert project.hooks("plugin", "--write", "tools/capture").stdout == "tools/capture\n"
    assert project.files() == [
        "tools/capture/.claude-plugin/plugin.json",
        "tools/capture/hook.py",
        "tools/capture/hooks/hooks.json",
    ]
