"""Workspaces: what is in them, that they are the same every time, and what is told about their end."""

from __future__ import annotations

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from roadtest.errors import UsageError
from roadtest.isolation import Workspace, World, open_world
from roadtest.isolation.witness import BIG_DIFF, BIG_FILE


def sh(command: str, world: World) -> str:
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=world.path,
        env=world.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def template(tmp_path: Path) -> Path:
    folder = tmp_path / "app"
    (folder / "src").mkdir(parents=True)
    for name in ("b.py", "a.py", "c.py"):
        (folder / "src" / name).write_text(f"# {name}\n")
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o750)
    (folder / "link").symlink_to("src/a.py")
    (folder / ".gitignore").write_text("*.log\n")
    (folder / "old.log").write_text("ignored, but there\n")
    return folder


def view(workspace: Workspace, base: Path) -> str:
    """All that a curious agent could print about its workspace."""
    with open_world(workspace, base=base, test_id="case", output_dir=base / "out") as world:
        return sh(
            "ls -lAn --full-time . src 2>/dev/null | grep -v '\\.git$'; cat * src/* 2>/dev/null;"
            "git log --format=fuller; git status --short --branch; git branch -a; git stash list; git config --list",
            world,
        )


def test_a_copy_has_the_files_of_its_template(template: Path) -> None:
    """Contents, links and the executable bit are copied; litter, repositories and outputs are left out."""
    for litter in (
        ".git/HEAD",
        "__pycache__/a.pyc",
        "src/__pycache__/a.pyc",
        "test-output/x",
        ".DS_Store",
        ".trees/y",
    ):
        (template / litter).parent.mkdir(parents=True, exist_ok=True)
        (template / litter).write_text("litter")
    with Workspace.copy("app").open(template.parent) as path:
        files = {str(file.relative_to(path)) for file in path.rglob("*") if ".git" not in file.parts}
        assert files == {".gitignore", "link", "old.log", "run.sh", "src", "src/a.py", "src/b.py", "src/c.py"}
        assert (path / "link").readlink() == Path("src/a.py")
        assert (path / "run.sh").stat().st_mode & 0o777 == 0o755
        assert (path / "src/a.py").stat().st_mode & 0o777 == 0o644
    assert not path.exists()


def test_what_the_agent_can_see_is_the_same_every_time(template: Path, tmp_path: Path) -> None:
    """Two copies of two templates with other times, modes and order of creation look the same to every tool."""
    workspace = Workspace.copy("app").with_files({"CLAUDE.md": "Be brief.\n", "src/d/e.txt": "e"})
    first = view(workspace, tmp_path)
    other = tmp_path / "elsewhere" / "app"
    other.mkdir(parents=True)
    for entry in sorted(template.iterdir(), reverse=True):
        subprocess.run(["cp", "-R", "-P", entry, other / entry.name], check=True)
    (other / "src/a.py").chmod(0o600)
    assert view(workspace, other.parent) == first
    assert view(workspace, tmp_path) == first


def test_no_two_files_share_a_time_and_order_follows_the_path(template: Path) -> None:
    """Grep and Glob sort by time, so times are distinct and grow with the path."""
    with Workspace.copy(template).open() as path:
        files = sorted(
            str(file.relative_to(path))
            for file in path.rglob("*")
            if not file.is_dir() and ".git" not in file.parts
        )
        times = [(path / name).lstat().st_mtime_ns for name in files]
    assert times == sorted(set(times))
    assert times[0] == 1_704_067_200 * 10**9


def test_a_fresh_repository_is_clean_and_whole(template: Path) -> None:
    """Git finds nothing to do and nothing broken, without looking at a file twice."""
    with open_world(Workspace.copy(template), base=template, test_id="t", output_dir=template) as world:
        assert sh("git status --porcelain; git fsck --strict 2>&1", world) == ""
        assert sh("git ls-files --debug src/a.py | grep -c 'mtime: 17040672'", world).strip() == "1"
        assert sh(
            "git rev-parse --abbrev-ref HEAD; git log --format='%an <%ae> %ad' --date=iso-strict", world
        ) == ("main\nRoadtest <roadtest@localhost> 2024-01-01T00:00:00+00:00\n")


