"""Conversations recorded and replayed as scripts, with no process and no socket."""

from __future__ import annotations

import pytest

from roadtest.cassette.records import Cassette
from roadtest.cassette.wire import Forward, Hold, Json, Refuse, Replay, ReplayError, Request
from tests.cassette.talk import Agent, call, message, player, recorder, replayed, spawn, taped, text


def simple(prompt: str = "Go on.", result: str = "a.txt") -> Cassette:
    session = recorder()
    agent = Agent(session, prompt)
    agent.record(text("Looking."), call("t1", command="ls"))
    agent.tells(t1=result).record(text("One file."))
    return taped(session)


def test_a_conversation_is_answered_as_it_was_recorded() -> None:
    """Each request gets the answer to the recorded request that it repeats."""
    session = player(simple())
    agent = Agent(session)
    assert replayed(agent.ask()) == [text("Looking."), call("t1", command="ls")]
    assert replayed(agent.tells(t1="a.txt").ask()) == [text("One file.")]
    assert not session.problem
    assert not session.unplayed
    assert not session.drift


def test_form_does_not_matter() -> None:
    """Cache marks, plain strings, block lists and another day's environment do not cause a miss."""
    session = player(simple())
    agent = Agent(session, environment="Today's date is 2031-12-31.")
    agent.ask()
    agent.messages[1]["content"] = "Today's date is 2031-12-31."
    agent.tells(t1=[{"type": "text", "text": "a.txt", "cache_control": {"type": "ephemeral"}}])
    assert replayed(agent.ask()) == [text("One file.")]
    assert not session.drift


def test_another_result_is_drift() -> None:
    """A tool that gives another result than recorded makes the run invalid and shows the difference."""
    session = player(simple())
    agent = Agent(session)
    agent.ask()
    answer = agent.tells(t1="a.txt\nb.txt").ask()
    assert isinstance(answer, Refuse)
    assert "Bash(command='ls') gave another result" in session.problem
    assert "+b.txt" in session.problem
    assert "--cassettes=rewrite" in session.problem
    assert [item.kind for item in session.drift] == ["result"]


@pytest.mark.parametrize(("policy", "kinds"), [("warn", ["result"]), ("ignore", [])])
def test_result_drift_can_be_allowed(policy: str, kinds: list[str]) -> None:
    """Under another policy the run goes on, with or without a note."""
    session = player(simple(), result=policy)
    agent = Agent(session)
    agent.ask()
    assert replayed(agent.tells(t1="b.txt").ask()) == [text("One file.")]
    assert not session.problem
    assert [item.kind for item in session.drift] == kinds


def test_volatile_tokens_are_no_drift() -> None:
    """Times, sizes and ids may differ, and so may what the user calls volatile."""
    recorded = "total 8\n-rw-r--r-- 1 me me 12 Jan  2 03:04 a.txt\nticket ABC-1"
    live = "total 12\n-rw-r--r-- 1 you us 7 Nov 15 2025 a.txt\nticket XYZ-22"
    for volatile, drifts in (((), True), ((r"[A-Z]{3}-\d+",), False)):
        session = player(simple(result=recorded), None, *volatile)
        agent = Agent(session)
        agent.ask()
        agent.tells(t1=live).ask()
        assert bool(session.problem) is drifts


def test_a_miss_is_explained() -> None:
    """A request that repeats nothing is refused at once, with the nearest recorded one and the difference."""
    session = player(simple(prompt="Find the bug."))
    answer = Agent(session, "Find the mug.").ask()
    assert isinstance(answer, Refuse)
    assert "no recorded answer fits this request of main" in session.problem
    assert "request-1.json" in session.problem
    assert "-Find the bug." in session.problem
    assert "+Find the mug." in session.problem


def test_nothing_is_answered_after_a_miss() -> None:
    """Once a run has left the recording, no further request is answered."""
    session = player(simple())
    Agent(session, "Something else.").ask()
    assert isinstance(Agent(session).ask(), Refuse)


def test_an_early_end_is_seen() -> None:
    """Recorded answers that were not asked for are listed."""
    session = player(simple())
    Agent(session).ask()
    assert [line for line in session.unplayed if "request-2.json" in line] == session.unplayed != []


