"""Recording and replaying through the real Claude Code, with an upstream that plays a script."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from roadtest import call, scorers, script, testing
from roadtest.cassette import Mode
from roadtest.cassette.asking import ask_model
from roadtest.claude_code import ClaudeCode
from roadtest.errors import CassetteError, UsageError
from roadtest.isolation import Workspace
from roadtest.place import Place
from roadtest.results import Run
from roadtest.runner import converse, run_once
from roadtest.script import Script
from tests.scoring import score

GENERAL = "general-purpose"
Record = Callable[..., Run]


@pytest.fixture
def taped(place: Place, tmp_path: Path) -> Place:
    return replace(place, cassette=tmp_path / "cassettes" / "suite" / "case")


@pytest.fixture
def upstream(monkeypatch: pytest.MonkeyPatch) -> Callable[[Script], AbstractContextManager[None]]:
    """A model that plays a script, for as long as the block lasts."""

    @contextmanager
    def serve(model: Script) -> Iterator[None]:
        with testing.upstream(model) as api, monkeypatch.context() as patch:
            patch.setenv("ROADTEST_UPSTREAM", api.url)
            patch.setenv("ANTHROPIC_API_KEY", "a-key-for-the-upstream")
            yield

    return serve


@pytest.fixture
def record(taped: Place, upstream: Callable[[Script], AbstractContextManager[None]]) -> Record:
    number = iter(range(1, 1000))

    def run(model: Script, prompt: str = "Go on.", mode: Mode = "rewrite", **options: Any) -> Run:
        with upstream(model):
            place = replace(taped, cassettes=mode, test_id=f"recording-{next(number)}")
            return valid(run_once(task(**options), prompt, place))

    return run


@pytest.fixture
def replay(taped: Place) -> Record:
    number = iter(range(1, 1000))

    def run(prompt: str = "Go on.", **options: Any) -> Run:
        return run_once(task(**options), prompt, replace(taped, test_id=f"replay-{next(number)}"))

    return run


def task(**options: Any) -> ClaudeCode:
    return ClaudeCode(**{"permission_mode": "bypassPermissions", "timeout": 60.0, **options})


def calls(run: Run) -> list[tuple[str, Any, str | None]]:
    """The calls of a run without what is the run's own."""
    return [(call.name, _unrooted(call.args, run), call.agent) for call in run.trajectory]


def _unrooted(args: Mapping[str, Any], run: Run) -> dict[str, Any]:
    return {name: str(value).replace(str(run.workspace), "") for name, value in args.items()}


def valid(run: Run) -> Run:
    assert not run.invalid, run.invalid
    return run


def test_replays_agree(record: Record, replay: Record) -> None:
    """A recorded run replays in other workspaces: the same calls, on live paths, the same last words, the same scores."""
    recorded = record(
        Script(
            script.call("Bash", command="echo hello > {{workspace}}/a.txt; ls -la; date; pwd"),
            [
                script.call("Read", file_path="{{workspace}}/a.txt"),
                script.delegate(
                    GENERAL, "Count.", [script.call("Bash", command="wc -l a.txt"), script.say("One.")]
                ),
            ],
            script.say("It says hello in {{workspace}}."),
        )
    )
    assert recorded.played == "recorded"
    assert {value for value, _ in scores(recorded)} >= {0.0, 1.0}
    for _ in range(4):
        again = valid(replay())
        assert again.played == "replayed"
        assert calls(again) == calls(recorded)
        assert again.trajectory[1].args["file_path"] == f"{again.workspace}/a.txt"
        assert again.output == f"It says hello in {again.workspace}."
        assert again.workspace != recorded.workspace
        assert scores(again) == scores(recorded)
        assert not again.drift


def scores(run: Run) -> list[tuple[float, str]]:
    """Of some scorers that are content with the run and some that are not, without what is the run's own."""
    expected = [call("Bash"), call("Read", file_path={"$path": "a.txt"}), call("Agent"), call("Bash")]
    asked = [
        scorers.trajectory_match(mode="strict"),
        scorers.trajectory_match(mode="subset", expected=["Read"], partial=True),
        scorers.never_calls("Bash"),
        scorers.output_contains("hello"),
        scorers.max_calls(3),
    ]
    found = [score(scorer, run=run, expected=expected) for scorer in asked]
    return [(one.value, one.reason.replace(str(run.workspace), "").partition("\n")[0]) for one in found]


