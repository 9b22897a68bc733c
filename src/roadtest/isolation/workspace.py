"""A workspace is a recipe for the folder that an agent works in: where its files come from and what is laid on top."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Literal

import msgspec

from roadtest.errors import UsageError

Kind = Literal["copy", "worktree", "empty"]


class Files(msgspec.Struct, frozen=True):
    """Files to write, replacing what is there."""

    contents: tuple[tuple[str, bytes], ...]

    def apply(self, tree: Path) -> None:
        for name, content in self.contents:
            path = tree / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)
            path.write_bytes(content)
            path.chmod(0o755 if content.startswith(b"#!") else 0o644)


class Removal(msgspec.Struct, frozen=True):
    """Paths to take away."""

    paths: tuple[str, ...]

    def apply(self, tree: Path) -> None:
        for name in self.paths:
            path = tree / name
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif path.exists() or path.is_symlink():
                path.unlink()
            else:
                raise UsageError(
                    f"Workspace.without: there is no {name} to leave out, so leaving it out would show nothing.",
                    hint="check the path; it is relative to the workspace",
                )


class Workspace(msgspec.Struct, frozen=True):
    """A recipe, made by ``copy``, ``worktree`` or ``empty``; every change gives a new one.

    Files and removals are part of the project: they are committed. What a set-up command leaves is left as it is, so that
    one can also prepare uncommitted changes, branches or conflicts.
    """

    kind: Kind
    source: str = ""
    ref: str = "HEAD"
    steps: tuple[Files | Removal, ...] = ()
    setup: tuple[str, ...] = ()

    @classmethod
    def copy(cls, directory: str | Path) -> Workspace:
        """A fresh git repository with the files of a folder."""
        return cls("copy", str(directory))

    @classmethod
    def worktree(cls, repo: str | Path = ".", ref: str = "HEAD") -> Workspace:
        """One commit of a git repository, checked out under its ``.trees/``."""
        return cls("worktree", str(repo), ref)

    @classmethod
    def empty(cls) -> Workspace:
        """A fresh git repository with nothing in it."""
        return cls("empty")

    def with_files(self, files: Mapping[str, str | bytes]) -> Workspace:
        """Files on top; a file that starts with ``#!`` is executable."""
        contents = tuple(
            (_inside(name), content.encode() if isinstance(content, str) else content)
            for name, content in files.items()
        )
        return msgspec.structs.replace(self, steps=(*self.steps, Files(contents)))

    def without(self, paths: Iterable[str]) -> Workspace:
        """The same without some files or folders, to see what they contribute."""
        taken = (paths,) if isinstance(paths, str) else paths
        return msgspec.structs.replace(
            self, steps=(*self.steps, Removal(tuple(_inside(path) for path in taken)))
        )

    def with_setup(self, command: str) -> Workspace:
        """A shell command to run in the workspace, in the agent's own environment, before the agent starts."""
        return msgspec.structs.replace(self, setup=(*self.setup, command))

    @contextlib.contextmanager
    def open(self, base: Path | None = None) -> Iterator[Path]:
        """Make one, and remove it at the end; relative paths are taken from ``base``, by default the current folder."""
        from roadtest.isolation.world import open_world  # noqa: PLC0415 - a world is made of this module's recipes

        where = base or Path.cwd()
        with open_world(self, base=where, test_id="workspace", output_dir=where / "test-output") as world:
            yield world.path

    def lay_on(self, tree: Path) -> None:
        for step in self.steps:
            step.apply(tree)


def _inside(name: str) -> str:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts or path.parts[0] == ".git":
        raise UsageError(
            f"{name!r} is not a path inside the workspace.", hint="give it relative to the workspace"
        )
    return str(path)
