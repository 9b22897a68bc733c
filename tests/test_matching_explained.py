"""A mismatch is explained: the examples in the docs are what is printed, and pytest shows them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from roadtest.calls import ToolCall
from roadtest.matching import call, match
from roadtest.matching.assertions import explain_comparison, explain_failures
from roadtest.trajectory import Trajectory
from tests.calls_made import made

PAGE = Path(__file__).parent.parent / "docs" / "explanation" / "matching.md"
BLOCK = r"((?:(?!```).)*)```"
EXAMPLES = re.findall(rf"```python\n{BLOCK}\n\n```text\n{BLOCK}", PAGE.read_text(), re.DOTALL)


@pytest.mark.parametrize(("code", "output"), EXAMPLES)
def test_the_examples_in_the_docs_print_what_they_show(code: str, output: str) -> None:
    """Each kind of mismatch looks as the page on matching shows it."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == output


def test_every_kind_of_row_is_in_the_docs() -> None:
    """The page shows missing, unexpected, wrong and moved calls, those that a mode allows, and levels."""
    shown = "".join(output for _, output in EXAMPLES)
    for label in [
        "missing",
        "unexpected",
        "wrong args",
        "out of order",
        "(extra)",
        "(not made)",
        "inside:",
        "… 48 as",
    ]:
        assert label in shown


def test_an_unmatched_status_and_absent_keys_are_named() -> None:
    """A wrong outcome, a key that is not there and one that must not be are differences like others."""
    actual = [ToolCall(name="Bash", args={"command": "ls", "timeout": 5}, status="denied")]
    found = match(actual, [call("Bash", command="ls", cwd="/").with_status("ok")], args="exact")
    ((_, _, differences),) = found.wrong_args
    assert [str(one.path) for one in differences] == ["cwd", "timeout", "(status)"]
    assert str(found).splitlines()[-6:] == [
        "                cwd: expected '/'",
        "                     actual   (absent)",
        "                timeout: expected (absent)",
        "                         actual   5",
        "                (status): expected 'ok'",
        "                          actual   'denied'",
    ]


def test_a_function_that_refuses_is_named() -> None:
    """A rule that is a function shows its name and what it saw."""

    def same_file(actual: dict[str, str], expected: dict[str, str]) -> bool:
        return False

    found = match([made("Read", p=1)], [call("Read", p=2)], overrides={"Read": same_file})
    assert "refused by same_file(): expected {'p': 2}" in str(found)


def test_the_closest_call_explains() -> None:
    """Of several calls of the tool the one that shares most with the expected is shown."""
    actual = [made("Edit", path="b", old="1"), made("Edit", path="a", old="2", new="3")]
    found = match(actual, [call("Edit", path="a", old="2", new="4")], mode="superset")
    ((_, closest, differences),) = found.wrong_args
    assert closest is actual[1]
    assert [one.path for one in differences] == ["new"]


def test_many_faults_are_cut() -> None:
    """Nobody reads ten thousand lines: forty faults are shown and the rest is counted."""
    found = match([made("A", n=number) for number in range(1000)], [], mode="unordered")
    assert str(found).count("unexpected  ") == 40
    assert str(found).splitlines()[-1].strip() == "… 960 more faults"
    assert len(found.unexpected) == 1000


def test_colour_is_for_terminals() -> None:
    """Plain text has no escape codes; colour changes nothing else."""
    found = match([made("A", p=1), made("B")], [call("A", p=2), "C"])
    plain, colourful = found.render(), found.render(color=True)
    assert "\x1b" not in plain
    assert "\x1b[31m" in colourful
    assert re.sub(r"\x1b\[\d+m", "", colourful) == plain


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_table_keeps_to_its_width(width: int) -> None:
    """Long calls are wrapped into their columns."""
    found = match([made("Bash", command="x" * 300)], [call("Read", file_path="y" * 300)])
    assert max(len(line) for line in found.render(width=width).splitlines()[1:]) <= width


