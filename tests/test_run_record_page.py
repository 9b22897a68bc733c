"""The page on the run record says what the code does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from roadtest.calls import ToolCall
from roadtest.results import FORMAT, Record, from_json, to_json
from roadtest.trajectory import Trajectory
from tests.records import FULL

PAGE = (Path(__file__).parent.parent / "docs" / "reference" / "run-record.md").read_text()
ROW = re.compile(r"^\| `(\w+)` \| ([^|]+) \| [^|]+ \|$", re.MULTILINE)


def documented() -> dict[str, dict[str, str]]:
    """Section by section, the fields with their types."""
    _, *sections = re.split(r"^## ", PAGE, flags=re.MULTILINE)
    return {
        section.partition("\n")[0]: dict(ROW.findall(section))
        for section in sections
        if "| field | type | meaning |" in section
    }


def in_code() -> dict[str, dict[str, str]]:
    """The same from the JSON schema of the types."""
    _, definitions = msgspec.json.schema_components([Record, ToolCall], schema_hook=schema_of)
    return {
        name: {field: label(kind) for field, kind in definition["properties"].items()}
        for name, definition in definitions.items()
    }


def schema_of(kind: type) -> dict[str, Any]:
    if kind is Trajectory:
        return {"type": "array", "items": {"$ref": "#/$defs/ToolCall"}}
    return {"type": "string"}


def label(schema: dict[str, Any]) -> str:
    match schema:
        case {"anyOf": options}:
            return " or ".join(map(label, options))
        case {"$ref": name}:
            return f"[{name.rpartition('/')[2]}](#{name.rpartition('/')[2].lower()})"
        case {"enum": values}:
            return ", ".join(f"`{value}`" if value else "empty" for value in values)
        case {"type": "array", "items": items}:
            return f"array of {label(items)}"
        case {"type": str(name)}:
            return name
    return "any"


def test_the_page_lists_every_struct() -> None:
    """Each type that occurs in a record has a section."""
    assert documented().keys() == in_code().keys()


@pytest.mark.parametrize("struct", in_code())
def test_the_page_lists_every_field_with_its_type(struct: str) -> None:
    """Names, order and types of the fields are those of the code."""
    assert list(documented()[struct].items()) == list(in_code()[struct].items())


def test_the_page_names_the_format() -> None:
    """The number of the format on the page is the one that is written."""
    assert f"format {FORMAT}" in PAGE


def test_a_record_has_the_fields_of_the_page() -> None:
    """What is really written holds the documented fields and no others."""
    written = msgspec.json.decode(to_json(FULL))
    assert list(written) == list(documented()["Record"])
    assert list(written["cases"][0]) == list(documented()["CaseResult"])
    assert list(written["cases"][0]["runs"][0]) == list(documented()["Run"])
    assert from_json(to_json(FULL), Record) == FULL