def test_values_copied_from_a_result_are_live(record: Record, replay: Record) -> None:
    """A temporary path and a commit that the model copied from a result are those of the live run."""

    def copying(asked: script.Asked) -> script.Call:
        commit, path = asked.results[0].text.split()
        return script.call("Bash", command=f"git show -s --format=%h {commit[:10]} && test -e {path}")

    commit = "git commit -q --allow-empty -m $RANDOM; git rev-parse HEAD; mktemp"
    recorded = record(Script(script.call("Bash", command=commit), copying, script.say("Done.")))
    again = valid(replay())
    for run in (recorded, again):
        assert [call.status for call in run.trajectory] == ["ok", "ok"]
    assert recorded.trajectory[1].args != again.trajectory[1].args


def test_subagents_that_are_alike(record: Record, replay: Record) -> None:
    """Three parallel subagents with the same prompt do, as a set, what was recorded."""
    lanes: list[list[script.Part]] = [
        [script.call("Bash", command=f"echo {number}"), script.say(f"{number}.")] for number in range(3)
    ]
    recorded = record(
        Script([script.delegate(GENERAL, "Look.", lane) for lane in lanes], script.say("Done."))
    )
    for _ in range(2):
        assert sorted(map(repr, calls(valid(replay())))) == sorted(map(repr, calls(recorded)))


def test_background_subagents(record: Record, replay: Record) -> None:
    """Subagents in the background end as recorded, however their completion notices are grouped."""
    recorded = record(
        Script(
            [
                script.delegate(
                    GENERAL, "A", [script.call("Bash", command="sleep 0.2; echo A"), script.say("a")]
                ),
                script.delegate(GENERAL, "B", [script.call("Bash", command="echo B"), script.say("b")]),
            ],
            script.say("Waiting."),
            script.say("Heard one."),
            script.say("Heard both."),
        ),
        background_agents=True,
    )
    for _ in range(3):
        again = valid(replay(background_agents=True))
        assert sorted(map(repr, calls(again))) == sorted(map(repr, calls(recorded)))
        assert again.output == recorded.output


def test_a_conversation_of_several_turns(
    taped: Place, upstream: Callable[[Script], AbstractContextManager[None]]
) -> None:
    """A resumed session is recorded and replayed into one cassette, and another second prompt is a miss."""

    def talk(place: Place, *prompts: str) -> list[Run]:
        with converse(task(), place) as conversation:
            return [conversation.send(prompt) for prompt in prompts]

    with upstream(Script(script.call("Bash", command="echo hi"), script.say("Done."), script.say("Again."))):
        talk(replace(taped, cassettes="rewrite"), "Go on.", "And then?")
    first, second = talk(replace(taped, test_id="replay"), "Go on.", "And then?")
    assert (valid(first).output, valid(second).output) == ("Done.", "Again.")
    first, second = talk(replace(taped, test_id="other"), "Go on.", "And what?")
    assert valid(first).output == "Done."
    assert "no recorded answer fits" in second.invalid
    assert "-And then?" in second.invalid
    with pytest.raises(CassetteError, match="goes on with 1 more prompt, which nobody sent"):
        talk(replace(taped, test_id="shorter"), "Go on.")


def test_a_stop_hook_and_a_skill(record: Record, replay: Record, tmp_path: Path) -> None:
    """A Stop hook that sends the agent on is replayed; an edited skill makes the cassette stale and is named."""
    template = tmp_path / "template"
    skill = template / ".claude" / "skills" / "greet" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: greet\ndescription: Greets.\n---\nSay hello.\n")
    hook = {
        "type": "command",
        "command": "test -e stopped || { touch stopped; echo 'Say more.' >&2; exit 2; }",
    }
    settings = {"hooks": {"Stop": [{"hooks": [hook]}]}}
    (template / ".claude" / "settings.json").write_text(json.dumps(settings))
    options = {"workspace": Workspace.copy(template)}
    model = Script(script.call("Skill", skill="greet"), script.say("Hello."), script.say("Hello again."))
    assert record(model, **options).output == "Hello again."
    assert valid(replay(**options)).output == "Hello again."

    skill.write_text(skill.read_text().replace("hello", "goodbye"))
    with pytest.raises(CassetteError) as stale:
        replay(**options)
    assert ".claude/skills/greet/SKILL.md changed" in stale.value.message
    assert "--cassettes=record" in stale.value.hint
    warned = valid(replay(**options, drift={"context": "warn"}))
    assert ".claude/skills/greet/SKILL.md changed" in warned.notes


