"""``roadtest show``: print a run, or one case of it."""

from __future__ import annotations

import os
import shutil
import sys

import click

from roadtest.cli.project import output_dir
from roadtest.errors import UsageError
from roadtest.record import find_run, is_running, read_record
from roadtest.report.detail import detail_lines
from roadtest.report.failure import failure_lines, headline
from roadtest.report.groups import in_order
from roadtest.report.summary import record_lines, summary_lines
from roadtest.report.text import Style
from roadtest.results import CaseResult, Record, to_json


@click.command()
@click.argument("run", default="", metavar="[RUN[::CASE]]")
@click.option("--json", "as_json", is_flag=True, help="Print the record, or the case, as JSON.")
def show(run: str, *, as_json: bool) -> None:
    """Print a run, or one case of it in full.

    RUN is a run id, the beginning of one, or a path; without it the newest run is shown, also one that still goes on
    or was killed half-way. CASE is the name of a case, or SUITE::CASE; several trials may match.
    """
    name, _, case = run.partition("::")
    folder = find_run(name, output_dir())
    record = read_record(folder)
    chosen = select(record, case) if case else []
    if as_json:
        _print_json(record, chosen)
        return
    style = terminal_style()
    if chosen:
        blocks = [detail_lines(result, record.run_id, style) for result in chosen]
    else:
        blocks = [*_overview(record, style, running=is_running(folder))]
    click.echo("\n\n".join("\n".join(block) for block in blocks), color=style.color)


def select(record: Record, wanted: str) -> list[CaseResult]:
    """The trials that a name means: exactly one case's if it fits one, else all whose title contains it."""
    exact = [
        result
        for result in record.cases
        if wanted in (result.title, result.case, result.node_id, f"{result.suite}::{result.case}")
    ]
    chosen = exact or [result for result in record.cases if wanted.lower() in result.title.lower()]
    if not chosen:
        known = ", ".join(dict.fromkeys(result.title for result in record.cases)) or "none yet"
        raise UsageError(f"Run {record.run_id} has no case {wanted!r}.", hint=f"its cases: {known}")
    return chosen


def terminal_style() -> Style:
    """Color and width of the terminal, if there is one."""
    color = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    return Style(color=color, width=min(shutil.get_terminal_size((100, 24)).columns, 160))


def _overview(record: Record, style: Style, *, running: bool) -> list[list[str]]:
    low = [result for result in in_order(record.cases) if result.verdict != "passed"]
    failures = [
        [headline(result, style), *("  " + line for line in failure_lines(result, record.run_id, style))]
        for result in low
    ]
    return [record_lines(record, style, running=running), *failures, summary_lines(record.cases, style)]


def _print_json(record: Record, chosen: list[CaseResult]) -> None:
    if not chosen:
        click.echo(to_json(record))
    elif len(chosen) == 1:
        click.echo(to_json(chosen[0]))
    else:
        click.echo(b"[" + b",".join(map(to_json, chosen)) + b"]")
