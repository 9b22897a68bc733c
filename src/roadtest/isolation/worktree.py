"""A working tree of one commit of the user's repository, with a repository of its own that borrows the user's objects.

``git worktree add`` would share branches, tags, stash, configuration and hooks with the user and with every other run; a
borrowed object store shares only what nobody can change. So nothing is ever written to the user's repository, and there is
nothing to lock. docs/decisions has the longer story.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec

from roadtest.errors import UsageError
from roadtest.isolation.checkout import check_out_files
from roadtest.isolation.git import GitFailed, make_repository, run_git

FOLDER = ".trees"


class Commit(msgspec.Struct, frozen=True):
    """A commit of the user's repository, and all that is needed to check it out elsewhere."""

    sha: str
    objects: Path
    object_format: str
    shallow: Path
    home: Path | None
    """Where the repository keeps its files; None for a bare one."""


def find_commit(repo: Path, ref: str) -> Commit:
    if not repo.is_dir():
        raise UsageError(
            f"Workspace.worktree: there is no folder {repo}.", hint="repo= names a git repository"
        )
    try:
        found = run_git(
            "rev-parse",
            "--path-format=absolute",
            "--is-bare-repository",
            "--show-object-format",
            "--git-path",
            "objects",
            "--git-path",
            "shallow",
            "--git-dir",
            cwd=repo,
        )
    except GitFailed as problem:
        raise UsageError(
            f"Workspace.worktree: {repo} is not a git repository.", hint="run git init, or use Workspace.copy"
        ) from problem
    bare, object_format, objects, shallow, git_dir = found.decode().splitlines()
    home = None if bare == "true" else _top(repo, Path(git_dir))
    return Commit(_resolve(repo, ref), Path(objects), object_format, Path(shallow), home)


def _top(repo: Path, git_dir: Path) -> Path:
    return Path(run_git("rev-parse", "--show-toplevel", cwd=repo).decode().removesuffix("\n"))


def _resolve(repo: Path, ref: str) -> str:
    try:
        return (
            run_git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}", cwd=repo)
            .decode()
            .strip()
        )
    except GitFailed as problem:
        if not run_git("rev-list", "--all", "--max-count=1", cwd=repo).strip():
            raise UsageError(
                f"Workspace.worktree: {repo} has no commit yet.", hint="commit first, or use Workspace.copy"
            ) from problem
        raise UsageError(
            f"Workspace.worktree: {ref!r} names no commit in {repo}.",
            hint="in a shallow clone, fetch more history: git fetch --unshallow",
        ) from problem


def check_out(commit: Commit, git_dir: Path, tree: Path) -> None:
    """Make the repository and fill the tree; as fast as ``git worktree add``."""
    make_repository(git_dir, commit=commit.sha, objects=commit.objects, object_format=commit.object_format)
    if commit.shallow.is_file():
        shutil.copyfile(commit.shallow, git_dir / "shallow")
    try:
        check_out_files(git_dir, tree, commit.sha)
    except GitFailed as problem:
        raise UsageError(
            f"Workspace.worktree: {commit.sha} cannot be checked out:\n{problem.stderr.strip()}",
            hint="a partial clone lacks the files of other commits: git fetch them first",
        ) from problem
