"""AgentEvals, the real package: its verdicts beside ours, its evaluators as scorers."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import product
from typing import Any, ClassVar

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roadtest import scorers
from roadtest.calls import ToolCall
from roadtest.errors import UsageError
from roadtest.matching import call, match
from roadtest.results import Run, Score
from roadtest.scorers.messages import to_messages
from roadtest.trajectory import Trajectory
from tests.calls_made import made

ARGS = st.dictionaries(st.sampled_from("pq"), st.sampled_from([1, 2, "x", None]), max_size=2)
CALLS = st.lists(
    st.builds(lambda tool, args: made(tool, **args), st.sampled_from(["R", "W", "G"]), ARGS), max_size=4
)
ONE_CALL_A_TOOL = CALLS.map(lambda calls: list({one.name: one for one in calls}.values()))


def theirs(actual: Sequence[ToolCall], expected: Sequence[Any], mode: str, args: str, **options: Any) -> bool:
    """The verdict of AgentEvals."""
    scorer = scorers.agentevals_match(trajectory_match_mode=mode, tool_args_match_mode=args, **options)
    score = scorer(input="Go", output="Done", expected=list(expected), trajectory=Trajectory(actual))
    assert isinstance(score, Score)
    return bool(score.value)


def ours(actual: Sequence[ToolCall], expected: Sequence[Any], mode: str, args: str, **options: Any) -> bool:
    return match(actual, expected, mode=mode, args=args, **options).passed


@settings(max_examples=300, deadline=None)
@given(CALLS, CALLS)
def test_verdicts_agree_where_arguments_are_equal_or_ignored(
    actual: list[ToolCall], expected: list[ToolCall]
) -> None:
    """With exact or ignored arguments no choice is greedy and nothing can be swapped: all verdicts are the same."""
    for mode, args in product(["strict", "unordered", "subset", "superset"], ["exact", "ignore"]):
        assert ours(actual, expected, mode, args) == theirs(actual, expected, mode, args), (mode, args)


@settings(max_examples=150, deadline=None)
@given(CALLS, CALLS)
def test_strict_verdicts_agree_under_every_args_mode(
    actual: list[ToolCall], expected: list[ToolCall]
) -> None:
    """With one call a message there is one candidate for each call: strict verdicts are the same."""
    for args in ["exact", "ignore", "subset", "superset"]:
        assert ours(actual, expected, "strict", args) == theirs(actual, expected, "strict", args), args


@settings(max_examples=150, deadline=None)
@given(ONE_CALL_A_TOOL, ONE_CALL_A_TOOL)
def test_superset_verdicts_agree_where_there_is_no_choice(
    actual: list[ToolCall], expected: list[ToolCall]
) -> None:
    """With one call a tool nothing can be taken greedily: superset verdicts are the same under every args mode."""
    for args in ["exact", "ignore", "subset", "superset"]:
        assert ours(actual, expected, "superset", args) == theirs(actual, expected, "superset", args), args


def test_difference_greedy_choice() -> None:
    """AgentEvals takes the first call that fits, so that its verdict depends on the order of the expected calls."""
    actual = [made("R", p=1), made("R")]
    expected = [call("R"), call("R", p=1)]
    assert not theirs(actual, expected, "superset", "superset")
    assert theirs(actual, expected[::-1], "superset", "superset")
    assert ours(actual, expected, "superset", "superset")
    assert ours(actual, expected[::-1], "superset", "superset")


def test_difference_unordered_collapses_args_modes() -> None:
    """AgentEvals checks unordered both ways round, so that superset arguments must be equal."""
    actual, expected = [made("R", p=1, q=2)], [call("R", p=1)]
    assert not theirs(actual, expected, "unordered", "superset")
    assert ours(actual, expected, "unordered", "superset")


def test_difference_subset_swaps_the_arguments() -> None:
    """AgentEvals compares expected with actual under subset, so that args modes and functions work backwards."""
    actual, expected = [made("R", p=1, q=2)], [call("R", p=1)]
    assert not theirs(actual, expected, "subset", "superset")
    assert ours(actual, expected, "subset", "superset")

    def actual_has_more(mine: dict[str, Any], wanted: dict[str, Any]) -> bool:
        return len(mine) > len(wanted)

    overrides = {"R": actual_has_more}
    assert not theirs(actual, expected, "subset", "exact", tool_args_match_overrides=overrides)
    for mode in ["strict", "in_order", "unordered", "subset", "superset"]:
        assert ours(actual, expected, mode, "exact", overrides=overrides), mode


def test_difference_strict_ignores_order_inside_a_message() -> None:
    """AgentEvals accepts the calls of one turn in any order; here the order in which the model wrote them counts."""
    actual = [ToolCall(name="A", turn="1"), ToolCall(name="B", turn="1")]
    reference = to_messages(
        [ToolCall(name="B", turn="1"), ToolCall(name="A", turn="1")], prompt="Go", answer="Done"
    )
    assert theirs(actual, reference, "strict", "exact")
    assert not ours(actual, ["B", "A"], "strict", "exact")


def test_difference_strict_fails_on_message_grouping() -> None:
    """AgentEvals wants the calls spread over messages as in the reference; here only the calls count."""
    actual = [ToolCall(name="A", turn="1"), ToolCall(name="B", turn="1")]
    assert not theirs(actual, ["A", "B"], "strict", "exact")
    assert ours(actual, ["A", "B"], "strict", "exact")


def test_difference_unknown_override_mode() -> None:
    """AgentEvals takes a misspelt mode of an override for ignore; here it is an error."""
    actual, expected = [made("R", p=1)], [call("R", p=2)]
    assert theirs(actual, expected, "superset", "exact", tool_args_match_overrides={"R": "exakt"})
    with pytest.raises(UsageError, match="no args mode 'exakt'"):
        ours(actual, expected, "superset", "exact", overrides={"R": "exakt"})


def test_difference_empty_override() -> None:
    """AgentEvals takes an empty list of key paths for no override at all; here it is an error."""
    actual, expected = [made("R", p=1)], [call("R", p=2)]
    assert not theirs(actual, expected, "superset", "exact", tool_args_match_overrides={"R": []})
    with pytest.raises(UsageError, match="at least one key path"):
        ours(actual, expected, "superset", "exact", overrides={"R": []})


def test_difference_list_indices_in_key_paths() -> None:
    """AgentEvals cannot look into lists, so that any two values there are the same to it."""
    actual = [made("E", edits=[{"old": "a"}])]
    expected = [call("E", edits=[{"old": "b"}])]
    assert theirs(actual, expected, "superset", "exact", tool_args_match_overrides={"E": ["edits.0.old"]})
    assert not ours(actual, expected, "superset", "exact", overrides={"E": ["edits.0.old"]})
    assert ours(
        actual, [call("E", edits=[{"old": "a"}, {}])], "superset", "exact", overrides={"E": ["edits.0.old"]}
    )


def test_difference_null_is_not_absent() -> None:
    """AgentEvals does not tell a key path that is null from one that is absent."""
    actual, expected = [made("R", p=None)], [call("R")]
    assert theirs(actual, expected, "superset", "exact", tool_args_match_overrides={"R": ["p"]})
    assert not ours(actual, expected, "superset", "exact", overrides={"R": ["p"]})


def test_difference_nested_arguments() -> None:
    """AgentEvals applies the args mode to the outermost keys only; here to every depth."""
    actual, expected = [made("R", o={"a": 1, "b": 2})], [call("R", o={"a": 1})]
    assert not theirs(actual, expected, "superset", "superset")
    assert ours(actual, expected, "superset", "superset")


def test_difference_booleans() -> None:
    """AgentEvals takes true for 1."""
    actual, expected = [made("R", p=True)], [call("R", p=1)]
    assert theirs(actual, expected, "strict", "exact")
    assert not ours(actual, expected, "strict", "exact")


def test_difference_explanation() -> None:
    """AgentEvals says no; here the missing call is named."""
    scorer = scorers.agentevals_match(trajectory_match_mode="superset")
    said = scorer(input="", output="", expected=["R"], trajectory=Trajectory([made("W")]))
    assert isinstance(said, Score)
    assert said.reason == "trajectory_superset_match: False"
    assert "missing       1 R(…)" in str(match([made("W")], ["R"], mode="superset"))


def test_turns_become_messages() -> None:
    """One assistant message a turn with its calls, the results after it; a subagent's turns carry its name."""
    calls = [
        ToolCall(name="Read", args={"file_path": "a"}, id="1", turn="m1", output="text"),
        ToolCall(name="Agent", args={"subagent_type": "reviewer"}, id="2", turn="m1", output={"ok": True}),
        ToolCall(
            name="Bash",
            args={"command": "rm"},
            id="3",
            turn="m2",
            agent="reviewer",
            agent_id="x",
            status="denied",
        ),
        ToolCall(name="Bash", id="4", turn="m3", status="failed", error="Exit code 1"),
        ToolCall(name="Bash", status="unfinished"),
    ]

    def asked(call_id: str, name: str, arguments: str) -> dict[str, Any]:
        return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}

    assert to_messages(calls, prompt="Go", answer="Done") == [
        {"role": "user", "content": "Go"},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                asked("1", "Read", '{"file_path":"a"}'),
                asked("2", "Agent", '{"subagent_type":"reviewer"}'),
            ],
        },
        {"role": "tool", "tool_call_id": "1", "name": "Read", "content": "text"},
        {"role": "tool", "tool_call_id": "2", "name": "Agent", "content": '{"ok":true}'},
        {
            "role": "assistant",
            "content": "",
            "name": "reviewer",
            "tool_calls": [asked("3", "Bash", '{"command":"rm"}')],
        },
        {"role": "tool", "tool_call_id": "3", "name": "Bash", "content": "denied"},
        {"role": "assistant", "content": "", "tool_calls": [asked("4", "Bash", "{}")]},
        {"role": "tool", "tool_call_id": "4", "name": "Bash", "content": "Exit code 1"},
        {"role": "assistant", "content": "", "tool_calls": [asked("call-4", "Bash", "{}")]},
        {"role": "assistant", "content": "Done"},
    ]


