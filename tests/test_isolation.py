"""Isolation on the real Claude Code: what reaches the agent, what it leaves, and where its calls are told."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from roadtest import script
from roadtest.capture import read
from roadtest.errors import EnvironmentProblem
from roadtest.isolation import Workspace, confined, run_process
from roadtest.isolation.sandbox import find_bwrap
from roadtest.isolation.settings import FIRST_NOTES
from tests.conftest import PATIENCE, RunScript
from tests.test_process import DAEMON, is_alive

SEEN = script.say("Seen.")

MCP_SERVER = """
import json, os, sys, time
open(sys.argv[1], "w").write(str(os.getpid()))
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        info = {"serverInfo": {"name": "s", "version": "1"}, "capabilities": {"tools": {}}}
        answer = {"protocolVersion": "2025-03-26", **info} if asked["method"] == "initialize" else {"tools": []}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": answer}), flush=True)
os.close(1)
time.sleep(1000)
"""


def test_nothing_personal_reaches_the_agent(
    run_claude: RunScript, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Variables, home, hook, memory and MCP server of the user, and memories above the workspace, are all invisible."""
    alarm = tmp_path / "alarm"
    home = tmp_path / "home"
    (home / ".claude").mkdir(parents=True)
    hook = {"matcher": "*", "hooks": [{"type": "command", "command": f"touch {alarm}-hook"}]}
    (home / ".claude/settings.json").write_text(
        json.dumps({"hooks": {"PreToolUse": [hook], "SessionStart": [hook]}})
    )
    (home / ".claude/CLAUDE.md").write_text("CANARY-USER-MEMORY")
    server = {"command": "touch", "args": [f"{alarm}-mcp"]}
    (home / ".claude.json").write_text(json.dumps({"mcpServers": {"canary": server}}))
    (tmp_path / "tmp").mkdir()
    (tmp_path / "CLAUDE.md").write_text("CANARY-MEMORY-ABOVE")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("ROADTEST_CANARY", "CANARY-VARIABLE")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "canary-key")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    asked: list[str] = []

    def overhear(request: script.Asked) -> script.Say:
        asked.append(json.dumps(request.payload))
        return SEEN

    look = script.call("Bash", command="env; cat ~/.claude/* 2>&1; git config --list")
    recall = script.call("Bash", command="cat $CLAUDE_CONFIG_DIR/.claude.json")
    run = run_claude(
        script=script.Script([look, recall], overhear),
        workspace=Workspace.empty().with_files({"CLAUDE.md": "PROJECT-MEMORY"}),
    )
    assert run.invalid == ""
    assert "PROJECT-MEMORY" in asked[0]
    assert "TEST_MODE=true" in asked[0]
    assert "CANARY" not in asked[0]
    assert "canary" not in asked[0]
    assert f"HOME={home}\\n" not in asked[0]
    assert "HOME=/" in asked[0]
    assert not list(tmp_path.glob("alarm-*"))
    notes = json.loads(run.trajectory[1].output["stdout"])
    assert notes["machineID"] == notes["userID"] == "0" * 64
    assert set(notes) <= {*FIRST_NOTES, "pluginUsage"}, (
        "Claude Code writes more at its first start: settle it in"
    )


