"""One program from start to end, and everything it started."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from roadtest.errors import EnvironmentProblem
from roadtest.isolation import Cancel, Finished, Input, run_process

ENVIRONMENT = {"PATH": os.environ["PATH"]}

# A textbook daemon: forks twice, leaves session, process group and environment behind, and closes all its descriptors.
DAEMON = r"""
import os, sys, time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
open(sys.argv[1], "w").write(str(os.getpid()) + "\n")
os.closerange(0, 100)
os.execve("/bin/sleep", ["sleep", "1000"], {})
"""


def run(argv: list[str], *, cwd: Path = Path("/"), timeout: float | None = 60, **options: Any) -> Finished:
    options.setdefault("on_line", lambda _line: None)
    return run_process(argv, cwd=cwd, env=ENVIRONMENT, timeout=timeout, **options)


def shell(script: str, *args: str, **options: Any) -> Finished:
    return run(["sh", "-c", script, "sh", *args], **options)


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def on_first_line(act: Callable[[], None]) -> Callable[[bytes], None]:
    """An on_line that acts once: the program's own word that it got that far, where others would sleep."""
    waiting = [act]
    return lambda _line: waiting.pop()() if waiting else None


def test_lines_arrive_while_the_program_runs() -> None:
    """Each line of stdout is delivered as it comes, the last one also without an end."""
    lines: list[bytes] = []
    finished = shell(r"echo one; echo; printf 'two\r\n'; printf three", on_line=lines.append)
    assert lines == [b"one", b"", b"two\r", b"three"]
    assert finished == Finished(exit_code=0)


def test_a_line_may_be_tens_of_megabytes_long() -> None:
    """A line of 40 MB arrives whole and once."""
    lines: list[bytes] = []
    run([sys.executable, "-c", "print('x' * 40_000_000); print('y')"], on_line=lines.append)
    assert [(line[:1], len(line)) for line in lines] == [(b"x", 40_000_000), (b"y", 1)]


def test_exit_codes_and_signals_are_told_as_subprocess_does() -> None:
    """An exit code is positive, a signal from elsewhere negative."""
    assert shell("exit 3").exit_code == 3
    assert shell("kill -TERM $$").exit_code == -signal.SIGTERM


def test_the_end_of_stderr_is_kept() -> None:
    """Of a flood on stderr the last 64 KiB are kept, and the flood blocks nobody."""
    finished = run([sys.executable, "-c", "import sys; sys.stderr.write('e' * 3_000_000 + 'the end')"])
    assert finished.stderr.endswith("eethe end")
    assert len(finished.stderr) == 64 * 1024


def test_a_program_that_is_told_nothing_reads_nothing() -> None:
    """Without anything to say, the program reads the end at once."""
    lines: list[bytes] = []
    run(["cat"], on_line=lines.append)
    assert lines == []


def test_a_program_can_be_talked_to() -> None:
    """What is said in answer to a line is read before the next, and the end once all has been said."""
    lines: list[bytes] = []
    told = Input(b"1\n")

    def count(line: bytes) -> None:
        lines.append(line)
        told.say(b"%d\n" % (int(line) + 1))
        if line == b"5":
            told.end()
            told.say(b"too late\n")

    run(["cat"], on_line=count, stdin=told)
    assert lines == [b"1", b"2", b"3", b"4", b"5", b"6"]


def test_what_is_said_may_be_more_than_a_pipe_holds() -> None:
    """Megabytes in both directions at once block nobody, and all of them arrive."""
    lines: list[bytes] = []
    told = Input((b"x" * 999 + b"\n") * 10_000)
    told.end()
    run(["cat"], on_line=lines.append, stdin=told)
    assert [len(lines), {len(line) for line in lines}] == [10_000, {999}]


