"""What became of a workspace, told by a repository that the agent never sees.

The agent may commit, reset, or delete ``.git`` altogether; so the state at the start is kept elsewhere, and the end is
compared with that. What ``.gitignore`` names does not count, as in git itself.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec

from roadtest.isolation.copying import plant_repository
from roadtest.isolation.git import run_git
from roadtest.isolation.times import walk

BIG_FILE = 4 * 1024 * 1024
BIG_DIFF = 1024 * 1024


class Changes(msgspec.Struct, frozen=True):
    """What was done to a workspace since the agent found it."""

    files: tuple[str, ...] = ()
    """The files that were added, changed or removed, in order."""
    diff: str = ""
    """The same as a git diff, new files included."""


class Witness:
    """Compares ``tree`` with the state that the repository ``origin`` knows."""

    def __init__(self, origin: Path, folder: Path, tree: Path) -> None:
        self._origin = origin
        self._copy = folder
        self._tree = tree
        self._base = "HEAD"

    def renew(self) -> None:
        """Take the tree as it is now for the start."""
        if changed := self._changed():
            self._stage(changed)
            self._base = self._git("write-tree").decode().strip()
            shutil.copyfile(self._now, self._then)

    def changes(self) -> Changes:
        changed = self._changed()
        if not changed:
            return Changes()
        big = [name for name in changed if self._size(name) > BIG_FILE]
        self._stage([name for name in changed if name not in big])
        patch = self._git(
            "diff", "--cached", "--binary", "--no-color", "--no-ext-diff", "--no-textconv", self._base
        )
        return Changes(tuple(changed), "".join(_bounded(patch, big)))

    @property
    def _git_dir(self) -> Path:
        """The origin until something has changed: most agents only look, and then nothing needs to be written."""
        return self._copy if self._copy.exists() else self._origin

    @property
    def _then(self) -> Path:
        return self._git_dir / "index"

    @property
    def _now(self) -> Path:
        return self._git_dir / "index.now"

    def _git(self, *args: str, stdin: bytes = b"", index: Path | None = None) -> bytes:
        env = {
            "GIT_DIR": str(self._git_dir),
            "GIT_WORK_TREE": str(self._tree),
            "GIT_INDEX_FILE": str(index or self._now),
        }
        return run_git(*args, cwd=self._tree, stdin=stdin, env=env)

    def _changed(self) -> list[str]:
        """The files that are not what they were."""
        self._tree.mkdir(exist_ok=True)
        listing = self._git("ls-files", "-z", "-m", "-o", "--exclude-standard", index=self._then)
        listed = (os.fsdecode(name) for name in listing.split(b"\0") if name)
        return sorted({name for path in listed for name in self._inside(path)})

    def _inside(self, path: str) -> Iterator[str]:
        """A repository made inside is listed by its folder only; its files count like any others."""
        if not path.endswith("/"):
            yield path
            return
        for entry in walk(self._tree / path):
            if entry.is_symlink() or entry.is_file():
                yield str(Path(entry.path).relative_to(self._tree))

    def _stage(self, changed: list[str]) -> None:
        """Put what changed into a second index."""
        if not self._copy.exists():
            plant_repository(self._origin, self._copy)
        shutil.copyfile(self._then, self._now)
        stdin = b"".join(os.fsencode(name) + b"\0" for name in changed)
        self._git("update-index", "--add", "--remove", "--replace", "-z", "--stdin", stdin=stdin)

    def _size(self, name: str) -> int:
        try:
            return (self._tree / name).lstat().st_size
        except OSError:
            return 0


def _bounded(patch: bytes, big: list[str]) -> Iterator[str]:
    """The patch as text, with a note wherever it is not the whole truth."""
    yield patch[:BIG_DIFF].decode("utf-8", "backslashreplace")
    if len(patch) > BIG_DIFF:
        yield f"\n# roadtest: cut here, after {BIG_DIFF} of {len(patch)} bytes\n"
    for name in big:
        yield f"# roadtest: {name} is left out, being larger than {BIG_FILE} bytes\n"
