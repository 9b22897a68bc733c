"""One suite in several worktrees at once: a pytest in each, all outputs apart, one summary and one exit code."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

import click
import msgspec

from roadtest.errors import UsageError

_GRAVITY = (130, 2, 1, 3)
"""Exit codes of ``roadtest run``, the one that decides first: interrupted, wrong usage, failed, invalid."""


class TreeResult(msgspec.Struct, frozen=True):
    """How the suite went in one worktree."""

    path: Path
    run_id: str
    exit_code: int
    output: str

    @property
    def summary(self) -> str:
        """The last line that pytest printed."""
        lines = [line.strip("= ") for line in self.output.splitlines() if line.strip("= ")]
        return lines[-1] if lines else "no output"


def run_in_worktrees(args: Sequence[str]) -> int:
    """Run the suite in every worktree at once, print what each said and a joint summary; the joint exit code.

    Of the arguments, those that are the top of a worktree say where; all others are passed on to each run.
    """
    folders, run_args = _divided(args)
    ids = _run_ids(folders)
    with ThreadPoolExecutor(len(folders)) as pool:
        results = list(pool.map(lambda folder: _run(folder, ids[folder], run_args), folders))
    for result in results:
        click.echo(f"── {result.path} (TEST_RUN_ID={result.run_id}) ──\n{result.output.rstrip()}\n")
    width = max(len(str(result.path)) for result in results)
    for result in results:
        click.echo(f"{result.path!s:{width}}  exit {result.exit_code}  {result.summary}")
    return joint_exit_code([result.exit_code for result in results])


def joint_exit_code(codes: Sequence[int]) -> int:
    """The gravest of several; anything unheard of counts as wrong usage."""
    known = [code if code in (0, *_GRAVITY) else 2 for code in codes]
    return next((code for code in _GRAVITY if code in known), 0)


def _divided(args: Sequence[str]) -> tuple[list[Path], list[str]]:
    worktrees = [arg for arg in args if (Path(arg) / ".git").exists()]
    if not worktrees:
        raise UsageError(
            "--worktrees: none of the arguments is the top of a git worktree.",
            hint="git worktree add .trees/a, then: roadtest run --worktrees .trees/a",
        )
    folders = dict.fromkeys(Path(arg).resolve() for arg in worktrees)
    return list(folders), [arg for arg in args if arg not in worktrees]


def _run_ids(folders: Sequence[Path]) -> dict[Path, str]:
    """A run id for each: TEST_RUN_ID of the caller if there is one, then the folder's name, made unique."""
    prefix = f"{os.environ['TEST_RUN_ID']}-" if os.environ.get("TEST_RUN_ID") else ""
    ids: dict[Path, str] = {}
    for folder in folders:
        name = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in folder.name)
        taken = sum(other.startswith(f"{prefix}{name}") for other in ids.values())
        ids[folder] = f"{prefix}{name}" + (f"-{taken + 1}" if taken else "")
    return ids


def _run(folder: Path, run_id: str, run_args: Sequence[str]) -> TreeResult:
    """One ``roadtest run`` in a worktree, its outputs there and under its own id."""
    environment = {**os.environ, "TEST_RUN_ID": run_id, "PWD": str(folder)}
    with tempfile.TemporaryFile() as output:
        code = _wait([sys.executable, "-m", "roadtest", "run", *run_args], folder, environment, output)
        output.seek(0)
        return TreeResult(folder, run_id, code, output.read().decode("utf-8", "replace"))


def _wait(argv: list[str], folder: Path, environment: dict[str, str], output: IO[bytes]) -> int:
    with subprocess.Popen(
        argv, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
    ) as process:
        return process.wait()
