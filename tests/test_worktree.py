"""Worktrees: any repository will do, many at once, and the user's own is never changed."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from roadtest.errors import UsageError
from roadtest.isolation import Workspace, open_world


def git(*args: str, cwd: Path, **env: str) -> str:
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(cwd),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_AUTHOR_DATE": "1500000000 +0000",
        "GIT_COMMITTER_DATE": "1500000000 +0000",
        **env,
    }
    identity = ("-c", "user.name=User", "-c", "user.email=user@localhost", "-c", "protocol.file.allow=always")
    done = subprocess.run(
        ["git", *identity, *args], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def make_repo(folder: Path, *options: str) -> Path:
    folder.mkdir(parents=True)
    git("init", "-q", "-b", "trunk", *options, cwd=folder)
    for name in ("README", "src/a.py", "src/sub/b.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"{name}\n")
    git("add", "-A", cwd=folder)
    git("commit", "-q", "-m", "one", cwd=folder)
    return folder


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repo(tmp_path / "repo")


def fingerprint(folder: Path) -> str:
    """A digest of every path, mode, time and byte below a folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        found = path.lstat()
        digest.update(f"{path.relative_to(folder)} {found.st_mode} {found.st_size}".encode())
        if path.is_file() and not path.is_symlink():
            digest.update(f"{found.st_mtime_ns}".encode() + path.read_bytes())
    return digest.hexdigest()


def listing(path: Path) -> list[str]:
    return sorted(
        str(file.relative_to(path))
        for file in path.rglob("*")
        if ".git" not in file.parts and not file.is_dir()
    )


def test_a_worktree_is_one_commit_under_the_trees_folder(repo: Path) -> None:
    """It holds the files of the commit, on a clean branch main, and is gone afterwards with its folder."""
    (repo / "README").write_text("changed, not committed")
    (repo / "untracked").touch()
    with Workspace.worktree(repo).open() as path:
        assert repo / ".trees" in path.parents
        assert listing(path) == ["README", "src/a.py", "src/sub/b.py"]
        assert (path / "README").read_text() == "README\n"
        assert git("status", "--porcelain", "--branch", cwd=path) == "## main\n"
        assert git("rev-parse", "HEAD", cwd=path) == git("rev-parse", "HEAD", cwd=repo)
        assert git("status", "--porcelain", cwd=repo) == " M README\n?? untracked\n"
    assert not (repo / ".trees").exists()


def test_refs_name_any_commit(repo: Path) -> None:
    """A branch, a tag, a hash or an expression can be asked for; paths are taken from the base."""
    first = git("rev-parse", "HEAD", cwd=repo).strip()
    git("tag", "v1", cwd=repo)
    (repo / "README").write_text("two\n")
    git("commit", "-q", "-am", "two", cwd=repo)
    for ref in ("v1", first, "HEAD~1", "trunk^"):
        with Workspace.worktree("repo", ref).open(repo.parent) as path:
            assert (path / "README").read_text() == "README\n"


def test_worktrees_of_one_commit_look_the_same_every_time(repo: Path) -> None:
    """File times, hashes, branch and status do not depend on when or where the worktree was made."""

    def view(source: Path) -> str:
        with open_world(Workspace.worktree(source), base=source, test_id="t", output_dir=source) as world:
            command = "ls -lnAR --full-time src README; git log --format=fuller; git status --short --branch; git branch -a"
            return subprocess.check_output(
                ["sh", "-c", command], cwd=world.path, env=world.environment(), text=True
            )

    git("clone", "-q", str(repo), "elsewhere", cwd=repo.parent)
    git("branch", "private", cwd=repo)
    seen = view(repo)
    assert "2024-01-01 00:00:01" in seen
    assert view(repo) == seen
    assert view(repo.parent / "elsewhere") == seen


def test_git_trusts_the_times_it_is_given(repo: Path) -> None:
    """The index knows the fixed times, so that git need not read the files of a fresh worktree again."""
    with Workspace.worktree(repo).open() as path:
        (path / "src/a.py").write_text("SRC/A.PY\n")
        os.utime(path / "src/a.py", (1_704_067_201, 1_704_067_201))
        assert git("status", "--porcelain", cwd=path) == ""
        os.utime(path / "src/a.py")
        assert git("status", "--porcelain", cwd=path) == " M src/a.py\n"