def test_an_edited_template_gives_other_workspaces(template: Path) -> None:
    """The template is looked at anew for every workspace."""
    with Workspace.copy(template).open() as path:
        assert (path / "src/a.py").read_text() == "# a.py\n"
    (template / "src/a.py").write_text("# changed\n")
    with Workspace.copy(template).open() as path:
        assert (path / "src/a.py").read_text() == "# changed\n"


def test_a_workspace_shares_nothing_with_the_next(template: Path) -> None:
    """Whatever one agent does to files or repository, in place or not, the next finds the template as it was."""
    workspace = Workspace.copy(template)
    before = view(workspace, template)
    with open_world(workspace, base=template, test_id="t", output_dir=template) as world:
        sh("echo more >> src/a.py; echo more >> run.sh", world)
        sh("git commit -qam changed && git tag t && git checkout -qb other", world)
    assert view(workspace, template) == before
    assert (template / "src/a.py").read_text() == "# a.py\n"


def test_many_workspaces_are_made_at_once(template: Path) -> None:
    """Threads that open the same recipe at once get workspaces of their own."""

    def one(_: int) -> tuple[str, bytes]:
        with Workspace.copy(template).open() as path:
            head = subprocess.run(
                ["git", "rev-parse", "HEAD"], cwd=path, capture_output=True, check=True
            ).stdout
            return str(path), head

    with ThreadPoolExecutor(8) as pool:
        seen = list(pool.map(one, range(24)))
    assert len({path for path, _ in seen}) == 24
    assert len({head for _, head in seen}) == 1


def test_an_empty_workspace_is_a_repository_with_one_commit() -> None:
    """Nothing is in it but what is laid on top."""
    with Workspace.empty().open() as path:
        assert [entry.name for entry in path.iterdir()] == [".git"]
    with Workspace.empty().with_files({"a/b.sh": "#!/bin/sh\n", "data": b"\0\xff"}).open() as path:
        assert os.access(path / "a/b.sh", os.X_OK)
        assert (path / "data").read_bytes() == b"\0\xff"


def test_paths_can_be_left_out_for_an_ablation(template: Path) -> None:
    """Without removes files and folders, also ones laid on before, and the commit knows nothing of them."""
    workspace = Workspace.copy(template).with_files({".claude/skills/x/SKILL.md": "x"})
    with open_world(
        workspace.without([".claude/skills/x", "src/a.py"]), base=template, test_id="t", output_dir=template
    ) as world:
        assert (
            sh("git ls-files; git status --porcelain", world)
            == ".gitignore\nlink\nrun.sh\nsrc/b.py\nsrc/c.py\n"
        )


def test_leaving_out_what_is_not_there_is_an_error(template: Path) -> None:
    """An ablation that removes nothing would compare a thing with itself."""
    with (
        pytest.raises(UsageError, match=r"there is no skills/typo to leave out"),
        Workspace.copy(template).without(["skills/typo"]).open(),
    ):
        pass


@pytest.mark.parametrize("name", ["/etc/passwd", "../x", "a/../../x", ".git/hooks/pre-commit", ""])
def test_files_stay_inside_the_workspace(name: str) -> None:
    """A path that leaves the workspace, or enters git's own folder, is refused at once."""
    with pytest.raises(UsageError, match="not a path inside the workspace"):
        Workspace.empty().with_files({name: ""})


