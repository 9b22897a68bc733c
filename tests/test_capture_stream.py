"""The stream of Claude Code, taken in line by line."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from roadtest.capture.stream import Stream
from roadtest.results import Usage


def fed(*messages: Any) -> Stream:
    stream = Stream()
    for message in messages:
        stream.feed(message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n")
    return stream


def issued(call_id: str, *, turn: str = "msg_1", **around: Any) -> dict[str, Any]:
    block = {"type": "tool_use", "id": call_id, "name": "Bash", "input": {"command": call_id}}
    return {
        "type": "assistant",
        "message": {"id": turn, "content": [{"type": "text", "text": "…"}, block]},
        **around,
    }


def answered(
    call_id: str, content: Any = "fine", *, meta: Any = None, is_error: bool = False, **around: Any
) -> Any:
    block = {"type": "tool_result", "tool_use_id": call_id, "content": content, "is_error": is_error}
    return {"type": "user", "message": {"content": [block]}, "tool_result_meta": meta, **around}


def test_the_beginning_tells_what_runs() -> None:
    """Version, model, session and tools are those of the first init, though each turn of the session sends one."""
    first = {
        "type": "system",
        "subtype": "init",
        "claude_code_version": "2.1.0",
        "model": "m",
        "session_id": "s1",
    }
    stream = fed({**first, "tools": ["Bash", 3]}, {**first, "model": "other", "session_id": "s2"})
    assert (stream.claude_version, stream.model, stream.session_id) == ("2.1.0", "m", "s1")
    assert (stream.tools, stream.sessions) == (["Bash"], ["s1", "s2"])


def test_calls_carry_turn_agent_and_parent() -> None:
    """Each tool_use block is a call, with its message, its agent and the call that spawned that agent."""
    stream = fed(
        issued("t1"),
        issued("t2"),
        issued("t3", turn="msg_2", agent_id="a1", parent_tool_use_id="t1", subagent_type="helper"),
        {"type": "system", "subtype": "task_started", "task_id": "a2", "tool_use_id": "t3"},
    )
    assert [(call.id, call.turn, call.agent_id, call.agent, call.parent_id) for call in stream.calls] == [
        ("t1", "msg_1", None, None, None),
        ("t2", "msg_1", None, None, None),
        ("t3", "msg_2", "a1", "helper", "t1"),
    ]
    assert stream.calls[2].args == {"command": "t3"}
    assert stream.spawns == {"a1": "t1", "a2": "t3"}


def test_results_find_their_calls() -> None:
    """A result belongs to the newest call of its agent with its id; a refusal is told from an error."""
    refusal = [{"id": "t1", "permission_decision": {"decision": "reject"}}]
    stream = fed(
        issued("t1"),
        issued("t1", agent_id="a1", parent_tool_use_id="x"),
        issued("t2"),
        issued("t3"),
        answered("t1", [{"type": "text", "text": "one"}, {"type": "image"}], agent_id="a1"),
        answered("t1", "no", meta=refusal, is_error=True),
        answered("t2", "Exit code 1", is_error=True),
        {"type": "system", "subtype": "permission_denied", "tool_use_id": "t3"},
        answered("unknown"),
    )
    assert [(call.result, call.is_error, call.refused) for call in stream.calls] == [
        ("no", True, True),
        ("one\n", False, False),
        ("Exit code 1", True, False),
        (None, False, True),
    ]


def test_several_results_are_one_run() -> None:
    """Background agents make several results: the last words count, turns, tokens and costs add up."""

    def result(text: str, tokens: int, **more: Any) -> dict[str, Any]:
        part = {"m": {"inputTokens": tokens, "outputTokens": 1, "cacheReadInputTokens": 2, "costUSD": 0.5}}
        base = {
            "type": "result",
            "subtype": "success",
            "is_error": False,
            "num_turns": 2,
            "total_cost_usd": 9,
        }
        return {**base, "result": text, "model_usage_since_last_result": part, **more}

    stream = fed(result("first", 10, structured_output={"a": 1}), result("second", 5), result("", 0))
    assert stream.finished
    assert not stream.is_error
    assert (stream.output, stream.structured, stream.turns) == ("second", {"a": 1}, 6)
    assert stream.usage == Usage(input_tokens=15, output_tokens=3, cache_read_input_tokens=6)
    assert stream.cost_usd == 1.5


def test_results_without_counts_per_model_still_count() -> None:
    """An older Claude Code tells tokens per result and costs as a running total."""
    usage = {"input_tokens": 4, "cache_creation_input_tokens": 1}
    stream = fed(*({"type": "result", "usage": usage, "total_cost_usd": cost} for cost in (0.1, 0.3)))
    assert stream.usage == Usage(input_tokens=8, cache_creation_input_tokens=2)
    assert stream.cost_usd == 0.3


def test_an_error_of_the_api_is_not_an_answer() -> None:
    """A success that is an error is what the model's side said; a run out of turns is no such thing."""
    stream = fed({"type": "result", "subtype": "success", "is_error": True, "result": "API Error: 500 x"})
    assert stream.api_error == "API Error: 500 x"
    stopped = fed({"type": "result", "subtype": "error_max_turns", "is_error": True})
    assert (stopped.api_error, stopped.is_error, stopped.subtype) == ("", True, "error_max_turns")


def test_what_is_not_json_is_noise() -> None:
    """Lines of other programs are kept aside, and half a surrogate pair does not cost a message."""
    stream = fed(b"warning: x\r\n", b"\n", b"\xff\n", b"[1]\n", b'{"type": "new", "text": "\\ud800!"}\n')
    assert stream.noise == ["warning: x", "\ufffd", "[1]"]
    assert stream.messages == [{"type": "new", "text": "\ufffd!"}]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
keys = (
    "type subtype message content session_id agent_id parent_tool_use_id tool_use_id tool_result_meta task_id usage "
    "model_usage_since_last_result result structured_output num_turns tools id permission_decision status"
)
words = [
    "assistant",
    "user",
    "result",
    "system",
    "init",
    "task_started",
    "task_notification",
    "tool_use",
    "tool_result",
]
messages = st.recursive(
    json_values | st.sampled_from(words),
    lambda inner: (
        st.dictionaries(st.sampled_from(keys.split()), inner, max_size=6) | st.lists(inner, max_size=3)
    ),
    max_leaves=20,
)


@given(st.lists(st.binary(max_size=40) | messages.map(lambda value: json.dumps(value).encode()), max_size=8))
def test_no_line_breaks_the_stream(lines: list[bytes]) -> None:
    """Unknown and misshapen messages never raise, neither when they come nor when the stream is asked about them."""
    stream = fed(*lines)
    facts = (
        stream.output,
        stream.structured,
        stream.usage,
        stream.cost_usd,
        stream.turns,
        stream.model,
        stream.tools,
    )
    assert len(facts) == 7
    assert len(stream.messages) + len(stream.noise) == sum(bool(line.strip()) for line in lines)


def test_a_run_that_was_broken_off_says_why() -> None:
    """An error of Claude Code itself is told apart from a run that used up its turns."""
    assert (
        fed({"type": "result", "subtype": "error_during_execution", "errors": ["boom"]}).broken_off == "boom"
    )
    assert fed({"type": "result", "subtype": "error_during_execution"}).broken_off == "no reason given"
    assert fed({"type": "result", "subtype": "error_max_turns"}).broken_off == ""
