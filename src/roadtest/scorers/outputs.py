"""Scorers of what the agent answered, and whether it came to an end."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from roadtest.errors import UsageError
from roadtest.results import Run, Score
from roadtest.scorers.base import Scorer, named, share, verdict

_FENCE = re.compile(r"\s*```(?:json)?\s*\n(.*)\n\s*```\s*", re.DOTALL)
_SHOWN = 300


def completed() -> Scorer:
    """The agent ended by itself: no time-out, no error, no limit of turns or budget, no call left unfinished."""

    @named("completed")
    def score(run: Run) -> Score:
        obstacles = _obstacles(run)
        return verdict(not obstacles, "; ".join(obstacles) or "the agent came to its own end")

    return score


def _obstacles(run: Run) -> list[str]:
    results = [message for message in run.messages if message.get("type") == "result"]
    found = ["it ran out of time"] if run.timed_out else []
    if run.exit_code:
        found.append(f"it ended with exit code {run.exit_code}")
    for result in results:
        if result.get("subtype") != "success":
            found.append(f"it ended with {result.get('subtype')}")
        elif result.get("is_error") is True:
            found.append(f"it ended in an error: {result.get('result')}")
    found += [f"{call} was not finished" for call in run.trajectory if call.status == "unfinished"]
    if (run.session_id or run.claude_version) and run.messages and not results:
        found.append("it ended without a result")
    return found


def output_contains(*texts: str, ignore_case: bool = False, partial: bool = False) -> Scorer:
    """The output contains each of these texts."""
    if not texts or "" in texts:
        raise UsageError(f"output_contains takes texts that are not empty, not {texts!r}.")

    @named("output_contains")
    def score(output: str) -> Score:
        searched = output.casefold() if ignore_case else output
        missing = [text for text in texts if (text.casefold() if ignore_case else text) not in searched]
        found = len(texts) - len(missing)
        reason = f"the output contains {found} of {len(texts)} texts"
        if missing:
            reason += f", not {', '.join(map(repr, missing))}; it is {_shown(output)}"
        return share(found, len(texts), reason, partial=partial, missing=missing)

    return score


def output_matches(pattern: str | re.Pattern[str]) -> Scorer:
    """The pattern is found somewhere in the output."""
    try:
        expression = re.compile(pattern)
    except (re.error, TypeError) as problem:
        raise UsageError(f"output_matches: {pattern!r} is not a regular expression: {problem}") from None

    @named("output_matches")
    def score(output: str) -> Score:
        found = expression.search(output)
        if found:
            return verdict(True, f"the output matches at {found.start()}: {_shown(found.group())}")
        return verdict(False, f"nothing in the output matches {expression.pattern!r}; it is {_shown(output)}")

    return score


def output_json(schema: dict[str, Any] | None = None) -> Scorer:
    """The output is JSON, and valid under the JSON Schema if one is given.

    The structured output of the run counts where there is one; else the text, which may stand in one fence of Markdown.
    """
    validator = None if schema is None else _validator(schema)

    @named("output_json")
    def score(output: str, run: Run | None = None) -> Score:
        if run is not None and run.structured is not None:
            value = run.structured
        else:
            fenced = _FENCE.fullmatch(output)
            try:
                value = msgspec.json.decode(fenced.group(1) if fenced else output)
            except msgspec.DecodeError as problem:
                return verdict(False, f"the output is not JSON: {problem}; it is {_shown(output)}")
        if validator is None:
            return verdict(True, "the output is JSON")
        problems = [f"{error.json_path}: {error.message}" for error in validator.iter_errors(value)]
        return verdict(
            not problems, "\n".join(problems) or "the output is valid under the schema", problems=problems
        )

    return score


def _validator(schema: dict[str, Any]) -> Any:
    from jsonschema import Draft202012Validator, SchemaError, validators  # noqa: PLC0415 - takes long to import

    kind = validators.validator_for(schema, default=Draft202012Validator)
    try:
        kind.check_schema(schema)
    except SchemaError as problem:
        raise UsageError(
            f"output_json: this is not a JSON Schema: {problem.json_path}: {problem.message}"
        ) from None
    return kind(schema)


def _shown(text: str) -> str:
    return repr(text) if len(text) <= _SHOWN else f"{text[:_SHOWN]!r}… ({len(text)} characters)"
