"""Each scorer passes for what it asks for, fails with a reason for what is not so, and raises where it cannot know."""

from __future__ import annotations

import asyncio
import inspect
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roadtest import scorers
from roadtest.calling import Asks
from roadtest.calls import ToolCall
from roadtest.errors import UsageError
from roadtest.matching import call
from roadtest.results import Run, Score
from roadtest.trajectory import Trajectory
from tests.calls_made import made

FACTORIES = [name for name in scorers.__all__ if name != "fuzzy"]


def score(scorer: Callable[..., Any], **known: Any) -> Score:
    """What the scorer says of a run, called with what it asks for by name."""
    run = known.pop("run", None) or Run(**known.pop("about", {}), session_id="s")
    if "trajectory" in known:
        run.trajectory = known["trajectory"] = Trajectory(known["trajectory"])
    values = {"run": run, "trajectory": run.trajectory, "output": run.output, "workspace": run.workspace}
    values |= {"input": "Go", "expected": None, "case": None, **known}
    asks = Asks.of(scorer)
    found = scorer(**{name: values[name] for name in (*asks.required, *asks.optional)})
    assert isinstance(found, Score)
    assert found.reason, "a score never travels without its reason"
    return found


def passes(scorer: Callable[..., Any], **known: Any) -> bool:
    value = score(scorer, **known).value
    assert value in (0.0, 1.0)
    return value == 1.0


SEARCH = [
    made("Glob", pattern="**/*.py"),
    made("Grep", pattern="TODO", path="src"),
    made("Grep", pattern="FIXME", path="src"),
    made("Bash", command="cd src && grep -rn XXX . | head"),
    made("Read", file_path="/w/src/store.py"),
]


def test_trajectory_match_compares_with_the_case() -> None:
    """The case's expected calls are matched under the rules of the scorer; the reason explains a mismatch."""
    scorer = scorers.trajectory_match(mode="superset")
    assert passes(scorer, trajectory=SEARCH, expected=["Read", call("Grep", pattern="TODO")])
    failed = score(scorer, trajectory=SEARCH, expected=["Read", "Edit"])
    assert failed.value == 0.0
    assert (
        failed.reason.splitlines()[0]
        == "superset match failed: 1 missing, 1 of 2 expected calls match, score 0.50"
    )
    assert failed.details["score"] == 0.5
    assert [row["kind"] for row in failed.details["rows"]][:2] == ["match", "missing"]


def test_trajectory_match_is_all_or_nothing_unless_asked() -> None:
    """Nine of ten calls are not a match; partial scores the share."""
    expected = ["Glob", "Grep", "Grep", "Bash", "Edit"]
    assert score(scorers.trajectory_match(), trajectory=SEARCH, expected=expected).value == 0.0
    assert score(scorers.trajectory_match(partial=True), trajectory=SEARCH, expected=expected).value == 0.8


def test_trajectory_match_takes_its_own_expectation() -> None:
    """An expectation given to the scorer stands for every case, and is checked when the scorer is built."""
    assert passes(scorers.trajectory_match(mode="in_order", expected=["Glob", "Read"]), trajectory=SEARCH)
    with pytest.raises(UsageError, match=r"expected\[0\]: there is no field"):
        scorers.trajectory_match(expected=[{"tol": "Read"}])
    with pytest.raises(UsageError, match="no match mode"):
        scorers.trajectory_match(mode="any")


def test_trajectory_match_without_expectation_is_an_error() -> None:
    """Nothing to compare with is no match."""
    with pytest.raises(UsageError, match="the case has no expected calls"):
        score(scorers.trajectory_match(), trajectory=SEARCH)


def test_trajectory_match_knows_the_workspace() -> None:
    """$path means the file in the workspace of the run."""
    scorer = scorers.trajectory_match(mode="superset", expected=[call("Read", file_path=Path("store.py"))])
    assert passes(scorer, trajectory=SEARCH, workspace=Path("/w/src"))
    assert not passes(scorer, trajectory=SEARCH, workspace=Path("/w"))


@pytest.mark.parametrize(
    ("options", "passed"),
    [
        ({}, True),
        ({"times": 2}, True),
        ({"times": 1}, False),
        ({"at_least": 2}, True),
        ({"at_least": 3}, False),
        ({"at_most": 1}, False),
        ({"at_most": 2}, True),
        ({"at_least": 1, "at_most": 3}, True),
        ({"times": 0}, False),
    ],
)
def test_calls_counts(options: dict[str, Any], passed: bool) -> None:
    """A call is made as often as asked."""
    assert passes(scorers.calls(call("Grep", path="src"), **options), trajectory=SEARCH) is passed


