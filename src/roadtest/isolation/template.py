"""The origin of a copied or empty workspace: its files and a git repository with one commit, made once per process.

Every workspace is a copy of an origin, so that a case pays for copying a few files and not for running git. An origin is
found again by what the template looks like (names, sizes, times, modes), so editing the template makes a new one.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec

from roadtest.errors import UsageError
from roadtest.isolation.copying import copy_file
from roadtest.isolation.git import make_repository, run_git
from roadtest.isolation.ownership import claim
from roadtest.isolation.times import settle, walk
from roadtest.temporary import temporary_root

LEFT_OUT = frozenset({".git", ".trees", "test-output", "__pycache__", ".DS_Store"})
"""What is never part of a template: repositories, other workspaces, outputs and litter."""

_origins: dict[object, Origin] = {}
_lock = threading.Lock()


class Origin(msgspec.Struct, frozen=True):
    tree: Path
    git_dir: Path
    files: int


def origin_of(template: Path | None, lay_on: Callable[[Path], None], key: object) -> Origin:
    """The origin for a template (None: nothing) with more laid on top; ``key`` says what ``lay_on`` does."""
    identity = (os.getpid(), template, _look(template) if template else None, key)
    with _lock:
        if identity not in _origins:
            _origins[identity] = _make(template, lay_on)
        return _origins[identity]


def _look(template: Path) -> tuple[object, ...]:
    if not template.is_dir():
        raise UsageError(
            f"Workspace.copy: there is no folder {template}.",
            hint="a relative path is taken from the folder of the file that describes the eval",
        )
    seen: list[object] = []
    for entry in walk(template, without=LEFT_OUT):
        found = entry.stat(follow_symlinks=False)
        if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode) or stat.S_ISLNK(found.st_mode)):
            raise UsageError(
                f"Workspace.copy: {entry.path} is neither file, folder nor link and cannot be copied."
            )
        seen.append((entry.path, found.st_mode, found.st_size, found.st_mtime_ns, found.st_ino))
    return tuple(seen)


def _make(template: Path | None, lay_on: Callable[[Path], None]) -> Origin:
    slot = claim(temporary_root(), lasting=True).open_slot()
    tree, git_dir = slot / "tree", slot / "git"
    tree.mkdir()
    if template:
        _copy_template(template, tree)
    lay_on(tree)
    files = settle(tree)
    make_repository(git_dir)
    commit_all(git_dir, tree, "Initial commit")
    run_git("repack", "-adq", cwd=git_dir, env={"GIT_DIR": str(git_dir)})
    for loose in (path for path in (git_dir / "objects").iterdir() if path.name not in ("info", "pack")):
        loose.rmdir()
    return Origin(tree, git_dir, files)


def _copy_template(template: Path, tree: Path) -> None:
    for entry in walk(template, without=LEFT_OUT):
        to = tree / Path(entry.path).relative_to(template)
        if entry.is_symlink():
            to.symlink_to(Path(entry.path).readlink())
        elif entry.is_dir():
            to.mkdir()
        else:
            copy_file(entry.path, str(to))
            to.chmod(0o755 if entry.stat().st_mode & 0o100 else 0o644)


def commit_all(git_dir: Path, tree: Path, message: str) -> None:
    """Commit the tree as it is; the same tree on the same parent is the same commit, everywhere and always."""
    env = {"GIT_DIR": str(git_dir), "GIT_WORK_TREE": str(tree)}
    run_git("add", "--all", cwd=tree, env=env)
    run_git("commit", "--quiet", "--no-verify", "--allow-empty", "-m", message, cwd=tree, env=env)