def test_what_the_model_said_beside_its_calls_is_kept() -> None:
    """The text of a turn, as the stream has it block by block, is the content of its message."""
    blocks = [
        {"type": "text", "text": "Let me "},
        {"type": "text", "text": "look."},
        {"type": "tool_use", "id": "1"},
    ]
    stream = [{"type": "assistant", "message": {"id": "m1", "content": [block]}} for block in blocks]
    seen: list[str] = []

    def evaluator(outputs: list[dict[str, Any]]) -> dict[str, Any]:
        seen.append(outputs[1]["content"])
        return {"score": 1}

    trajectory = Trajectory([ToolCall(name="R", id="1", turn="m1")])
    judged(
        scorers.agentevals(evaluator), trajectory=trajectory, run=Run(trajectory=trajectory, messages=stream)
    )
    assert seen == ["Let me look."]


@pytest.mark.parametrize(
    "expected",
    [
        call("Read|Edit"),
        call("mcp__*"),
        call(re.compile("R")),
        call("R", p=re.compile("x")),
        call("R").with_status("ok"),
    ],
)
def test_what_a_message_cannot_say_is_refused(expected: Any) -> None:
    """Patterns, alternatives and conditions are not quietly dropped on the way to AgentEvals."""
    with pytest.raises(UsageError, match="says more than a message can"):
        theirs([made("R")], [expected], "superset", "exact")


