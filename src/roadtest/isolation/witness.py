"""What became of a workspace, told by a repository that the agent never sees.

The agent may commit, reset, or delete ``.git`` altogether; so the state at the start is kept elsewhere, and the end is
compared with that. What ``.gitignore`` names does not count, as in git itself.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from roadtest.isolation.copying import plant_repository
from roadtest.isolation.git import run_git

BIG_FILE = 4 * 1024 * 1024
BIG_DIFF = 1024 * 1024


class Witness:
    """Compares ``tree`` with the state that the repository ``origin`` knows."""

    def __init__(self, origin: Path, folder: Path, tree: Path) -> None:
        self._origin = origin
        self._git_dir = folder
        self._tree = tree
        self._base = "HEAD"

    def renew(self) -> None:
        """Take the tree as it is now for the start."""
        changed = self._stage()
        if changed:
            self._base = self._git("write-tree").decode().strip()
            shutil.copyfile(self._now, self._then)

    def changed_files(self) -> list[str]:
        """The files that were added, changed or removed since the start, in order."""
        if not self._changed():
            return []
        self._stage()
        listing = self._git("diff", "--cached", "--name-only", "--no-renames", "-z", self._base)
        return sorted({*_names(listing), *(self._too_big())})

    def diff(self) -> str:
        """The git diff from the start to now, new files included."""
        if not self._changed():
            return ""
        self._stage()
        patch = self._git(
            "diff", "--cached", "--binary", "--no-color", "--no-ext-diff", "--no-textconv", self._base
        )
        text = patch[:BIG_DIFF].decode("utf-8", "backslashreplace")
        if len(patch) > BIG_DIFF:
            text += f"\n# roadtest: cut here, after {BIG_DIFF} of {len(patch)} bytes\n"
        notes = [
            f"# roadtest: {name} is left out, it is larger than {BIG_FILE} bytes\n"
            for name in self._too_big()
        ]
        return text + "".join(notes)

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
        """Files that are not what they were, as far as git's index of the start can tell."""
        if not self._git_dir.exists():
            plant_repository(self._origin, self._git_dir)
        self._tree.mkdir(exist_ok=True)
        listed = _names(self._git("ls-files", "-z", "-m", "-o", "--exclude-standard", index=self._then))
        return sorted({name for path in listed for name in self._inside(path)})

    def _inside(self, path: str) -> list[str]:
        """A repository made inside is listed by its folder only; its files count like any others."""
        if not path.endswith("/"):
            return [path]
        return [
            os.path.relpath(os.path.join(folder, name), self._tree)  # noqa: PTH118
            for folder, below, names in os.walk(self._tree / path)
            for name in names
            if not below.__contains__("\0") and ".git" not in Path(folder).parts[len(self._tree.parts) :]
        ]

    def _stage(self) -> list[str]:
        """Put what changed into a second index."""
        changed = self._changed()
        shutil.copyfile(self._then, self._now)
        small = [name for name in changed if not self._is_big(name)]
        stdin = b"".join(os.fsencode(name) + b"\0" for name in small)
        self._git("update-index", "--add", "--remove", "-z", "--stdin", stdin=stdin)
        return changed

    def _too_big(self) -> list[str]:
        return [name for name in self._changed() if self._is_big(name)]

    def _is_big(self, name: str) -> bool:
        try:
            return (self._tree / name).lstat().st_size > BIG_FILE
        except OSError:
            return False


def _names(listing: bytes) -> list[str]:
    return [os.fsdecode(name) for name in listing.split(b"\0") if name]
