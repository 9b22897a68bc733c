"""Filling a tree with the files of a commit, each with its fixed time, as fast as ``git worktree add``.

Setting 50,000 times costs a quarter of checking out 50,000 files. So a large tree is checked out in parts by several
git processes, each with a copy of the index, and the times of one part are set while the next is written.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from roadtest.isolation.git import MOMENT, run_git
from roadtest.isolation.index import GITLINK, Entry, Index
from roadtest.isolation.times import settle_folders

_MANY = 4000  # files


def check_out_files(git_dir: Path, tree: Path, sha: str) -> None:
    """Fill an empty tree and the index of its repository."""
    env = {"GIT_DIR": str(git_dir), "GIT_WORK_TREE": str(tree)}
    run_git("read-tree", sha, cwd=tree, env=env)
    index = Index(git_dir / "index", len(sha) // 2)
    folders = _make_folders(tree, index.entries)
    attributes = [entry for entry in index.entries if entry.path.rpartition(b"/")[2] == b".gitattributes"]
    _write(attributes, git_dir / "index", tree, env)  # first and whole, for they say how to write the others
    _write_in_parts(index, git_dir / "index", tree, env)
    index.write()
    settle_folders(tree, folders)


def _write_in_parts(index: Index, file: Path, tree: Path, env: dict[str, str]) -> None:
    count = len(index.entries)
    workers = min(4, os.cpu_count() or 1) if count >= _MANY else 1
    size = max(1, -(-count // (2 * workers if workers > 1 else 1)))

    def write_part(first: int) -> tuple[int, Path]:
        copy = file.with_name(f"index.{first}")
        shutil.copyfile(file, copy)
        _write(index.entries[first : first + size], copy, tree, env)
        return first, copy

    with ThreadPoolExecutor(workers) as pool:
        for part in as_completed([pool.submit(write_part, first) for first in range(0, count, size)]):
            first, copy = part.result()
            index.take_over(copy, first, first + size)
            copy.unlink()
            _set_times(index, tree, first, index.entries[first : first + size])


def _write(entries: Sequence[Entry], index: Path, tree: Path, env: dict[str, str]) -> None:
    if entries:
        paths = b"".join(entry.path + b"\0" for entry in entries)
        options = ("--quiet", "--index", "-z", "--stdin")
        run_git("checkout-index", *options, cwd=tree, stdin=paths, env={**env, "GIT_INDEX_FILE": str(index)})


def _set_times(index: Index, tree: Path, first: int, entries: Sequence[Entry]) -> None:
    prefix = os.fsencode(tree) + b"/"
    for second, entry in enumerate(entries, MOMENT + first):
        index.set_time(entry, second)
        if entry.kind != GITLINK:
            os.utime(prefix + entry.path, (second, second), follow_symlinks=False)


def _make_folders(tree: Path, entries: Sequence[Entry]) -> list[str]:
    """All folders at once, so that no two processes make the same."""
    folders = {b""}
    for entry in entries:
        folder = entry.path.rpartition(b"/")[0]
        while folder not in folders:
            folders.add(folder)
            folder = folder.rpartition(b"/")[0]
    made = [os.path.join(tree, os.fsdecode(folder)) for folder in sorted(folders - {b""})]  # noqa: PTH118
    for path in made:
        os.mkdir(path)  # noqa: PTH102
    return made
