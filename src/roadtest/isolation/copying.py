"""Copying a prepared tree quickly: reflinks where the file system has them, hard links only for what git never rewrites."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from roadtest.isolation.git import MOMENT
from roadtest.isolation.times import set_time, walk

_MANY = 2000  # files
_SHARES = 8
_ARGUMENTS = 1000
_FICLONE = 0x40049409
_NO_REFLINK = {errno.EOPNOTSUPP, errno.ENOTTY, errno.EINVAL, errno.EXDEV, errno.ENOSYS, errno.EPERM}


def copy_tree(source: Path, target: Path, *, files: int) -> None:
    """Copy a settled tree of so many files, with its modes and times, into an existing folder."""
    if files >= _MANY and _has_gnu_cp():
        _copy_by_cp(source, target)
    else:
        _copy_one_by_one(source, target)


def _copy_one_by_one(source: Path, target: Path) -> None:
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


def _copy_by_cp(source: Path, target: Path) -> None:
    """Several ``cp`` at once, a share of the folders to each: for a large tree that is worth their start."""
    shares = {target: _paths_in(source)}
    made = [target]
    while sum(map(len, shares.values())) < _SHARES and any(
        path.is_dir() for paths in shares.values() for path in paths
    ):
        shares = {to: paths for folder, paths in shares.items() for to, paths in _one_deeper(folder, paths)}
        made += [folder for folder in shares if folder not in made]
    workers = os.cpu_count() or 1
    calls = [(paths[start::workers], to) for to, paths in shares.items() for start in range(workers)]
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(lambda call: _cp(*call), calls))
    for folder in made:
        set_time(folder, MOMENT)


def _one_deeper(folder: Path, paths: list[Path]) -> Iterator[tuple[Path, list[Path]]]:
    """The files to copy into this folder, and what to copy into each folder below it."""
    folder.mkdir(exist_ok=True)
    below = [path for path in paths if path.is_dir() and not path.is_symlink()]
    yield folder, [path for path in paths if path not in below]
    for path in below:
        (folder / path.name).mkdir()
        yield folder / path.name, _paths_in(path)


def _paths_in(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


def _cp(paths: list[Path], target: Path) -> None:
    options = ["--recursive", "--no-dereference", "--preserve=mode,timestamps", "--reflink=auto"]
    for start in range(0, len(paths), _ARGUMENTS):
        subprocess.run(["cp", *options, "-t", target, "--", *paths[start : start + _ARGUMENTS]], check=True)


@cache
def _has_gnu_cp() -> bool:
    with contextlib.suppress(OSError):
        return b"GNU" in subprocess.run(["cp", "--version"], capture_output=True, check=False).stdout
    return False


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
