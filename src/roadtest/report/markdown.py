"""A record as Markdown, for the summary of a CI job or a comment on a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from roadtest.report.failure import failure_lines
from roadtest.report.groups import Suite, in_order, suites_of
from roadtest.report.summary import total_line
from roadtest.report.text import MARKS, Style, money, seconds, share
from roadtest.results import CaseResult, Record

_PLAIN = Style(width=120)
_MOST_FAILURES = 30


def render(record: Record) -> str:
    """A table by suite, and each case that did not pass behind a line to unfold."""
    suites = suites_of(record.cases)
    low = [result for result in in_order(record.cases) if result.verdict != "passed"]
    lines = [
        f"### roadtest: {total_line(record.cases, _PLAIN)}"
        if record.cases
        else "### roadtest: no eval was run",
        "",
        *_table(suites),
        *(line for result in low[:_MOST_FAILURES] for line in _failure(result, record.run_id)),
        *([f"… and {len(low) - _MOST_FAILURES} more that did not pass"] if len(low) > _MOST_FAILURES else []),
        f"<sub>run {record.run_id}</sub>",
    ]
    return "\n".join(lines) + "\n"


def _table(suites: Sequence[Suite]) -> Iterator[str]:
    if not suites:
        return
    yield "| suite | passed | failed | invalid | error | trials passed | cost | time |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    for suite in suites:
        tally, trials = suite.tally, suite.trial_tally
        name = f"{suite.name or suite.file} [{suite.variant}]" if suite.variant else suite.name or suite.file
        cells = [
            name.replace("|", "\\|"),
            *(str(count or "") for count in (tally.passed, tally.failed, tally.invalid, tally.error)),
            share(trials.rate, trials.interval) if suite.repeated else "",
            money(suite.cost_usd),
            seconds(suite.duration_s),
        ]
        yield f"| {' | '.join(cells)} |"
    yield ""


def _failure(result: CaseResult, run_id: str) -> Iterator[str]:
    """Four blanks make a block that nothing inside can end, whatever an agent wrote."""
    title = result.title.replace("&", "&amp;").replace("<", "&lt;")
    yield f"<details><summary>{MARKS[result.verdict]} {result.verdict}: {title}</summary>"
    yield ""
    for line in failure_lines(result, run_id, _PLAIN):
        yield f"    {line}"
    yield ""
    yield "</details>"
    yield ""
