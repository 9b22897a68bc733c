"""Run one program: its output line by line, a deadline, a way to call it off, and nothing of it left afterwards."""

from __future__ import annotations

import atexit
import contextlib
import errno
import os
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Self

import msgspec

from roadtest.errors import EnvironmentProblem
from roadtest.isolation.input import Input

STDERR_TAIL = 64 * 1024
_CHUNK = 1 << 20


class Finished(msgspec.Struct, frozen=True):
    """How a program ended."""

    exit_code: int | None
    """As subprocess has it, negative for a signal; None when it was killed by us or never started."""
    stderr: str = ""
    """The end of what it wrote there, at most 64 KiB."""
    timed_out: bool = False
    cancelled: bool = False
    killed: tuple[str, ...] = ()
    """Descendants that had to be killed, as ``command line (pid N)``."""


class Cancel:
    """A call to end runs at once; thread-safe, and it stays called."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ends: list[Callable[[], None]] = []
        self._called = False

    def set(self) -> None:
        with self._lock:
            self._called = True
            ends = list(self._ends)
        for end in ends:
            end()

    def is_set(self) -> bool:
        return self._called

    @contextlib.contextmanager
    def calling(self, end: Callable[[], None]) -> Iterator[None]:
        """Have ``end`` called when this is set, or at once if it is already."""
        with self._lock:
            self._ends.append(end)
            called = self._called
        if called:
            end()
        try:
            yield
        finally:
            with self._lock:
                self._ends.remove(end)


class _Report(msgspec.Struct):
    exit_code: int | None = None
    ended_early: bool = False
    killed: tuple[str, ...] = ()
    error: str = ""


def get_ready() -> None:
    """Start ahead what the first program waits for otherwise; it returns at once."""
    _warden()


def run_process(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout: float | None,
    on_line: Callable[[bytes], None],
    cancel: Cancel | None = None,
    stdin: Input | None = None,
) -> Finished:
    """Run ``argv`` to its end; ``on_line`` gets each line of its stdout as it comes, without the line's end.

    The program may be talked to: what ``on_line`` says to ``stdin`` is written while the program runs. Without it there is
    nothing to read.
    """
    cancel = cancel or Cancel()
    if cancel.is_set():
        return Finished(exit_code=None, cancelled=True)
    order = msgspec.json.encode({"argv": list(argv), "env": dict(env), "cwd": str(cwd)})
    with _Running(order, stdin) as running, cancel.calling(running.end):
        timed_out = running.follow(on_line, timeout)
        report = running.report()
    if report.error:
        raise EnvironmentProblem(
            f"{argv[0]} could not be started: {report.error}", hint=_advice(report.error)
        )
    return Finished(
        exit_code=report.exit_code,
        stderr=running.stderr.decode("utf-8", "replace"),
        timed_out=timed_out and report.ended_early,
        cancelled=cancel.is_set() and report.ended_early,
        killed=report.killed,
    )


def _advice(error: str) -> str:
    if os.strerror(errno.E2BIG) in error:
        return "a command line has no room for so long a prompt or option; put the text into a file of the workspace"
    return "check that it exists and is executable"


class _Running:
    """A program under a guard, seen from our side: the pipes and the control socket."""

    def __init__(self, order: bytes, stdin: Input | None) -> None:
        self.stderr = b""
        self._input = stdin
        self._answer = b""
        self._partial: list[bytes] = []
        out, out_write = os.pipe()
        err, err_write = os.pipe()
        self._control, theirs = socket.socketpair()
        self._out, self._err = out, err
        with contextlib.ExitStack() as stack:
            stack.callback(theirs.close)
            for descriptor in (out_write, err_write):
                stack.callback(os.close, descriptor)
            source = stdin.open() if stdin else os.open(os.devnull, os.O_RDONLY)
            stack.callback(os.close, source)
            _warden().hand_over([theirs.fileno(), source, out_write, err_write])
        self._control.sendall(order + b"\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        """Close our ends; a run that is still going on ends by that."""
        self._control.close()
        if self._input:
            self._input.close()
        os.close(self._out)
        os.close(self._err)

    def end(self) -> None:
        """Have the guard kill everything; harmless when it is already over."""
        with contextlib.suppress(OSError):
            self._control.send(b"\0")

    def follow(self, on_line: Callable[[bytes], None], timeout: float | None) -> bool:
        """Deliver output until the guard reports that nothing is left; whether the time ran out."""
        deadline = None if timeout is None else time.monotonic() + timeout
        timed_out = False
        poll = select.poll()
        for descriptor in (self._out, self._err, self._control.fileno()):
            poll.register(descriptor, select.POLLIN)
        while True:
            ready = self._poll(poll, deadline)
            if deadline is not None and time.monotonic() >= deadline:
                timed_out, deadline = True, None
                self.end()
            for descriptor in ready:
                if descriptor != self._control.fileno():
                    if not self._read(descriptor, on_line):
                        poll.unregister(descriptor)
                elif not self._hear():
                    self._drain(on_line)
                    return timed_out

    def _poll(self, poll: select.poll, deadline: float | None) -> list[int]:
        """Wait until there is something to read, and meanwhile say what there is to say."""
        waiting = self._input.waiting if self._input else None
        if waiting is not None:
            poll.register(waiting, select.POLLOUT)
        ready = [descriptor for descriptor, _ in poll.poll(_milliseconds(deadline))]
        if self._input and waiting is not None:
            poll.unregister(waiting)
            self._input.press_on()
        return [descriptor for descriptor in ready if descriptor != waiting]

    def report(self) -> _Report:
        """What the guard said at the end: of several lines the first, as a failed start is told before the exit."""
        line, found, _ = self._answer.partition(b"\n")
        if not found:
            raise EnvironmentProblem(
                "the process that watches over a run was killed, so its outcome is unknown.",
                hint="run again; if it repeats, see whether the machine is out of memory (dmesg)",
            )
        return msgspec.json.decode(line, type=_Report)

    def _hear(self) -> bool:
        """Read on from the guard; False at the end of what it has to say."""
        try:
            heard = self._control.recv(_CHUNK)
        except ConnectionResetError:
            heard = b""
        self._answer += heard
        return bool(heard)

    def _read(self, descriptor: int, on_line: Callable[[bytes], None]) -> bool:
        chunk = os.read(descriptor, _CHUNK)
        if descriptor == self._err:
            self.stderr = (self.stderr + chunk)[-STDERR_TAIL:]
        else:
            self._split(chunk, on_line)
        return bool(chunk)

    def _split(self, chunk: bytes, on_line: Callable[[bytes], None]) -> None:
        """Lines can be tens of megabytes long, so only what is new is searched for their end."""
        first, *rest = chunk.split(b"\n")
        self._partial.append(first)
        for part in rest:
            line = b"".join(self._partial)
            self._partial = [part]
            on_line(line)
        if not chunk and (last := b"".join(self._partial)):
            self._partial = []
            on_line(last)

    def _drain(self, on_line: Callable[[bytes], None]) -> None:
        """Everyone who could write is dead: what is in the pipes is all there will be."""
        for descriptor in (self._out, self._err):
            os.set_blocking(descriptor, False)
            with contextlib.suppress(BlockingIOError):
                while self._read(descriptor, on_line):
                    pass
        self._split(b"", on_line)


def _milliseconds(deadline: float | None) -> float | None:
    return None if deadline is None else max(0.0, (deadline - time.monotonic()) * 1000)


class _Warden:
    """The one helper process of this process, see ``warden.py``."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self._socket, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-I",
                    "-S",
                    str(Path(__file__).with_name("warden.py")),
                    str(theirs.fileno()),
                ],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={},
                start_new_session=True,
            )

    def hand_over(self, descriptors: list[int]) -> None:
        socket.send_fds(self._socket, [b"\0"], descriptors)

    def alive(self) -> bool:
        return self.owner == os.getpid() and self._process.poll() is None

    def close(self) -> None:
        self._socket.close()
        if self.owner == os.getpid():
            self._process.wait()


_wardens: list[_Warden] = []
_wardens_lock = threading.Lock()


def _warden() -> _Warden:
    """The warden of this process: started at first use, and anew after a fork or if somebody killed it."""
    with _wardens_lock:
        if not _wardens or not _wardens[-1].alive():
            _close_wardens()
            _wardens.append(_Warden())
        return _wardens[-1]


@atexit.register
def _close_wardens() -> None:
    while _wardens:
        _wardens.pop().close()
