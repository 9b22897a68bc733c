"""File times that are the same in every workspace: Grep lists the newest file first and Glob the oldest.

Files get one second each, counted from ``git.MOMENT`` in the order of their paths. Two files never share a time, since a tie
would be broken by whichever thread of ripgrep was faster.
"""

from __future__ import annotations

import hashlib
import os
import struct
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


def settle_checkout(root: Path, index: Path, hash_length: int) -> None:
    """Give every file that git has just checked out its fixed time, and write the same time into git's index.

    The index is rewritten in place rather than by ``git update-index``, which would read every file again.
    """
    data = bytearray(index.read_bytes())
    signature, version, count = struct.unpack_from(">4sII", data)
    if signature != b"DIRC" or version not in (2, 3):
        raise ValueError(f"{index} is not an index of version 2 or 3")
    prefix = os.fsencode(root) + b"/"
    folders: set[bytes] = set()
    offset = 12
    for second in range(MOMENT, MOMENT + count):
        path, mode, following = _entry(data, offset, hash_length)
        _SECONDS.pack_into(data, offset + 8, second, 0)
        offset = following
        if mode >> 12 != _GITLINK:
            os.utime(prefix + path, (second, second), follow_symlinks=False)
        folders.add(path.rpartition(b"/")[0])
    digest = hashlib.sha1 if hash_length == _SHA1 else hashlib.sha256
    data[-hash_length:] = digest(data[:-hash_length]).digest()
    index.write_bytes(data)
    settle_folders(root, {os.fsdecode(prefix + folder) for path in folders for folder in _upwards(path)})


_GITLINK = 0o16
_SHA1 = 20
_EXTENDED = 0x40
_MODE = struct.Struct(">I")
_SECONDS = struct.Struct(">II")


def _entry(data: bytearray, offset: int, hash_length: int) -> tuple[bytes, int, int]:
    """Path, mode, and where the next entry begins."""
    (mode,) = _MODE.unpack_from(data, offset + 24)
    name = offset + 42 + hash_length + (2 if data[offset + 40 + hash_length] & _EXTENDED else 0)
    end = data.index(0, name)
    return bytes(data[name:end]), mode, offset + (end - offset + 8) // 8 * 8


def _upwards(folder: bytes) -> Iterator[bytes]:
    while folder:
        yield folder
        folder = folder.rpartition(b"/")[0]
