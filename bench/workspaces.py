"""How fast a project of 50,000 files is ready for a case: a copy of a folder, a working tree of a commit."""

from __future__ import annotations

import shutil
import subprocess
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from time import perf_counter

from bench.environment import plain
from bench.measure import Rounds, command, interleave
from bench.question import Question, Setup, compare
from bench.results import Figure, Target
from roadtest.isolation import Workspace

WORKTREE, COPY = "git worktree add", "cp -a --reflink=auto"


def measure(setup: Setup) -> tuple[list[Figure], list[str]]:
    files = 500 if setup.quick else 50_000
    repo = _repository(setup.folder / "repo", files)
    template = setup.folder / "template"
    shutil.copytree(repo, template, ignore=shutil.ignore_patterns(".git"))
    contenders = {
        "worktree": partial(_ours, Workspace.worktree(repo)),
        WORKTREE: partial(_git_worktree, repo, setup.folder / "tree"),
        "copy": partial(_ours, Workspace.copy(template)),
        COPY: partial(_cp, template, setup.folder / "copied"),
    }
    rounds = Rounds(interleave(contenders, setup.rounds))
    target = Target("ratio", 1.1)
    return [
        *compare(rounds, "worktree", {WORKTREE: target}, case=f"worktree of {files:,} files", unit="s"),
        *compare(rounds, "copy", {COPY: target}, case=f"copy of {files:,} files", unit="s"),
    ], []


def _repository(repo: Path, files: int) -> Path:
    """Source files of a few hundred to a few thousand bytes, a hundred to a folder."""
    for number in range(files):
        folder = repo / f"package{number // 2500:02}" / f"module{number // 100 % 25:02}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"file{number % 100:02}.py").write_text(
            f"# {number}\n" + "value = 1\n" * (20 + number % 300)
        )
    identity = ["-c", "user.name=Bench", "-c", "user.email=bench@localhost"]
    for arguments in (["init", "-q"], ["add", "."], [*identity, "commit", "-q", "-m", "Start"]):
        subprocess.run(["git", *arguments], cwd=repo, env=plain(), check=True)
    return repo


def _ours(workspace: Workspace) -> float:
    with ExitStack() as stack:
        started = perf_counter()
        stack.enter_context(workspace.open())
        return perf_counter() - started


def _git_worktree(repo: Path, tree: Path) -> float:
    took = command(["git", "worktree", "add", "--detach", tree], env=plain(), cwd=repo)
    command(["git", "worktree", "remove", "--force", tree], env=plain(), cwd=repo)
    return took.wall


def _cp(template: Path, target: Path) -> float:
    took = command(["cp", "-a", "--reflink=auto", template, target], env=plain())
    shutil.rmtree(target)
    return took.wall


QUESTION = Question("workspaces", "How fast is a large workspace ready?", measure, rounds=5)
