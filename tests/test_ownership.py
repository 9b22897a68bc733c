"""Slots of a process: out of the way when they are closed, and gone with the process."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from roadtest.isolation import ownership
from roadtest.isolation.ownership import BACKLOG, Claim


@pytest.fixture
def parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path / "parent"


def test_a_closed_slot_is_out_of_the_way_at_once(parent: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for a tree to be removed, and nothing of it is left when the process ends."""
    go_on = threading.Event()
    remove = ownership.remove_tree
    monkeypatch.setattr(ownership, "remove_tree", lambda path: (go_on.wait(), remove(path)))
    claim = Claim(parent, lasting=True)
    slot, other = claim.open_slot(), claim.open_slot()
    (slot / "file").write_text("content")
    claim.close_slot(slot)
    assert not slot.exists()
    assert other.exists()
    go_on.set()
    claim.close()
    assert not parent.exists()


def test_a_disk_does_not_fill_up(parent: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slots that wait to be removed are few: then whoever closes another waits for the oldest."""
    permits = threading.Semaphore(0)
    remove = ownership.remove_tree
    monkeypatch.setattr(ownership, "remove_tree", lambda path: (permits.acquire(), remove(path)))
    claim = Claim(parent, lasting=True)
    slots = [claim.open_slot() for _ in range(3 * BACKLOG)]
    for number, slot in enumerate(slots):
        if number >= BACKLOG:
            permits.release()
        claim.close_slot(slot)
        assert len(list(claim.folder.glob("gone-*"))) <= BACKLOG
    for _ in range(2 * BACKLOG):
        permits.release()
    claim.close()
    assert not parent.exists()


def test_a_claim_that_does_not_last_leaves_with_its_last_slot(parent: Path) -> None:
    """In a folder of the user's, nothing is left behind between two runs."""
    claim = Claim(parent, lasting=False)
    first, second = claim.open_slot(), claim.open_slot()
    claim.close_slot(first)
    assert [entry.name for entry in claim.folder.iterdir() if entry.is_dir()] == [second.name]
    claim.close_slot(second)
    assert not parent.exists()


def test_a_kept_slot_stays(parent: Path) -> None:
    """What is kept keeps its name, also when the process ends."""
    claim = Claim(parent, lasting=True)
    kept, other = claim.open_slot(), claim.open_slot()
    claim.close_slot(kept, keep=True)
    claim.close_slot(other)
    claim.close()
    assert [entry.name for entry in claim.folder.iterdir() if entry.is_dir()] == [kept.name]