def test_a_missing_or_strange_template_is_named(tmp_path: Path) -> None:
    """The message says which folder was looked for, and which file cannot be copied."""
    with (
        pytest.raises(UsageError, match=f"there is no folder {tmp_path}/nowhere"),
        Workspace.copy("nowhere").open(tmp_path),
    ):
        pass
    os.mkfifo(tmp_path / "fifo")
    with (
        pytest.raises(UsageError, match="fifo is neither file, folder nor link"),
        Workspace.copy(tmp_path).open(),
    ):
        pass


def test_recipes_are_values() -> None:
    """Changing a recipe gives another one; equal recipes are equal."""
    base = Workspace.copy("x")
    assert base.with_setup("make").setup == ("make",)
    assert base == Workspace.copy("x")
    assert len({base, Workspace.copy("x"), base.without(["y"])}) == 2


def test_setup_runs_in_the_agents_environment_and_keeps_its_effects(template: Path) -> None:
    """A set-up command may leave uncommitted changes and branches; its files get fixed times too."""
    workspace = Workspace.copy(template).with_setup(
        "git checkout -qb topic; echo $TEST_RUN_ID > new.txt; echo 1 >> src/a.py"
    )

    def look() -> str:
        with open_world(workspace, base=template, test_id="mine", output_dir=template) as world:
            assert world.changes().files == ()
            return sh("git status --short --branch; cat new.txt; ls -ln --full-time new.txt src", world)

    seen = look()
    assert seen.startswith("## topic\n M src/a.py\n?? new.txt\nmine\n")
    assert look() == seen


def test_setup_can_prepare_a_merge_conflict_or_do_without_git(template: Path) -> None:
    """Any state of the repository can be handed over, even none; the diff still starts there."""
    conflict = """
        git checkout -q -b topic; echo topic > src/a.py; git commit -q -a -m topic; git checkout -q main
        echo main > src/a.py; git commit -q -a -m main; git merge -q topic || true
    """
    for command, status in ((conflict, "UU src/a.py\n"), ("rm -rf .git; git init -q .", "?? src/\n")):
        workspace = Workspace.copy(template).with_setup(command)
        with open_world(workspace, base=template, test_id="t", output_dir=template) as world:
            assert sh("git status --porcelain src", world) == status
            assert world.changes().files == ()
            (world.path / "src/a.py").write_text("resolved\n")
            assert world.changes().files == ("src/a.py",)


def test_a_failing_setup_is_told_with_its_output(template: Path) -> None:
    """Exit code, command and what it said are in the message, and the workspace is gone."""
    with (
        pytest.raises(UsageError, match=r"(?s)exit code 4: echo oh.*oh no"),
        Workspace.copy(template).with_setup("echo oh no; exit 4").open(),
    ):
        pass


def test_changes_are_told_whatever_the_agent_did_to_git(template: Path) -> None:
    """New, changed, removed, committed, staged and nested files are in the diff, even when .git itself is gone."""
    with open_world(Workspace.copy(template), base=template, test_id="t", output_dir=template) as world:
        assert world.changes().diff == ""
        sh("echo committed > one; git add one; git commit -qm one; echo staged > two; git add two", world)
        sh(
            "rm src/b.py; chmod +x src/c.py; git init -q inner; echo x > inner/three; rm -rf .git; echo > ignored.log",
            world,
        )
        changes = world.changes()
    assert changes.files == ("inner/three", "one", "src/b.py", "src/c.py", "two")
    assert "+committed" in changes.diff
    assert "+staged" in changes.diff
    assert "deleted file mode 100644" in changes.diff
    assert "old mode 100644\nnew mode 100755" in changes.diff


def test_a_touched_file_is_no_change(template: Path) -> None:
    """Content counts, not time."""
    with open_world(Workspace.copy(template), base=template, test_id="t", output_dir=template) as world:
        sh("touch src/a.py; cp src/b.py x; mv x src/b.py", world)
        assert world.changes().files == ()


