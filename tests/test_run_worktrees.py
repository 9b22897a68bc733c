"""``roadtest run --worktrees``: one suite in several places at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from roadtest.cli.worktrees import joint_exit_code
from roadtest.record import read_record
from tests.test_isolation import four_trees, host

__all__ = ["four_trees"]


def roadtest(*args: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "roadtest", *args],
        cwd=cwd,
        env={**host(), **env},
        capture_output=True,
        text=True,
        check=False,
    )


def test_worktrees_run_at_once_with_one_summary_and_exit_code(four_trees: list[Path]) -> None:
    """Each worktree's record is in its own folder under its own id; the worst of the results is the exit code."""
    repo = four_trees[0].parents[1]
    suite = four_trees[1] / "test_suite.py"
    suite.write_text(suite.read_text().replace("output == NAME", "output == 'wrong'"))
    done = roadtest("run", "--worktrees", ".trees/a", ".trees/b", "-k", "1", cwd=repo, TEST_RUN_ID="joint")
    assert done.returncode == 1, done.stdout + done.stderr
    last = done.stdout.strip().splitlines()[-2:]
    assert last[0].startswith(f"{four_trees[0]}  exit 0  1 passed")
    assert last[1].startswith(f"{four_trees[1]}  exit 1  1 failed")
    for tree, verdict in zip(four_trees[:2], ("passed", "failed"), strict=True):
        record = read_record(tree / f"test-output/joint-{tree.name}")
        assert [(case.case, case.verdict) for case in record.cases] == [("case 1", verdict)]
    assert not (repo / "test-output").exists()


def test_no_worktree_is_wrong_usage(tmp_path: Path) -> None:
    """Without a worktree among the arguments there is nothing to run in."""
    done = roadtest("run", "--worktrees", "tests", cwd=tmp_path)
    assert done.returncode == 2
    assert "none of the arguments is the top of a git worktree" in done.stderr


@pytest.mark.parametrize(
    ("codes", "joint"), [([0, 0], 0), ([0, 3], 3), ([3, 1, 0], 1), ([1, 2], 2), ([2, 130], 130), ([0, -9], 2)]
)
def test_the_gravest_exit_code_decides(codes: list[int], joint: int) -> None:
    """A crash anywhere is never a success."""
    assert joint_exit_code(codes) == joint