def test_calls_shows_the_closest_call() -> None:
    """Where the call is not made at all, the reason shows what comes close."""
    reason = score(scorers.calls(call("Grep", pattern="BUG")), trajectory=SEARCH).reason
    assert reason.startswith("Grep(pattern='BUG') was called never, expected at least once")
    assert "pattern: expected 'BUG'" in reason


@pytest.mark.parametrize(
    "options", [{"times": 1, "at_most": 2}, {"at_least": 3, "at_most": 2}, {"at_least": -1}]
)
def test_calls_refuses_numbers_that_cannot_be(options: dict[str, Any]) -> None:
    """A range that no number is in raises when the scorer is built."""
    with pytest.raises(UsageError):
        scorers.calls("Grep", **options)


def test_tools_used() -> None:
    """Each tool is used at least once; partial scores the share."""
    assert passes(scorers.tools_used("Grep", "Read"), trajectory=SEARCH)
    assert not passes(scorers.tools_used("Grep", "Edit"), trajectory=SEARCH)
    half = score(scorers.tools_used("Grep", "Edit", partial=True), trajectory=SEARCH)
    assert (half.value, half.reason) == (0.5, "1 of 2 tools were used, not Edit")


def test_tools_in_order() -> None:
    """Tools are used in this order, with others between."""
    assert passes(scorers.tools_in_order("Glob", "Bash", "Read"), trajectory=SEARCH)
    assert not passes(scorers.tools_in_order("Read", "Glob"), trajectory=SEARCH)
    assert score(scorers.tools_in_order("Read", "Glob", partial=True), trajectory=SEARCH).value == 0.5


def test_never_calls() -> None:
    """None of these calls is made, be it by name, by pattern or with arguments; a denied one was made."""
    assert passes(scorers.never_calls("Write", "Edit", "mcp__*"), trajectory=SEARCH)
    assert not passes(scorers.never_calls("G*"), trajectory=SEARCH)
    assert not passes(scorers.never_calls(call("Bash", command=re.compile("grep"))), trajectory=SEARCH)
    denied = [ToolCall(name="Bash", args={"command": "rm"}, status="denied")]
    assert not passes(scorers.never_calls("Bash"), trajectory=denied)
    assert passes(scorers.never_calls(call("Bash").with_status("ok")), trajectory=denied)
    assert score(scorers.never_calls("Bash"), trajectory=denied).reason.startswith(
        "1 call that must not be made"
    )


def test_prefers() -> None:
    """The one tool is used and the other is not; where neither is, no preference shows."""
    prefers = scorers.prefers("Grep", over="Bash grep")
    assert passes(prefers, trajectory=SEARCH[:3])
    mixed = score(prefers, trajectory=SEARCH)
    assert (mixed.value, mixed.reason) == (0.0, "Grep was used 2 times, Bash grep once")
    assert score(scorers.prefers("Grep", over="Bash grep", partial=True), trajectory=SEARCH).value == 2 / 3
    assert score(prefers, trajectory=[made("Read")]).reason == (
        "Grep was used never, Bash grep never: no preference shows"
    )
    assert passes(scorers.prefers("Read", over=call("Bash", command=re.compile("cat"))), trajectory=SEARCH)


@pytest.mark.parametrize(
    ("command", "runs"),
    [
        ("grep -r x", True),
        ("ls | grep x", True),
        ("cd a && /usr/bin/grep x", True),
        ("LANG=C grep x", True),
        ("(grep x)", True),
        ("echo grep", False),
        ("zgrep x", False),
        ("grep-all x", False),
        ("cat grep.txt", False),
    ],
)
def test_a_program_is_recognised_where_a_command_starts(command: str, runs: bool) -> None:
    """Bash grep is a command that runs grep, not one that mentions it."""
    scorer = scorers.prefers("Grep", over="Bash grep", partial=True)
    found = score(scorer, trajectory=[made("Grep"), made("Bash", command=command)])
    assert found.details["other"] == int(runs)


def skill(name: str, **fields: Any) -> ToolCall:
    return ToolCall(name="Skill", args={"skill": name}, **fields)


