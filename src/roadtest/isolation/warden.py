"""Stands over the programs that roadtest runs, so that none of their descendants outlives a run.

This file is executed as a script by ``process.py`` (``python -I -S``): standard library only, no import of roadtest.

One warden serves one roadtest process. For every run it is handed four descriptors over its socket (control, stdin,
stdout, stderr) and forks a *guard*. A guard is a child subreaper: whoever is orphaned below it, however often it forked,
changed its session or cleared its environment, becomes the guard's own child, so "all descendants of this run" is a
question with an exact answer even when many runs go on at once. Forking a warm process costs about a millisecond where
starting Python anew would cost twenty.

Control protocol: one JSON line in (argv, env, cwd), one JSON line out (exit_code or error, ended_early, killed). Any further
byte in, or the end of the stream (the caller was killed), ends the run at once.
"""

import contextlib
import ctypes
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from typing import Any, NoReturn

GRACE = 0.5  # seconds that descendants get to leave by themselves after the program has ended
PATIENCE = 5.0  # seconds after which a process that survives SIGKILL (stuck in the kernel) is given up
LINUX = sys.platform == "linux"
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
MARK = "ROADTEST_RUN_MARK"

_libc = ctypes.CDLL(None) if LINUX else None


def main() -> None:
    """Fork a guard for every set of descriptors received, until the other end of the socket is closed."""
    requests = socket.socket(fileno=int(sys.argv[1]))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps the guards
    while True:
        message, descriptors, _, _ = socket.recv_fds(requests, 1, 4)
        if not message:
            return
        for descriptor in descriptors:  # received ones would pass on to the program
            os.set_inheritable(descriptor, False)
        if os.fork() == 0:
            requests.close()
            _guard(socket.socket(fileno=descriptors[0]), descriptors[1:])
        for descriptor in descriptors:
            os.close(descriptor)


def _guard(control: socket.socket, streams: list[int]) -> NoReturn:
    try:
        _prctl(PR_SET_CHILD_SUBREAPER, 1)
        wake = _wake_on_child()
        order, called_off = _read_order(control)
        child = 0 if called_off else _start(order, control, streams)
        for stream in streams:
            os.close(stream)
        exit_code = None if called_off else _wait(child, control, wake)
        if exit_code is not None:
            _let_go(order, wake)
        killed = _end_all(order, wake, child)
        report = {"exit_code": exit_code, "ended_early": exit_code is None, "killed": killed}
        with contextlib.suppress(OSError):  # the caller may be gone, and then nobody asks
            control.sendall(json.dumps(report).encode() + b"\n")
    finally:
        os._exit(0)


def _read_order(control: socket.socket) -> tuple[dict[str, Any], bool]:
    """What to run, and whether it was called off before it began."""
    received = b""
    while b"\n" not in received:
        chunk = control.recv(1 << 20)
        if not chunk:
            os._exit(0)
        received += chunk
    line, _, more = received.partition(b"\n")
    order: dict[str, Any] = json.loads(line)
    if not LINUX:
        order["env"][MARK] = f"{os.getpid()}-{time.monotonic_ns()}"
    return order, bool(more)


def _start(order: dict[str, Any], control: socket.socket, streams: list[int]) -> int:
    guard = os.getpid()
    child = os.fork()
    if child:
        return child
    try:
        os.setsid()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        for number in (signal.SIGCHLD, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        os.umask(0o022)
        os.chdir(order["cwd"])
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() == guard:
            os.execvpe(order["argv"][0], order["argv"], order["env"])  # noqa: S606
    except OSError as problem:
        control.sendall(json.dumps({"error": str(problem)}).encode() + b"\n")
    finally:
        os._exit(127)


def _wait(child: int, control: socket.socket, wake: int) -> int | None:
    """The exit code of the child, or None when the caller asked for the end first."""
    while True:
        exit_code = _reap(child)
        if exit_code is not None:
            return exit_code
        readable, _, _ = select.select([control.fileno(), wake], [], [])
        if control.fileno() in readable:
            return None
        os.read(wake, 4096)


def _reap(child: int = 0) -> int | None:
    """Collect what has ended; the exit code of the child if it was among them."""
    exit_code = None
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == child:
                exit_code = os.waitstatus_to_exitcode(ended[1])
    return exit_code


def _let_go(order: dict[str, Any], wake: int) -> None:
    """Wait a little for descendants that are on their way out, so that only real strays are killed and reported."""
    end = time.monotonic() + GRACE
    while (left := end - time.monotonic()) > 0 and _descendants(order):
        _sleep(wake, left if LINUX else 0.02)
        _reap()


def _end_all(order: dict[str, Any], wake: int, child: int) -> list[str]:
    """Kill every descendant, and again those that were forked meanwhile; tell which there were besides the child."""
    killed: dict[int, str] = {}
    end = time.monotonic() + PATIENCE
    while (found := _descendants(order)) and time.monotonic() < end:
        for pid, description in found.items():
            if pid not in killed:
                killed[pid] = description
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        _sleep(wake, 0.02)
        _reap()
    killed.pop(child, None)
    return [f"{description} (pid {pid})" for pid, description in killed.items()]


def _descendants(order: dict[str, Any]) -> dict[int, str]:
    if LINUX and not _has_children():
        return {}
    table = _process_table() if LINUX else _process_table_by_ps(order["env"][MARK])
    found: dict[int, str] = {}
    below = [os.getpid()]
    while below:
        parent = below.pop()
        for pid, (its_parent, description) in table.items():
            if pid not in found and pid != os.getpid() and its_parent in (parent, -1):
                found[pid] = description
                below.append(pid)
    return found


def _has_children() -> bool:
    """Whether anything is left; on Linux every orphan below has become a child of this process."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _process_table() -> dict[int, tuple[int, str]]:
    """Parent and command line of every living process; a zombie is not alive."""
    table = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - pathlib would double what the warden imports
        if name.isdigit():
            with contextlib.suppress(OSError):
                state, parent, command = _stat(name)
                if state not in "ZX":
                    table[int(name)] = (parent, _command_line(name) or command)
    return table


def _stat(pid: str) -> tuple[str, int, str]:
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
        head, _, tail = file.read().rpartition(")")
    state, parent = tail.split()[:2]
    return state, int(parent), head.partition("(")[2]


def _command_line(pid: str) -> str:
    with open(f"/proc/{pid}/cmdline", "rb") as file:  # noqa: PTH123
        return file.read(400).replace(b"\0", b" ").decode("utf-8", "replace").strip()


def _process_table_by_ps(mark: str) -> dict[int, tuple[int, str]]:
    """Where there is no subreaper: the parents that ps knows, and -1 for those that carry the mark of this run."""
    listing = subprocess.run(
        ["/bin/ps", "-axwwEo", "pid=,ppid=,command="],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    ).stdout
    table = {}
    for line in listing.splitlines():
        pid, parent, command = line.split(None, 2)
        table[int(pid)] = (-1 if mark in command else int(parent), command.partition(f" {MARK}=")[0][:400])
    return table


def _wake_on_child() -> int:
    """A descriptor that becomes readable when a child ends."""
    wake, write = os.pipe()
    os.set_blocking(write, False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    return wake


def _sleep(wake: int, seconds: float) -> None:
    if select.select([wake], [], [], seconds)[0]:
        os.read(wake, 4096)


def _prctl(option: int, value: int) -> None:
    if _libc is not None:
        _libc.prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    main()
