"""Cases from a file: .json, .jsonl or .yaml, each error with the file, the index and the field it is about."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from roadtest.errors import UsageError
from roadtest.evals.cases import Case
from roadtest.matching.expected import expected_calls

SUFFIXES = (".json", ".jsonl", ".yaml", ".yml")


class _Entry(msgspec.Struct, forbid_unknown_fields=True):
    """One case as a file holds it."""

    name: str
    input: Any
    expected: Any = None
    tags: list[str] = []
    metadata: dict[str, Any] = {}


def load(path: Path) -> list[Case]:
    """The cases of a fixture file, in its order."""
    if path.suffix not in SUFFIXES:
        raise UsageError(f"{path} is no fixture file.", hint=f"its name must end in {', '.join(SUFFIXES)}")
    try:
        data = path.read_bytes()
    except OSError as problem:
        raise UsageError(
            f"The fixture file {path} cannot be read: {problem.strerror}.",
            hint="a path is relative to the file that calls describe_eval",
        ) from None
    return [_case(value, f"{path}, {where}") for where, value in _entries(path, data)]


def _entries(path: Path, data: bytes) -> Iterator[tuple[str, Any]]:
    """Each entry with the words that say where it stands."""
    if path.suffix == ".jsonl":
        for number, line in enumerate(data.split(b"\n"), 1):
            if line.strip():
                yield f"line {number}", _json(line, f"{path}, line {number}")
        return
    entries = _json(data, str(path)) if path.suffix == ".json" else _yaml(path, data)
    if not isinstance(entries, list):
        raise UsageError(
            f"{path} holds {_kind(entries)}, not a list of cases.",
            hint='write [{"name": "...", "input": "...", "expected": [...]}, ...]',
        )
    for index, entry in enumerate(entries):
        yield f"case {index}", entry


def _json(data: bytes, where: str) -> Any:
    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError as problem:
        raise UsageError(f"{where} is not valid JSON: {problem}.", hint="correct the file") from None


def _yaml(path: Path, data: bytes) -> Any:
    import yaml  # noqa: PLC0415 - only those who keep their cases in YAML wait for it

    try:
        return yaml.safe_load(data)
    except yaml.YAMLError as problem:
        raise UsageError(f"{path} is not valid YAML: {problem}", hint="correct the file") from None


def _case(value: Any, where: str) -> Case:
    if not isinstance(value, dict):
        raise UsageError(
            f"{where} is {_kind(value)}, not an object.", hint='write {"name": "...", "input": "..."}'
        )
    try:
        entry = msgspec.convert(value, _Entry)
    except msgspec.ValidationError as problem:
        raise UsageError(
            f"{where}: {_with_field(str(problem))}",
            hint=f"a case has the fields {', '.join(_Entry.__struct_fields__)}; name and input are required",
        ) from None
    if _is_trajectory(entry.expected):
        expected_calls(entry.expected, f"{where}: expected")
    return Case(entry.name, entry.input, entry.expected, tuple(entry.tags), entry.metadata)


def _is_trajectory(expected: Any) -> bool:
    """A list of objects that name tools is meant as calls, so that a slip in one of them can be told now."""
    calls = isinstance(expected, list) and all(isinstance(item, dict) for item in expected)
    return calls and any("tool" in item for item in expected)


def _with_field(problem: str) -> str:
    """The words of msgspec, with the path of the field as people write it: ``Expected `str`, got `int` (field tags.0)``."""
    text, found, path = problem.partition(" - at `$.")
    return f"{text} (field {path.rstrip('`').replace('[', '.').replace(']', '')})" if found else text


def _kind(value: Any) -> str:
    return {dict: "an object", list: "a list", str: "a text", type(None): "nothing"}.get(
        type(value), repr(value)
    )
