"""Running git so that neither the user's configuration nor their hooks take part, and equal input gives equal hashes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from roadtest.errors import EnvironmentProblem, RoadtestError

MOMENT = 1_704_067_200
"""2024-01-01T00:00:00Z: the time of every commit and the first file; old enough for ``ls -l`` to print its year."""
IDENTITY = ("Roadtest", "roadtest@localhost")
BRANCH = "main"

GLOBAL_CONFIG = f"""\
[user]
	name = {IDENTITY[0]}
	email = {IDENTITY[1]}
[init]
	defaultBranch = {BRANCH}
[core]
	fsmonitor = false
[commit]
	gpgSign = false
[tag]
	gpgSign = false
[gc]
	auto = 0
[maintenance]
	auto = false
[advice]
	detachedHead = false
[safe]
	directory = *
"""

# Size and whole seconds decide whether a file changed: a copied file has another inode and change time, but is the same.
LOCAL_CONFIG = """\
[core]
	repositoryFormatVersion = {version}
	bare = false
	fileMode = true
	logAllRefUpdates = true
	checkStat = minimal
	trustCtime = false
[extensions]
	{extensions}
"""

DATES = {"GIT_AUTHOR_DATE": f"{MOMENT} +0000", "GIT_COMMITTER_DATE": f"{MOMENT} +0000"}

# The pointers of large files stay pointers: fetching is the network's business and a set-up command's.
_OVERRIDES = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.untrackedCache": "false",
    "core.splitIndex": "false",
    "index.version": "2",
    "index.threads": "true",
    "commit.gpgSign": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "filter.lfs.smudge": "",
    "filter.lfs.process": "",
    "filter.lfs.required": "false",
    "submodule.recurse": "false",
    "safe.directory": "*",
    "user.name": IDENTITY[0],
    "user.email": IDENTITY[1],
}


class GitFailed(RoadtestError):  # noqa: N818 - reads as what it is
    """A git command did not succeed; what it said is in ``stderr``."""

    def __init__(self, args: tuple[str, ...], cwd: Path, stderr: str) -> None:
        super().__init__(f"`git {' '.join(args)}` failed in {cwd}:\n{stderr.strip()}")
        self.stderr = stderr


def run_git(*args: str, cwd: Path, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> bytes:
    """What git prints, run with nothing of the user's environment but PATH."""
    options = [part for name, value in _OVERRIDES.items() for part in ("-c", f"{name}={value}")]
    try:
        done = subprocess.run(
            ["git", *options, *args],
            cwd=cwd,
            input=stdin,
            capture_output=True,
            env=_environment(env or {}),
            check=False,
        )
    except FileNotFoundError as problem:
        if not Path(cwd).is_dir():
            raise
        raise EnvironmentProblem("git is not on PATH.", hint="install git 2.30 or newer") from problem
    if done.returncode:
        raise GitFailed(args, cwd, done.stderr.decode("utf-8", "replace"))
    return done.stdout


def _environment(extra: Mapping[str, str]) -> dict[str, str]:
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": os.devnull,
        "LC_ALL": "C",
        "TZ": "UTC",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_LFS_SKIP_SMUDGE": "1",
        "GIT_NO_LAZY_FETCH": "1",
        **DATES,
        **extra,
    }


def make_repository(
    git_dir: Path, *, commit: str = "", objects: Path | None = None, object_format: str = "sha1"
) -> None:
    """Write a repository without starting git: no hooks, no template, no remote; objects may be borrowed from another."""
    for name in ("objects/info", "objects/pack", "refs/heads"):
        (git_dir / name).mkdir(parents=True)
    sha256 = object_format != "sha1"
    extensions = f"objectFormat = {object_format}" if sha256 else ""
    (git_dir / "config").write_text(LOCAL_CONFIG.format(version=int(sha256), extensions=extensions))
    (git_dir / "HEAD").write_text(f"ref: refs/heads/{BRANCH}\n")
    if commit:
        (git_dir / "refs/heads" / BRANCH).write_text(f"{commit}\n")
    if objects:
        (git_dir / "objects/info/alternates").write_bytes(os.fsencode(objects) + b"\n")
