"""The hook as a process: what it writes, and that it never gets in the way of the agent."""

from __future__ import annotations

import hashlib
import json
import os
import re
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roadtest.capture import hook, hook_settings, read
from roadtest.capture.settings import command as shell_command

SCRIPT = Path(hook.__file__)
BASH = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "toolu_1"}
COMMON = {"session_id": "s", "cwd": "/work", "transcript_path": "/t.jsonl"}


class Hook:
    """Runs the hook the way Claude Code does, in a folder of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.environ = {"TEST_MODE": "true", "TEST_RUN_ID": "suite/case", "CLAUDE_PROJECT_DIR": str(root)}
        self.folder = root / "test-output" / "suite" / "case"

    def send(self, payload: Any, **options: Any) -> subprocess.CompletedProcess[bytes]:
        data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        return subprocess.run(
            [sys.executable, "-I", "-S", str(SCRIPT)],
            input=data,
            capture_output=True,
            check=False,
            env=self.environ,
            cwd=self.root,
            **options,
        )

    def event(self, name: str, **fields: Any) -> dict[str, Any]:
        """The line that comes of an event."""
        done = self.send({"hook_event_name": name, **COMMON, **fields})
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        line = next(reversed((self.folder / "tool-calls.jsonl").read_text().splitlines()))
        record: dict[str, Any] = json.loads(line)
        return record

    def lifecycle(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / "lifecycle.jsonl").read_text().splitlines()]

    def complaint(self, done: subprocess.CompletedProcess[bytes], folder: Path | None = None) -> str:
        """What the hook said on stderr and in its log, having kept quiet otherwise."""
        assert (done.returncode, done.stdout) == (0, b"")
        log = (folder or self.folder) / "capture-errors.log"
        assert log.read_bytes().endswith(done.stderr)
        return done.stderr.decode()


@pytest.fixture
def run_hook(tmp_path: Path) -> Hook:
    return Hook(tmp_path)


def test_a_line_has_the_fields_that_are_promised(run_hook: Hook) -> None:
    """Before a call: when, which phase, which tool with which input, id, session and folder."""
    record = run_hook.event("PreToolUse", **BASH)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", record.pop("timestamp"))
    assert record == {"phase": "pre", **BASH, **COMMON}


def test_a_result_adds_output_exit_code_and_duration(run_hook: Hook) -> None:
    """After a call: its output under our name, 0 for a Bash that succeeded, how long it took, and whose call it was."""
    agent = {"agent_id": "a1", "agent_type": "reviewer"}
    record = run_hook.event("PostToolUse", **BASH, **agent, tool_response={"stdout": "x"}, duration_ms=12)
    assert (record["phase"], record["tool_output"], record["exit_code"]) == ("post", {"stdout": "x"}, 0)
    assert (record["duration_ms"], record["agent_id"], record["agent_type"]) == (12, "a1", "reviewer")
    assert "tool_response" not in record


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ("Exit code 3\nout", 3),
        ("Exit code 137", 137),
        ("Command timed out", None),
        ("Exit code x", None),
        ("", None),
    ],
)
def test_the_exit_code_of_a_failed_bash_is_read_from_its_error(
    run_hook: Hook, error: str, code: int | None
) -> None:
    """The first line of the error tells the exit code, where it tells one."""
    record = run_hook.event("PostToolUseFailure", **BASH, error=error)
    assert (record["phase"], record["error"], record["exit_code"]) == ("failure", error, code)


@pytest.mark.parametrize(
    ("response", "code"),
    [
        ({"stdout": "", "returnCodeInterpretation": "No matches found"}, 1),
        ({"stdout": "", "interrupted": True}, None),
        ({"stdout": "", "backgroundTaskId": "b1"}, None),
        ("text", None),
    ],
)
def test_not_every_result_of_bash_is_a_zero(run_hook: Hook, response: Any, code: int | None) -> None:
    """A grep without a match has 1; what was interrupted or still runs has no exit code yet."""
    assert run_hook.event("PostToolUse", **BASH, tool_response=response)["exit_code"] == code


def test_a_denial_is_a_phase_of_its_own(run_hook: Hook) -> None:
    """PermissionDenied is kept with its reason; other tools than Bash have no exit code."""
    record = run_hook.event("PermissionDenied", **{**BASH, "tool_name": "Write"}, reason="no")
    assert (record["phase"], record["reason"]) == ("denied", "no")
    assert "exit_code" not in record


def test_unknown_fields_are_kept_and_never_replace_ours(run_hook: Hook) -> None:
    """A field that Claude Code may add one day is there under its name, or beside ours if it bears the same."""
    record = run_hook.event("PreToolUse", **BASH, news={"deep": [1]}, timestamp="theirs", phase="new")
    assert record["news"] == {"deep": [1]}
    assert (record["claude_timestamp"], record["claude_phase"], record["phase"]) == ("theirs", "new", "pre")


def test_events_besides_calls_go_to_the_lifecycle(run_hook: Hook) -> None:
    """Known and unknown events, and tool events that lack what makes a call, are kept in lifecycle.jsonl."""
    events = [
        {"hook_event_name": "SessionStart", **COMMON, "source": "startup"},
        {"hook_event_name": "EventOfTheFuture", "anything": None},
        {"hook_event_name": "PreToolUse", **COMMON, "tool_name": "Bash"},
        {"hook_event_name": "PreToolUse", **BASH, "session_id": 7},
        {"no": "event"},
        {"hook_event_name": 3},
    ]
    for event in events:
        assert run_hook.send(event).stderr == b""
    kept = run_hook.lifecycle()
    assert [line["event"] for line in kept] == [
        "SessionStart",
        "EventOfTheFuture",
        "PreToolUse",
        "PreToolUse",
        "",
        "3",
    ]
    assert kept[0]["source"] == "startup"
    assert kept[3]["payload"] == {**BASH, "session_id": 7}
    assert not (run_hook.folder / "tool-calls.jsonl").exists()
    assert len(read(run_hook.folder).lifecycle) == len(events)


def test_a_batch_keeps_what_is_nowhere_else(run_hook: Hook) -> None:
    """Of a batch the order, the ids and the refusals are kept; inputs and long results stand at the calls themselves."""
    error = "<tool_use_error>no such tool</tool_use_error>"
    calls = [
        {**BASH, "tool_response": "x" * 5000},
        {**BASH, "tool_use_id": "toolu_2", "tool_response": error},
        {**BASH, "tool_use_id": "toolu_3", "tool_response": [{"type": "image"}]},
        "odd",
    ]
    run_hook.send({"hook_event_name": "PostToolBatch", **COMMON, "tool_calls": calls})
    (line,) = run_hook.lifecycle()
    assert line["tool_calls"] == [
        {"tool_name": "Bash", "tool_use_id": "toolu_1", "tool_response": "x" * 2000},
        {**BASH, "tool_use_id": "toolu_2", "tool_response": error},
        {"tool_name": "Bash", "tool_use_id": "toolu_3"},
        "odd",
    ]


# Large values


def test_a_long_output_is_cut_with_length_and_digest(run_hook: Hook) -> None:
    """Beyond the limit the texts inside are cut, the shape stays, and size and sha256 of the whole are told."""
    text = "é" * 2_000_000
    output = {"stdout": text, "stderr": "", "agentId": "a1", "interrupted": False}
    record = run_hook.event("PostToolUse", **BASH, tool_response=output)
    whole = json.dumps(output, ensure_ascii=False).encode()
    assert record["tool_output_truncated"] == {
        "bytes": len(whole),
        "sha256": hashlib.sha256(whole).hexdigest(),
    }
    kept = record["tool_output"]
    assert {**kept, "stdout": ""} == {**output, "stdout": ""}
    assert text.startswith(kept["stdout"])
    assert 2**18 < len(json.dumps(kept, ensure_ascii=False).encode()) <= 2**20
    assert read(run_hook.folder).events[0].tool_output_truncated is not None


@pytest.mark.parametrize(
    "output", ["x" * 5000, list(range(3000)), {str(n): n for n in range(3000)}, [[["y" * 400] * 9] * 9] * 9]
)
@pytest.mark.parametrize("limit", [0, 10, 1000])
def test_any_shape_is_cut_below_the_limit(run_hook: Hook, output: Any, limit: int) -> None:
    """The limit is set by ROADTEST_MAX_OUTPUT_BYTES and holds for texts, lists and objects, down to the bare shape."""
    run_hook.environ["ROADTEST_MAX_OUTPUT_BYTES"] = str(limit)
    record = run_hook.event("PostToolUse", **BASH, tool_response=output)
    assert len(json.dumps(record["tool_output"])) <= max(limit, 2)
    assert record["tool_output_truncated"]["bytes"] == len(json.dumps(output))


@pytest.mark.parametrize("value", ["", "-1", "many", "9" * 2000])
def test_a_limit_that_is_no_number_is_the_default(run_hook: Hook, value: str) -> None:
    """A limit that cannot be understood cuts nothing that the default would keep."""
    run_hook.environ["ROADTEST_MAX_OUTPUT_BYTES"] = value
    assert "tool_output_truncated" not in run_hook.event("PostToolUse", **BASH, tool_response="x" * 1000)


def test_a_long_input_is_kept_whole(run_hook: Hook) -> None:
    """What the model asked for is never cut: it is what trajectories are matched by."""
    record = run_hook.event("PreToolUse", **{**BASH, "tool_input": {"command": "x" * 3_000_000}})
    assert len(record["tool_input"]["command"]) == 3_000_000


# Never in the way


@pytest.mark.parametrize(
    "value",
    ["../x", "/abs", "", "a/../b", "a/b/c", "a//b", ".", "a/", "/", "a b", "a\nb", "ä", "..", "a..b", "-/*"],
)
def test_a_bad_run_id_is_refused(run_hook: Hook, value: str) -> None:
    """An id that is not one or two plain names captures nothing anywhere, and is named on stderr."""
    run_hook.environ["TEST_RUN_ID"] = value
    done = run_hook.send({"hook_event_name": "PreToolUse", **COMMON, **BASH})
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"Refused: TEST_RUN_ID" in done.stderr
    assert list(run_hook.root.iterdir()) == []


def test_a_run_id_with_a_nul_is_refused() -> None:
    """No environment can hold it, and the check does not rely on that."""
    with pytest.raises(hook.Refused):
        hook.run_id({b"TEST_RUN_ID": b"a\0b"})


def test_a_run_id_too_long_for_a_file_is_refused(run_hook: Hook) -> None:
    """5,000 characters end in a complaint beside the place where they would have gone."""
    run_hook.environ["TEST_RUN_ID"] = "x" * 5000
    done = run_hook.send({"hook_event_name": "PreToolUse", **COMMON, **BASH})
    assert "File name too long" in run_hook.complaint(done, run_hook.root / "test-output")
    assert [path.name for path in (run_hook.root / "test-output").iterdir()] == ["capture-errors.log"]


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "stdin is not JSON (0 bytes)"),
        (b"{", "stdin is not JSON (1 bytes)"),
        (b"nonsense", "stdin is not JSON"),
        (b"\xff\xfe", "stdin is not JSON"),
        (b"{} {}", "more than one JSON value"),
        (b"[1]", "the event is not a JSON object"),
        (b"[" * 100_000, "RecursionError"),
    ],
)
def test_input_that_is_no_event_is_complained_about(run_hook: Hook, data: bytes, complaint: str) -> None:
    """Anything but one JSON object is reported in the log of the run and on stderr."""
    assert complaint in run_hook.complaint(run_hook.send(data))


def test_fifty_megabytes_of_input_are_no_trouble(run_hook: Hook) -> None:
    """A huge result is taken in, cut and written."""
    record = run_hook.event("PostToolUse", **BASH, tool_response={"stdout": "x" * 50_000_000})
    assert record["tool_output_truncated"]["bytes"] == 50_000_014


@pytest.mark.parametrize("closed", [[0], [1], [2], [0, 1, 2]])
def test_closed_descriptors_are_no_trouble(run_hook: Hook, closed: list[int]) -> None:
    """Without stdin, stdout or stderr the hook still exits 0, and no complaint ends up among the lines."""
    close = "".join(f" {descriptor}>&-" for descriptor in closed)
    done = subprocess.run(
        ["sh", "-c", f"exec {sys.executable} -I -S {SCRIPT}{close}"],
        input=json.dumps({"hook_event_name": "PreToolUse", **COMMON, **BASH}).encode(),
        capture_output=True,
        check=False,
        env=run_hook.environ,
    )
    assert (done.returncode, done.stdout) == (0, b"")
    captured = read(run_hook.folder)
    assert bool(captured.events) == (0 not in closed)
    assert bool(captured.errors) == (0 in closed)


def test_an_empty_environment_is_no_trouble(run_hook: Hook) -> None:
    """Neither HOME nor PATH nor CLAUDE_PROJECT_DIR is needed: then the output folder is in the working directory."""
    del run_hook.environ["CLAUDE_PROJECT_DIR"]
    run_hook.event("PreToolUse", **BASH)


@pytest.mark.parametrize("folder", ["elsewhere", "deep/er/still", "{root}/absolute"])
def test_the_output_folder_can_be_chosen(run_hook: Hook, folder: str) -> None:
    """ROADTEST_OUTPUT_DIR is absolute or relative to the project, and is made where it is missing."""
    chosen = folder.format(root=run_hook.root)
    run_hook.environ["ROADTEST_OUTPUT_DIR"] = chosen
    run_hook.folder = run_hook.root / chosen / "suite" / "case"
    run_hook.event("PreToolUse", **BASH)


def in_the_way_of_the_output(root: Path) -> None:
    (root / "test-output").write_text("a file")


def in_the_way_of_the_run(root: Path) -> None:
    (root / "test-output" / "suite").mkdir(parents=True)
    (root / "test-output" / "suite" / "case").write_text("a file")


def a_link_out_of_the_output(root: Path) -> None:
    (root / "test-output").mkdir()
    (root / "outside").mkdir()
    (root / "test-output" / "suite").symlink_to(root / "outside")


def a_link_instead_of_the_file(root: Path) -> None:
    (root / "test-output" / "suite" / "case").mkdir(parents=True)
    (root / "outside").write_text("")
    (root / "test-output" / "suite" / "case" / "tool-calls.jsonl").symlink_to(root / "outside")


def a_pipe_instead_of_the_file(root: Path) -> None:
    (root / "test-output" / "suite" / "case").mkdir(parents=True)
    os.mkfifo(root / "test-output" / "suite" / "case" / "tool-calls.jsonl")


def nothing_can_be_made(root: Path) -> None:
    (root / "test-output").symlink_to("/proc/self/nowhere")


def a_folder_instead_of_the_file(root: Path) -> None:
    (root / "test-output" / "suite" / "case" / "tool-calls.jsonl").mkdir(parents=True)


@pytest.mark.parametrize(
    "obstacle",
    [
        in_the_way_of_the_output,
        in_the_way_of_the_run,
        a_link_out_of_the_output,
        a_link_instead_of_the_file,
        a_pipe_instead_of_the_file,
        a_folder_instead_of_the_file,
        nothing_can_be_made,
    ],
)
def test_a_place_that_cannot_be_written_is_no_trouble(
    run_hook: Hook, obstacle: Callable[[Path], None]
) -> None:
    """Files, links, pipes and folders in the way end in a complaint, and nothing is written through them."""
    obstacle(run_hook.root)
    done = run_hook.send({"hook_event_name": "PreToolUse", **COMMON, **BASH})
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"roadtest capture: " in done.stderr
    outside = run_hook.root / "outside"
    assert not outside.exists() or not (list(outside.iterdir()) if outside.is_dir() else outside.read_text())


def test_a_full_disk_leaves_whole_lines(run_hook: Hook) -> None:
    """A line that does not fit any more is taken back to its first byte, and the next one that fits follows cleanly."""
    run_hook.event("PreToolUse", **BASH)
    before = (run_hook.folder / "tool-calls.jsonl").read_bytes()

    def a_little_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 1000, len(before) + 1000))

    big = {"hook_event_name": "PreToolUse", **COMMON, **BASH, "more": "x" * 5000}
    done = run_hook.send(big, preexec_fn=a_little_room)
    assert "File too large" in run_hook.complaint(done)
    assert (run_hook.folder / "tool-calls.jsonl").read_bytes() == before
    run_hook.event("PostToolUse", **BASH)
    assert len(read(run_hook.folder).events) == 2


def test_a_lock_that_is_never_released_is_given_up_on(run_hook: Hook) -> None:
    """A hook that cannot get its turn says so and lets the agent go on."""
    run_hook.event("PreToolUse", **BASH)
    impatient = (
        f"import sys; sys.path.insert(0, {str(SCRIPT.parent)!r}); import hook; hook.PATIENCE = 1; hook.main()"
    )
    with (run_hook.folder / "tool-calls.jsonl").open("rb+") as file:
        os.lockf(file.fileno(), os.F_LOCK, 0)
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", impatient],
            input=json.dumps({"hook_event_name": "PreToolUse", **COMMON, **BASH}).encode(),
            capture_output=True,
            check=False,
            env=run_hook.environ,
        )
    assert "gave up after 1 seconds" in run_hook.complaint(done)


def test_a_line_torn_by_a_killed_writer_does_not_take_the_next_with_it(run_hook: Hook) -> None:
    """The line after a torn one stands on a line of its own."""
    run_hook.event("PreToolUse", **BASH)
    with (run_hook.folder / "tool-calls.jsonl").open("ab") as file:
        file.write(b'{"timestamp": "20')
    assert run_hook.event("PostToolUse", **BASH)["phase"] == "post"
    lines = (run_hook.folder / "tool-calls.jsonl").read_text().splitlines()
    assert lines[1] == '{"timestamp": "20'


# Free when off


@pytest.mark.parametrize("mode", [None, "", "false", "TRUE", "1"])
@pytest.mark.parametrize("kind", ["run", "portable"])
def test_outside_a_test_python_is_not_even_started(tmp_path: Path, mode: str | None, kind: str) -> None:
    """Unless TEST_MODE is exactly true, the command ends in the shell, at once and with 0."""
    trap = tmp_path / "python3"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
    trap.chmod(0o755)
    command = (
        hook_settings(python=str(trap))["hooks"]["Stop"][0]["hooks"][0]["command"]
        if kind == "run"
        else shell_command(str(SCRIPT))
    )
    environ = {"PATH": f"{tmp_path}:{os.environ['PATH']}", **({} if mode is None else {"TEST_MODE": mode})}
    done = subprocess.run(["sh", "-c", command], env=environ, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert not (tmp_path / "started").exists()
    subprocess.run(
        ["sh", "-c", command], env={**environ, "TEST_MODE": "true"}, capture_output=True, check=True
    )
    assert (tmp_path / "started").exists()


def test_a_run_starts_the_hook_from_bytecode(run_hook: Hook) -> None:
    """Compiled for our own interpreter, the hook writes the same line as from its source."""
    run_hook.event("PreToolUse", **BASH)
    settings = hook_settings(compile_in=run_hook.root)
    command = settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"]
    assert str(run_hook.root / "roadtest-hook.pyc") in command
    data = json.dumps({"hook_event_name": "PreToolUse", **COMMON, **BASH}).encode()
    subprocess.run(["sh", "-c", command], input=data, env=run_hook.environ, check=True)
    first, second = (msgspec.structs.replace(event, timestamp="") for event in read(run_hook.folder).events)
    assert first == second


def test_a_script_that_is_gone_blocks_no_call(run_hook: Hook) -> None:
    """Python exits with 2 when it does not find its script, which Claude Code would take for a veto."""
    command = hook_settings(compile_in=run_hook.root)["hooks"]["PreToolUse"][0]["hooks"][0]["command"]
    (run_hook.root / "roadtest-hook.pyc").unlink()
    done = subprocess.run(["sh", "-c", command], env=run_hook.environ, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"can't open file" in done.stderr


def test_without_any_python_the_shared_command_still_exits_zero(tmp_path: Path) -> None:
    """A teammate without python3 is not disturbed."""
    environ = {"PATH": str(tmp_path), "TEST_MODE": "true"}
    done = subprocess.run(
        ["/bin/sh", "-c", shell_command("x.py")], env=environ, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, b"")


def test_only_built_in_modules_are_loaded(run_hook: Hook) -> None:
    """An ordinary event loads no module of Python source beyond what the interpreter itself starts with."""
    probe = f"""