def test_a_retry_gets_the_same_answer() -> None:
    """The same request again is answered the same again."""
    session = player(simple())
    agent = Agent(session)
    first = session.answer(agent.request())
    assert replayed(session.answer(agent.request())) == replayed(first)
    agent.ask()
    agent.tells(t1="a.txt")
    second = session.answer(agent.request())
    assert replayed(session.answer(agent.request())) == replayed(second)
    assert not session.problem


def test_recorded_errors_come_in_their_order() -> None:
    """An overloaded API and the retry that went well are both played, in that order."""
    session = recorder()
    agent = Agent(session)
    failed = session.answer(agent.request())
    assert isinstance(failed, Forward)
    failed.tap.start(529, {"content-type": "application/json", "retry-after": "3", "server": "x"})
    failed.tap.feed(b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}')
    failed.tap.end()
    agent.record(text("Hi."))
    live = player(taped(session))
    again = Agent(live)
    error = live.answer(again.request())
    assert isinstance(error, ReplayError)
    assert (error.status, error.headers) == (529, {"retry-after": "3"})
    assert error.body["error"]["type"] == "overloaded_error"
    assert replayed(live.answer(again.request())) == [text("Hi.")]
    assert not live.unplayed


def test_a_cut_stream_that_was_asked_again_is_left_out() -> None:
    """A broken answer is not kept when the retry gave a whole one, and the numbers close up."""
    session = recorder()
    agent = Agent(session)
    cut = session.answer(agent.request())
    assert isinstance(cut, Forward)
    cut.tap.start(200, {"content-type": "text/event-stream"})
    cut.tap.feed(b'event: message_start\ndata: {"type":"message_start"')
    cut.tap.end("ReadError")
    assert "cannot be kept: ReadError" in session.problem
    agent.record(call("t1"))
    agent.tells(t1="x").record(text("Hi."))
    cassette = taped(session)
    assert [(one.number, one.request.continues) for one in cassette.exchanges] == [(1, None), (2, 1)]


def test_placeholders_follow_the_run() -> None:
    """What was recorded in one workspace is replayed in another, with its own paths."""
    session = recorder({"workspace": "/projects/one"})
    agent = Agent(session)
    agent.record(call("t1", file_path="/projects/one/a.txt"))
    agent.tells(t1="/projects/one/a.txt is fine").record(
        text("See /projects/one/a.txt, not /projects/one-more.")
    )
    live = Agent(player(taped(session), {"workspace": "/elsewhere"}))
    assert replayed(live.ask()) == [call("t1", file_path="/elsewhere/a.txt")]
    answer = live.tells(t1="/elsewhere/a.txt is fine").ask()
    assert replayed(answer) == [text("See /elsewhere/a.txt, not /projects/one-more.")]


def test_live_values_are_filled_in() -> None:
    """Ids, ports and temporary names that the model copied from a result are those of the live result."""
    session = recorder()
    agent = Agent(session)
    agent.record(call("t1"))
    agent.tells(t1="on localhost:40001, wrote /tmp/tmp.AAAAAAAAAA, commit 1f2e3d4c5b6a7988aabb").record(
        call("t2", command="curl :40001 /tmp/tmp.AAAAAAAAAA 1f2e3d4c", port=40001),
        text("It is 1f2e3d4c5b6a7988aabb."),
    )
    agent.tells(t2="ok").record(text("Done."))
    live = Agent(player(taped(session)))
    live.ask()
    answer = live.tells(t1="on localhost:51234, wrote /tmp/tmp.BBBBBBBBBB, commit 99887766554433221abc").ask()
    assert replayed(answer) == [
        call("t2", command="curl :51234 /tmp/tmp.BBBBBBBBBB 99887766", port=51234),
        text("It is 99887766554433221abc."),
    ]


def test_parallel_results_come_in_any_order() -> None:
    """Results of parallel calls match whichever of them ended first."""
    session = recorder()
    agent = Agent(session)
    agent.record(call("t1"), call("t2"))
    agent.tells(t1="one", t2="two").record(text("Both."))
    live = Agent(player(taped(session)))
    live.ask()
    assert replayed(live.tells(t2="two", t1="one").ask()) == [text("Both.")]


