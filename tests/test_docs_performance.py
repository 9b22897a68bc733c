"""The page of figures says what was measured."""

from __future__ import annotations

from bench.__main__ import QUESTIONS
from bench.page import PAGE, PLACE, render_page
from bench.results import load


def test_the_page_is_what_the_results_render_to() -> None:
    """The tables of the performance page are made from bench/results.json; `python -m bench --render` makes them."""
    text = PAGE.read_text()
    assert render_page(text, load()) == text


def test_every_question_has_its_place_on_the_page() -> None:
    """Each question of the bench has one marked place on the page, and no place is without a question."""
    places = [place["name"] for place in PLACE.finditer(PAGE.read_text())]
    assert sorted(places) == sorted(QUESTIONS)


def test_no_results_are_kept_of_a_question_that_nobody_asks() -> None:
    """Results belong to questions that there are."""
    assert set(load()) <= set(QUESTIONS)
