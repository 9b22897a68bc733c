"""``roadtest clean``, and that nothing goes which roadtest did not make."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from roadtest.cli import roadtest
from roadtest.isolation import Workspace, open_world
from roadtest.isolation.ownership import RECORD, this_process

Clean = Callable[..., Result]
OLD = 30 * 86400


@pytest.fixture
def clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clean:
    """The command, in a project of its own with temporary files of its own."""
    (tmp_path / "tmp").mkdir()
    (tmp_path / "project").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.delenv("ROADTEST_OUTPUT_DIR", raising=False)
    monkeypatch.chdir(tmp_path / "project")
    return lambda *args: CliRunner().invoke(roadtest, ["clean", *args], catch_exceptions=False)


def write(path: Path, *, age: float = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x")
    os.utime(path, (time.time() - age, time.time() - age))
    return path


def test_old_outputs_go_and_young_ones_stay(clean: Clean) -> None:
    """A run goes when nothing in it is younger than the limit."""
    old = write(Path("test-output/old/run.json"), age=OLD)
    write(Path("test-output/old/case-1/tool-calls.jsonl"), age=OLD)
    mixed = write(Path("test-output/mixed/run.json"), age=OLD)
    write(Path("test-output/mixed/case-1/lifecycle.jsonl"))
    result = clean()
    assert result.output == "removed test-output/old  (old output)\n"
    assert not old.parent.exists()
    assert mixed.exists()


@pytest.mark.parametrize(
    ("limit", "goes"), [("0", True), ("30m", True), ("2h", False), ("1d", False), ("1w", False)]
)
def test_the_limit_has_units(clean: Clean, limit: str, *, goes: bool) -> None:
    """Seconds, minutes, hours, days and weeks are understood."""
    output = write(Path("test-output/run/run.json"), age=3700)
    clean("--older-than", limit)
    assert output.exists() is not goes


def test_a_bad_limit_is_told(clean: Clean) -> None:
    """The message shows how an age is written."""
    result = clean("--older-than", "soon")
    assert result.exit_code == 2
    assert "'soon' is no age; write 30m, 12h, 7d or 2w" in result.output


def test_a_dry_run_removes_nothing(clean: Clean) -> None:
    """It tells the same and leaves everything."""
    output = write(Path("test-output/old/run.json"), age=OLD)
    assert clean("--dry-run").output == "would remove test-output/old  (old output)\n"
    assert output.exists()


def test_nothing_else_is_ever_removed(clean: Clean, tmp_path: Path) -> None:
    """Other people's files, folders without a sign of ours and links to elsewhere survive at any age."""
    spared = [
        write(Path("test-output/old/notes.txt"), age=OLD),
        write(Path("test-output/mine/data.json"), age=OLD),
        write(Path("test-output/file"), age=OLD),
        write(tmp_path / "outside/run.json", age=OLD),
        write(Path(".trees/my-feature/file"), age=OLD),
        write(Path(".trees/roadtest-1-abc/1/file"), age=OLD),
    ]
    write(Path("test-output/old/run.json"), age=OLD)
    Path("test-output/link").symlink_to(tmp_path / "outside")
    clean("--older-than", "0")
    assert all(path.exists() for path in spared)
    assert not Path("test-output/old/run.json").exists()


def test_there_may_be_nothing_to_do(clean: Clean) -> None:
    """An empty project is fine."""
    assert clean().output == "nothing to remove\n"


def test_a_kept_workspace_goes_with_age_and_a_running_one_never(clean: Clean, tmp_path: Path) -> None:
    """The age of a kept workspace is counted from the end of its run."""
    with open_world(Workspace.empty(), base=tmp_path, test_id="t", output_dir=tmp_path, keep=True) as kept:
        pass
    with Workspace.empty().open() as running:
        clean()
        assert kept.path.exists()
        result = clean("--older-than", "0")
        assert "(kept workspace)" in result.output
        assert not kept.path.exists()
        assert running.exists()


LEAVE = """
import os, signal, sys
from roadtest.isolation import Workspace
with Workspace.worktree(".").open(), Workspace.empty().open():
    print(flush=True)
    sys.stdin.read() if sys.argv[1:] else os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_run_left_goes_at_any_age(clean: Clean) -> None:
    """Worktrees and temporary folders of a dead process go at once, those of a living one stay."""
    for command in (
        ["init", "-q"],
        ["-c", "user.name=a", "-c", "user.email=b", "commit", "-qm", "x", "--allow-empty"],
    ):
        subprocess.run(["git", *command], check=True)
    with subprocess.Popen(
        [sys.executable, "-c", LEAVE, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as living:
        assert living.stdout is not None
        living.stdout.readline()
        assert clean("--older-than", "0").output == "nothing to remove\n"
        living.communicate(b"")
    assert not Path(".trees").exists()
    done = subprocess.run([sys.executable, "-c", LEAVE], stdout=subprocess.DEVNULL, check=False)
    assert done.returncode == -signal.SIGKILL
    result = clean()
    assert result.output.count("left by a process that is gone") >= 2
    assert not Path(".trees").exists()
    assert clean().output == "nothing to remove\n"


def test_an_owner_is_its_pid_start_boot_and_namespace() -> None:
    """The same pid started at another time is somebody else; what cannot be seen from here counts as alive."""
    me = this_process()
    assert me.alive
    assert not msgspec.structs.replace(me, started="1").alive
    assert not msgspec.structs.replace(me, boot="another").alive
    assert msgspec.structs.replace(me, namespace="another", started="1").alive
    assert msgspec.structs.replace(me, host="another", boot="another", started="1").alive


def test_a_folder_of_another_container_goes_by_age_only(clean: Clean) -> None:
    """Whether its owner lives cannot be known, so only its age speaks."""
    folder = Path(".trees/roadtest-1-abc")
    (folder / "1").mkdir(parents=True)
    owner = msgspec.structs.replace(this_process(), namespace="another")
    (folder / RECORD).write_bytes(msgspec.json.encode(owner))
    assert clean().output == "nothing to remove\n"
    assert "another container" in clean("--older-than", "0").output
    assert not folder.exists()
