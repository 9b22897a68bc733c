"""Results of tools beside the recorded ones."""

from __future__ import annotations

import pytest

from roadtest.cassette.drift import compare_results
from roadtest.cassette.records import (
    Cassette,
    Exchange,
    Metadata,
    RecordedRequest,
    RecordedResponse,
    Result,
)
from roadtest.cassette.tape import Tape
from roadtest.cassette.volatile import Volatile


def differences(tool: str, recorded: str, live: str, *, same_files: bool = True) -> list[str]:
    message = {"content": [{"type": "tool_use", "id": "t1", "name": tool, "input": {"pattern": "x"}}]}
    exchange = Exchange(1, RecordedRequest("main"), RecordedResponse(message))
    tape = Tape(Cassette(Metadata(1), [exchange]))
    results = [Result("t1", recorded)], [Result("t1", live)]
    return compare_results(tape, *results, Volatile(()), same_files=same_files).differences


@pytest.mark.parametrize("tool", ["Grep", "Glob"])
def test_the_order_of_hits_is_nothing_that_a_search_promises(tool: str) -> None:
    """The same hits in another order are the same result of a search: it is made by several threads."""
    assert differences(tool, "b.py:1:x\na.py:2:x", "a.py:2:x\nb.py:1:x") == []


@pytest.mark.parametrize("live", ["a.py:2:x", "a.py:2:x\na.py:2:x\nb.py:1:x", "a.py:2:x\nb.py:9:x"])
def test_other_hits_are_another_result(live: str) -> None:
    """A hit less, a hit more or a hit elsewhere is another result."""
    (difference,) = differences("Grep", "b.py:1:x\na.py:2:x", live)
    assert difference.startswith("Grep(pattern='x') gave another result than when it was recorded:")


def test_the_order_of_any_other_output_counts() -> None:
    """Lines of a command in another order are another result: sorting may be what it is about."""
    assert differences("Bash", "1\n2", "2\n1") != []


@pytest.mark.parametrize("tool", ["Read", "Grep"])
def test_files_of_another_workspace_must_be_the_same_to_the_letter(tool: str) -> None:
    """What looks volatile in a file may be what was changed, unless the workspace is the one recorded in."""
    assert differences(tool, "timeout: 30s", "timeout: 60s") == []
    assert differences(tool, "timeout: 30s", "timeout: 60s", same_files=False) != []


def test_commands_may_tell_the_time_in_any_workspace() -> None:
    """What a command prints is masked also where files have changed: it would never be the same."""
    assert differences("Bash", "took 30s", "took 60s", same_files=False) == []