def test_skill_used() -> None:
    """The skill is called and loads, by its own name or with that of its plugin."""
    assert passes(scorers.skill_used("todo"), trajectory=[skill("todo")])
    assert passes(scorers.skill_used("todo"), trajectory=[skill("plugin:todo")])
    assert passes(scorers.skill_used("plugin:todo"), trajectory=[skill("plugin:todo")])
    assert passes(scorers.skill_used("todo"), trajectory=[skill("todo", status="denied")]), "it was chosen"
    assert not passes(scorers.skill_used("todo"), trajectory=[skill("todo", status="failed")])
    assert score(scorers.skill_used("todo"), trajectory=[skill("done")]).reason == (
        "the skill todo was used never; the skills used are done"
    )


def test_skill_not_used() -> None:
    """Not even an attempt counts as restraint."""
    assert passes(scorers.skill_not_used("todo"), trajectory=[skill("done")])
    assert not passes(scorers.skill_not_used("todo"), trajectory=[skill("todo", status="failed")])
    assert not passes(scorers.skill_not_used(), trajectory=[skill("done")])
    assert passes(scorers.skill_not_used(), trajectory=SEARCH)


def test_delegated_to() -> None:
    """Work is handed to this subagent; Task is the older name of Agent."""
    spawns = [
        made("Task", subagent_type="reviewer"),
        made("Agent", subagent_type="tester"),
        made("Agent", prompt="x"),
    ]
    assert passes(scorers.delegated_to("reviewer"), trajectory=spawns)
    assert passes(scorers.delegated_to("general-purpose"), trajectory=spawns)
    assert not passes(scorers.delegated_to("reviewer", at_least=2), trajectory=spawns)
    failed = [ToolCall(name="Agent", args={"subagent_type": "reviewer"}, status="failed")]
    assert not passes(scorers.delegated_to("reviewer"), trajectory=failed)
    assert "delegated to nobody" in score(scorers.delegated_to("x"), trajectory=SEARCH).reason


def test_no_loops() -> None:
    """The same call, or the same few calls, three times in a row are a loop; of two agents at once they are not."""
    a, b = made("Read", p=1), made("Grep", p=2)
    assert passes(scorers.no_loops(), trajectory=[a, a, b, a, a, b])
    assert not passes(scorers.no_loops(), trajectory=[b, a, a, a])
    assert not passes(scorers.no_loops(), trajectory=[a, b, a, b, a, b])
    assert not passes(scorers.no_loops(2), trajectory=[a, b, b])
    assert passes(scorers.no_loops(), trajectory=[made("Read", p=number) for number in range(9)])
    lanes = [ToolCall(name="Read", agent="x", agent_id=str(number)) for number in range(5)]
    assert passes(scorers.no_loops(), trajectory=lanes)
    assert score(scorers.no_loops(), trajectory=[a, b] * 4).reason == (
        "repeated 4 times in a row: Read(p=1), Grep(p=2)"
    )


@settings(deadline=None)
@given(st.lists(st.sampled_from("ab"), max_size=8))
def test_no_loops_finds_the_longest(tools: list[str]) -> None:
    """The number of rounds is that of the best cycle at any place, as trying all of them shows."""
    text = "".join(tools)
    rounds = max(
        (
            next(n for n in range(len(text), 0, -1) if text[start : start + size] * n in text)
            for start in range(len(text))
            for size in range(1, len(text) - start + 1)
        ),
        default=0,
    )
    found = score(scorers.no_loops(len(text) + 2), trajectory=[made(tool) for tool in text])
    assert found.details["rounds"] == rounds


def test_max_calls() -> None:
    """The number of calls, or of those of some tools, has a limit."""
    assert passes(scorers.max_calls(5), trajectory=SEARCH)
    assert not passes(scorers.max_calls(4), trajectory=SEARCH)
    assert passes(scorers.max_calls(2, "Grep"), trajectory=SEARCH)
    assert not passes(scorers.max_calls(2, "Grep", "Glob"), trajectory=SEARCH)
    assert passes(scorers.max_calls(0), trajectory=[])


@pytest.mark.parametrize(
    ("factory", "field", "reason"),
    [
        (scorers.max_turns, "turns", "3 turns, at most 2 are allowed"),
        (scorers.max_cost, "cost_usd", "3.0000 USD, at most 2.0000 are allowed"),
        (scorers.max_duration, "duration_s", "3.0 seconds, at most 2.0 are allowed"),
    ],
)
def test_limits(factory: Callable[..., Any], field: str, reason: str) -> None:
    """Turns, cost and time have limits; a figure that nobody measured is an error and no zero."""
    assert passes(factory(3), about={field: 3})
    failed = score(factory(2), about={field: 3})
    assert (failed.value, failed.reason) == (0.0, reason)
    with pytest.raises(UsageError, match="does not say"):
        score(factory(3), run=Run(output="a plain function returned this"))
    with pytest.raises(UsageError, match="not negative"):
        factory(-1)
    with pytest.raises(UsageError, match="not negative"):
        factory(float("nan"))


