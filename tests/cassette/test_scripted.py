"""Scripts: what is written is what the agent gets, and what does not fit is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from roadtest import script
from roadtest.cassette import sse
from roadtest.cassette.faults import FaultySession
from roadtest.cassette.scripted import ScriptSession
from roadtest.cassette.wire import Delay, Json, Raw, Refuse, Replay, Request
from roadtest.errors import UsageError


def asks(text: str | list[Json] = "Go on.", agent: str | None = None, *, stream: bool = True) -> Request:
    headers = {"x-claude-code-agent-id": agent} if agent else {}
    payload = {"model": "m", "stream": stream, "messages": [{"role": "user", "content": text}]}
    return Request("POST", "/v1/messages", headers, msgspec.json.encode(payload))


def play(session: Any, *requests: Request) -> list[Any]:
    """The content of each answer; a refusal's text; other answers as they are."""
    return [_plain(session.answer(request)) for request in requests]


def _plain(answer: Any) -> Any:
    if isinstance(answer, Replay):
        return answer.message["content"]
    return answer.text if isinstance(answer, Refuse) else answer


def text(words: str) -> list[Json]:
    return [{"type": "text", "text": words}]


def test_turns_are_played_in_order() -> None:
    """Each request gets the next turn; parts of a list come in one message; placeholders are filled."""
    session = ScriptSession(
        script.Script(
            [
                script.think("Hm.", "sig"),
                script.say("In {{workspace}}."),
                script.call("Bash", command="ls {{workspace}}"),
            ],
            script.block("redacted_thinking", data="xyz"),
            script.turn(script.say("No."), stop_reason="refusal", usage={"output_tokens": 9}),
        ),
        {"workspace": "/w"},
    )
    first, second, third = (session.answer(asks()) for _ in range(3))
    assert isinstance(first, Replay)
    assert isinstance(third, Replay)
    assert first.message["content"] == [
        {"type": "thinking", "thinking": "Hm.", "signature": "sig"},
        {"type": "text", "text": "In /w."},
        {"type": "tool_use", "id": "toolu_script_0001", "name": "Bash", "input": {"command": "ls /w"}},
    ]
    assert first.message["stop_reason"] == "tool_use"
    assert _plain(second) == [{"type": "redacted_thinking", "data": "xyz"}]
    assert third.message["stop_reason"] == "refusal"
    assert third.message["usage"] == {"input_tokens": 0, "output_tokens": 9}
    assert session.unplayed == []


def test_a_script_that_ends_too_early_says_so() -> None:
    """One request more than there are turns is refused with the lane, the count and the remedy."""
    session = ScriptSession(script.Script(script.say("Done.")), {})
    _, refusal = play(session, asks(), asks())
    assert "lane main has 1 turns and the agent asked for one more" in refusal


def test_turns_that_were_not_asked_for_are_reported() -> None:
    """Each lane tells how many of its turns remained."""
    session = ScriptSession(
        script.Script(script.delegate("a", "Do it", [script.say("1"), script.say("2")]), script.say("3")), {}
    )
    play(session, asks(), asks("Do it", "agent-1"))
    assert session.unplayed == [
        "lane main: 1 of 2 turns were not asked for",
        "lane a: 1 of 2 turns were not asked for",
    ]


def test_each_subagent_gets_its_own_lane() -> None:
    """Subagents are told apart by their prompts, the longest that fits first, nested ones too."""
    nested = script.delegate("c", "Look closer", [script.say("nested")])
    session = ScriptSession(
        script.Script(
            [
                script.delegate("a", "Look", [script.say("short")]),
                script.delegate("b", "Look at {{workspace}}", [nested, script.say("long")]),
            ],
            script.say("end"),
        ),
        {"workspace": "/w"},
    )
    first, *answers = play(
        session,
        asks(),
        asks("<reminder/>Look at /w", "B"),
        asks("Look", "A"),
        asks("Look closer", "C"),
        asks("Look at /w", "B"),
        asks(),
    )
    assert [block["input"]["subagent_type"] for block in first] == ["a", "b"]
    assert answers[1:] == [text("short"), text("nested"), text("long"), text("end")]


def test_a_subagent_that_nobody_wrote_is_refused() -> None:
    """A subagent whose prompt fits no unused lane is told its own prompt, also when the lane was taken before."""
    session = ScriptSession(
        script.Script(script.delegate("a", "Look", [script.say("x")]), script.say("y")), {}
    )
    answers = play(session, asks("Look", "early"), asks(), asks("Look", "A"), asks("Look", "B"))
    assert "no lane for this subagent" in answers[0]
    assert answers[2] == text("x")
    assert "'Look'" in answers[3]


