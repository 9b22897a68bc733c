"""Copying a prepared tree quickly: reflinks where the file system has them, hard links only for what git never rewrites."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
from pathlib import Path

from roadtest.isolation.git import MOMENT
from roadtest.isolation.times import set_time, walk

_FICLONE = 0x40049409
_NO_REFLINK = {errno.EOPNOTSUPP, errno.ENOTTY, errno.EINVAL, errno.EXDEV, errno.ENOSYS, errno.EPERM}


def copy_tree(source: Path, target: Path) -> None:
    """Copy a settled tree with its modes and times into an existing folder."""
    folders = [str(target)]
    cut = len(str(source))
    for entry in walk(source):
        to = f"{target}{entry.path[cut:]}"
        if entry.is_dir(follow_symlinks=False):
            os.mkdir(to)  # noqa: PTH102 - this loop is what a workspace costs
            folders.append(to)
        else:
            copy_entry(entry, to)
    for folder in folders:
        set_time(folder, MOMENT)


def copy_entry(entry: os.DirEntry[str], to: str) -> None:
    found = entry.stat(follow_symlinks=False)
    if entry.is_symlink():
        os.symlink(os.readlink(entry.path), to)  # noqa: PTH115, PTH211
    else:
        copy_file(entry.path, to)
        os.chmod(to, 0o755 if found.st_mode & 0o100 else 0o644)  # noqa: PTH101
    os.utime(to, ns=(found.st_mtime_ns, found.st_mtime_ns), follow_symlinks=False)


def copy_file(source: str, target: str) -> None:
    """Copy the content: by sharing its blocks where the file system can (Btrfs, XFS, APFS), else byte by byte."""
    with open(source, "rb", 0) as reader, open(target, "xb", 0) as writer:  # noqa: PTH123
        try:
            fcntl.ioctl(writer, _FICLONE, reader.fileno())
        except OSError as problem:
            if problem.errno not in _NO_REFLINK:
                raise
            shutil.copyfileobj(reader, writer, 1 << 20)


def plant_repository(origin: Path, target: Path) -> None:
    """Copy a git directory. Its objects are linked: git writes an object once and never again."""
    target.mkdir()
    cut = len(str(origin))
    for entry in walk(origin, without=frozenset()):
        relative = entry.path[cut:]
        to = f"{target}{relative}"
        if entry.is_dir():
            os.mkdir(to)  # noqa: PTH102
        elif relative.startswith("/objects/") and not relative.startswith("/objects/info/"):
            _link(entry.path, to)
        else:
            copy_file(entry.path, to)


def _link(source: str, target: str) -> None:
    with contextlib.suppress(OSError):
        os.link(source, target)
        return
    shutil.copyfile(source, target)
