"""The world of one run: its workspace, home, configuration, temporary folder and environment, and what became of them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from roadtest.errors import UsageError
from roadtest.isolation.copying import copy_tree, plant_repository
from roadtest.isolation.environment import child_environment
from roadtest.isolation.git import GLOBAL_CONFIG, MOMENT, GitFailed, run_git
from roadtest.isolation.ownership import claim
from roadtest.isolation.process import run_process
from roadtest.isolation.settings import Settings, copy_user_settings, settle_in
from roadtest.isolation.template import commit_all, origin_of
from roadtest.isolation.times import set_time, settle_newer
from roadtest.isolation.witness import Changes, Witness
from roadtest.isolation.workspace import Workspace
from roadtest.isolation.worktree import FOLDER, check_out, find_commit
from roadtest.temporary import temporary_root

SETUP_TIMEOUT = 900.0


class World:
    """Everything that belongs to one run alone."""

    def __init__(self, slot: Path, path: Path, origin: Path) -> None:
        self.path = path
        """The workspace."""
        self.home = slot / "home"
        self.config_dir = slot / "config"
        self.tmp = slot / "tmp"
        self._environment: dict[str, str] = {}
        self._witness = Witness(origin, slot / "witness", path)

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders that are the run's own, to write to as it likes."""
        return (self.path, self.home, self.config_dir, self.tmp)

    def environment(self) -> dict[str, str]:
        """The complete environment of the agent, but for where its model is and the key to it."""
        return dict(self._environment)

    def changes(self) -> Changes:
        """What has become of the workspace since it was handed over."""
        return self._witness.changes()

    def furnish(self, environment: Mapping[str, str]) -> None:
        """Make its folders, and take this for its environment."""
        for folder in (self.home, self.config_dir, self.tmp):
            folder.mkdir(mode=0o700)
        (self.home / ".gitconfig").write_text(GLOBAL_CONFIG)
        self._environment = dict(environment)

    def set_up(self, commands: Sequence[str]) -> None:
        """Run the commands, and take what they leave for the state that is handed over."""
        for command in commands:
            _run_setup(command, self.path, self._environment)
        settle_newer(self.path)
        with contextlib.suppress(GitFailed, OSError):  # it only spares git a second look; .git may be gone
            run_git("update-index", "-q", "--unmerged", "--ignore-missing", "--refresh", cwd=self.path)
        self._witness.renew()


@contextlib.contextmanager
def open_world(
    workspace: Workspace,
    *,
    base: Path,
    test_id: str,
    output_dir: Path,
    keep: Callable[[], bool] | bool = False,
    env: Mapping[str, str] = {},
    pass_env: Sequence[str] = (),
    settings: Settings = "project",
) -> Iterator[World]:
    """Make a world for one run and remove it afterwards, or keep it if ``keep`` says so at the end."""
    with contextlib.ExitStack() as stack:
        kept = keep if callable(keep) else lambda: bool(keep)
        slot = _slot(temporary_root(), stack, kept)
        world = _make(workspace, base.resolve(), slot, stack, kept)
        places = {
            "home": world.home,
            "config_dir": world.config_dir,
            "tmp": world.tmp,
            "workspace": world.path,
            "output_dir": output_dir.resolve(),
        }
        world.furnish(
            child_environment(os.environ, places=places, test_id=test_id, env=env, pass_env=pass_env)
        )
        if settings == "user":
            copy_user_settings(_user_configuration(), world.config_dir)
        else:
            settle_in(world.config_dir)
        if workspace.setup:
            world.set_up(workspace.setup)
        yield world


def _slot(parent: Path, stack: contextlib.ExitStack, kept: Callable[[], bool]) -> Path:
    claimed = claim(parent, lasting=parent == temporary_root())
    slot = claimed.open_slot()
    stack.callback(lambda: claimed.close_slot(slot, keep=kept()))
    return slot


def _make(
    workspace: Workspace, base: Path, slot: Path, stack: contextlib.ExitStack, kept: Callable[[], bool]
) -> World:
    if workspace.kind == "worktree":
        return _make_worktree(workspace, base, slot, stack, kept)
    template = (base / workspace.source).resolve() if workspace.kind == "copy" else None
    origin = origin_of(template, workspace.lay_on, workspace.steps)
    path = slot / "workspace"
    path.mkdir()
    copy_tree(origin.tree, path, files=origin.files)
    plant_repository(origin.git_dir, path / ".git")
    set_time(path, MOMENT)
    return World(slot, path, origin.git_dir)


def _make_worktree(
    workspace: Workspace, base: Path, slot: Path, stack: contextlib.ExitStack, kept: Callable[[], bool]
) -> World:
    commit = find_commit((base / workspace.source).resolve(), workspace.ref)
    path = (_slot(commit.home / FOLDER, stack, kept) if commit.home else slot) / "workspace"
    path.mkdir()
    check_out(commit, slot / "origin", path)
    if workspace.steps:
        workspace.lay_on(path)
        settle_newer(path)
        commit_all(slot / "origin", path, "Lay files on top")
    plant_repository(slot / "origin", path / ".git")
    set_time(path, MOMENT)
    return World(slot, path, slot / "origin")


def _user_configuration() -> Path:
    named = os.environ.get("CLAUDE_CONFIG_DIR")
    return Path(named) if named else Path.home() / ".claude"


def _run_setup(command: str, cwd: Path, environment: Mapping[str, str]) -> None:
    output: list[bytes] = []
    done = run_process(
        ["/bin/sh", "-c", command], cwd=cwd, env=environment, timeout=SETUP_TIMEOUT, on_line=output.append
    )
    if done.exit_code != 0:
        how = (
            f"took longer than {SETUP_TIMEOUT:.0f} s"
            if done.timed_out
            else f"ended with exit code {done.exit_code}"
        )
        said = b"\n".join(output[-20:]).decode("utf-8", "replace") + "\n" + done.stderr[-2000:]
        raise UsageError(
            f"the set-up command of the workspace {how}: {command}\n{said.strip()}",
            hint="it runs in the workspace with the agent's environment; pass_env= hands more over",
        )
