"""One case with all that its record keeps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from roadtest.plain import to_plain
from roadtest.report.failure import call_lines, command_lines, drift_lines, headline, score_lines
from roadtest.report.text import Style, indent, money, paragraph, seconds
from roadtest.results import CaseResult, Run


def detail_lines(result: CaseResult, run_id: str, style: Style) -> list[str]:
    lines = [headline(result, style), *indent(_facts(result))]
    for title, body in _sections(result, style):
        if body:
            lines += ["", style.bold(title), *indent(body)]
    return [*lines, "", *command_lines(result, run_id, style)]


def _facts(result: CaseResult) -> Iterator[str]:
    parts = [f"trial {result.trial} of {result.trials}"] if result.trials > 1 else []
    parts += [f"variant {result.variant}"] if result.variant else []
    parts += [f"tags {', '.join(result.tags)}"] if result.tags else []
    parts += (
        [f"{result.played} from {result.cassette}" if result.cassette else result.played]
        if result.played
        else []
    )
    parts += [seconds(result.duration_s), money(result.cost_usd)]
    yield ", ".join(parts)


def _sections(result: CaseResult, style: Style) -> Iterator[tuple[str, list[str]]]:
    yield "input", _value(result.input, style)
    if result.verdict in ("invalid", "error"):
        yield "reason", paragraph(result.reason, style.width - 2)
    yield "scores", score_lines(result, Style(style.color, style.width - 2))
    for number, run in enumerate(result.runs, 1):
        mark = f" of turn {number}" if len(result.runs) > 1 else ""
        yield f"calls{mark}", call_lines(run)
        yield f"output{mark}", run.output.splitlines()
        yield f"changes{mark}", run.diff.splitlines()
        yield f"run{mark}", [*_run_facts(run), *drift_lines(run, style), *run.notes]
        yield f"stderr{mark}", run.stderr.splitlines()
    yield "traceback", result.traceback.splitlines()


def _value(value: Any, style: Style) -> list[str]:
    if value is None:
        return []
    if isinstance(value, str):
        return paragraph(value, style.width - 2)
    return msgspec.json.format(msgspec.json.encode(to_plain(value)), indent=2).decode().splitlines()


def _run_facts(run: Run) -> Iterator[str]:
    usage = run.usage
    cached = usage.cache_creation_input_tokens + usage.cache_read_input_tokens
    yield f"{run.model or 'no model'}, Claude Code {run.claude_version or 'unknown'}, session {run.session_id or '-'}"
    tokens = f"{usage.input_tokens} tokens in, {cached} cached, {usage.output_tokens} out, "
    known = tokens if cached or usage.input_tokens or usage.output_tokens else ""
    yield f"{run.turns} turns, {known}{seconds(run.duration_s)}, exit code {run.exit_code}"
    if run.timed_out:
        yield "timed out"
    if run.invalid:
        yield f"proves nothing: {run.invalid}"