def test_a_turn_can_be_a_function_of_what_was_asked() -> None:
    """A function gets the results of the calls before and answers with any kind of turn, also with new lanes."""

    def react(asked: script.Asked) -> Any:
        (result,) = asked.results
        return [
            script.say(f"{result.text} {result.is_error}"),
            script.delegate("a", "Sub", [lambda _: script.say("in")]),
        ]

    session = ScriptSession(
        script.Script(script.call("Bash"), react, lambda asked: script.say(asked.text)), {}
    )
    result = {
        "type": "tool_result",
        "tool_use_id": "toolu_script_0001",
        "content": text("boom"),
        "is_error": True,
    }
    _, second, sub, third = play(session, asks(), asks([result]), asks("Sub", "A"), asks("words"))
    assert second[0] == {"type": "text", "text": "boom True"}
    assert sub == text("in")
    assert third == text("words")


def _raises(asked: script.Asked) -> Any:
    raise KeyError("nothing")


@pytest.mark.parametrize(
    ("function", "said"),
    [(_raises, "raised KeyError('nothing')"), (lambda _: 3, "holds 3"), (lambda _: [], "is empty")],
)
def test_a_function_that_gives_no_turn_is_refused(function: Any, said: str) -> None:
    """A function that raises or returns something else ends the run with the turn's number and the reason."""
    (refusal,) = play(ScriptSession(script.Script(function), {}), asks())
    assert "turn 1 of lane main" in refusal
    assert said in refusal


@pytest.mark.parametrize(
    ("write", "said"),
    [
        (script.Script, "at least one turn"),
        (lambda: script.Script([]), "Turn 1 of the script is empty"),
        (lambda: script.Script(script.say("a"), "b"), "Turn 2 of the script holds 'b'"),  # type: ignore[arg-type]
        (lambda: script.fault("broken"), "no fault called 'broken'"),  # type: ignore[arg-type]
        (lambda: script.fault("cut", times=0), "0 times"),
    ],
)
def test_mistakes_in_a_script_are_told_when_it_is_written(write: Any, said: str) -> None:
    """A script that cannot be played is an error at once, with the turn's number."""
    with pytest.raises(UsageError, match=said):
        write()


@pytest.mark.parametrize(
    ("fault", "status", "kind"),
    [
        (script.fault("overloaded"), 529, "overloaded_error"),
        (script.fault("rate_limited", retry_after=3), 429, "rate_limit_error"),
        (script.fault("server_error", status=503), 503, "api_error"),
    ],
)
def test_faults_look_like_the_apis_own(fault: script.Fault, status: int, kind: str) -> None:
    """A fault with a status carries the API's error object and the headers that matter."""
    (answer,) = play(ScriptSession(script.Script(fault), {}), asks())
    assert answer.status == status
    assert msgspec.json.decode(answer.body)["error"]["type"] == kind
    assert answer.headers.get("retry-after") == ("3" if fault.retry_after else None)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("cut", "cut before message_stop"),
        ("malformed", "not a JSON object"),
        ("error_event", "overloaded_error"),
    ],
)
def test_faults_in_mid_stream(kind: script.FaultKind, said: str) -> None:
    """A fault in mid-stream begins like an answer, and its reader finds out what is wrong."""
    (answer,) = play(ScriptSession(script.Script(script.fault(kind)), {}), asks())
    accumulator = sse.Accumulator()
    accumulator.feed(answer.body)
    accumulator.close()
    assert answer.status == 200
    assert said in str(accumulator.problem)


def test_faults_where_no_stream_was_asked_for() -> None:
    """What would break a stream breaks a plain answer likewise: cut, garbled, or an overload."""
    kinds: list[script.FaultKind] = ["cut", "malformed", "error_event"]
    session = ScriptSession(script.Script(*map(script.fault, kinds)), {})
    cut, garbled, overload = play(session, *(asks(stream=False) for _ in kinds))
    assert (cut.status, cut.cut) == (200, True)
    assert (garbled.status, garbled.cut) == (200, False)
    with pytest.raises(msgspec.DecodeError):
        msgspec.json.decode(garbled.body)
    assert overload.status == 529


def test_the_turn_after_a_fault_answers_the_retry() -> None:
    """A fault takes as many requests as it says and no turn."""
    session = ScriptSession(script.Script(script.fault("overloaded", times=2), script.say("Done.")), {})
    one, two, answer = play(session, asks(), asks(), asks())
    assert isinstance(one, Raw)
    assert one == two
    assert answer == text("Done.")


