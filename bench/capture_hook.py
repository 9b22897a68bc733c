"""What capturing a call costs: the hook as a process of its own, and many events inside a session of Claude Code.

Runs that roadtest starts are *asked* about their events; *active* and *inactive* is the installed script.
"""

from __future__ import annotations

import json
import os
import shlex
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from bench import bare
from bench.environment import plain
from bench.measure import Rounds, Took, clock, command, interleave
from bench.question import Question, Setup, compare
from bench.results import Figure, Target, Unit
from roadtest.capture import Receiver, hook_settings

APPEND, NOTHING, NO_HOOK = "sh -c 'cat >> file'", "sh -c :", "no hook"
ASKED, ACTIVE, INACTIVE = "asked", "active", "inactive"
TARGETS = {ASKED: (APPEND, 1.25), ACTIVE: (APPEND, 1.25), INACTIVE: (NOTHING, 1.0)}
BURST = 16
EVENTS = ("PreToolUse", "PostToolUse", "PostToolBatch")
"""What happens at every call."""


def measure(setup: Setup) -> tuple[list[Figure], list[str]]:
    return [*_alone(setup), *_in_session(setup)], []


def _handlers(folder: Path) -> dict[str, tuple[str, dict[str, str]]]:
    """Shell command and environment of each contender."""
    installed = hook_settings(compile_in=folder)["hooks"]["PreToolUse"][0]["hooks"][0]["command"]
    test = {"TEST_RUN_ID": "bench", "ROADTEST_OUTPUT_DIR": str(folder / "out")}
    return {
        ACTIVE: (installed, {"TEST_MODE": "true", **test}),
        INACTIVE: (installed, test),
        APPEND: (f"cat >> {shlex.quote(str(folder / 'appended.jsonl'))}", {}),
        NOTHING: (":", {}),
    }


# Alone


def _alone(setup: Setup) -> list[Figure]:
    event = setup.folder / "event.json"
    event.write_text(json.dumps(_event()))
    contenders = {name: _burst(shell, more, event) for name, (shell, more) in _handlers(setup.folder).items()}
    return list(_figures(Rounds(interleave(contenders, setup.rounds)), "the process alone, {}", "ms"))


def _burst(shell: str, more: Mapping[str, str], event: Path) -> Callable[[], float]:
    """Seconds of one hook run, over a burst of them; started as cheaply as the system allows."""
    environ = {**plain(), **more}

    def one() -> None:
        actions = [(os.POSIX_SPAWN_OPEN, 0, str(event), os.O_RDONLY, 0)]
        pid = os.posix_spawn("/bin/sh", ["sh", "-c", shell], environ, file_actions=actions)
        _, status = os.waitpid(pid, 0)
        if status:
            raise RuntimeError(f"status {status}: {shell}")

    return lambda: clock(one, BURST)


def _event() -> dict[str, object]:
    return {
        "session_id": "0d4e7a52-5b0e-4a6f-9d3c-6b1f6c1f2a11",
        "transcript_path": "/home/user/.claude/projects/project/0d4e7a52-5b0e-4a6f-9d3c-6b1f6c1f2a11.jsonl",
        "cwd": "/home/user/project",
        "permission_mode": "default",
        "hook_event_name": "PostToolUse",
        "tool_name": "Read",
        "tool_input": {"file_path": "/home/user/project/src/main.py"},
        "tool_response": {"type": "text", "file": {"filePath": "src/main.py", "content": "x = 1\n" * 100}},
        "tool_use_id": "toolu_01A09q90qw90lq917835lq9",
        "duration_ms": 3,
    }


# In a session


def _in_session(setup: Setup) -> list[Figure]:
    """The same handlers at every call, in one run of Claude Code; what no hook takes is taken off."""
    calls = 2 if setup.quick else 32
    (setup.folder / "read.txt").write_text("x = 1\n" * 100)
    reads = [[bare.call("Read", number, file_path=str(setup.folder / "read.txt"))] for number in range(calls)]
    with bare.canned_model([*reads, [bare.say("Done.")]], setup.folder) as model:
        took = interleave(_sessions(setup, model.url), setup.rounds)
    lines = (setup.folder / ASKED / "tool-calls.jsonl").read_bytes().count(b"\n")
    if lines != 2 * calls * (setup.rounds + 1):
        raise RuntimeError(f"{lines} lines")
    events = calls * len(EVENTS)
    return [
        *_figures(Rounds.of(took, "wall").minus(NO_HOOK, events), "added to a session, {}", "ms"),
        *_figures(
            Rounds.of(took, "cpu").minus(NO_HOOK, events), "added to a session, {}, processor time", "ms"
        ),
    ]


def _sessions(setup: Setup, model: str) -> dict[str, Callable[[], Took]]:
    handlers = {NO_HOOK: ("", {}), **_handlers(setup.folder)}
    commands = {name: _session(setup, model, shell, more) for name, (shell, more) in handlers.items()}
    return {ASKED: _asked(setup, model), **commands}


def _session(setup: Setup, model: str, shell: str, more: Mapping[str, str]) -> Callable[[], Took]:
    groups = [{"hooks": [{"type": "command", "command": shell}]}]
    hooks = dict.fromkeys(EVENTS, groups) if shell else {}
    argv = bare.claude_command("Read it.", more=("--settings", json.dumps({"hooks": hooks})))

    def run() -> Took:
        folder = Path(tempfile.mkdtemp(dir=setup.folder))
        return command(argv, env=bare.environment(folder, model, **more), cwd=setup.folder)

    return run


def _asked(setup: Setup, model: str) -> Callable[[], Took]:
    """All that a run of roadtest is asked about, so a few events more."""

    def run() -> Took:
        folder = Path(tempfile.mkdtemp(dir=setup.folder))
        receiver = Receiver(setup.folder / ASKED, {}, folder / "spool")
        took, _ = bare.talk("Read it.", receiver, env=bare.environment(folder, model), cwd=setup.folder)
        if receiver.problems:
            raise RuntimeError(receiver.problems[0])
        return took

    return run


def _figures(rounds: Rounds, case: str, unit: Unit) -> Iterator[Figure]:
    for ours, (theirs, limit) in TARGETS.items():
        if ours not in rounds.samples:
            continue
        yield from compare(rounds, ours, {theirs: Target("ratio", limit)}, case=case.format(ours), unit=unit)


QUESTION = Question("capture-hook", "What does capturing a call cost?", measure, rounds=15)
