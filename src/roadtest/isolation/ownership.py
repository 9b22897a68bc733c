"""Folders that say whose they are, so that what a killed process left behind can be told from what is in use.

Every process keeps its temporary things below one folder of its own, ``<parent>/roadtest-<pid>-<token>/``, with an
``owner.json`` in it: pid, start time, boot and pid namespace. Inside, every workspace has a numbered slot. Whoever claims a
folder beside it later removes the slots of owners that are dead. A folder without an owner record is not ours and never
touched; a slot marked as kept stays until ``roadtest clean``.
"""

from __future__ import annotations

import atexit
import contextlib
import itertools
import os
import platform
import secrets
import shutil
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from pathlib import Path

import msgspec

from roadtest.temporary import locked

RECORD = "owner.json"
KEPT = "kept"
PREFIX = "roadtest-"
GONE = "gone-"
BACKLOG = 4
"""Slots that may wait to be removed; with more, whoever closes one waits, too, so that a disk does not fill up."""


class Owner(msgspec.Struct, frozen=True):
    """A process, told apart from a later one that was given the same number."""

    pid: int
    started: str
    boot: str
    namespace: str
    host: str

    @property
    def alive(self) -> bool:
        """Whether the process runs; one that cannot be seen from here (another container or machine) counts as alive."""
        boot, _, host = _machine()
        if self.host == host and self.boot != boot:
            return False
        return self.out_of_sight or _start_time(self.pid) == self.started

    @property
    def out_of_sight(self) -> bool:
        """Whether its pid means nothing here."""
        return (self.boot, self.namespace) != _machine()[:2]


def this_process() -> Owner:
    boot, namespace, host = _machine()
    return Owner(os.getpid(), _start_time(os.getpid()), boot, namespace, host)


@cache
def _machine() -> tuple[str, str, str]:
    """This boot, this pid namespace, this host."""
    if sys.platform == "linux":
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return boot, os.readlink("/proc/self/ns/pid"), platform.node()  # noqa: PTH115 - not a path
    return _output("sysctl", "-n", "kern.boottime"), "", platform.node()


def _start_time(pid: int) -> str:
    """When the process started, in the words of the system; empty when it does not run (a zombie does not)."""
    if sys.platform != "linux":
        return _output("ps", "-o", "lstart=", "-p", str(pid))
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]


def _output(*argv: str) -> str:
    return subprocess.run(argv, capture_output=True, text=True, check=False).stdout.strip()


class Claim:
    """This process's folder below ``parent``, with a numbered slot for every workspace."""

    def __init__(self, parent: Path, *, lasting: bool) -> None:
        self.parent = parent
        self.pid = os.getpid()
        self._lasting = lasting
        self._numbers = itertools.count(1)
        self._open: set[Path] = set()
        self._lock = threading.Lock()
        self._remover = ThreadPoolExecutor(1, thread_name_prefix="roadtest-remover")
        self._leaving: deque[Future[None]] = deque()
        self.folder = parent / f"{PREFIX}{self.pid}-{secrets.token_hex(4)}"

    def open_slot(self) -> Path:
        with self._lock:
            if not self._open and not self.folder.exists():
                self._settle()
            slot = self.folder / str(next(self._numbers))
            self._open.add(slot)
        slot.mkdir()
        return slot

    def close_slot(self, slot: Path, *, keep: bool = False) -> None:
        if keep:
            (slot / KEPT).touch()
        elif self._lasting:
            self._remove_later(slot)
        else:
            remove_tree(slot)
        with self._lock:
            self._open.discard(slot)
            if not self._open and not self._lasting:
                self._leave()

    def close(self) -> None:
        """Leave for good, at the end of the process."""
        if self.pid == os.getpid() and self.folder.exists():
            self._remover.shutdown()
            with self._lock:
                remove_slots(self.folder)
                self._leave()

    def _remove_later(self, slot: Path) -> None:
        """Take the slot out of the way at once, and remove it beside the next run: that is mostly waiting for the disk."""
        gone = slot.with_name(f"{GONE}{slot.name}")
        try:
            slot.rename(gone)
            removal = self._remover.submit(remove_tree, gone)
        except (OSError, RuntimeError):  # it cannot be renamed, or the process is about to end
            remove_tree(gone if gone.exists() else slot)
            return
        with self._lock:
            self._leaving.append(removal)
            oldest = self._leaving.popleft() if len(self._leaving) > BACKLOG else None
        if oldest:
            oldest.result()

    def _settle(self) -> None:
        """Make the folder, and its parent with a sign that it is ours; nothing of it shows up in ``git status``."""
        with locked(self.parent):
            sweep(self.parent)
            if not self.parent.exists():
                self.parent.mkdir(parents=True)
                (self.parent / ".gitignore").write_text(_SIGN)
            self.folder.mkdir(mode=0o700)
            (self.folder / ".gitignore").write_text(_SIGN)
            (self.folder / RECORD).write_bytes(msgspec.json.encode(this_process()))

    def _leave(self) -> None:
        with locked(self.parent):
            remove_folder(self.folder)


_SIGN = "# made by roadtest, which also removes it\n*\n"
_claims: dict[Path, Claim] = {}
_claims_lock = threading.Lock()


def claim(parent: Path, *, lasting: bool = False) -> Claim:
    """The claim of this process on ``parent``; a lasting one keeps its folder between slots, until the process ends."""
    with _claims_lock:
        found = _claims.get(parent)
        if found is None or found.pid != os.getpid():
            found = _claims[parent] = Claim(parent, lasting=lasting)
        return found


@atexit.register
def _close_claims() -> None:
    for held in list(_claims.values()):
        held.close()
    _claims.clear()


def owned_folders(parent: Path) -> Iterator[tuple[Path, Owner]]:
    """The folders below ``parent`` that some roadtest process made, dead or alive."""
    for folder in sorted(parent.glob(f"{PREFIX}*-*")) if parent.is_dir() else []:
        with contextlib.suppress(OSError, msgspec.MsgspecError):
            yield folder, msgspec.json.decode((folder / RECORD).read_bytes(), type=Owner)


def sweep(parent: Path) -> None:
    """Remove what dead processes left below ``parent``, but for what they were told to keep."""
    for folder, owner in owned_folders(parent):
        if not owner.alive:
            remove_slots(folder)
            remove_folder(folder)


def remove_slots(folder: Path) -> None:
    for slot in folder.iterdir():
        if slot.is_dir() and not (slot / KEPT).exists():
            remove_tree(slot)


def remove_folder(folder: Path) -> None:
    """Remove an owner's folder if nothing is kept in it, and its parent if that is ours and nobody else is there."""
    if any(entry.is_dir() for entry in folder.iterdir()):
        return
    remove_tree(folder)
    sign = folder.parent / ".gitignore"
    if [entry.name for entry in folder.parent.iterdir()] == [sign.name] and sign.read_text() == _SIGN:
        sign.unlink()
        folder.parent.rmdir()


def remove_tree(path: Path) -> None:
    """Remove a folder, also where an agent took away its own permission to write; what cannot go is left."""
    shutil.rmtree(path, ignore_errors=True)
    if path.exists():
        for folder, _, _ in os.walk(path):
            with contextlib.suppress(OSError):
                Path(folder).chmod(0o700)
        shutil.rmtree(path, ignore_errors=True)
