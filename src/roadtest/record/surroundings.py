"""What a record notes about the place and time of its run."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from roadtest.results import Git, RecordHeader


def now() -> str:
    """The time as records and captures write it: ISO 8601, UTC, milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def with_claude(header: RecordHeader, seen: set[str]) -> RecordHeader:
    """The header with the versions of Claude Code, which only the runs can tell; mostly they are the same."""
    known = {"claude": ", ".join(sorted(seen))} if seen else {}
    return msgspec.structs.replace(header, versions={**known, **header.versions})


def git_state(root: Path) -> Git | None:
    """Commit, branch and whether tracked files are changed; None outside of a repository or without git."""
    commit = _git(root, "rev-parse", "HEAD")
    if not commit:
        return None
    dirty = bool(_git(root, "status", "--porcelain", "--untracked-files=no"))
    return Git(commit=commit, branch=_git(root, "rev-parse", "--abbrev-ref", "HEAD") or "", dirty=dirty)


def _git(root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, check=False, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else None