def several_turns() -> Cassette:
    session = recorder()
    session.begin_turn()
    agent = Agent(session)
    agent.record(text("ok"))
    agent.says("Stop hook feedback: go on").record(text("ok"))
    session.begin_turn()
    agent.says("And now?").record(text("ok"))
    return taped(session)


def test_answers_without_calls_are_told_apart() -> None:
    """Several turns that all end in the same words continue each in its place."""
    live = player(several_turns())
    live.begin_turn()
    agent = Agent(live)
    agent.ask()
    assert len(live.unplayed) == 1
    assert replayed(agent.says("Stop hook feedback: go on").ask()) == [text("ok")]
    assert not live.unplayed
    live.begin_turn()
    assert len(live.unplayed) == 1
    assert replayed(agent.says("And now?").ask()) == [text("ok")]
    assert not live.unplayed
    assert not live.problem


def test_another_prompt_in_a_later_turn_is_a_miss() -> None:
    """What the user says in a later turn has to be what was recorded."""
    live = player(several_turns())
    agent = Agent(live)
    agent.ask()
    assert isinstance(agent.says("Something else").ask(), Refuse)


def test_a_compaction_is_followed() -> None:
    """A summary asked for in mid-conversation and the shorter conversation after it are both matched."""
    session = recorder()
    agent = Agent(session)
    agent.record(call("t1"))
    agent.tells(t1="one").record(call("t2"))
    compacting = Agent(session)
    compacting.messages = agent.messages[:4]
    compacting.messages[3] = {
        "role": "user",
        "content": [*compacting.messages[3]["content"], text("Summarise. " * 300)],
    }
    compacting.record(text("The summary."))
    agent.messages = [{"role": "user", "content": "Continued: the summary."}, agent.messages[4]]
    agent.tells(t2="two").record(text("Done."))
    cassette = taped(session)
    assert [one.request.continues for one in cassette.exchanges] == [None, 1, 1, 2]
    assert "Summarise" not in str(cassette)

    live = player(cassette)
    again = Agent(live)
    again.ask()
    again.tells(t1="one").ask()
    summary = Agent(live)
    summary.messages = again.messages[:4]
    summary.messages[3] = {
        "role": "user",
        "content": [*summary.messages[3]["content"], text("Summarise. " * 300)],
    }
    assert replayed(summary.ask()) == [text("The summary.")]
    again.messages = [{"role": "user", "content": "Continued: the summary."}, again.messages[4]]
    assert replayed(again.tells(t2="two").ask()) == [text("Done.")]
    assert not live.problem
    assert not live.unplayed


def test_a_side_call_is_apart() -> None:
    """A title that is asked for beside the conversation disturbs nothing, and may be missing."""
    session = recorder()
    agent = Agent(session)
    agent.record(text("ok"))
    Agent(session, "Write a title.", system="You write titles.", tools=()).record(text("ok"))
    agent.says("More.").record(text("Done."))
    cassette = taped(session)
    assert [one.request.aside for one in cassette.exchanges] == [False, True, False]
    for asked in (True, False):
        live = player(cassette, clock=iter(range(0, 1000, 10)).__next__)
        again = Agent(live)
        again.ask()
        if asked:
            side = Agent(live, "Write a title.", system="You write titles.", tools=())
            assert replayed(side.ask()) == [text("ok")]
        assert replayed(again.says("More.").ask()) == [text("Done.")]
        assert not live.unplayed


def test_a_side_call_that_was_not_recorded_is_no_miss() -> None:
    """A title that a newer Claude Code asks for is refused by itself, with a note, and the run goes on."""
    live = player(simple())
    agent = Agent(live)
    agent.ask()
    assert isinstance(Agent(live, "Write a title.", system="You write titles.", tools=()).ask(), Refuse)
    assert replayed(agent.tells(t1="a.txt").ask()) == [text("One file.")]
    assert not live.problem
    assert [item.kind for item in live.drift] == ["harness"]