def test_a_program_need_not_listen() -> None:
    """One that never reads, or closes its ears, ends as it would; and it can be called off while it is talked to."""
    told = Input(b"x" * 10_000_000)
    assert run(["true"], stdin=told).exit_code == 0
    told.say(b"x")
    assert shell("exec <&-; echo deaf; exit 4", stdin=Input(b"x" * 10_000_000)).exit_code == 4
    assert shell("sleep 1000", stdin=Input(b"x" * 10_000_000), timeout=0.2).timed_out


def test_the_program_gets_this_environment_folder_and_umask(tmp_path: Path) -> None:
    """Nothing is inherited: environment, folder, umask, session and descriptors are the run's own."""
    lines: list[bytes] = []
    before = os.umask(0o077)
    try:
        shell("env; pwd; umask; ls /proc/self/fd", cwd=tmp_path, on_line=lines.append)
    finally:
        os.umask(before)
    inherited = {b"SHLVL=0", b"_=/usr/bin/env", f"PWD={tmp_path}".encode(), f"OLDPWD={tmp_path}".encode()}
    told = [line for line in lines if line not in inherited]
    assert told == [
        f"PATH={ENVIRONMENT['PATH']}".encode(),
        str(tmp_path).encode(),
        b"0022",
        *(b"0", b"1", b"2", b"3"),
    ]


def test_a_program_that_cannot_start_is_an_error_of_the_machine(tmp_path: Path) -> None:
    """A missing program or folder is named, with the reason."""
    with pytest.raises(EnvironmentProblem, match=r"no-such-program could not be started: .*No such file"):
        run(["no-such-program"])
    with pytest.raises(EnvironmentProblem, match=r"true could not be started: .*gone"):
        run(["true"], cwd=tmp_path / "gone")
    with pytest.raises(EnvironmentProblem, match=r"true could not be started: .*too long") as caught:
        run(["true", "x" * 200_000])
    assert "file of the workspace" in str(caught.value.hint)