def test_the_data_is_bounded_json() -> None:
    """Reports get every row up to a number that can be stored, beyond it the first faults, and texts cut to a size."""
    calls = [made("Write", content="z" * 5000) for _ in range(2100)]
    data = match(calls, [call("Read")], mode="unordered").to_data()
    assert len(data["rows"]) == 501
    assert data["rows"][-1] == {"kind": "left_out", "faults": 1601}
    assert data["rows"][1]["actual"]["call"].endswith("… (5017 characters)")
    assert data["counts"] == {"missing": 1, "unexpected": 2100}


def test_a_failed_match_says_so_in_one_line() -> None:
    """The repr is one short line: pytest would cut and escape more."""
    found = match([made("A")], ["B"])
    assert (
        repr(found) == "<Match: strict match failed: 1 missing, 1 unexpected, 0 of 1 calls match, score 0.00>"
    )


def test_equality_is_explained() -> None:
    """A failed assertion gets the comparison of a trajectory with a list, whichever side it is on, and of nothing else."""
    trajectory = Trajectory([made("A")])
    told = explain_comparison(trajectory, ["B"])
    assert told is not None
    assert told[1:] == str(trajectory.matches(["B"])).splitlines()
    assert explain_comparison(["B"], trajectory) == told
    assert explain_comparison(trajectory, "B") is None
    assert explain_comparison([1], [2]) is None


def test_two_trajectories_are_explained_by_what_differs() -> None:
    """Trajectories with the same calls differ in something else, and the fields are named."""
    one, other = (
        Trajectory([ToolCall(name="A", id="1")]),
        Trajectory([ToolCall(name="A", id="2", status="denied")]),
    )
    told = explain_comparison(one, other)
    assert told is not None
    assert told[-1] == "the calls match; they differ in: call 1: id, status"


def test_failed_matches_are_found_among_the_variables_of_a_test() -> None:
    """Each failed match that the message speaks of is explained once; others are not."""
    failed, other, passed = match([made("A")], ["B"]), match([], ["B"]), match([made("A")], ["A"])
    assert explain_failures(f"assert {failed!r}", [failed, failed, other, passed, 3]) == [str(failed)]


def test_pytest_shows_the_whole_explanation(pytester: pytest.Pytester) -> None:
    """A failed assertion has the summary on its line and the comparison in a section, however it is written."""
    pytester.makepyfile(
        """
        from roadtest import ToolCall, Trajectory, call

        CALLS = Trajectory([ToolCall(name="Grep", args={"pattern": "FIXME"})] + [ToolCall(name="Read")] * 9)

        def test_matches():
            assert CALLS.matches([call("Grep", pattern="TODO")], mode="superset")

        def test_equals():
            assert CALLS == [call("Grep", pattern="TODO")]

        def test_nothing_to_explain():
            harmless = CALLS.matches(["Write"])
            assert not CALLS.matches(["Write"]), "this passes"
            assert 1 == 2
        """
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(
        [
            "E*assert <Match: superset match failed: 1 with wrong arguments, 0 of 1 expected calls match, score 0.00>",
            "*expected calls and those made*",
            "wrong args    1 Grep(pattern='TODO')  1 Grep(pattern='FIXME')",
            "*pattern: expected 'TODO'",
            "E*strict match failed: 9 unexpected, 1 with wrong arguments, 0 of 10 calls match, score 0.00",
            "*expected calls and those made*",
            "*pattern: expected 'TODO'",
        ],
    )
    assert result.stdout.str().count("expected calls and those made") == 2


def test_a_passing_match_is_short() -> None:
    """What matches needs no table of all calls."""
    found = match([made("A", n=number) for number in range(50)], ["A"] * 50)
    assert str(found).splitlines() == [
        "strict match passed: 50 of 50 calls match, score 1.00",
        "                expected    actual",
        "              … 50 as expected",
    ]
