"""A session that is ended in the middle leaves nothing behind, on the real Claude Code."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from roadtest.record import find_run, read_record

SUITE = """
from roadtest import Case, ClaudeCode, describe_eval, script

def at_once(text, workspace):
    return text

command = "echo $$ > {here}/pid; : > {here}/ready; exec sleep 1000"
endless = script.Script(script.call("Bash", command=command), script.say("No."))
task = ClaudeCode(permission_mode="bypassPermissions", script=endless)
describe_eval("finished", data=[Case("quick", "Go")], task=at_once, scorers=[lambda output: True])
describe_eval("suite", data=[Case(str(n), "Go") for n in range(4)], task=task, scorers=[lambda output: True])
"""


def alive(pid: int) -> bool:
    """Whether the process does anything yet; one that only waits to be reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


@pytest.fixture(autouse=True)
def _heeding_interrupts() -> Iterator[None]:
    """What is started in the background ignores Ctrl-C, and so would all that it starts; a CI may start us like that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(params=[["pytest"]], ids=["pytest"])
def started(pytester: pytest.Pytester, request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[bytes]]:
    """A session on a suite whose first case is recorded and whose second sits in a command of its agent."""
    os.mkfifo(pytester.path / "ready")
    pytester.makepyfile(test_it=SUITE.format(here=pytester.path))
    (pytester.path / "tmp").mkdir()
    command = [sys.executable, "-m", *request.param, "-p", "no:cacheprovider", "--agent-jobs=1"]
    environ = {**os.environ, "TMPDIR": str(pytester.path / "tmp"), "TEST_RUN_ID": "interrupted"}
    with subprocess.Popen(
        command, cwd=pytester.path, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as child:
        # Opening the pipe waits for the agent's command to open it too.
        (pytester.path / "ready").read_bytes()
        yield child


def leftovers(pytester: pytest.Pytester) -> list[Path]:
    """Files that nobody needs any more."""
    return [path for path in (pytester.path / "tmp").rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    ("started", "number", "code"),
    [
        (["pytest"], signal.SIGINT, 2),
        (["pytest"], signal.SIGTERM, 143),
        (["roadtest", "run"], signal.SIGINT, 130),
    ],
    ids=["Ctrl-C", "SIGTERM", "roadtest run"],
    indirect=["started"],
)
def test_a_signal_ends_everything(
    pytester: pytest.Pytester, started: subprocess.Popen[bytes], number: signal.Signals, code: int
) -> None:
    """No process, temporary file or lock is left, and what was finished is in the record."""
    started.send_signal(number)
    output, _ = started.communicate()
    assert started.returncode == code, output.decode()
    pid = int((pytester.path / "pid").read_text())
    assert not alive(pid)
    assert leftovers(pytester) == []
    record = read_record(find_run("interrupted", pytester.path / "test-output"))
    assert [(case.case, case.verdict) for case in record.cases] == [("quick", "passed")]
    assert record.finished_at


def test_killing_leaves_no_process_and_loses_nothing(
    pytester: pytest.Pytester, started: subprocess.Popen[bytes]
) -> None:
    """After kill -9 the agent is gone too, the finished case is still there, and the next session clears the rest."""
    command = os.pidfd_open(int((pytester.path / "pid").read_text()))
    started.kill()
    started.communicate()
    assert ended(command)
    record = read_record(find_run("interrupted", pytester.path / "test-output"))
    assert [(case.case, case.verdict) for case in record.cases] == [("quick", "passed")]
    assert not record.finished_at

    environ = {**os.environ, "TMPDIR": str(pytester.path / "tmp"), "TEST_RUN_ID": "interrupted"}
    quick = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-k", "quick"]
    again = subprocess.run(quick, cwd=pytester.path, env=environ, capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stdout
    assert leftovers(pytester) == []
    assert len(read_record(find_run("interrupted", pytester.path / "test-output")).cases) == 1


def ended(descriptor: int) -> bool:
    """Wait for the end of a process that is not our child."""
    ready, _, _ = select.select([descriptor], [], [], 30)
    os.close(descriptor)
    return bool(ready)
