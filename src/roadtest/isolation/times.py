"""File times that are the same in every workspace: Grep lists the newest file first and Glob the oldest.

Files get one second each, counted from ``git.MOMENT`` in the order of their paths. Two files never share a time, since a tie
would be broken by whichever thread of ripgrep was faster.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from roadtest.isolation.git import MOMENT

_LATER = MOMENT + 30 * 24 * 3600
_NANO = 1_000_000_000


def walk(root: Path, *, without: frozenset[str] = frozenset({".git"})) -> Iterator[os.DirEntry[str]]:
    """Everything below ``root`` but what goes by one of these names, folders before what is in them, in order."""
    with os.scandir(root) as listing:
        entries = sorted(
            (entry for entry in listing if entry.name not in without), key=lambda entry: entry.name
        )
    for entry in entries:
        yield entry
        if entry.is_dir(follow_symlinks=False):
            yield from walk(Path(entry.path), without=without)


def set_time(path: str | Path, second: int) -> None:
    os.utime(path, ns=(second * _NANO, second * _NANO), follow_symlinks=False)


def settle(root: Path) -> int:
    """Give everything below ``root`` its fixed time; how many files there are."""
    entries = list(walk(root))
    files = [entry.path for entry in entries if not entry.is_dir(follow_symlinks=False)]
    for number, path in enumerate(sorted(files)):
        set_time(path, MOMENT + number)
    settle_folders(root, (entry.path for entry in entries if entry.is_dir(follow_symlinks=False)))
    return len(files)


def settle_newer(root: Path) -> None:
    """Give a fixed time to what was written since, and leave those that have one: git's index knows them by it."""
    entries = list(walk(root))
    files = [entry for entry in entries if not entry.is_dir(follow_symlinks=False)]
    fresh = sorted(entry.path for entry in files if not _is_fixed(entry))
    for number, path in enumerate(fresh):
        set_time(path, _LATER + number)
    settle_folders(root, (entry.path for entry in entries if entry.is_dir(follow_symlinks=False)))


def settle_folders(root: Path, folders: Iterable[str]) -> None:
    for folder in folders:
        set_time(folder, MOMENT)
    set_time(root, MOMENT)


def _is_fixed(entry: os.DirEntry[str]) -> bool:
    moment = entry.stat(follow_symlinks=False).st_mtime_ns
    return MOMENT * _NANO <= moment < _LATER * _NANO and moment % _NANO == 0
