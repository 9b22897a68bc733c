"""The figures as text: a table on the terminal, and the same one between markers on the page of the docs."""

from __future__ import annotations

import re
from pathlib import Path

from bench.results import Answer, Figure, Spread

PAGE = Path(__file__).parents[1] / "docs" / "explanation" / "performance.md"
HEAD = ("case", "roadtest", "against", "takes", "ratio (quartiles)", "target", "reached")
PLACE = re.compile(r"(<!-- bench:(?P<name>[a-z-]+) -->\n).*?(<!-- /bench -->)", re.DOTALL)


def render_page(text: str, answers: dict[str, Answer]) -> str:
    """The page with every marked place filled; a place without figures says so."""
    return PLACE.sub(lambda place: f"{place[1]}{_filling(answers.get(place['name']))}{place[3]}", text)


def _filling(answer: Answer | None) -> str:
    return "\nNot measured yet.\n\n" if answer is None else f"\n{render(answer)}\n\n"


def render(answer: Answer) -> str:
    """One question as Markdown."""
    rows = [HEAD, tuple("---" for _ in HEAD), *map(_row, answer.figures)]
    table = ["| " + " | ".join(row) + " |" for row in rows]
    notes = [f"- {note}" for note in answer.notes]
    measured = f"{answer.rounds} rounds on {answer.machine}, {answer.taken}."
    return "\n".join([*table, "", *notes, *([""] if notes else []), measured])


def _row(figure: Figure) -> tuple[str, ...]:
    reached = {None: "", True: "yes", False: "**no**"}[figure.reached]
    ratio = f"{_number(figure.ratio.median)}x ({_number(figure.ratio.low)}-{_number(figure.ratio.high)})"
    ours, theirs = _quantity(figure.ours, figure.unit), _quantity(figure.theirs, figure.unit)
    return figure.case, ours, figure.against, theirs, ratio, _target(figure), reached


def _target(figure: Figure) -> str:
    if figure.target is None:
        return ""
    limit = _number(figure.target.limit)
    match figure.target.of:
        case "ratio":
            return f"at most {limit}x"
        case "difference":
            return f"at most {limit} {figure.unit} more (is {_number(figure.difference.median)})"
        case "ours":
            return f"under {limit} {figure.unit}"


def _quantity(value: Spread, unit: str) -> str:
    return f"{_number(value.median)} {unit}"


def _number(value: float) -> str:
    """Three digits that count, and no exponent."""
    if value and abs(value) < 100:  # noqa: PLR2004
        digits = 2 if abs(value) >= 1 else 3
        return f"{value:.{digits}f}".rstrip("0").rstrip(".") if abs(value) >= 0.001 else f"{value:.2g}"  # noqa: PLR2004
    return f"{value:,.0f}"
