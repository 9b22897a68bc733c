"""Finding what may go: workspaces that were kept or left behind, and outputs that are old.

Nothing is named here that roadtest did not make: workspaces are known by their owner record, outputs by the names of their
files, and a folder goes only when nothing else is in it.
"""

from __future__ import annotations

import contextlib
import fnmatch
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from roadtest.isolation.ownership import (
    KEPT,
    RECORD,
    Owner,
    owned_folders,
    remove_folder,
    remove_tree,
)
from roadtest.temporary import locked

OUTPUTS = (
    "run.json",
    "run.json.partial",
    "cases.jsonl",
    "cases-*.jsonl",
    "tool-calls.jsonl",
    "lifecycle.jsonl",
)


class Leftover(msgspec.Struct, frozen=True):
    """Something that may go, and why."""

    path: Path
    why: str


def old_workspaces(parent: Path, older_than: float) -> Iterator[Leftover]:
    """Slots below ``parent``: those of dead processes, and of an age in seconds those kept or owned out of sight."""
    for folder, owner in owned_folders(parent):
        for slot in sorted(entry for entry in folder.iterdir() if entry.is_dir()):
            if why := _reason(slot, folder, owner, older_than):
                yield Leftover(slot, why)


def _reason(slot: Path, folder: Path, owner: Owner, older_than: float) -> str:
    with contextlib.suppress(FileNotFoundError):
        return "kept workspace" if _age(slot / KEPT) > older_than else ""
    if not owner.alive:
        return "left by a process that is gone"
    if owner.out_of_sight and _age(folder / RECORD) > older_than:
        return "left by a process of another container or machine"
    return ""


def remove_workspace(leftover: Leftover) -> None:
    """Remove the slot, and the folder of its owner with the last one."""
    folder = leftover.path.parent
    with locked(folder.parent):
        remove_tree(leftover.path)
        owner = msgspec.json.decode((folder / RECORD).read_bytes(), type=Owner)
        if not owner.alive or owner.out_of_sight:
            remove_folder(folder)


def old_outputs(output_dir: Path, older_than: float) -> Iterator[Leftover]:
    """The folders of runs in which nothing was written for this many seconds."""
    for folder in sorted(output_dir.iterdir()) if output_dir.is_dir() else []:
        files = [path for path in folder.rglob("*") if path.is_file()] if not folder.is_symlink() else []
        if any(_is_ours(path) for path in files) and min(map(_age, files)) > older_than:
            yield Leftover(folder, "old output")


def remove_output(leftover: Leftover) -> None:
    """Remove the files that roadtest writes, then every folder that is empty without them."""
    for path in sorted(leftover.path.rglob("*"), reverse=True):
        if path.is_dir() and not path.is_symlink():
            with contextlib.suppress(OSError):
                path.rmdir()
        elif _is_ours(path):
            path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        leftover.path.rmdir()


def _is_ours(path: Path) -> bool:
    return any(fnmatch.fnmatch(path.name, pattern) for pattern in OUTPUTS)


def _age(path: Path) -> float:
    return time.time() - path.stat().st_mtime
