"""How the real Claude Code meets a model that fails; docs/how-to/scripted-model.md tells the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from roadtest import script, testing
from roadtest.claude_code import ClaudeCode
from roadtest.place import Place
from roadtest.runner import run_once
from tests.conftest import RunScript

Ask = Callable[[script.Asked], Any]


def noting(streams: list[bool], answer: Any) -> Ask:
    """A turn that notes whether its request asked for a stream."""

    def turn(asked: script.Asked) -> Any:
        streams.append(asked.payload["stream"])
        return answer

    return turn


def troubled(streams: list[bool], *faults: script.Fault) -> script.Script:
    """A model that fails once before each of its calls."""
    call = script.call("Bash", command="true")
    turns = [noting(streams, turn) for fault in faults for turn in (fault, call)]
    return script.Script(*turns, script.say("Done."))


def retries(run: Any) -> list[str]:
    return [message["error"] for message in run.messages if message.get("subtype") == "api_retry"]


def test_errors_and_a_cut_stream_are_tried_again(run_claude: RunScript) -> None:
    """Claude Code reports each retry in its stream, asks for a stream again and goes on as if nothing had been."""
    streams: list[bool] = []
    faults = {
        "overloaded": script.fault("overloaded"),
        "rate_limit": script.fault("rate_limited", retry_after=0),
        "server_error": script.fault("server_error"),
        "unknown": script.fault("cut"),
    }
    run = run_claude(script=troubled(streams, *faults.values()))

    assert (run.invalid, run.output, run.tools) == ("", "Done.", ["Bash"] * 4)
    assert streams == [True, True] * 4
    assert retries(run) == list(faults)


def test_trouble_inside_a_stream_makes_it_ask_without_a_stream(run_claude: RunScript) -> None:
    """After an error event or a garbled one Claude Code asks at once for plain JSON, and says nothing of it."""
    streams: list[bool] = []
    run = run_claude(script=troubled(streams, script.fault("error_event"), script.fault("malformed")))

    assert (run.invalid, run.output, run.tools) == ("", "Done.", ["Bash"] * 2)
    assert streams == [True, False] * 2
    assert retries(run) == []


def test_a_slow_answer_is_waited_for(run_claude: RunScript) -> None:
    """An answer that takes its time is taken like any other."""
    run = run_claude(script=script.Script(script.fault("slow", seconds=0.2), script.say("Done.")))

    assert (run.invalid, run.output, retries(run)) == ("", "Done.", [])


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("overloaded", "API Error: 529 Overloaded"),
        ("rate_limited", "API Error: Request rejected (429)"),
        ("server_error", "API Error: 500 Internal server error"),
    ],
)
def test_errors_that_do_not_end_make_the_run_invalid(
    run_claude: RunScript, kind: script.FaultKind, said: str
) -> None:
    """When the retries are used up the run proves nothing, and says what the API said."""
    run = run_claude(
        script=script.Script(script.fault(kind), script.say("Never.")), env={"CLAUDE_CODE_MAX_RETRIES": "0"}
    )

    assert said in run.invalid
    assert run.notes == ["lane main: 1 of 2 turns were not asked for"]


def test_a_broken_answer_without_a_stream_makes_the_run_invalid(run_claude: RunScript) -> None:
    """When the plain answer is garbled as well there is no third attempt."""
    run = run_claude(script=script.Script(script.fault("malformed", times=2), script.say("Never.")))

    assert "API Error" in run.invalid
    assert run.notes == ["lane main: 1 of 3 turns were not asked for"]


def test_faults_at_chosen_requests(run_claude: RunScript) -> None:
    """Faults strike by the number of the request; no turn is lost to them, and one that never came is noted."""
    model = script.Script(
        script.call("Bash", command="echo one"), script.call("Bash", command="echo two"), script.say("Done.")
    )
    run = run_claude(
        script=model, faults={2: script.fault("overloaded"), 4: script.fault("cut"), 9: script.fault("cut")}
    )

    assert (run.invalid, run.output) == ("", "Done.")
    assert run.tools == ["Bash", "Bash"]
    assert retries(run) == ["overloaded", "unknown"]
    assert run.notes == ["fault cut at request 9 did not happen: the agent made 5 requests"]


def test_faults_on_a_replay(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault strikes a replayed run as it would a live one, and every recorded answer is played all the same."""
    taped = replace(place, cassette=tmp_path / "cassettes/suite/case")
    task = ClaudeCode(permission_mode="bypassPermissions", timeout=60.0)
    model = script.Script(script.call("Bash", command="echo hello"), script.say("Done."))
    with testing.upstream(model) as api:
        monkeypatch.setenv("ROADTEST_UPSTREAM", api.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "any-key")
        recorded = run_once(task, "Go on.", replace(taped, cassettes="rewrite", test_id="recording"))
    assert recorded.invalid == ""

    faulty = replace(task, faults={1: script.fault("overloaded"), 3: script.fault("malformed")})
    run = run_once(faulty, "Go on.", taped)
    assert (run.invalid, run.output, run.tools) == ("", "Done.", ["Bash"])
    assert retries(run) == ["overloaded"]


def test_a_fault_inside_a_subagent(run_claude: RunScript) -> None:
    """A subagent's lane can fail too, and its parent gets the answer all the same."""
    model = script.Script(
        script.delegate("general-purpose", "Count", [script.fault("overloaded"), script.say("Three.")]),
        lambda asked: script.say("Heard." if "Three." in asked.results[0].text else asked.results[0].text),
    )
    run = run_claude(script=model)

    assert (run.invalid, run.notes) == ("", [])
    assert run.output == "Heard."
