"""What holds for every scorer: a reason, a docstring, a place in the reference, and no judgement of the unknown."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from roadtest import scorers
from roadtest.errors import UsageError
from roadtest.results import Run
from tests.scoring import score

FACTORIES = [name for name in scorers.__all__ if name != "fuzzy"]


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


@pytest.mark.parametrize("factory", [scorers.never_calls, scorers.tools_used, scorers.tools_in_order])
def test_a_scorer_that_names_nothing_is_refused(factory: Callable[..., Any]) -> None:
    """A scorer that would always pass raises when it is built."""
    with pytest.raises(UsageError, match="names no tool"):
        factory()


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
