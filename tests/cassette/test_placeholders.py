from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roadtest.cassette.placeholders import Placeholders, fill

VALUES = {"workspace": "/tmp/a/ws", "home": "/tmp/a", "session_id": "123e4567-e89b"}
PIECES = st.sampled_from(
    [
        *VALUES.values(),
        "{{",
        "}}",
        "workspace",
        "{{workspace}}",
        "{{literal:home}}",
        "/",
        ".",
        "-",
        "x",
        " ",
        "-tmp-a-ws",
    ]
)
TEXT = st.lists(PIECES | st.text(max_size=3), max_size=12).map("".join)
JSON = st.recursive(
    TEXT | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


@given(JSON)
def test_filling_undoes_extracting(value: Any) -> None:
    """Whatever a value holds, also what looks like a placeholder, comes back as it was."""
    names = Placeholders(VALUES)
    assert names.fill(names.extract(value)) == value


@pytest.mark.parametrize(
    ("live", "stored"),
    [
        ("cat /tmp/a/ws/x.py", "cat {{workspace}}/x.py"),
        ("/tmp/a/ws", "{{workspace}}"),
        ("in /tmp/a/ws.", "in {{workspace}}."),
        ("/tmp/a/ws2", "{{home}}/ws2"),
        ("/tmp/a-b /tmp/a.txt /other/tmp/a", "/tmp/a-b /tmp/a.txt /other/tmp/a"),
        ("/cfg/projects/-tmp-a-ws/x", "/cfg/projects/{{workspace_slug}}/x"),
        ("Hello {{ name }} {{name}}", "Hello {{ name }} {{literal:name}}"),
    ],
)
def test_what_is_stored(live: str, stored: str) -> None:
    """A live value becomes its name where it stands by itself, the longest first, and nowhere else."""
    assert Placeholders(VALUES).extract(live) == stored


def test_another_run_fills_its_own_values() -> None:
    """Names are filled with the values of the run that replays; unknown names stay."""
    assert fill({"path": ["{{workspace}}/a"], "x": "{{who}}"}, {"workspace": "/w"}) == {
        "path": ["/w/a"],
        "x": "{{who}}",
    }


def test_empty_values_are_no_values() -> None:
    """A value that is empty replaces nothing."""
    assert Placeholders({"tmp": ""}).extract("abc") == "abc"
