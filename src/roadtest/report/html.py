"""A record as one page that stands by itself: no request leaves it, and what an agent wrote cannot run in it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

import msgspec

from roadtest.calls import ToolCall
from roadtest.matching.folding import told
from roadtest.matching.render import LABELS
from roadtest.matching.result import FAULTS
from roadtest.plain import to_plain
from roadtest.report.difference import differences
from roadtest.report.failure import commands
from roadtest.report.groups import CaseGroup, contrasts, suites_of
from roadtest.report.text import MARKS, gain, in_workspace, money, number, percent, seconds
from roadtest.results import CaseResult, Record
from roadtest.statistics import Tally, Verdict

if TYPE_CHECKING:
    from jinja2 import Environment, Template

_LONGEST_TEXT = 20_000
_LONGEST_CALL = 4_000


@dataclass(frozen=True)
class Node:
    """A call, with those of the subagent that it spawned."""

    call: ToolCall
    inside: Sequence[Node]


def render(record: Record) -> str:
    suites = suites_of(record.cases)
    script = _resource("page.js")
    return _template().render(
        record=record,
        suites=suites,
        contrasts=contrasts(suites),
        tally=Tally.of(case.verdict for suite in suites for case in suite.cases),
        flaky=sum(len(suite.flaky) for suite in suites),
        elapsed=seconds(record.totals.duration_s),
        style=_resource("page.css"),
        script=script,
        script_hash=_csp_hash(script),
    )


def tree(calls: Sequence[ToolCall]) -> list[Node]:
    """Each call once, under the call that spawned its agent where that is known."""
    known = {call.id for call in calls if call.id}
    children: dict[str | None, list[ToolCall]] = {}
    for call in calls:
        children.setdefault(call.parent_id if call.parent_id in known else None, []).append(call)
    nodes = list(_nodes(children, None))
    while children:  # calls that name each other as their parents have no root; a file may hold anything
        nodes += _nodes(children, next(iter(children)))
    return nodes


def _nodes(children: dict[str | None, list[ToolCall]], parent: str | None) -> Iterator[Node]:
    for call in children.pop(parent, []):
        yield Node(call, list(_nodes(children, call.id)) if call.id else [])


@cache
def _template() -> Template:
    return _environment().get_template("page.html")


def _environment() -> Environment:
    import jinja2  # noqa: PLC0415 - only who writes a page pays for it

    environment = jinja2.Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        loader=jinja2.FunctionLoader(_resource),
    )
    environment.filters |= {
        "money": money,
        "seconds": seconds,
        "percent": percent,
        "gain": gain,
        "shown": _shown,
        "cut": _cut,
        "verdict": _verdict_name,
        "moment": _moment,
        "in_workspace": in_workspace,
    }
    environment.globals |= {
        "MARKS": MARKS,
        "LABELS": LABELS,
        "FAULTS": FAULTS,
        "tree": tree,
        "told": told,
        "differences": lambda score: list(differences(score)),
        "commands": commands,
        "facts": _facts,
        "number": number,
        "anchor": _anchor,
        "spread_of_trials": _spread_of_trials,
        "diff_kind": _diff_kind,
    }
    return environment


def _resource(name: str) -> str:
    return resources.files(__package__).joinpath("page", name).read_text("utf-8")


def _csp_hash(script: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _shown(value: Any, limit: int = _LONGEST_CALL) -> str:
    """A JSON value for reading: text as it is, anything else indented."""
    if isinstance(value, str):
        return _cut(value, limit)
    return _cut(msgspec.json.format(msgspec.json.encode(to_plain(value)), indent=2).decode(), limit)


def _cut(text: str, limit: int = _LONGEST_TEXT) -> str:
    return (
        text
        if len(text) <= limit
        else f"{text[:limit]}\n… {len(text) - limit:,} more characters in the record"
    )


def _moment(time: str) -> str:
    """``2026-11-15T10:00:00.000Z`` for human eyes."""
    return time.replace("T", " ").partition(".")[0] + " UTC" if time else ""


def _verdict_name(verdict: Verdict) -> str:
    return f"{MARKS[verdict]} {verdict}"


def _anchor(case: CaseGroup) -> str:
    return "case-" + hashlib.sha256(repr(case.key).encode()).hexdigest()[:10]


def _spread_of_trials(case: CaseGroup) -> str:
    """What the trials of a case come to in a few words."""
    if case.planned == 1:
        return ""
    return f"{case.tally.passed} of {len(case.results)} trials passed, {case.results[0].pass_if} must"


def _facts(result: CaseResult) -> list[str]:
    """One line about the run itself."""
    run = result.run
    known = [seconds(result.duration_s), money(result.cost_usd)]
    if run is not None:
        usage = run.usage
        cached = usage.cache_creation_input_tokens + usage.cache_read_input_tokens
        known += [number(sum(one.turns for one in result.runs), "turn"), number(len(run.trajectory), "call")]
        if cached or usage.input_tokens or usage.output_tokens:
            known += [f"{usage.input_tokens:,} tokens in, {cached:,} cached, {usage.output_tokens:,} out"]
        known += [
            name
            for name in (run.model, f"Claude Code {run.claude_version}" if run.claude_version else "")
            if name
        ]
    return [*known, *([result.played] if result.played else [])]


def _diff_kind(line: str) -> str:
    if line.startswith(("+++", "---", "diff ", "index ")):
        return "meta"
    return {"+": "added", "-": "removed", "@": "place"}.get(line[:1], "")
