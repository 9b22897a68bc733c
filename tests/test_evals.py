"""Names of cases as folders, and functions called with what they ask for."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roadtest.calling import Asks, call_by_name, name_of
from roadtest.claude_code import ClaudeCode, first_choice_only
from roadtest.evals.cases import slug


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("find todos", "find-todos"),
        ("Find TODOs!", "find-todos"),
        ("v1.2_beta", "v1.2_beta"),
        ("../../etc", "etc"),
        ("a/b\\c:d", "a-b-c-d"),
    ],
)
def test_a_name_becomes_a_folder(name: str, folder: str) -> None:
    """Names lose what a folder cannot have, and nothing else."""
    assert slug(name) == folder


@given(st.text(min_size=1))
def test_any_name_is_a_safe_folder(name: str) -> None:
    """Whatever the name, its folder is one short segment that leads nowhere else, and the same every time."""
    folder = slug(name)
    assert re.fullmatch(r"[a-z0-9_][a-z0-9._-]*", folder)
    assert len(folder) <= 70
    assert slug(name) == folder


@given(st.text(min_size=1), st.text(min_size=1))
def test_names_beyond_ascii_stay_apart(one: str, other: str) -> None:
    """Names that a folder cannot spell keep different folders."""
    if one != other and not one.isascii() and not other.isascii():
        assert slug(one) != slug(other)


def positional_only(text: Any, /) -> Any:
    return text


async def awaited(output: str) -> str:
    return output


@pytest.mark.parametrize(
    ("function", "leading", "result"),
    [
        (lambda output, expected: (output, expected), [], ("o", "e")),
        (lambda output, other="default": (output, other), [], ("o", "default")),
        (lambda *, run: run, [], "r"),
        (lambda **_rest: "none", [], "none"),
        (lambda prompt, run: (prompt, run), ["p"], ("p", "r")),
        (positional_only, ["p"], "p"),
        (str.upper, ["p"], "P"),
        (awaited, [], "o"),
    ],
)
def test_a_function_gets_what_it_names(function: Any, leading: list[Any], result: Any) -> None:
    """Values are given by parameter name, after leading ones; defaults stay, and coroutines are awaited."""
    assert call_by_name(function, {"output": "o", "expected": "e", "run": "r"}, *leading) == result


def test_what_is_not_known_is_named() -> None:
    """Only parameters without a default must be known."""
    assert Asks.of(lambda output, nothing, maybe=1: None).unknown({"output"}) == ["nothing"]  # noqa: ARG005


def test_a_function_is_called_by_its_name() -> None:
    """Reports call a function as it was defined, or by the name that it gives itself."""

    class Scorer:
        name = "mine"

        def __call__(self) -> None: ...

    assert name_of(awaited) == "awaited"
    assert name_of(Scorer()) == "mine"


def test_the_first_choice_keeps_hooks_of_the_user() -> None:
    """Ending a run after the first choice adds a hook to those that the task brings."""
    theirs = {"matcher": "Bash", "hooks": []}
    task = first_choice_only(ClaudeCode(extra_settings={"hooks": {"PreToolUse": [theirs]}, "model": "x"}))
    assert task.max_turns == 1
    assert task.extra_settings["model"] == "x"
    assert task.extra_settings["hooks"]["PreToolUse"][0] == theirs
    assert len(task.extra_settings["hooks"]["PreToolUse"]) == 2
