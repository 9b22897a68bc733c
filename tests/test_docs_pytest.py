"""The reference of the pytest options is that of the code."""

from __future__ import annotations

import inspect
from pathlib import Path

from roadtest import describe_eval
from roadtest.config import OPTIONS

REFERENCE = Path(__file__).parent.parent / "docs" / "reference"


def test_every_option_is_in_the_reference() -> None:
    """The page names each option by its switch, its variable and its ini key, and none that does not exist."""
    page = (REFERENCE / "pytest.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith("| ") and "`ROADTEST_" in line]
    assert len(rows) == len(OPTIONS)
    for option, row in zip(OPTIONS, rows, strict=True):
        assert f"`{option.variable}`" in row
        assert f"`{option.ini}`" in row
        assert (f"`{option.switch}" in row) is not option.hidden


def test_every_argument_is_in_the_reference() -> None:
    """The page of describe_eval has a row for each of its arguments, in their order."""
    page = (REFERENCE / "describe-eval.md").read_text()
    table = page.partition("| argument |")[2].partition("\n\n")[0]
    rows = [line.split("`")[1] for line in table.splitlines() if line.startswith("| `")]
    assert rows == list(inspect.signature(describe_eval).parameters)
