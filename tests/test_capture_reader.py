"""Reading a folder back, and the calls of a test by its id."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

import roadtest
from roadtest.capture import Mark, get_tool_calls, read
from roadtest.errors import CaptureError, UsageError
from tests.test_trajectory import both, event


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ROADTEST_OUTPUT_DIR", raising=False)
    folder = tmp_path / "test-output" / "suite" / "case"
    folder.mkdir(parents=True)
    return folder


def add(folder: Path, *call_ids: str) -> None:
    with (folder / "tool-calls.jsonl").open("ab") as file:
        for call_id in call_ids:
            file.writelines(msgspec.json.encode(line) + b"\n" for line in both(call_id))


def test_the_calls_of_a_test_are_found_by_its_id(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The id names the folder below ./test-output, or below ROADTEST_OUTPUT_DIR."""
    add(folder, "t1", "t2")
    assert [call.id for call in get_tool_calls("suite/case")] == ["t1", "t2"]
    assert roadtest.get_tool_calls is get_tool_calls
    (tmp_path / "test-output").rename(tmp_path / "elsewhere")
    monkeypatch.setenv("ROADTEST_OUTPUT_DIR", str(tmp_path / "elsewhere"))
    assert len(get_tool_calls("suite/case")) == 2


def test_a_session_without_calls_has_none(folder: Path) -> None:
    """Where a session started and called nothing, the answer is an empty list."""
    (folder / "lifecycle.jsonl").write_text('{"timestamp": "t", "event": "SessionStart"}\n')
    assert get_tool_calls("suite/case") == []


def test_nothing_at_all_is_an_error(folder: Path) -> None:
    """Where not even a session started, capture was off, and the hint says what to do."""
    for test_id in ("suite/case", "never-ran"):
        with pytest.raises(CaptureError, match="the hooks were off"):
            get_tool_calls(test_id)


def test_calls_that_may_be_incomplete_are_an_error(folder: Path) -> None:
    """A complaint of the hook or an end without a start means that calls may be missing, and is not passed over."""
    add(folder, "t1")
    (folder / "capture-errors.log").write_text("OSError: disk full\n")
    with pytest.raises(CaptureError, match="disk full"):
        get_tool_calls("suite/case")
    (folder / "capture-errors.log").unlink()
    (folder / "tool-calls.jsonl").write_bytes(msgspec.json.encode(event("post", "t2")) + b"\n")
    with pytest.raises(CaptureError, match=r"the end of Bash \(t2\), not its start"):
        get_tool_calls("suite/case")


@pytest.mark.parametrize("test_id", ["", "../x", "/etc", "a/b/c", "a b"])
def test_an_id_that_no_run_can_have_is_a_usage_error(folder: Path, test_id: str) -> None:
    """The same ids are refused as by the hook."""
    with pytest.raises(UsageError, match="TEST_RUN_ID"):
        get_tool_calls(test_id)


def test_a_mark_leaves_out_what_was_there_before(folder: Path) -> None:
    """Lines and complaints from before the mark belong to an earlier run."""
    add(folder, "old")
    (folder / "capture-errors.log").write_text("old trouble\n")
    mark = Mark.of(folder)
    add(folder, "new")
    with (folder / "capture-errors.log").open("a") as log:
        log.write("new trouble\n")
    captured = read(folder, since=mark)
    assert ([call.id for call in captured.trajectory], captured.errors) == (["new"], ("new trouble",))
    assert len(read(folder).trajectory) == 2


def test_a_folder_that_is_not_there_is_inactive(tmp_path: Path) -> None:
    """Nothing to read is not an error by itself: it is capture that was off."""
    captured = read(tmp_path / "nowhere", since=Mark.of(tmp_path / "nowhere"))
    assert not captured.active
    assert len(captured.trajectory) == 0


def test_a_corrupt_line_names_its_file(folder: Path) -> None:
    """The error says which file and which line."""
    add(folder, "t1")
    (folder / "lifecycle.jsonl").write_text("what?\n")
    with pytest.raises(CaptureError, match=r"lifecycle\.jsonl, line 1 is corrupt"):
        get_tool_calls("suite/case")


def test_active_means_that_any_hook_wrote(folder: Path) -> None:
    """One event of either kind is enough."""
    assert not read(folder).active
    (folder / "tool-calls.jsonl").write_bytes(msgspec.json.encode(event("pre", "t1")) + b"\n")
    assert read(folder).active
