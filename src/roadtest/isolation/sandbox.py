"""Confinement by bubblewrap: the run's own folders writable, the rest read-only, no network but one local port."""

from __future__ import annotations

import contextlib
import shutil
import socket
import socketserver
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from roadtest.errors import EnvironmentProblem
from roadtest.isolation.bridge import carry
from roadtest.isolation.ownership import claim
from roadtest.temporary import temporary_root

# /run holds the sockets of other services (docker, D-Bus), which a read-only mount does not close.
_SURROUNDINGS = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/run"]
_SEPARATE = ["--unshare-net", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--die-with-parent"]


@contextlib.contextmanager
def confined(argv: Sequence[str], *, writable: Sequence[Path], port: int) -> Iterator[list[str]]:
    """The command that runs ``argv`` confined; good while the context lasts, which serves its only way out."""
    bwrap = find_bwrap()
    for folder in writable:
        folder.mkdir(parents=True, exist_ok=True)
    binds = [part for folder in writable for part in ("--bind", str(folder), str(folder))]
    with _way_out(port) as path:
        door = ["--bind", str(path.parent), str(path.parent)]
        bridge = [
            sys.executable,
            "-I",
            "-S",
            str(Path(__file__).with_name("bridge.py")),
            str(path),
            str(port),
        ]
        yield [bwrap, *_SURROUNDINGS, *_SEPARATE, *binds, *door, "--", *bridge, *argv]


def find_bwrap() -> str:
    """Where bubblewrap is; an error where it is not, or may not do its work."""
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise EnvironmentProblem(
            'sandbox="bwrap" needs bubblewrap, which is not installed.',
            hint="apt-get install bubblewrap (or dnf, pacman, apk), or leave out sandbox=",
        )
    if problem := _trouble_with(bwrap):
        raise EnvironmentProblem(
            f'sandbox="bwrap" needs bubblewrap, which may not work here: {problem}',
            hint="in a container, allow it to create namespaces, or leave out sandbox=",
        )
    return bwrap


@cache
def _trouble_with(bwrap: str) -> str:
    """What bubblewrap says when asked to do nothing; tried once per process."""
    tried = subprocess.run(
        [bwrap, *_SURROUNDINGS, *_SEPARATE, "--", "true"], capture_output=True, text=True, check=False
    )
    return tried.stderr.strip() if tried.returncode else ""


@contextlib.contextmanager
def _way_out(port: int) -> Iterator[Path]:
    """A socket file that leads to the port on this machine."""
    claimed = claim(temporary_root(), lasting=True)
    folder = claimed.open_slot()
    path = folder / "door"
    try:
        with _Door(str(path), port) as door:
            thread = threading.Thread(target=door.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
            thread.start()
            try:
                yield path
            finally:
                door.shutdown()
    finally:
        claimed.close_slot(folder)


class _Door(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, path: str, port: int) -> None:
        self.port = port
        super().__init__(path, _Passage)


class _Passage(socketserver.BaseRequestHandler):
    server: _Door

    def handle(self) -> None:
        carry(self.request, socket.create_connection(("127.0.0.1", self.server.port)))
