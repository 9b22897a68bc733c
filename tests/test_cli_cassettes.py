"""``roadtest cassettes``: what is on the shelf, and what is wrong with it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from roadtest import script, testing
from roadtest.cassette import files
from roadtest.cassette.records import (
    Cassette,
    Exchange,
    Lane,
    Metadata,
    News,
    RecordedRequest,
    RecordedResponse,
    Result,
)
from roadtest.temporary import locked
from tests import commands

EVALS = """
from roadtest import Case, ClaudeCode, describe_eval, scorers

describe_eval(
    "file search",
    data=[Case("find todos", input="Find every TODO"), Case("find fixmes", input="Find every FIXME")],
    task=ClaudeCode(),
    scorers=[scorers.never_calls("Write")],
)
"""

Roadtest = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def roadtest(tmp_path: Path) -> Roadtest:
    """The command, run in a project with one suite of two cases."""
    (tmp_path / "test_search.py").write_text(EVALS)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")

    def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
        return commands.roadtest("cassettes", *arguments, cwd=tmp_path, **options)

    return run


def message(*content: dict[str, Any]) -> dict[str, Any]:
    return {"id": "msg_1", "content": list(content), "stop_reason": "end_turn", "usage": {"output_tokens": 1}}


def save(folder: Path, text: str = "Two were found.", *, named: bool = False) -> Path:
    """A cassette of two exchanges: a call, and what is said about its result."""
    call = {"type": "tool_use", "id": "toolu_1", "name": "Grep", "input": {"pattern": "TODO"}}
    exchanges = [
        Exchange(
            1,
            RecordedRequest("main", new=News(text=["Find every TODO"])),
            RecordedResponse(message(call)),
        ),
        Exchange(
            2,
            RecordedRequest("main", continues=1, new=News(results=[Result("toolu_1", "a.py:1: TODO")])),
            RecordedResponse(message({"type": "thinking", "thinking": "x"}, {"type": "text", "text": text})),
        ),
    ]
    metadata = Metadata(
        format=1,
        recorded_at="2026-11-15T10:00:00+00:00",
        claude_version="2.1.325",
        exchanges=2,
        lanes={"sub": Lane()},
        named=named,
    )
    files.save(folder, Cassette(metadata, exchanges))
    return folder


def test_the_list_tells_what_is_there(roadtest: Roadtest, tmp_path: Path) -> None:
    """Each cassette is a line with its size, age and version; a broken one says what is wrong with it."""
    save(tmp_path / "cassettes/file-search/find-todos")
    (save(tmp_path / "cassettes/file-search/find-fixmes") / "response-2.json").unlink()
    done = roadtest("list")

    broken, whole, total = done.stdout.splitlines()
    assert whole.startswith("cassettes/file-search/find-todos  2 exchanges, 1 subagents, ")
    assert whole.endswith("recorded 2026-11-15T10:00:00+00:00 with Claude Code 2.1.325")
    assert "unreadable" in broken
    assert "response-2.json" in broken
    assert total.startswith("2 cassettes, ")
    plain = json.loads(roadtest("list", "--json").stdout)
    assert [one["path"] for one in plain] == [
        "cassettes/file-search/find-fixmes",
        "cassettes/file-search/find-todos",
    ]


def test_show_prints_the_conversation(roadtest: Roadtest, tmp_path: Path) -> None:
    """A cassette is read as what was asked, what tools gave and what the model made of it; by the end of its path."""
    save(tmp_path / "cassettes/file-search/find-todos")
    for name in ("find-todos", "file-search/find-todos", "cassettes/file-search/find-todos"):
        lines = roadtest("show", name).stdout.splitlines()
        assert [line.split(maxsplit=2)[-1] if line[2] != " " else line.strip() for line in lines[1:]] == [
            "user: Find every TODO",
            "→ Grep(pattern='TODO')",
            "Grep gave: a.py:1: TODO",
            "→ [thinking]",
            "→ Two were found.",
        ]
    assert json.loads(roadtest("show", "find-todos", "--json").stdout)["exchanges"][1]["number"] == 2


def test_show_of_an_unknown_or_broken_cassette(roadtest: Roadtest, tmp_path: Path) -> None:
    """What cannot be shown is an error that says why."""
    (save(tmp_path / "cassettes/s/broken") / "metadata.json").write_text("{")
    assert "No cassettes are meant by 'nothing'" in roadtest("show", "nothing").stderr
    assert "metadata.json" in roadtest("show", "broken").stderr


def test_good_cassettes_pass_the_check(roadtest: Roadtest, tmp_path: Path) -> None:
    """Cassettes that cases claim, in any number of trials, are fine."""
    save(tmp_path / "cassettes/file-search/find-todos")
    for trial in (1, 2, 3):
        save(tmp_path / f"cassettes/file-search/find-fixmes/trial-{trial}")
    done = roadtest("check")
    assert (done.stdout, done.returncode) == ("4 cassettes checked, 0 problems\n", 0)


def test_no_cassettes_at_all(roadtest: Roadtest) -> None:
    """A project without cassettes has none that are bad."""
    assert roadtest("check").returncode == 0
    assert roadtest("list").stdout == "0 cassettes, 0.0 KB\n"


def test_the_check_finds_orphans(roadtest: Roadtest, tmp_path: Path) -> None:
    """A cassette of a case that is no more is named, with the remedy; so is what a killed recorder left."""
    save(tmp_path / "cassettes/file-search/find-todos")
    save(tmp_path / "cassettes/file-search/renamed-since")
    save(tmp_path / "cassettes/of-a-script", named=True)
    save(tmp_path / "cassettes/file-search/.find-todos.new-abc123")
    done = roadtest("check")
    assert done.returncode == 1
    assert "orphaned    cassettes/file-search/renamed-since: no case claims it" in done.stdout
    assert "leftover    cassettes/file-search/.find-todos.new-abc123" in done.stdout
    assert "of-a-script" not in done.stdout
    assert done.stdout.endswith("3 cassettes checked, 2 problems\n")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("response-1.json", None, "response-1.json"),
        ("request-2.json", "{", "request-2.json"),
        ("metadata.json", '{"format": 99}', "format 99"),
        ("response-3.json", "{}", "response-3.json"),
    ],
)
def test_the_check_finds_what_cannot_be_read(
    roadtest: Roadtest, tmp_path: Path, name: str, content: str | None, said: str
) -> None:
    """A missing, garbled, superfluous or too new file makes a cassette unreadable, and is named."""
    path = save(tmp_path / "cassettes/file-search/find-todos") / name
    path.unlink(missing_ok=True)
    if content is not None:
        path.write_text(content)
    (problem,) = json.loads(roadtest("check", "--json").stdout)
    assert problem["kind"] == "unreadable"
    assert said in problem["message"]
    assert problem["hint"]


def test_the_check_finds_secrets(roadtest: Roadtest, tmp_path: Path) -> None:
    """A file with a key of a known shape, or with the value of a secret variable, is named with what it holds."""
    shaped, password = "sk-" + "ant-api03-" + "k7" * 20, "open sesame " + '"now"'
    save(tmp_path / "cassettes/file-search/find-todos", f"The key is {shaped}.")
    save(tmp_path / "cassettes/file-search/find-fixmes", f"It is {password}.")
    done = roadtest("check", env={**os.environ, "VAULT_PASSWORD": password})
    assert done.returncode == 1
    assert "find-todos/response-2.json: holds a secret: anthropic-key" in done.stdout
    assert "find-fixmes/response-2.json: holds a secret: VAULT_PASSWORD" in done.stdout
    assert shaped not in done.stdout
    assert password not in done.stdout


def test_evals_that_cannot_be_collected(roadtest: Roadtest, tmp_path: Path) -> None:
    """Where an eval file is broken nobody can say what is orphaned: it is an error, and nothing is pruned."""
    folder = save(tmp_path / "cassettes/file-search/find-todos")
    (tmp_path / "test_broken.py").write_text("raise RuntimeError('broken here')")
    for command in (["check"], ["prune", "--yes"]):
        done = roadtest(*command)
        assert done.returncode == 2
        assert "broken here" in done.stderr
    assert files.exists(folder)


def test_prune_removes_what_nobody_claims(roadtest: Roadtest, tmp_path: Path) -> None:
    """Orphans and leftovers go, with folders that become empty; a dry run, and a no, leave everything."""
    kept = save(tmp_path / "cassettes/file-search/find-todos")
    save(tmp_path / "cassettes/old-suite/gone/trial-1")
    save(tmp_path / "cassettes/file-search/find-todos/old-variant")
    save(tmp_path / "cassettes/file-search/.find-todos.old-abc123")

    assert "would remove  cassettes/old-suite/gone/trial-1" in roadtest("prune", "--dry-run").stdout
    refused = roadtest("prune", answer="n\n")
    assert (refused.returncode, "remove  cassettes/old-suite/gone/trial-1" in refused.stdout) == (0, True)
    assert (tmp_path / "cassettes/old-suite/gone/trial-1/metadata.json").exists()

    assert roadtest("prune", "--yes").returncode == 0
    assert sorted(path.name for path in tmp_path.glob("cassettes/*")) == ["file-search"]
    assert [path.name for path in (tmp_path / "cassettes/file-search").iterdir()] == ["find-todos"]
    assert not (kept / "old-variant").exists()
    assert files.load(kept).metadata.exchanges == 2
    assert roadtest("prune").stdout == "nothing to prune\n"


PROJECT = """
from roadtest import Case, ClaudeCode, Workspace, describe_eval, scorers

