"""A record as a file whose name says what kind it is."""

from __future__ import annotations

from pathlib import PurePath

from roadtest.errors import UsageError
from roadtest.results import Record, to_json

KINDS = (".html", ".json", ".md")


def check_kind(path: PurePath) -> None:
    """Say early that a report cannot be written, before anything has run."""
    if path.suffix.lower() not in KINDS:
        raise UsageError(
            f"A report cannot be written as {path.name!r}.", hint=f"end its name in {', '.join(KINDS)}"
        )


def export(record: Record, path: PurePath) -> str:
    """The text of the report that this path asks for."""
    check_kind(path)
    kind = path.suffix.lower()
    if kind == ".json":
        return to_json(record).decode()
    if kind == ".md":
        from roadtest.report import markdown  # noqa: PLC0415 - one of three

        return markdown.render(record)
    from roadtest.report import html  # noqa: PLC0415 - brings the template engine

    return html.render(record)