import sys
before = set(sys.modules)
sys.path.insert(0, {str(SCRIPT.parent)!r})
import hook
hook.main()
loaded = (sys.modules[name] for name in set(sys.modules) - before - {{"hook"}})
print(*(name.__name__ for name in loaded if str(getattr(name, "__file__", "")).endswith((".py", ".pyc"))))
"""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", probe],
        input=json.dumps({"hook_event_name": "PostToolUse", **COMMON, **BASH, "tool_response": {}}).encode(),
        capture_output=True,
        check=True,
        env=run_hook.environ,
    )
    assert done.stdout.split() == []
    assert len(read(run_hook.folder).events) == 1


# Any input

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(["\ud800", "\U0001f600"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
names = st.sampled_from([*hook.PHASES, "PostToolBatch", "SessionStart", "Unheard", "", None, 3])
fields = st.sampled_from(
    [
        *hook.FIELDS,
        *hook.OWN,
        "tool_response",
        "tool_calls",
        "duration_ms",
        "extra",
        "payload",
        "hook_event_name",
    ]
)
events = st.builds(
    lambda base, name, more: {**base, **more, "hook_event_name": name},
    st.sampled_from([{}, BASH, {**BASH, **COMMON}]),
    names,
    st.dictionaries(fields | st.text(max_size=5), json_values, max_size=4),
)
inputs = st.binary(max_size=200) | st.one_of(json_values, events, events).map(
    lambda value: json.dumps(value).encode()
)
run_ids = st.sampled_from(["case", "suite/case", "../x", "a/../../b", "/tmp/x", "", ".", "a/b/c"]) | st.text(
    st.characters(codec="utf-8", exclude_characters="\0"), max_size=20
)


@given(data=inputs, run_id=run_ids)
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_input_disturbs_the_agent_or_leaves_the_folder(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, run_id: str
) -> None:
    """Whatever comes in: exit 0, nothing on stdout, nothing outside the output folder, and only lines that can be read."""
    root = tmp_path_factory.mktemp("any")
    run_hook = Hook(root)
    run_hook.environ["TEST_RUN_ID"] = run_id
    done = run_hook.send(data)
    assert (done.returncode, done.stdout) == (0, b"")
    assert [path.name for path in root.iterdir()] in ([], ["test-output"])
    written = [path for path in (root / "test-output").rglob("*") if path.is_file()]
    assert {path.name for path in written} <= {"tool-calls.jsonl", "lifecycle.jsonl", "capture-errors.log"}
    assert bool(done.stderr) != any(path.suffix == ".jsonl" for path in written)
    for folder in {path.parent for path in written}:
        captured = read(folder)
        assert captured.active != bool(captured.errors)