describe_eval(
    "greeting",
    data=[Case("polite", input="Say hello")],
    task=ClaudeCode(workspace=Workspace.copy("template"){options}),
    scorers=[scorers.never_calls("Write")],
)


def test_by_hand(agent):
    assert agent.run("Say goodbye").output
"""


def record(project: Path, *answers: script.Say, only: str = "") -> None:
    """Record the evals of the project, or those of this name, from an API that says these things in turn."""
    key = {"ANTHROPIC_API_KEY": "any-key"}
    with testing.upstream(script.Script(*answers)) as api:
        done = run(project, "--cassettes=record", "-k", only, ROADTEST_UPSTREAM=api.url, **key)
    assert done.returncode == 0, done.stdout


def run(project: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return commands.roadtest("run", *arguments, cwd=project, env={**os.environ, **variables})


@pytest.fixture(scope="session")
def recorded_once(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A project whose suite and test were recorded on the real Claude Code, once for all workers of xdist."""
    if worker_id == "master":
        return record_project(tmp_path_factory.mktemp("recorded"))
    project = tmp_path_factory.getbasetemp().parent / "recorded"
    with locked(project):
        return project if project.exists() else record_project(project)


def record_project(project: Path) -> Path:
    (project / "template").mkdir(parents=True)
    (project / "template/CLAUDE.md").write_text("Be polite.\n")
    (project / "pytest.ini").write_text("[pytest]\n")
    (project / "test_greeting.py").write_text(PROJECT.format(options=""))
    record(project, script.say("Hello!"), script.say("Goodbye!"))
    return project


