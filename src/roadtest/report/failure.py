"""Why a case did not pass, and what to run next."""

from __future__ import annotations

from collections.abc import Iterator

from roadtest.matching.render import table_lines
from roadtest.report.difference import differences
from roadtest.report.text import MARKS, Style, command, in_workspace, indent, last_lines, paragraph
from roadtest.results import CaseResult, Run, Score

_OUTPUT_LINES = 10
_STDERR_LINES = 5
_CALLS = 15


def failure_lines(result: CaseResult, run_id: str, style: Style) -> list[str]:
    """The section of one case that failed, is invalid or an error, without its title."""
    return [
        *_reason_lines(result, style),
        *score_lines(result, style),
        *_run_lines(result, style),
        *command_lines(result, run_id, style),
    ]


def headline(result: CaseResult, style: Style) -> str:
    return style.verdict(result.verdict, f"{MARKS[result.verdict]} {result.verdict}") + f"  {result.title}"


def _reason_lines(result: CaseResult, style: Style) -> list[str]:
    """What a verdict other than the scores' rests on; a failed case is explained by its scores."""
    if result.verdict == "failed" and result.low_scores:
        return []
    lines = paragraph(result.reason, style.width)
    if result.traceback and result.verdict == "error":
        lines += indent(result.traceback.rstrip().splitlines())
    return [style.verdict(result.verdict, lines[0]), *lines[1:]] if lines else []


def score_lines(result: CaseResult, style: Style) -> list[str]:
    """Each score with its reason, the low ones first and with their differences."""
    low = result.low_scores
    width = max((len(score.name) for score in result.scores), default=0)
    lines: list[str] = []
    for score in (*low, *(score for score in result.scores if score not in low)):
        lines += _score(score, result.threshold, width, style)
    return lines


def _score(score: Score, threshold: float, width: int, style: Style) -> Iterator[str]:
    low = score.value < threshold
    name = f"{score.name:<{width}}  {score.value:.2f}"
    told = style.red(f"✗ {name} < {threshold:.2f}") if low else style.green(f"✓ {name}")
    first, *rest = score.reason.strip().splitlines() or [""]
    yield f"{told}  {first}".rstrip()
    found = list(differences(score)) if low else []
    if found:
        for difference in found:
            yield from indent(table_lines(difference, width=style.width - 2, color=style.color))
    elif low:
        yield from indent(rest)


def _run_lines(result: CaseResult, style: Style) -> Iterator[str]:
    run = result.run
    if run is None:
        return
    if not any(any(differences(score)) for score in result.low_scores):
        yield from _section("calls", _last_calls(run), style)
    yield from _section("output", last_lines(run.output, _OUTPUT_LINES), style)
    if result.verdict in ("invalid", "error"):
        yield from _section("stderr", last_lines(run.stderr, _STDERR_LINES), style)
    yield from drift_lines(run, style)
    yield from _section("notes", run.notes, style)


def _last_calls(run: Run) -> list[str]:
    return last_lines("\n".join(call_lines(run)), _CALLS)


def call_lines(run: Run) -> list[str]:
    """The calls as an outline; none is said in words, but not where capture failed or nobody watched."""
    if run.trajectory:
        return in_workspace(run.trajectory.tree(), run).splitlines()
    if not run.claude_version and not run.session_id:
        return []
    return ["(no call was captured, which proves nothing here)" if run.invalid else "(no tool was called)"]


def drift_lines(run: Run, style: Style) -> Iterator[str]:
    told = [
        line for drift in run.drift for line in f"{drift.kind} ({drift.policy}): {drift.message}".splitlines()
    ]
    yield from _section("drift", told, style)


def _section(title: str, lines: list[str], style: Style) -> Iterator[str]:
    if lines:
        yield style.bold(title)
        yield from indent(lines)


def command_lines(result: CaseResult, run_id: str, style: Style) -> list[str]:
    known = commands(result, run_id)
    width = max(map(len, known))
    return [f"{style.dim(f'{what:<{width}}')}  {text}" for what, text in known.items()]


def commands(result: CaseResult, run_id: str) -> dict[str, str]:
    """How to run it again, to look at it and, where a cassette is involved, to record it."""
    known = {
        "run again": command("pytest", result.node_id),
        "look at it": command("roadtest", "show", f"{run_id}::{result.title}"),
    }
    if result.cassette and result.played:
        known["record anew"] = command("pytest", result.node_id, "--cassettes=rewrite")
    elif result.cassette:
        known["record it"] = command("pytest", result.node_id, "--cassettes=record")
    return known
