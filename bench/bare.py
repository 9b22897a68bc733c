"""Claude Code with nothing around it: a canned model, an environment made from nothing, a folder to work in."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.measure import Took, ended
from roadtest.capture import Dialogue, Receiver, spooling_settings
from roadtest.installation import find_claude

Turns = Sequence[Sequence[Mapping[str, Any]]]


@dataclass(frozen=True)
class Canned:
    """A running canned model."""

    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def requests(self) -> tuple[int, int]:
        """How many requests were answered, and how many attempts to go elsewhere were refused."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.request("GET", "/requests")
        answered, refused = json.load(connection.getresponse())
        return answered, refused


@contextmanager
def canned_model(turns: Turns, folder: Path, *, log: Path | None = None) -> Iterator[Canned]:
    script = folder / "turns.json"
    script.write_text(json.dumps(turns))
    argv = [sys.executable, "-I", str(Path(__file__).with_name("canned_server.py")), str(script)]
    with subprocess.Popen(
        [*argv, *(["--log", str(log)] if log else [])], stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout is not None  # it is a pipe
            canned = Canned(int(server.stdout.readline()))
            yield canned
            if canned.requests()[1]:
                raise RuntimeError("Claude Code tried to reach something else than the canned model")
        finally:
            server.kill()


def call(tool: str, number: int = 1, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"toolu_bench_{number:04}", "name": tool, "input": arguments}


def say(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def environment(folder: Path, model: str, **more: str) -> dict[str, str]:
    """All that a run of Claude Code gets to see; ``folder`` gets its HOME, its settings and its temporary files."""
    private = {"HOME": "home", "CLAUDE_CONFIG_DIR": "config", "TMPDIR": "tmp"}
    for name in private.values():
        (folder / name).mkdir(parents=True, exist_ok=True)
    return {
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        **{variable: str(folder / name) for variable, name in private.items()},
        "ANTHROPIC_BASE_URL": model,
        "ANTHROPIC_API_KEY": "bench-needs-no-key",
        "HTTP_PROXY": model,
        "HTTPS_PROXY": model,
        "NO_PROXY": "127.0.0.1,localhost",
        "IS_SANDBOX": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_ATTRIBUTION_HEADER": "0",
        "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
        "CLAUDE_CODE_DISABLE_TERMINAL_TITLE": "1",
        "CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS": "1",
        "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
        **more,
    }


def claude_command(*prompt: str, more: Sequence[str] = ()) -> list[str]:
    flags = [
        "--output-format",
        "stream-json",
        "--verbose",
        "--strict-mcp-config",
        "--setting-sources",
        "project",
    ]
    return [str(find_claude().path), "-p", *prompt, *flags, "--dangerously-skip-permissions", *more]


def talk(prompt: str, receiver: Receiver, *, env: Mapping[str, str], cwd: Path) -> tuple[Took, bytes]:
    """Run Claude Code with our hooks and nothing else of ours; also what it printed. Our answers count as its time."""
    dialogue = Dialogue(prompt, receiver)
    settings = json.dumps(spooling_settings(receiver.spool))
    argv = claude_command(*dialogue.arguments, more=("--settings", settings))
    ours, started = time.thread_time(), time.perf_counter()
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=dict(env), cwd=cwd)
    assert process.stdin is not None and process.stdout is not None  # noqa: PT018 - both are pipes
    process.stdin.write(dialogue.opening)
    process.stdin.flush()
    lines = []
    for line in process.stdout:
        lines.append(line)
        if reply := dialogue.reply(line):
            process.stdin.write(reply)
            process.stdin.flush()
        elif b'"type":"result"' in line:
            process.stdin.close()
    usage = ended(process)
    receiver.close()
    cpu = usage.ru_utime + usage.ru_stime + time.thread_time() - ours
    return Took(time.perf_counter() - started, cpu), b"".join(lines)