def test_scope_restricts_what_is_judged() -> None:
    """Only the calls of the agent asked for become messages."""
    actual = [made("Agent"), ToolCall(name="Read", agent="reviewer", agent_id="x")]
    assert theirs(actual, ["Agent"], "unordered", "exact", agent="main")
    assert theirs(actual, ["Read"], "unordered", "exact", agent="reviewer")


def test_a_mode_that_agentevals_does_not_know_is_refused_early() -> None:
    """A mistake shows when the scorer is built."""
    with pytest.raises(UsageError, match="Invalid trajectory match type"):
        scorers.agentevals_match(trajectory_match_mode="in_order")


def test_without_the_extra_the_error_names_it() -> None:
    """Without AgentEvals all other scorers work, and its own says what to install."""
    code = """
import sys
sys.modules["agentevals"] = None
from roadtest import scorers
from roadtest.errors import MissingExtra
scorers.trajectory_match()
try:
    scorers.agentevals_match()
except MissingExtra as problem:
    print(problem)
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    assert "pip install 'roadtest[agentevals]'" in done.stdout


def test_nothing_heavy_is_imported_before_it_is_used() -> None:
    """Importing and building scorers loads neither AgentEvals nor jsonschema."""
    code = """
import sys
from roadtest import scorers
scorers.agentevals(lambda outputs: {"score": 1})
print({"agentevals", "langchain_core", "jsonschema"} & set(sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_building_the_evaluator_warns_about_nothing() -> None:
    """AgentEvals' dependencies warn about each other on import; a suite under -W error starts all the same."""
    code = "from roadtest import scorers; scorers.agentevals_match()"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def judged(scorer: Any, **changes: Any) -> Score:
    given = {
        "input": "Go",
        "output": "Done",
        "expected": None,
        "trajectory": Trajectory([made("R")]),
        **changes,
    }
    score = scorer(**given)
    found = asyncio.run(score) if asyncio.iscoroutine(score) else score
    assert isinstance(found, Score)
    return found


def test_any_evaluator_is_adapted() -> None:
    """An evaluator gets what it takes: messages as outputs, the prompt as inputs, no reference where there is none."""
    seen: dict[str, Any] = {}

    def polite(
        *, inputs: str, outputs: list[dict[str, Any]], reference_outputs: object = "none"
    ) -> dict[str, Any]:
        seen.update(
            inputs=inputs, roles=[message["role"] for message in outputs], reference=reference_outputs
        )
        return {"key": "polite", "score": 0.5, "comment": "no thanks"}

    score = judged(scorers.agentevals(polite))
    assert (score.value, score.reason) == (0.5, "polite: 0.5, no thanks")
    assert seen == {"inputs": "Go", "roles": ["user", "assistant", "tool", "assistant"], "reference": "none"}


def test_an_async_evaluator_is_awaited() -> None:
    """The score of an async evaluator is awaitable and the same."""

    async def slow(*, outputs: object) -> dict[str, Any]:
        await asyncio.sleep(0)
        return {"key": "slow", "score": True}

    assert judged(scorers.agentevals(slow)).value == 1.0


def test_an_evaluator_of_the_output_gets_the_text() -> None:
    """OpenEvals' exact match compares the output with the expected text."""
    from openevals.exact import exact_match  # noqa: PLC0415 - of the extra, over a second

    scorer = scorers.agentevals(exact_match, judges="output")
    assert judged(scorer, expected="Done").value == 1.0
    assert judged(scorer, expected="Failed").value == 0.0


def test_of_several_results_the_lowest_counts() -> None:
    """Each result of an evaluator has to be good enough."""
    scorer = scorers.agentevals(lambda **_: [{"key": "a", "score": 1}, {"key": "b", "score": 0.25}])
    assert judged(scorer).value == 0.25
    assert judged(scorer).reason == "a: 1\nb: 0.25"


@pytest.mark.parametrize(
    "result", [None, [], {"key": "x"}, {"key": "x", "score": None}, {"key": "x", "score": 7}]
)
def test_a_result_that_is_none_is_an_error(result: Any) -> None:
    """What is no result is neither a pass nor a zero."""
    with pytest.raises(UsageError):
        judged(scorers.agentevals(lambda **_: result))


def test_calls_that_nobody_captured_are_not_judged() -> None:
    """A run of a plain function has no trajectory, which is not the same as an empty one."""
    with pytest.raises(UsageError, match="nothing says that they were captured"):
        judged(scorers.agentevals(lambda **_: {"score": 1}), trajectory=Trajectory(), run=Run(output="Done"))


class JudgeHandler(BaseHTTPRequestHandler):
    """An OpenAI-compatible endpoint that gives every trajectory the same marks."""

    asked: ClassVar[list[Any]] = []

    def do_POST(self) -> None:
        self.asked.append(msgspec.json.decode(self.rfile.read(int(self.headers["Content-Length"]))))
        verdict = json.dumps({"reasoning": "It read before it wrote.", "score": True})
        message = {"role": "assistant", "content": verdict}
        body = {
            "id": "1",
            "object": "chat.completion",
            "created": 0,
            "model": "m",
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        }
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def judge_url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), JudgeHandler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
        thread.join()


def test_a_model_judges_the_trajectory(judge_url: str) -> None:
    """AgentEvals' LLM-as-judge sees the calls as messages, and its comment becomes the reason."""
    import openai  # noqa: PLC0415
    from agentevals.trajectory.llm import (  # type: ignore[import-untyped]  # noqa: PLC0415
        create_trajectory_llm_as_judge,
    )

    with openai.OpenAI(base_url=judge_url, api_key="none") as client:
        evaluator = create_trajectory_llm_as_judge(judge=client, model="m")
        score = judged(scorers.agentevals(evaluator), expected=["R"])
    assert score.value == 1.0
    assert "It read before it wrote." in score.reason
    assert "<name>R</name>" in JudgeHandler.asked[-1]["messages"][0]["content"]