@pytest.fixture
def recorded(recorded_once: Path, tmp_path: Path) -> Path:
    """A copy of that project: a recording is not tied to the place where it was made."""
    return Path(shutil.copytree(recorded_once, tmp_path / "project"))


def check_in(project: Path) -> list[tuple[str, str, str]]:
    done = commands.roadtest("cassettes", "check", "--json", cwd=project)
    problems = json.loads(done.stdout)
    assert done.returncode == bool(problems), done.stderr
    return [
        (found["kind"], str(Path(found["path"]).relative_to(project / "cassettes")), found["message"])
        for found in problems
    ]


def test_the_check_finds_what_is_stale(recorded: Path) -> None:
    """A recording is fine until instructions, options or the prompt change; then the change is named."""
    evals, instructions = recorded / "test_greeting.py", recorded / "template/CLAUDE.md"
    assert check_in(recorded) == []

    instructions.write_text("Be rude.\n")
    assert check_in(recorded) == [("stale", "greeting/polite", "CLAUDE.md changed")]

    instructions.write_text("Be polite.\n")
    evals.write_text(PROJECT.format(options=', system_prompt="Be brief."').replace("Say hello", "Say hi"))
    ((kind, folder, message),) = check_in(recorded)
    assert (kind, folder) == ("stale", "greeting/polite")
    assert "the prompt changed" in message
    assert 'option system_prompt changed from nothing to "Be brief."' in message

    evals.write_text(PROJECT.format(options=', drift={"context": "warn"}').replace("Say hello", "Say hi"))
    assert check_in(recorded) == []