def test_a_run_that_is_ended_takes_every_descendant_with_it(tmp_path: Path) -> None:
    """A background shell, a daemon with nothing left in common and a child that ignores signals all end and are told."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    cancel = Cancel()
    pids: list[int] = []

    def hear(line: bytes) -> None:
        pids.extend(int(pid) for pid in line.split())
        cancel.set()

    script = """
        sleep 1001 & background=$!
        setsid sh -c "trap : TERM INT HUP; sleep 1002; sleep 1003" & session=$!
        "$1" -c "$2" "$3" & read -r daemon < "$3"
        echo $background $session $daemon; sleep 1004
    """
    finished = shell(script, sys.executable, DAEMON, str(fifo), timeout=None, cancel=cancel, on_line=hear)
    assert finished.cancelled
    killed = [int(description.rpartition("pid ")[2].rstrip(")")) for description in finished.killed]
    assert {*pids} <= {*killed}
    assert not [pid for pid in killed if is_alive(pid)]
    assert any(description.startswith("sleep 1001 ") for description in finished.killed)


def test_a_timeout_ends_the_run() -> None:
    """A run that takes too long says so, and has no exit code of its own."""
    finished = shell("sleep 1000", timeout=0.2)
    assert finished.timed_out
    assert finished.exit_code is None


def test_what_is_left_behind_after_a_normal_end_is_killed_and_told(tmp_path: Path) -> None:
    """A stray background process does not hold up the end of the run, nor survive it."""
    finished = shell("sleep 1000 & echo $! > pid; exit 7", cwd=tmp_path)
    pid = int((tmp_path / "pid").read_text())
    assert finished.exit_code == 7
    assert finished.killed == (f"sleep 1000 (pid {pid})",)
    assert not is_alive(pid)


def test_descendants_on_their_way_out_are_not_called_strays() -> None:
    """A child that ends by itself just after its parent is not reported as killed."""
    assert shell("sleep 0.01 & exit 0") == Finished(exit_code=0)


def test_cancelling_ends_the_run_at_once() -> None:
    """Cancel works from any thread, also while the program is silent."""
    cancel = Cancel()
    start = on_first_line(lambda: threading.Thread(target=cancel.set).start())
    finished = shell("sleep 1000 & echo ready; wait", timeout=None, cancel=cancel, on_line=start)
    assert finished.cancelled
    assert not finished.timed_out
    assert len(finished.killed) == 1


def test_a_program_that_never_stops_talking_times_out_too() -> None:
    """The deadline holds however busy the output is."""
    assert run(["yes"], timeout=1).timed_out


class CalledOffAtTheStart(Cancel):
    """Is set just when the run has been handed over."""

    @contextlib.contextmanager
    def calling(self, end: Callable[[], None]) -> Iterator[None]:
        with super().calling(end):
            self.set()
            yield


def test_a_run_can_be_called_off_while_it_starts() -> None:
    """Whichever comes first, the start or the cancellation, the run ends and says so."""
    for _ in range(10):
        finished = shell("sleep 1000", timeout=None, cancel=CalledOffAtTheStart())
        assert finished.cancelled
        assert finished.exit_code is None


def test_a_cancelled_run_is_not_even_started(tmp_path: Path) -> None:
    """Once called off, nothing new starts."""
    cancel = Cancel()
    cancel.set()
    assert run(["touch", str(tmp_path / "file")], cancel=cancel) == Finished(exit_code=None, cancelled=True)
    assert not (tmp_path / "file").exists()


def test_an_error_in_the_reader_ends_the_program(tmp_path: Path) -> None:
    """When on_line raises, the error passes on and the program does not survive it."""
    seen: list[int] = []

    def fail(line: bytes) -> None:
        seen.append(int(line))
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        shell("echo $$; exec sleep 1000", on_line=fail)
    # The guard kills as soon as our end of its control socket is closed; waiting for the pid shows that it did.
    subprocess.run(["tail", "--pid", str(seen[0]), "-f", "/dev/null"], timeout=30, check=True)


def test_parallel_runs_do_not_take_each_other_down() -> None:
    """Of many runs at once, each ends its own strays and nobody else's."""

    def one(number: int) -> Finished:
        if number % 2:
            return shell(f"sleep {2000 + number} & sleep {3000 + number} & exit {number}")
        return shell(f"(sleep 0.3; exit {number}) & wait $!")

    with ThreadPoolExecutor(8) as pool:
        finished = list(pool.map(one, range(16)))
    assert [done.exit_code for done in finished] == list(range(16))
    for number, done in enumerate(finished):
        commands = sorted(description.partition(" (pid")[0] for description in done.killed)
        assert commands == ([f"sleep {2000 + number}", f"sleep {3000 + number}"] if number % 2 else [])


KILLED = """
import os, sys
from pathlib import Path
from roadtest.isolation import run_process
def tell(line):
    print(line.decode(), flush=True)
run_process(["sh", "-c", "setsid sleep 1000 & echo $!; sleep 1000"], cwd=Path("/"), env=dict(os.environ),
            timeout=None, on_line=tell)
"""


def test_everything_ends_when_roadtest_itself_is_killed() -> None:
    """After kill -9 of the process that runs it, the agent and its descendants are gone too."""
    with subprocess.Popen([sys.executable, "-c", KILLED], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        stray = process.stdout.readline().decode().strip()
        process.kill()
    subprocess.run(["tail", "--pid", stray, "-f", "/dev/null"], timeout=30, check=True)


def test_a_killed_warden_is_replaced() -> None:
    """If somebody kills the helper process, the next run starts another."""
    shell("true")
    (warden,) = _children_named("warden.py")
    os.kill(warden, signal.SIGKILL)
    os.waitid(os.P_PID, warden, os.WEXITED | os.WNOWAIT)
    assert shell("exit 5").exit_code == 5


def _children_named(name: str) -> list[int]:
    children = Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text().split()
    return [int(pid) for pid in children if name in Path(f"/proc/{pid}/cmdline").read_text()]