def test_faults_at_chosen_requests_of_another_session() -> None:
    """Faults in front of a session hit the requests with their numbers and lose none of its answers."""
    inner = ScriptSession(script.Script(script.say("1"), script.say("2"), script.say("3")), {})
    faults = {2: script.fault("rate_limited"), 4: script.fault("slow", seconds=7), 9: script.fault("cut")}
    session = FaultySession(inner, faults)
    answers = play(session, asks(), asks(), asks())
    assert [answers[0], answers[2]] == [text("1"), text("2")]
    assert answers[1].status == 429
    held = asks()
    assert play(session, held, held) == [Delay(7), text("3")]
    assert session.unplayed == ["fault cut at request 9 did not happen: the agent made 4 requests"]


WRITTEN = """\
- I look around.
- - say: Now in parallel.
  - call: Bash
    args: {command: ls}
  - think: Hm.
    signature: sig
- fault: overloaded
  times: 2
- delegate: reviewer
  prompt: Review a.py
  turns:
    - call: Read
      args: {file_path: "{{workspace}}/a.py"}
    - Fine.
- block: {type: redacted_thinking, data: xyz}
"""


def test_a_script_in_a_file(tmp_path: Path) -> None:
    """A YAML file says the same as the functions do, and so does a JSON file."""
    (tmp_path / "script.yaml").write_text(WRITTEN)
    (tmp_path / "script.json").write_text('["I look around."]')
    same = script.Script(
        script.say("I look around."),
        [script.say("Now in parallel."), script.call("Bash", command="ls"), script.think("Hm.", "sig")],
        script.fault("overloaded", times=2),
        script.delegate(
            "reviewer",
            "Review a.py",
            [script.call("Read", file_path="{{workspace}}/a.py"), script.say("Fine.")],
        ),
        script.block("redacted_thinking", data="xyz"),
    )
    assert script.Script.from_file(tmp_path / "script.yaml").turns == same.turns
    assert script.Script.from_file(tmp_path / "script.json").turns == same.turns[:1]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "holds no list of turns"),
        ("a: 1", "holds no list of turns"),
        ("- [", "not valid YAML"),
        ("- 3", "turn 1 is 3"),
        ("- Hi\n- shout: x", "turn 2 is {'shout': 'x'}"),
        ("- call: Bash\n  arguments: {}", "call is written wrong"),
        ("- fault: broken", "no fault called 'broken'"),
        ("- delegate: a\n  prompt: p\n  turns: [4]", "turn 1, subagent a is 4"),
    ],
)
def test_mistakes_in_a_file_are_told_with_file_and_turn(tmp_path: Path, content: str, said: str) -> None:
    """A file that holds no script is an error that names the file and the turn."""
    (tmp_path / "script.yaml").write_text(content)
    with pytest.raises(UsageError) as problem:
        script.Script.from_file(tmp_path / "script.yaml")
    assert said in str(problem.value)


def test_a_cassette_as_a_script(tmp_path: Path) -> None:
    """The answers of a cassette are played whatever is asked; lanes, errors and odd blocks come along."""

    def write(name: str, value: Any) -> None:
        (tmp_path / name).write_bytes(msgspec.json.encode(value))

    spawn = {
        "type": "tool_use",
        "id": "toolu_1",
        "name": "Agent",
        "input": {"subagent_type": "a", "prompt": "Look"},
    }
    write("metadata.json", {"format": 1, "lanes": {"agent-1": {"spawned_by": "toolu_1"}}})
    write("response-1.json", {"error": {"status": 503, "body": {}, "headers": {"retry-after": "2"}}})
    write(
        "response-2.json",
        {"message": {"content": [spawn], "stop_reason": "tool_use", "usage": {"output_tokens": 4}}},
    )
    write("request-3.json", {"lane": "agent-1"})
    write("response-3.json", {"message": {"content": text("inside")}})
    write("response-10.json", {"message": {"content": [{"type": "redacted_thinking", "data": "x"}]}})
    session = ScriptSession(script.Script.from_file(tmp_path), {})

    failed, spawning, inside, last = play(session, asks(), asks(), asks("Look", "A"), asks())
    assert (failed.status, failed.headers["retry-after"]) == (503, "2")
    assert spawning[0]["input"] == spawn["input"]
    assert inside == text("inside")
    assert last == [{"type": "redacted_thinking", "data": "x"}]
    assert session.unplayed == []


def test_a_folder_that_holds_no_cassette(tmp_path: Path) -> None:
    """A folder without answers, or with one that is broken, is an error that names it."""
    with pytest.raises(UsageError, match=r"no response-1\.json"):
        script.Script.from_file(tmp_path)
    (tmp_path / "response-1.json").write_text("{")
    with pytest.raises(UsageError, match=r"response-1\.json cannot be read"):
        script.Script.from_file(tmp_path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """A missing file is an error that names it."""
    with pytest.raises(UsageError, match=r"nowhere\.yaml cannot be read"):
        script.Script.from_file(tmp_path / "nowhere.yaml")