def test_the_cassette_of_a_callable_is_checked_too(recorded: Path) -> None:
    """A task that starts Claude Code itself has a cassette like any other: fresh, and stale when its prompt changes."""
    by_itself = """
import subprocess
from roadtest import Case, describe_eval
from roadtest.installation import find_claude


def said(output):
    return "One!" in output


def task(input, workspace, env):
    claude = str(find_claude().path)
    done = subprocess.run([claude, "-p", input], cwd=workspace, env=env, capture_output=True, text=True, check=True)
    return done.stdout


describe_eval("by itself", data=[Case("one", input="Say one")], task=task, scorers=[said])
"""
    evals = recorded / "test_by_itself.py"
    evals.write_text(by_itself)
    record(recorded, script.say("One!"), only="itself")
    assert check_in(recorded) == []
    evals.write_text(by_itself.replace("Say one", "Say two"))
    ((kind, _, message),) = check_in(recorded)
    assert (kind, message) == ("stale", "the prompt changed")


def test_the_check_runs_no_set_up_command(recorded: Path) -> None:
    """Where a workspace is set up by commands they are not run, and what they may have made is not missed."""
    evals = PROJECT.format(options="").replace(
        'copy("template")',
        'copy("template").with_setup("touch ran && mkdir -p .claude && echo {} > .claude/settings.json")',
    )
    (recorded / "test_greeting.py").write_text(evals)
    record(recorded, script.say("Hello again!"), only="polite")

    assert check_in(recorded) == []
    (recorded / "template/CLAUDE.md").write_text("Be rude.\n")
    assert check_in(recorded) == [("stale", "greeting/polite", "CLAUDE.md changed")]


def test_the_check_finds_what_the_newest_run_did_not_ask_for(recorded: Path) -> None:
    """Answers that were recorded and not asked for in the newest run are told with that run."""
    folder = recorded / "cassettes/greeting/polite"
    cassette = files.load(folder)
    call = {"type": "tool_use", "id": "toolu_9", "name": "Bash", "input": {"command": "true"}}
    extra = Exchange(
        2,
        RecordedRequest("main", continues=1, new=News(results=[Result("toolu_9", "")])),
        RecordedResponse(message(call)),
    )
    cassette.exchanges.append(extra)
    cassette.metadata.exchanges = 2
    files.save(folder, cassette)
    assert run(recorded, "-k", "polite").returncode != 0

    ((kind, place, said),) = check_in(recorded)
    assert (kind, place) == ("unplayed", "greeting/polite")
    assert "was not asked for" in said


def test_the_folder_of_a_test_is_claimed_by_it(recorded: Path) -> None:
    """The cassettes of a test that drives an agent itself are orphans only when the test is gone."""
    evals = recorded / "test_greeting.py"
    evals.write_text(evals.read_text().partition("def test_by_hand")[0])
    ((kind, folder, _),) = check_in(recorded)
    assert kind == "orphaned"
    assert "test_by_hand" in folder