@pytest.mark.parametrize(
    ("about", "reason"),
    [
        ({"timed_out": True}, "it ran out of time"),
        ({"exit_code": 1}, "it ended with exit code 1"),
        ({"messages": [{"type": "result", "subtype": "error_max_turns"}]}, "it ended with error_max_turns"),
        ({"messages": [{"type": "result", "subtype": "success", "is_error": True}]}, "it ended with success"),
        ({"messages": [{"type": "assistant"}]}, "it ended without a result"),
        ({"trajectory": Trajectory([ToolCall(name="Bash", status="unfinished")])}, "Bash() was not finished"),
    ],
)
def test_completed_names_what_kept_the_agent_from_its_end(about: dict[str, Any], reason: str) -> None:
    """Time-outs, errors, limits and unfinished calls are told apart."""
    found = score(scorers.completed(), about=about)
    assert found.value == 0.0
    assert reason in found.reason


def test_completed() -> None:
    """A run with a result and nothing in the way is complete."""
    about = {"exit_code": 0, "messages": [{"type": "result", "subtype": "success", "is_error": False}]}
    assert passes(scorers.completed(), about=about)


def test_output_contains() -> None:
    """Every text is there; case counts unless it is told not to."""
    assert passes(scorers.output_contains("store.py", "main.py"), output="In store.py and main.py.")
    assert not passes(scorers.output_contains("Store.py"), output="In store.py")
    assert passes(scorers.output_contains("Store.py", ignore_case=True), output="In store.py")
    half = score(scorers.output_contains("a", "b", partial=True), output="a")
    assert (half.value, half.reason) == (0.5, "the output contains 1 of 2 texts, not 'b'; it is 'a'")
    with pytest.raises(UsageError):
        scorers.output_contains()


def test_output_matches() -> None:
    """The pattern is found anywhere in the output."""
    assert passes(scorers.output_matches(r"\d+ TODOs"), output="I found 12 TODOs.")
    assert passes(scorers.output_matches(re.compile("TODO", re.IGNORECASE)), output="todo")
    assert not passes(scorers.output_matches(r"^\d+$"), output="I found 12 TODOs.")
    with pytest.raises(UsageError, match="not a regular expression"):
        scorers.output_matches("(")


def test_output_json() -> None:
    """The output is JSON and valid; every violation is named with its place."""
    schema = {
        "type": "object",
        "required": ["files"],
        "properties": {"files": {"type": "array", "items": {"type": "string"}}},
    }
    scorer = scorers.output_json(schema)
    assert passes(scorer, output='{"files": ["a.py"]}')
    assert passes(scorer, output='```json\n{"files": []}\n```')
    assert score(scorer, output='{"files": ["a", 1, null]}').reason == (
        "$.files[1]: 1 is not of type 'string'\n$.files[2]: None is not of type 'string'"
    )
    assert score(scorer, output="Here you are: {}").reason.startswith("the output is not JSON")
    assert passes(scorers.output_json(), output="[1]")
    assert passes(scorer, output="Done.", about={"structured": {"files": []}})
    with pytest.raises(UsageError, match=r"not a JSON Schema: \$\.type"):
        scorers.output_json({"type": "strnig"})


