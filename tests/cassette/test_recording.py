"""Recording and replaying through the real Claude Code, with an upstream that plays a script."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from roadtest import script, testing
from roadtest.cassette import Mode
from roadtest.claude_code import ClaudeCode
from roadtest.results import Run
from roadtest.runner import Place, run_once
from roadtest.script import Script

GENERAL = "general-purpose"
Record = Callable[..., Run]


@pytest.fixture
def taped(place: Place, tmp_path: Path) -> Place:
    return replace(place, cassette=tmp_path / "cassettes" / "suite" / "case")


@pytest.fixture
def record(taped: Place, monkeypatch: pytest.MonkeyPatch) -> Record:
    """Record a run against an upstream that plays the script."""

    def run(model: Script, prompt: str = "Go on.", mode: Mode = "rewrite", **options: Any) -> Run:
        with testing.upstream(model) as api:
            monkeypatch.setenv("ROADTEST_UPSTREAM", api.url)
            monkeypatch.setenv("ANTHROPIC_API_KEY", "a-key-for-the-upstream")
            done = run_once(task(**options), prompt, replace(taped, cassettes=mode, test_id="recording"))
            monkeypatch.delenv("ROADTEST_UPSTREAM")
            monkeypatch.delenv("ANTHROPIC_API_KEY")
        assert not done.invalid, done.invalid
        return done

    return run


@pytest.fixture
def replay(taped: Place) -> Record:
    number = iter(range(1, 1000))

    def run(prompt: str = "Go on.", **options: Any) -> Run:
        return run_once(task(**options), prompt, replace(taped, test_id=f"replay-{next(number)}"))

    return run


def task(**options: Any) -> ClaudeCode:
    return ClaudeCode(**{"permission_mode": "bypassPermissions", "timeout": 60.0, **options})


def calls(run: Run) -> list[tuple[str, dict[str, Any], str | None]]:
    return [(call.name, call.args, call.agent) for call in run.trajectory]


def test_a_replay_is_what_was_recorded(record: Record, replay: Record) -> None:
    """A recorded run replays in other workspaces with the same calls and the same last words."""
    recorded = record(
        Script(
            script.call("Bash", command="echo hello > {{workspace}}/a.txt; ls -la; date"),
            script.call("Read", file_path="{{workspace}}/a.txt"),
            script.say("It says hello."),
        )
    )
    for _ in range(2):
        again = replay()
        assert not again.invalid, again.invalid
        assert again.output == recorded.output == "It says hello."
        assert again.tools == ["Bash", "Read"]
        assert str(again.workspace) in again.trajectory[1].args["file_path"]
        assert again.workspace != recorded.workspace


def test_values_copied_from_a_result_are_live(record: Record, replay: Record) -> None:
    """A temporary path and a commit that the model copied from a result are those of the live run."""

    def copying(asked: script.Asked) -> script.Call:
        commit, path = asked.results[0].text.split()
        return script.call("Bash", command=f"git show -s --format=%h {commit[:10]} && test -e {path}")

    commit = "git commit -q --allow-empty -m $RANDOM; git rev-parse HEAD; mktemp"
    recorded = record(Script(script.call("Bash", command=commit), copying, script.say("Done.")))
    again = replay()
    assert not again.invalid, again.invalid
    for run in (recorded, again):
        assert [call.status for call in run.trajectory] == ["ok", "ok"]
    assert recorded.trajectory[1].args != again.trajectory[1].args
