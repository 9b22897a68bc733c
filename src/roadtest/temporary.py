"""The folder for everything temporary of this user, and the locks in it."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from roadtest.errors import EnvironmentProblem


def temporary_root() -> Path:
    """The folder, which nobody else can write to."""
    root = Path(tempfile.gettempdir()).resolve() / f"roadtest-{os.getuid()}"
    root.mkdir(mode=0o700, exist_ok=True)
    found = root.lstat()
    if found.st_uid != os.getuid() or found.st_mode & 0o022 or root.is_symlink():
        raise EnvironmentProblem(
            f"{root} cannot be trusted: others own it or may write to it.",
            hint="remove it, or set TMPDIR to a folder of your own",
        )
    return root


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the one lock that goes with a folder, across threads and processes; death releases it.

    It lies outside the folder, where it is nobody's file to commit, and does not outlive its use.
    """
    locks = temporary_root() / "locks"
    locks.mkdir(exist_ok=True)
    path = locks / hashlib.sha256(os.fsencode(folder.absolute())).hexdigest()[:16]
    with _lock(path):
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def _lock(path: Path) -> BinaryIO:
    """Whoever had the lock before us removes its file, so the one that we waited for may be there no longer."""
    while True:
        file = path.open("ab")
        fcntl.flock(file, fcntl.LOCK_EX)
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file
        file.close()