def test_a_compaction(record: Record, replay: Record) -> None:
    """A conversation that Claude Code compacts by itself is followed through the summary and beyond."""
    model = Script(
        script.call("Bash", command="echo one"),
        script.turn(
            script.call("Bash", command="echo two"), usage={"input_tokens": 990_000, "output_tokens": 5}
        ),
        script.say("<analysis>x</analysis><summary>One was said.</summary>"),
        script.say("Done."),
    )
    recorded = record(model)
    again = valid(replay())
    assert (again.output, calls(again)) == (recorded.output, calls(recorded)) == ("Done.", calls(again))


def test_record_records_what_is_stale_and_replays_the_rest(record: Record) -> None:
    """In mode record nothing is asked twice, and what was recorded for another prompt is recorded anew."""
    assert record(Script(script.say("One.")), mode="record").played == "recorded"
    assert record(Script(script.say("Never asked.")), mode="record").output == "One."
    anew = record(Script(script.say("Two.")), prompt="Go further.", mode="record")
    assert (anew.played, anew.output) == ("recorded", "Two.")


def test_live_keeps_nothing(record: Record, taped: Place) -> None:
    """In mode live the model is asked and no cassette is made."""
    run = record(Script(script.say("Hi.")), mode="live")
    assert (run.played, run.output) == ("live", "Hi.")
    assert taped.cassette
    assert not taped.cassette.exists()


def test_no_cassette_is_an_error(replay: Record) -> None:
    """A replay without a recording says where it should be and how to make it."""
    with pytest.raises(CassetteError, match=r"no cassette at .*suite/case") as caught:
        replay()
    assert "--cassettes=record" in caught.value.hint


def test_a_run_that_proves_nothing_is_not_kept(
    taped: Place, upstream: Callable[[Script], AbstractContextManager[None]]
) -> None:
    """A recording that ended in an API error leaves the older cassette as it was."""
    with upstream(Script(script.say("Old."))):
        run_once(task(), "Go on.", replace(taped, cassettes="rewrite"))
    with upstream(Script(script.call("Bash", command="echo"), script.fault("rate_limited", times=99))):
        spoiled = run_once(
            task(env={"CLAUDE_CODE_MAX_RETRIES": "0"}),
            "Go on.",
            replace(taped, cassettes="rewrite", test_id="2"),
        )
    assert spoiled.invalid
    assert valid(run_once(task(), "Go on.", replace(taped, test_id="3"))).output == "Old."


def test_result_drift_stops_the_run(record: Record, replay: Record, tmp_path: Path) -> None:
    """A file that says something else than when it was recorded makes the replay invalid, with the difference."""
    template = tmp_path / "template"
    template.mkdir()
    (template / "version.txt").write_text("1.0\n")
    options = {"workspace": Workspace.copy(template)}
    record(Script(script.call("Bash", command="cat version.txt"), script.say("It is 1.0.")), **options)
    (template / "version.txt").write_text("2.0\n")
    drifted = replay(**options)
    assert "Bash(command='cat version.txt') gave another result" in drifted.invalid
    assert "-1.0" in drifted.invalid
    assert "+2.0" in drifted.invalid
    assert drifted.drift[0].kind == "result"
    allowed = valid(replay(**options, drift={"result": "warn"}))
    assert allowed.output == "It is 1.0."


def test_a_scorer_asks_through_the_cassette(
    taped: Place, upstream: Callable[[Script], AbstractContextManager[None]]
) -> None:
    """A judge's question is recorded with the run and answered from the cassette afterwards."""

    def judged(place: Place) -> str:
        with converse(task(), place) as conversation:
            output = valid(conversation.send("Go on.")).output
            said = ask_model(
                model="m", max_tokens=9, messages=[{"role": "user", "content": f"Good? {output}"}]
            )
        return str(said["content"][0]["text"])

    with upstream(Script(script.say("Fine."), script.say("Yes."))):
        assert judged(replace(taped, cassettes="rewrite")) == "Yes."
    assert judged(replace(taped, test_id="replay")) == "Yes."
    with pytest.raises(UsageError, match="No run with a cassette is being scored"):
        ask_model(model="m", max_tokens=9, messages=[])