@pytest.fixture
def model_elsewhere() -> Iterator[tuple[str, list[str]]]:
    """A server that is not the model, and what it was asked."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.path)
            self.send_error(500)

        def log_message(self, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()


def test_the_settings_of_a_project_cannot_lead_a_run_astray(
    run_claude: RunScript, model_elsewhere: tuple[str, list[str]]
) -> None:
    """A project whose settings set another model, provider or run id is captured and served like any other."""
    elsewhere, asked = model_elsewhere
    env = {
        "ANTHROPIC_BASE_URL": elsewhere,
        "CLAUDE_CODE_USE_BEDROCK": "1",
        "TEST_RUN_ID": "stolen",
        "TEST_MODE": "no",
    }
    workspace = Workspace.empty().with_files(
        {".claude/settings.json": json.dumps({"env": {**env, "PLAIN": "kept"}})}
    )
    run = run_claude(
        script=script.Script(script.call("Bash", command="echo $PLAIN $TEST_RUN_ID"), SEEN),
        workspace=workspace,
    )
    assert run.invalid == ""
    assert run.output == "Seen."
    assert "kept case" in str(run.trajectory[0].output)
    assert asked == []


def test_a_run_that_times_out_takes_everything_with_it(run_claude: RunScript, tmp_path: Path) -> None:
    """A background shell, a daemon and an MCP server that the agent started are dead when the run is reported."""
    (tmp_path / "server.py").write_text(MCP_SERVER)
    (tmp_path / "daemon.py").write_text(DAEMON)
    shell, daemon, server = (tmp_path / name for name in ("shell", "daemon", "server"))
    start = f"sleep 1000 & echo $! > {shell}; {sys.executable} {tmp_path}/daemon.py {daemon}; echo started"
    for seconds in PATIENCE:
        run = run_claude(
            script=script.Script(
                script.call("Bash", command=start),
                script.call("Bash", command="sleep 1000", timeout=600_000),
                SEEN,
            ),
            mcp_config={
                "mcpServers": {
                    "s": {"command": sys.executable, "args": [f"{tmp_path}/server.py", str(server)]}
                }
            },
            timeout=seconds,
        )
        if daemon.exists() and server.exists():
            break
    assert run.timed_out
    pids = [int(path.read_text()) for path in (shell, daemon, server)]
    assert not [pid for pid in pids if is_alive(pid)]
    told = "\n".join(run.notes)
    assert all(f"(pid {pid})" in told for pid in pids)


def test_the_final_state_is_part_of_the_run(run_claude: RunScript) -> None:
    """What the agent wrote is in the diff and the list of files, though the workspace is gone."""
    run = run_claude(
        script=script.Script(
            script.call("Write", file_path="{{workspace}}/new.txt", content="hello\n"), SEEN
        ),
        workspace=Workspace.empty().with_files({"old.txt": "old\n"}),
    )
    assert run.changed_files == ["new.txt"]
    assert "+hello" in run.diff
    assert run.workspace is not None
    assert not run.workspace.exists()


def test_searches_list_files_in_the_same_order_every_time(run_claude: RunScript) -> None:
    """Glob and Grep, which sort by time, answer two workspaces of one recipe alike."""
    names = [f"src/{name}.py" for name in ("m", "z", "a", "k", "b", "y", "c")]
    workspace = Workspace.empty().with_files(dict.fromkeys(names, "needle\n"))
    searches = [script.call("Grep", pattern="needle"), script.call("Glob", pattern="**/*.py")]

    def found() -> list[list[str]]:
        run = run_claude(script=script.Script(searches, SEEN), workspace=workspace, tools=["Grep", "Glob"])
        return [call.output["filenames"] for call in run.trajectory]

    newest_first, oldest_first = found()
    assert [newest_first, oldest_first] == [sorted(names, reverse=True), sorted(names)]
    assert found() == [newest_first, oldest_first]


SUITE = """
from pathlib import Path
from roadtest import Case, ClaudeCode, Workspace, describe_eval, script
NAME = Path(__file__).parent.name
describe_eval(
    "suite",
    data=[Case(f"case {number}", input="Go") for number in range(2)],
    task=ClaudeCode(
        workspace=Workspace.worktree(),
        permission_mode="bypassPermissions",
        script=script.Script(script.call("Bash", command=f"echo {NAME}"), script.say(NAME)),
    ),
    scorers=[lambda output: output == NAME],
)
"""


@pytest.fixture
def four_trees(tmp_path: Path) -> list[Path]:
    """A repository with a suite, checked out in four worktrees."""
    repo = tmp_path / "repo"
    repo.mkdir()
    (repo / "test_suite.py").write_text(SUITE)
    (repo / ".gitignore").write_text(".trees\n__pycache__\ntest-output\n.pytest_cache\n")

    def git(*args: str) -> None:
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=b", *args],
            cwd=repo,
            check=True,
            stdout=subprocess.DEVNULL,
        )

    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "suite")
    trees = [repo / ".trees" / name for name in ("a", "b", "c", "d")]
    for tree in trees:
        git("worktree", "add", "-q", str(tree))
    return trees


def host() -> dict[str, str]:
    """The environment to start pytest or roadtest with, free of what the pytest around these tests has set."""
    ours = ("PYTEST_CURRENT_TEST", "PYTEST_VERSION", "PYTEST_XDIST", "TEST_", "ROADTEST_")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}


def test_four_suites_in_four_worktrees_keep_their_calls_apart(four_trees: list[Path]) -> None:
    """With four suites at once on the real Claude Code, every tool-calls.jsonl holds exactly its own calls."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_suite.py"]
    suites = [
        subprocess.Popen(
            command,
            cwd=tree,
            env={**host(), "TEST_RUN_ID": f"wt-{tree.name}"},
            stdout=subprocess.PIPE,
            text=True,
        )
        for tree in four_trees
    ]
    for suite in suites:
        output, _ = suite.communicate()
        assert suite.returncode == 0, output
    for tree in four_trees:
        captured = sorted((tree / "test-output").rglob("tool-calls.jsonl"))
        assert {path.relative_to(tree).parts[1] for path in captured} == {f"wt-{tree.name}"}
        assert len(captured) == 2
        for path in captured:
            (call,) = read(path.parent).trajectory
            assert call.args["command"] == f"echo {tree.name}"
            assert tree.name in str(call.output)


