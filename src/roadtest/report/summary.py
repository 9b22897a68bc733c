"""A whole run in a table: a line for each suite, and each variant of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from roadtest.report.groups import Contrast, Suite, contrasts, suites_of
from roadtest.report.text import MARKS, Style, gain, money, number, seconds, share, table
from roadtest.results import CaseResult, Record
from roadtest.statistics import Comparison, Tally

_HEADER = ("suite", "cases", "passed", "failed", "invalid", "error", "flaky", "trials passed", "cost", "time")
_SPENDING = ("recorded", "live")
_NOTEWORTHY = 1.05


def summary_lines(results: Sequence[CaseResult], style: Style) -> list[str]:
    """The table by suite, then flaky cases, spreads of scores and differences of variants where there are any."""
    if not results:
        return ["no eval was run"]
    suites = suites_of(results)
    return [
        *table(_HEADER, [_row(suite) for suite in suites], style),
        *_repeated(suites, style),
        *(line for contrast in contrasts(suites) for line in _contrast(contrast, style)),
        total_line(results, style),
    ]


def _row(suite: Suite) -> Sequence[str]:
    tally, trials = suite.tally, suite.trial_tally
    name = suite.name or suite.file
    return (
        f"{name} [{suite.variant}]" if suite.variant else name,
        str(len(suite.cases)),
        *(
            str(count or "")
            for count in (tally.passed, tally.failed, tally.invalid, tally.error, len(suite.flaky))
        ),
        share(trials.rate, trials.interval) if suite.repeated or suite.variant else "",
        money(suite.cost_usd),
        seconds(suite.duration_s),
    )


def _repeated(suites: Iterable[Suite], style: Style) -> Iterator[str]:
    for suite in suites:
        if not suite.repeated:
            continue
        k = suite.tries()
        name = f"{suite.name} [{suite.variant}]" if suite.variant else suite.name
        if k > 1:
            yield f"{name}: pass@{k} {suite.pass_at(k):.2f}, pass^{k} {suite.pass_hat(k):.2f}"
        for scorer, spread in suite.scores().items():
            yield f"  {scorer}: {spread.mean:.2f} ± {spread.deviation:.2f} ({spread.low:.2f} to {spread.high:.2f})"
        for case in suite.flaky:
            told = f"  flaky: {case.key.case}, {case.tally.passed} of {case.tally.scored} passed"
            yield style.yellow(told)


def _contrast(contrast: Contrast, style: Style) -> Iterator[str]:
    """What changes from the first variant to this one; an interval without nought is a clear difference."""
    name = contrast.first.name
    told = f"{name}: {contrast.second.variant} against {contrast.first.variant}: "
    parts = [f"pass rate {gain(contrast.rate)}"] if contrast.rate else []
    for factor, what in ((contrast.cost_factor, "cost"), (contrast.time_factor, "time")):
        if factor is not None and not 1 / _NOTEWORTHY < factor < _NOTEWORTHY:
            parts.append(f"{factor:.2f} times the {what}")
    yield _by_clearness(told + (", ".join(parts) or "nothing to compare"), contrast.rate, style)
    for scorer, comparison in contrast.scores().items():
        low, high = comparison.interval.low, comparison.interval.high
        line = f"  {scorer}: {comparison.difference:+.2f} ({low:+.2f} to {high:+.2f})"
        yield _by_clearness(line, comparison, style)


def _by_clearness(line: str, comparison: Comparison | None, style: Style) -> str:
    if comparison is None or not comparison.clear:
        return line
    return style.green(line) if comparison.difference > 0 else style.red(line)


def total_line(results: Sequence[CaseResult], style: Style) -> str:
    """Verdicts of all cases, and what was spent: what is replayed costs nothing, whatever it once cost."""
    tally = Tally.of(case.verdict for suite in suites_of(results) for case in suite.cases)
    counts = [style.verdict(name, f"{count} {name}") for name in MARKS if (count := getattr(tally, name))]
    spent = sum(result.cost_usd for result in results if result.played in _SPENDING or not result.played)
    return f"{number(tally.total, 'case')}: {', '.join(counts)}; {money(spent)} spent"


def record_lines(record: Record, style: Style, *, running: bool = False) -> list[str]:
    """What ``roadtest show`` says above the table: which run this is, of what, and whether it came to its end."""
    git = record.git
    commit = f"{git.commit[:12]}{' with changes' if git.dirty else ''}" if git else "no git repository"
    versions = ", ".join(f"{name} {version}" for name, version in record.versions.items())
    lines = [style.bold(f"run {record.run_id}"), f"started {record.started_at}, {commit}", versions]
    if not record.finished_at:
        lines.append(
            style.yellow("still running" if running else "did not finish: what was done before is here")
        )
    return [line for line in lines if line]