def test_file_contains(tmp_path: Path) -> None:
    """The final file has each of the texts and patterns; without any it has to exist."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.py").write_text("def main():\n    return 1\n")
    assert passes(scorers.file_contains("src/a.py", "def main", re.compile(r"return \d")), workspace=tmp_path)
    assert passes(scorers.file_contains("src/a.py"), workspace=tmp_path)
    assert not passes(scorers.file_contains("src/b.py"), workspace=tmp_path)
    failed = score(scorers.file_contains("src/a.py", "def main", "return 2"), workspace=tmp_path)
    assert failed.reason == "src/a.py contains 1 of 2 texts, not 'return 2'"


def test_file_contains_does_not_follow_links_out(tmp_path: Path) -> None:
    """A link that leads out of the workspace is no file of it."""
    (tmp_path / "secret").write_text("x")
    (tmp_path / "w").mkdir()
    (tmp_path / "w/link").symlink_to(tmp_path / "secret")
    assert (
        score(scorers.file_contains("link", "x"), workspace=tmp_path / "w").reason
        == "link leads out of the workspace"
    )


@pytest.mark.parametrize(
    ("globs", "passed"),
    [
        (["src/a.py", "src/deep/b.py"], True),
        (["src/**"], True),
        (["src/**/*.py"], True),
        (["**/*.py"], True),
        (["src/"], True),
        (["src/*.py"], False),
        (["*.py"], False),
        ([], False),
    ],
)
def test_only_changes(globs: list[str], passed: bool) -> None:
    """No file is changed but those that a glob names; a star stays within a folder."""
    assert (
        passes(scorers.only_changes(*globs), about={"changed_files": ["src/a.py", "src/deep/b.py"]}) is passed
    )


def test_only_changes_without_globs_wants_no_change() -> None:
    """Nothing changed, nothing to complain about; what changed is named."""
    assert passes(scorers.only_changes(), about={"changed_files": []})
    assert (
        score(scorers.only_changes(), about={"changed_files": ["a"]}).reason
        == "a changed; allowed is no file"
    )


def test_command_succeeds(tmp_path: Path) -> None:
    """The command runs in the workspace; its exit code decides and its output is the reason."""
    (tmp_path / "test_it.py").write_text("def test_it():\n    assert 1 + 1 == 2\n")
    pytest_quietly = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    assert passes(scorers.command_succeeds(pytest_quietly), workspace=tmp_path)
    failed = score(scorers.command_succeeds("sh -c 'pwd; echo oops >&2; exit 3'"), workspace=tmp_path)
    assert failed.value == 0.0
    assert failed.reason.splitlines() == [
        "`sh -c 'pwd; echo oops >&2; exit 3'` ended with exit code 3",
        str(tmp_path),
        "oops",
    ]


def test_command_succeeds_sees_no_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code that an agent wrote gets an environment from an allow-list, and what the test gives it."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "planted")
    scorer = scorers.command_succeeds(["sh", "-c", "env; exit 1"], env={"MODE": "ci"})
    names = {line.partition("=")[0] for line in score(scorer, workspace=tmp_path).reason.splitlines()[1:]}
    assert "MODE" in names
    assert "ANTHROPIC_API_KEY" not in names
    assert names <= {
        "PATH",
        "HOME",
        "TMPDIR",
        "LANG",
        "LC_ALL",
        "TZ",
        "PYTHONDONTWRITEBYTECODE",
        "MODE",
        "PWD",
        "SHLVL",
        "_",
        "OLDPWD",
    }


def test_command_succeeds_ends_what_takes_too_long(tmp_path: Path) -> None:
    """A command that does not end is ended with all its children, and has failed."""
    scorer = scorers.command_succeeds(["sh", "-c", "echo $$ > pid; sleep 600 & wait"], timeout=0.5)
    assert score(scorer, workspace=tmp_path).reason.startswith("`sh -c")
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_a_command_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    """A misspelt command says nothing about the agent."""
    with pytest.raises(Exception, match="could not be started"):
        score(scorers.command_succeeds("no-such-command-anywhere"), workspace=tmp_path)


@pytest.mark.parametrize("scorer", [scorers.file_contains("a"), scorers.command_succeeds("true")])
def test_no_workspace_is_an_error(scorer: Callable[..., Any], tmp_path: Path) -> None:
    """Without a workspace nothing can be said of it."""
    with pytest.raises(UsageError, match="this run has none"):
        score(scorer)
    with pytest.raises(UsageError, match="no longer there"):
        score(scorer, workspace=tmp_path / "gone")


def test_unknown_changes_are_an_error() -> None:
    """A run that was not watched did not change nothing."""
    with pytest.raises(UsageError, match="does not say"):
        score(scorers.only_changes())


@pytest.mark.parametrize(
    "scorer",
    [
        scorers.trajectory_match(mode="subset", expected=[]),
        scorers.calls("Bash", times=0),
        scorers.never_calls("Bash"),
        scorers.max_calls(3),
        scorers.no_loops(),
        scorers.skill_not_used(),
        scorers.tools_used("Bash"),
        scorers.prefers("Grep", over="Bash"),
        scorers.delegated_to("x"),
        scorers.skill_used("x"),
    ],
    ids=lambda scorer: scorer.__name__,
)
def test_no_calls_and_no_capture_are_not_the_same(scorer: Callable[..., Any]) -> None:
    """A run of Claude Code without calls is judged; one of a plain function, where nobody watched, is an error."""
    score(scorer, trajectory=[])
    with pytest.raises(UsageError, match="nothing says that they were captured"):
        score(scorer, run=Run(output="a plain function returned this"))


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", ""])
def test_paths_stay_inside_the_workspace(path: str) -> None:
    """A path that leads out of the workspace raises when the scorer is built."""
    with pytest.raises(UsageError, match="not a path inside the workspace"):
        scorers.file_contains(path)
    with pytest.raises(UsageError, match="not a path inside the workspace"):
        scorers.only_changes(path)


@pytest.mark.parametrize("factory", [scorers.never_calls, scorers.tools_used, scorers.tools_in_order])
def test_a_scorer_that_names_nothing_is_refused(factory: Callable[..., Any]) -> None:
    """A scorer that would always pass raises when it is built."""
    with pytest.raises(UsageError, match="names no tool"):
        factory()


def fixed(value: Any, name: str = "fixed") -> Callable[..., Any]:
    def scorer(output: str) -> Any:
        return value

    scorer.__name__ = name
    return scorer


def test_combine_is_the_weighted_mean() -> None:
    """The value can be computed from the reason."""
    parts = [fixed(Score(1.0, "good"), "a"), fixed(0.5, "b"), fixed(False, "c")]
    assert score(scorers.combine(*parts)).value == 0.5
    weighed = score(scorers.combine(*parts, weights=[2, 1, 1]))
    assert weighed.value == 0.625
    assert weighed.reason.splitlines() == [
        "a 1.00 (weight 2), b 0.50 (weight 1), c 0.00 (weight 1)",
        "a: good",
        "b: scored 0.5",
        "c: scored 0",
    ]


def test_all_of_and_any_of() -> None:
    """All is the lowest, any the highest."""
    parts = [fixed(0.2), fixed(0.9)]
    assert score(scorers.all_of(*parts)).value == 0.2
    assert score(scorers.any_of(*parts)).value == 0.9
    assert [part["value"] for part in score(scorers.all_of(*parts)).details["parts"]] == [0.2, 0.9]


def test_a_combination_asks_for_what_its_parts_ask_for() -> None:
    """Combined scorers, nested and async ones too, are called with what they ask for by name."""

    async def later(expected: Any) -> float:
        await asyncio.sleep(0)
        return float(expected)

    both = scorers.all_of(scorers.any_of(later, fixed(False)), scorers.max_turns(3))
    assert Asks.of(both).required == ("expected", "output", "run")
    assert score(both, expected=1, about={"turns": 2}).value == 1.0


def test_a_part_that_raises_is_an_error_of_the_whole() -> None:
    """any_of does not hide a broken scorer behind a good one."""
    with pytest.raises(UsageError, match="this run has none"):
        score(scorers.any_of(fixed(True), scorers.file_contains("a")))
    with pytest.raises(UsageError, match="returned 'yes'"):
        score(scorers.all_of(fixed("yes")))


@pytest.mark.parametrize("weights", [[1], [-1, 2], [0, 0], [float("nan"), 1]])
def test_weights_that_cannot_be_are_refused(weights: list[float]) -> None:
    """Weights are as many as scorers, not negative, and not all zero."""
    with pytest.raises(UsageError):
        scorers.combine(fixed(1), fixed(1), weights=weights)


def test_a_combination_of_nothing_is_refused() -> None:
    """No scorers give no score."""
    for factory in (scorers.combine, scorers.all_of, scorers.any_of):
        with pytest.raises(UsageError, match="at least one"):
            factory()


def test_a_combination_with_a_judge_needs_a_judge() -> None:
    """Where a part asks a model, so does the whole."""
    judge = fixed(1)
    judge.needs_judge = True  # type: ignore[attr-defined]
    assert scorers.all_of(fixed(1), judge).needs_judge  # type: ignore[attr-defined]
    assert not scorers.all_of(fixed(1)).needs_judge  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", FACTORIES)
def test_the_reference_has_each_scorer_with_its_parameters(name: str) -> None:
    """The page on scorers lists each of them as it is called."""
    bare = [
        one.replace(annotation=one.empty)
        for one in inspect.signature(getattr(scorers, name)).parameters.values()
    ]
    page = Path(__file__).parent.parent / "docs" / "reference" / "scorers.md"
    assert f"| `{name}{inspect.Signature(bare)}` |" in page.read_text()


@pytest.mark.parametrize("name", FACTORIES)
def test_each_factory_says_what_it_asks(name: str) -> None:
    """Every scorer has a docstring, for the reference and for editors."""
    assert inspect.getdoc(getattr(scorers, name))