def test_a_sandbox_needs_bubblewrap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where bubblewrap is missing, or may not do its work, the error says so and what to do."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentProblem, match="bubblewrap, which is not installed") as caught:
        find_bwrap()
    assert "apt-get install bubblewrap" in caught.value.hint
    (tmp_path / "bwrap").write_text("#!/bin/sh\necho No permissions to create a new namespace >&2\nexit 1\n")
    (tmp_path / "bwrap").chmod(0o755)
    with pytest.raises(EnvironmentProblem, match="may not work here: No permissions"):
        find_bwrap()


@contextmanager
def in_a_sandbox() -> Iterator[None]:
    """The block passes where bubblewrap works, as in CI; elsewhere it ends with the error that says why not."""
    try:
        find_bwrap()
    except EnvironmentProblem:
        with pytest.raises(EnvironmentProblem, match="needs bubblewrap"):
            yield
    else:
        yield


CONFINED = """
import socket, sys
def can(act):
    try: act()
    except OSError: return False
    return True
print(can(lambda: open(sys.argv[1] + "/file", "w")), can(lambda: open(sys.argv[2] + "/file", "w")))
with socket.create_connection(("127.0.0.1", int(sys.argv[3]))) as open_port:
    open_port.sendall(b"ping")
    print(open_port.recv(4))
print(can(lambda: socket.create_connection(("127.0.0.1", int(sys.argv[4])), 1)))
sys.exit(7)
"""


def test_a_sandbox_confines_files_and_network(tmp_path: Path) -> None:
    """Only the given folders can be written, and only the given port be reached."""
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    outside.mkdir()
    lines: list[bytes] = []
    with (
        socket.create_server(("127.0.0.1", 0)) as served,
        socket.create_server(("127.0.0.1", 0)) as closed,
        in_a_sandbox(),
    ):
        ports = [server.getsockname()[1] for server in (served, closed)]
        argv = [sys.executable, "-c", CONFINED, str(inside), str(outside), *map(str, ports)]
        with confined(argv, writable=[inside], port=ports[0]) as command:
            threading.Thread(target=_answer, args=(served,)).start()
            env = {"PATH": os.environ["PATH"]}
            finished = run_process(command, cwd=tmp_path, env=env, timeout=60, on_line=lines.append)
        assert (lines, finished.exit_code) == ([b"True False", b"b'pong'", b"False"], 7)
        assert (inside / "file").exists()


def _answer(server: socket.socket) -> None:
    connection, _ = server.accept()
    with connection:
        connection.recv(4)
        connection.sendall(b"pong")


def test_claude_code_runs_in_a_sandbox(run_claude: RunScript, tmp_path: Path) -> None:
    """A sandboxed agent talks to its model, works in its workspace and is captured, but cannot write elsewhere."""
    forbidden = tmp_path / "forbidden"
    act = script.call("Bash", command=f"echo in > here.txt; touch {forbidden} || echo refused")
    with in_a_sandbox():
        run = run_claude(sandbox="bwrap", script=script.Script(act, SEEN))
        assert (run.invalid, run.output) == ("", "Seen.")
        assert "refused" in str(run.trajectory[0].output)
        assert run.changed_files == ["here.txt"]
    assert not forbidden.exists()


def test_a_sandboxed_run_ends_whole_too(run_claude: RunScript) -> None:
    """A timeout reaches through the sandbox."""
    act = script.call("Bash", command="setsid sleep 4321", timeout=600_000)
    with in_a_sandbox():
        for seconds in PATIENCE:
            run = run_claude(sandbox="bwrap", timeout=seconds, script=script.Script(act, SEEN))
            if run.trajectory:
                break
        assert [call.status for call in run.trajectory] == ["unfinished"]
        assert run.timed_out
        listing = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
        assert "sleep 4321" not in listing.splitlines()