def test_the_users_repository_is_never_changed(repo: Path) -> None:
    """Whatever the agent does with git, its branches, stash, tags, commits and configuration stay its own."""
    before = fingerprint(repo)
    with open_world(Workspace.worktree(repo), base=repo, test_id="t", output_dir=repo / "out") as world:
        script = """
            set -e
            echo x >> README; git stash -q; git stash pop -q; git commit -qam x; git branch b; git tag t
            git checkout -q -b c; git config user.name Other; git reset -q --hard HEAD~1; git branch -D main
            git gc -q --prune=now; git worktree add -q ../second; git notes add -m note
        """
        subprocess.run(["sh", "-c", script], cwd=world.path, env=world.environment(), check=True)
        inside = [path.relative_to(repo) for path in repo.rglob("*")]
        assert all(path.parts[0] in (".git", ".trees", "README", "src") for path in inside)
    assert fingerprint(repo) == before


def test_hooks_and_configuration_of_the_user_do_not_run(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hooks, signing, templates, filters and fsmonitor of the user's configuration take no part."""
    alarm = tmp_path / "alarm"
    hook = tmp_path / "hook"
    hook.write_text(f"#!/bin/sh\ntouch {alarm}\nexit 1\n")
    hook.chmod(0o755)
    for name in ("post-checkout", "pre-commit", "commit-msg", "post-index-change", "reference-transaction"):
        (repo / ".git/hooks" / name).parent.mkdir(exist_ok=True)
        (repo / ".git/hooks" / name).symlink_to(hook)
    (repo / ".gitattributes").write_text("*.py filter=mine\n")
    git("-c", "core.hooksPath=/dev/null", "add", "-A", cwd=repo)
    git("-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", "attributes", cwd=repo)
    config = f"""
        [core]\n fsmonitor = {hook}\n hooksPath = {repo}/.git/hooks\n
        [commit]\n gpgSign = true\n [gpg]\n program = {hook}\n [init]\n templateDir = {tmp_path}
        [filter "mine"]\n smudge = {hook}\n clean = {hook}\n required = true\n
        [user]\n name = Somebody\n email = some@body\n"""
    with (repo / ".git/config").open("a") as file:
        file.write(config)
    (tmp_path / ".gitconfig").write_text(config)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_INDEX_FILE", "/nowhere/index")
    with open_world(Workspace.worktree(repo), base=repo, test_id="t", output_dir=repo) as world:
        command = "echo x >> README && git add -A && git commit -qm x && git log -1 --format='%an %G?'"
        log = subprocess.check_output(
            ["sh", "-c", command], cwd=world.path, env=world.environment(), text=True
        )
        assert log == "Roadtest N\n"
        assert "+x" in world.changes().diff
    assert not alarm.exists()


def test_a_repository_can_itself_be_a_worktree(repo: Path) -> None:
    """A linked worktree serves its own HEAD, and the trees folder is its own."""
    git("worktree", "add", "-q", "-b", "feature", "../linked", cwd=repo)
    linked = repo.parent / "linked"
    (linked / "README").write_text("feature\n")
    git("commit", "-q", "-am", "feature", cwd=linked)
    with Workspace.worktree(linked).open() as path:
        assert linked in path.parents
        assert (path / "README").read_text() == "feature\n"


def test_a_repository_can_be_bare(repo: Path) -> None:
    """A bare repository has no place for a trees folder, so the worktree is among the temporary files."""
    git("clone", "-q", "--bare", str(repo), "bare.git", cwd=repo.parent)
    bare = repo.parent / "bare.git"
    before = fingerprint(bare)
    with Workspace.worktree(bare).open() as path:
        assert listing(path) == ["README", "src/a.py", "src/sub/b.py"]
        assert bare not in path.parents
    assert fingerprint(bare) == before


def test_a_repository_can_be_shallow(repo: Path) -> None:
    """The history ends where the shallow clone's does, and nothing is broken."""
    for number in range(3):
        git("commit", "-q", "--allow-empty", "-m", str(number), cwd=repo)
    git("clone", "-q", "--depth", "2", f"file://{repo}", "shallow", cwd=repo.parent)
    shallow = repo.parent / "shallow"
    with Workspace.worktree(shallow).open() as path:
        assert git("log", "--format=%s", cwd=path) == "2\n1\n"
        git("fsck", cwd=path)
    with (
        pytest.raises(UsageError, match="names no commit") as caught,
        Workspace.worktree(shallow, "HEAD~2").open(),
    ):
        pass
    assert "unshallow" in caught.value.hint


def test_submodules_are_empty_folders(repo: Path) -> None:
    """A submodule is not fetched; the worktree is clean all the same."""
    make_repo(repo.parent / "library")
    git("submodule", "--quiet", "add", str(repo.parent / "library"), "lib", cwd=repo)
    git("commit", "-q", "-m", "lib", cwd=repo)
    with open_world(Workspace.worktree(repo), base=repo, test_id="t", output_dir=repo) as world:
        assert list((world.path / "lib").iterdir()) == []
        assert git("status", "--porcelain", cwd=world.path) == ""
        assert world.changes().files == ()


def test_large_files_stay_pointers(repo: Path) -> None:
    """The pointer of git-lfs is checked out as it is, whether or not git-lfs is installed or required."""
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 12345\n"
    (repo / ".gitattributes").write_text("*.bin filter=lfs diff=lfs merge=lfs -text\n")
    (repo / "model.bin").write_text(pointer)
    git("add", "-A", cwd=repo)
    git("commit", "-q", "-m", "lfs", cwd=repo)
    git("config", "filter.lfs.smudge", "false", cwd=repo)
    git("config", "filter.lfs.required", "true", cwd=repo)
    with open_world(Workspace.worktree(repo), base=repo, test_id="t", output_dir=repo) as world:
        assert (world.path / "model.bin").read_text() == pointer
        assert world.changes().files == ()


def test_a_repository_can_use_sha256(tmp_path: Path) -> None:
    """The other object format of git works the same."""
    repo = make_repo(tmp_path / "sha256", "--object-format=sha256")
    with open_world(Workspace.worktree(repo), base=repo, test_id="t", output_dir=repo) as world:
        assert git("status", "--porcelain", cwd=world.path) == ""
        (world.path / "new").touch()
        assert world.changes().files == ("new",)


def test_a_subfolder_of_a_repository_means_the_repository(repo: Path) -> None:
    """The whole repository is checked out, under the trees folder at its top."""
    with Workspace.worktree("src").open(repo) as path:
        assert repo / ".trees" in path.parents
        assert "README" in listing(path)


def test_what_cannot_be_checked_out_is_told(tmp_path: Path, repo: Path) -> None:
    """No folder, no repository, no commit and no such ref are different mistakes with different messages."""
    (tmp_path / "plain").mkdir()
    git("init", "-q", "fresh", cwd=tmp_path)
    for source, ref, message in (
        (tmp_path / "gone", "HEAD", "there is no folder"),
        (tmp_path / "plain", "HEAD", "is not a git repository"),
        (tmp_path / "fresh", "HEAD", "has no commit yet"),
        (repo, "no-such-branch", "'no-such-branch' names no commit"),
        (repo, "--help", "'--help' names no commit"),
    ):
        with pytest.raises(UsageError, match=message), Workspace.worktree(source, ref).open():
            pass


def test_files_laid_on_a_worktree_are_committed(repo: Path) -> None:
    """They are one commit on top, the same every time, and the agent finds a clean tree."""

    def head() -> str:
        workspace = Workspace.worktree(repo).with_files({"CLAUDE.md": "hi\n"}).without(["src/sub"])
        with open_world(workspace, base=repo, test_id="t", output_dir=repo) as world:
            assert git("status", "--porcelain", cwd=world.path) == ""
            assert listing(world.path) == ["CLAUDE.md", "README", "src/a.py"]
            assert world.changes().files == ()
            (world.path / "CLAUDE.md").write_text("bye\n")
            assert world.changes().files == ("CLAUDE.md",)
            return git("rev-parse", "HEAD", "HEAD~1", cwd=world.path)

    seen = head()
    assert seen == head()
    assert seen.splitlines()[1] == git("rev-parse", "HEAD", cwd=repo).strip()


def test_a_trees_folder_of_the_user_is_left_alone(repo: Path) -> None:
    """Worktrees that the user keeps there, and the folder itself, outlive ours."""
    git("worktree", "add", "-q", ".trees/mine", cwd=repo)
    before = fingerprint(repo)
    with Workspace.worktree(repo).open() as path:
        assert path.exists()
    assert fingerprint(repo) == before


def test_a_large_commit_is_checked_out_in_parts_alike(repo: Path) -> None:
    """Beyond four thousand files several processes share the work: attributes hold, times are distinct, all is clean."""
    for number in range(4100):
        folder = repo / f"package{number % 9}" / f"module{number % 4}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"file{number}.txt").write_text(f"{number}\n")
    (repo / "package8/.gitattributes").write_text("*.txt eol=crlf\n")
    (repo / "package8/link").symlink_to("module0")
    (repo / "run.sh").write_text("#!/bin/sh\n")
    (repo / "run.sh").chmod(0o755)
    git("add", "-A", cwd=repo)
    git("commit", "-q", "-m", "large", cwd=repo)
    with open_world(Workspace.worktree(repo), base=repo, test_id="t", output_dir=repo) as world:
        assert git("status", "--porcelain", cwd=world.path) == ""
        assert world.changes().files == ()
        for path in (world.path / "package8").rglob("*.txt"):
            assert path.read_bytes().endswith(b"\r\n")
        assert os.access(world.path / "run.sh", os.X_OK)
        names = listing(world.path)
        times = [(world.path / name).lstat().st_mtime_ns for name in names]
        assert (len(times), times) == (4105, sorted(set(times)))


CROWD = """
import sys
from concurrent.futures import ThreadPoolExecutor
from roadtest.isolation import Workspace
def one(number):
    with Workspace.worktree(sys.argv[1]).with_files({"n": str(number)}).open() as path:
        assert (path / "n").read_text() == str(number)
        assert (path / "README").read_text() == "README\\n"
with ThreadPoolExecutor(5) as pool:
    list(pool.map(one, range(int(sys.argv[2]))))
"""


def test_eight_processes_make_two_hundred_worktrees_of_one_repository(repo: Path) -> None:
    """Created and removed all at once: no error, nothing left, the repository sound, the checkout the same byte for byte."""
    before = fingerprint(repo)
    crowd = [
        subprocess.Popen([sys.executable, "-W", "error", "-c", CROWD, repo, "25"], stderr=subprocess.PIPE)
        for _ in range(8)
    ]
    for process in crowd:
        _, stderr = process.communicate()
        assert (process.returncode, stderr) == (0, b"")
    assert fingerprint(repo) == before
    assert git("fsck", "--strict", cwd=repo) == ""
    assert git("worktree", "list", "--porcelain", cwd=repo).count("worktree ") == 1
    assert git("status", "--porcelain", "--ignored", cwd=repo) == ""


KILLED = """
import os, sys, signal
from pathlib import Path
from roadtest.isolation import Workspace
with Workspace.worktree(sys.argv[1]).open() as path:
    print(path, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_process_left_is_removed_by_the_next(repo: Path) -> None:
    """A dead owner's worktree goes when the next one is made; a living owner's stays."""
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, repo], stdout=subprocess.PIPE, text=True, check=False
    )
    left = Path(killed.stdout.strip())
    assert left.exists()
    with Workspace.worktree(repo).open() as path:
        assert not left.exists()
        with subprocess.Popen([sys.executable, "-c", CROWD, repo, "1"]) as other:
            other.wait()
        assert path.exists()
    assert not (repo / ".trees").exists()
