"""Many hooks at once: every line arrives, whole."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from roadtest.capture import hook, read

SCRIPT = Path(hook.__file__)
WRITERS, LINES = 64, 200

# Waits for the end of stdin, which is the same moment for all, then writes its lines.
WRITER = """
import os, sys
sys.path.insert(0, sys.argv[1])
import hook
writer = int(sys.argv[3])
folder = os.open(sys.argv[2], os.O_RDONLY)
os.read(0, 1)
for number in range({lines}):
    size = {size}
    hook.append(folder, "tool-calls.jsonl", b"%d %d %d " % (writer, number, size) + b"x" * size + b"\\n")
""".format(
    lines=LINES,
    size="2_000_000 if number == writer else 200_000 if number % 50 == 0 else 1 + number * writer % 9000",
)


def test_no_line_is_lost_or_torn_among_64_writers(tmp_path: Path) -> None:
    """64 processes append 200 lines each, of 1 byte to 2 MB: 12,800 whole lines are there, each once."""
    start, release = os.pipe()
    writers = [
        subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", WRITER, str(SCRIPT.parent), str(tmp_path), str(writer)],
            stdin=start,
        )
        for writer in range(WRITERS)
    ]
    os.close(start)
    os.close(release)
    assert [writer.wait() for writer in writers] == [0] * WRITERS

    seen = set()
    with (tmp_path / "tool-calls.jsonl").open("rb") as lines:
        for line in lines:
            writer, number, size, body = line.split(b" ")
            assert body == b"x" * int(size) + b"\n"
            seen.add((int(writer), int(number)))
    assert seen == {(writer, number) for writer in range(WRITERS) for number in range(LINES)}


def test_hooks_of_parallel_calls_write_whole_lines(tmp_path: Path) -> None:
    """24 hook processes, half of them with a megabyte of input, started together leave 24 lines that can be read."""
    environ = {"TEST_MODE": "true", "TEST_RUN_ID": "case", "CLAUDE_PROJECT_DIR": str(tmp_path)}
    hooks = [
        subprocess.Popen(
            [sys.executable, "-I", "-S", str(SCRIPT)],
            stdin=subprocess.PIPE,
            env=environ,
            stderr=subprocess.PIPE,
        )
        for _ in range(24)
    ]
    for number, process in enumerate(hooks):
        event = {
            "hook_event_name": "PreToolUse",
            "tool_name": "Write",
            "tool_use_id": f"toolu_{number}",
            "tool_input": {"content": "x" * (1_000_000 if number % 2 else 10)},
        }
        assert process.stdin is not None
        process.stdin.write(json.dumps(event).encode())
    for process in hooks:
        assert process.communicate()[1] == b""
    captured = read(tmp_path / "test-output" / "case")
    assert sorted(int(event.tool_use_id[6:]) for event in captured.events) == list(range(24))
    assert captured.errors == ()
