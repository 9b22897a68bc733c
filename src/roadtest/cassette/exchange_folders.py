"""Swap two folders in one step, where the operating system can."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from pathlib import Path

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_NOT_HERE = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP}


def exchange_folders(one: Path, other: Path) -> bool:
    """Give each folder the other's name at once; False if the system or the file system cannot."""
    ours, theirs = os.fsencode(one), os.fsencode(other)
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        if sys.platform == "darwin":
            failed = libc.renamex_np(ours, theirs, _RENAME_EXCHANGE)
        else:
            failed = libc.renameat2(_AT_FDCWD, ours, _AT_FDCWD, theirs, _RENAME_EXCHANGE)
    except AttributeError:
        return False
    if failed and ctypes.get_errno() not in _NOT_HERE:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(other))
    return not failed