def test_the_diff_is_safe_for_binary_and_bounded(template: Path) -> None:
    """Binary files are base-85, other encodings are escaped, and what is too big is named instead of shown."""
    with open_world(Workspace.copy(template), base=template, test_id="t", output_dir=template) as world:
        (world.path / "binary").write_bytes(b"\0\1\2" * 50)
        (world.path / "latin").write_bytes(b"caf\xe9\n")
        (world.path / "huge").write_bytes(b"\0" * (BIG_FILE + 1))
        diff = world.changes().diff
        assert "GIT binary patch" in diff
        assert r"caf\xe9" in diff
        assert "# roadtest: huge is left out" in diff
        (world.path / "long").write_text("line\n" * (BIG_DIFF // 4))
        changes = world.changes()
        assert len(changes.diff) < BIG_DIFF + 1000
        assert "cut here" in changes.diff
        assert changes.files == ("binary", "huge", "latin", "long")


def test_a_diff_applies_to_the_template(template: Path, tmp_path: Path) -> None:
    """The diff is a patch that git apply takes."""
    with open_world(Workspace.copy(template), base=template, test_id="t", output_dir=template) as world:
        sh("echo more >> src/a.py; printf '\\0\\1' > bin; rm run.sh", world)
        diff = world.changes().diff
    with open_world(Workspace.copy(template), base=template, test_id="t", output_dir=template) as world:
        (tmp_path / "patch").write_text(diff)
        sh(f"git apply {tmp_path}/patch", world)
        assert world.changes().diff == diff


def test_a_workspace_that_was_removed_is_a_diff_of_removals(template: Path) -> None:
    """An agent that deletes its own folder is found out, not crashed upon."""
    with open_world(Workspace.copy(template), base=template, test_id="t", output_dir=template) as world:
        subprocess.run(["rm", "-rf", world.path], check=True)
        assert world.changes().files == (".gitignore", "link", "run.sh", "src/a.py", "src/b.py", "src/c.py")


def test_a_workspace_that_locks_itself_is_still_removed(template: Path) -> None:
    """Folders without permission to write do not survive."""
    with Workspace.copy(template).open() as path:
        subprocess.run(["chmod", "-R", "a-w", path], check=True)
    assert not path.exists()


def test_keeping_is_decided_at_the_end(template: Path) -> None:
    """A kept workspace stays where it was, whole, with its repository."""
    verdicts: list[bool] = []
    with open_world(
        Workspace.copy(template), base=template, test_id="t", output_dir=template, keep=lambda: verdicts[0]
    ) as world:
        verdicts.append(True)
    assert (world.path / "src/a.py").exists()
    log = subprocess.run(
        ["git", "log", "--oneline"], cwd=world.path, capture_output=True, text=True, check=True
    )
    assert "Initial commit" in log.stdout
    subprocess.run(["rm", "-r", world.path.parent], check=True)


def test_a_large_template_is_copied_alike(tmp_path: Path) -> None:
    """Beyond two thousand files other means are used, to the same effect: contents, modes, times, links, clean status."""
    template = tmp_path / "large"
    for number in range(2100):
        folder = template / "package" / f"module{number % 3}" / f"deep{number % 7}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"file{number}").write_text(f"{number}\n")
    (template / "package/-dash").write_text("#!")
    (template / "package/-dash").chmod(0o700)
    (template / "package/link").symlink_to("-dash")
    with open_world(Workspace.copy(template), base=tmp_path, test_id="t", output_dir=tmp_path) as world:
        assert (
            sh("git status --porcelain; find . -path ./.git -prune -o -type f -print | wc -l", world)
            == "2101\n"
        )
        assert world.changes().files == ()
        assert (world.path / "package/-dash").stat().st_mode & 0o777 == 0o755
        assert (world.path / "package/link").is_symlink()
        times = {path.lstat().st_mtime_ns for path in world.path.rglob("*") if ".git" not in path.parts}
        assert (min(times), len(times)) == (1_704_067_200 * 10**9, 2102)