def test_a_huge_difference_is_told_in_short() -> None:
    """Two long results that have nothing in common are told apart in no time, by their first lines."""
    live = player(simple(result="\n".join(f"old {number}" for number in range(5_000))))
    agent = Agent(live)
    agent.ask()
    agent.tells(t1="\n".join(f"new {number} {'x' * 500}" for number in range(5_000))).ask()
    assert "-old 0" in live.problem
    assert len(live.problem) < 30_000


def test_harness_drift_is_noted() -> None:
    """Another version, system prompt or tool list is a note and no more."""
    live = player(simple())
    agent = Agent(live, version="3.0.0", system="You are another agent.", tools=("Bash", "Grep"))
    assert isinstance(agent.ask(), Replay)
    messages = [item.message for item in live.drift]
    assert "Claude Code 3.0.0 runs, recorded with 2.1.325" in messages
    assert any("-Agent +Grep" in line for line in messages)
    assert any("system prompt differs" in line for line in messages)
    assert {item.policy for item in live.drift} == {"warn"}
    assert not live.problem


def test_thinking_and_unknown_blocks_survive() -> None:
    """Signed thoughts, redacted ones, citations, server tools and blocks yet unknown are played as they came."""
    blocks: list[Json] = [
        {"type": "thinking", "thinking": "Hm, t1.", "signature": "c2ln/+=="},
        {"type": "redacted_thinking", "data": "b3BhcXVl"},
        {"type": "server_tool_use", "id": "srv1", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "srv1", "content": [{"type": "x", "url": "u"}]},
        {"type": "text", "text": "So.", "citations": [{"type": "char_location", "start": 1}]},
        {"type": "from_the_future", "payload": {"deep": [1, 2.5, None, True, "{{workspace}}"]}},
    ]
    session = recorder({"workspace": "/projects/one"})
    Agent(session).record(*blocks)
    assert replayed(Agent(player(taped(session), {"workspace": "/x"})).ask()) == blocks


def test_a_judge_goes_through_the_same_cassette() -> None:
    """A scorer's question is a lane of its own, matched by what it says, in any order."""

    def judge(asked: str) -> Request:
        agent = Agent(session, asked)
        agent.headers = {"x-roadtest-lane": "judge"}
        return agent.request()

    session = recorder()
    Agent(session).record(text("The answer."))
    for asked in ("Is it good?", "Is it short?"):
        forwarded = session.answer(judge(asked))
        assert isinstance(forwarded, Forward)
        forwarded.tap.start(200, {"content-type": "application/json"})
        forwarded.tap.feed(_json(message(text(f"Yes: {asked}"))))
        forwarded.tap.end()
    session = live = player(taped(session))  # type: ignore[assignment]
    Agent(live).ask()
    assert not live.unplayed
    assert replayed(live.answer(judge("Is it short?"))) == [text("Yes: Is it short?")]
    assert replayed(live.answer(judge("Is it good?"))) == [text("Yes: Is it good?")]
    assert isinstance(live.answer(judge("Is it new?")), Refuse)


def _json(value: object) -> bytes:
    import msgspec  # noqa: PLC0415

    return msgspec.json.encode(value)


def test_a_held_answer_waits_for_what_was_asked_before_it() -> None:
    """An answer that was complete after another lane's request is released only when that request has come."""
    session = recorder()
    main = Agent(session)
    main.record(spawn("s1", "A"), spawn("s2", "B"))
    one, two = Agent(session, "A", agent_id="a1"), Agent(session, "B", agent_id="a2")
    first = session.answer(one.request())
    two.record(text("two"))
    assert isinstance(first, Forward)
    first.tap.start(200, {"content-type": "application/json"})
    first.tap.feed(_json(message(text("one"))))
    first.tap.end()
    cassette = taped(session)
    assert cassette.exchanges[1].response.after == 3

    live = player(cassette)
    Agent(live).ask()
    request = Agent(live, "A", agent_id="x1").request()
    assert isinstance(live.answer(request), Hold)
    assert replayed(Agent(live, "B", agent_id="x2").ask()) == [text("two")]
    assert replayed(live.answer(request)) == [text("one")]
