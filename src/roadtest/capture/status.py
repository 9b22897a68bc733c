"""Whether the installed hooks would capture, and if not, why."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from roadtest.capture import hook
from roadtest.capture.install import (
    installed_groups,
    packaged_script,
    parse,
    read_text,
    script_of,
    wanted_groups,
)
from roadtest.errors import UsageError

MANAGED = (
    Path("/etc/claude-code/managed-settings.json"),
    Path("/Library/Application Support/ClaudeCode/managed-settings.json"),
)


@dataclass(frozen=True)
class Finding:
    ok: bool
    text: str
    hint: str = ""


def status(files: list[Path], environ: Mapping[str, str]) -> list[Finding]:
    """What speaks for capture and what against it, the files first."""
    findings = [finding for path in files for finding in _of_file(path)]
    if not any(read for path in files if (read := _installed_in(path))):
        places = " or ".join(str(path) for path in files)
        findings.append(Finding(False, f"no hooks are installed in {places}", "roadtest hooks install"))
    return [*findings, *_of_machine(environ), *_of_policy()]


def _installed_in(path: Path) -> bool:
    try:
        return bool(installed_groups(parse(read_text(path) or "{}", path)))
    except UsageError:
        return False


def _of_file(path: Path) -> Iterator[Finding]:
    text = read_text(path)
    if text is None:
        return
    try:
        data = parse(text, path)
    except UsageError as problem:
        yield Finding(False, problem.message, "Claude Code ignores this file; repair it")
        return
    if data.get("disableAllHooks") is True:
        yield Finding(False, f"{path} switches all hooks off", 'remove "disableAllHooks" there')
    if found := installed_groups(data):
        yield from _of_hooks(path, found)


def _of_hooks(path: Path, found: dict[str, list[dict[str, object]]]) -> Iterator[Finding]:
    wanted = wanted_groups(path)
    missing = [event for event in wanted if event not in found]
    if missing:
        yield Finding(False, f"{path} lacks the hooks for {', '.join(missing)}", "roadtest hooks install")
    elif found != wanted:
        yield Finding(False, f"{path} holds the hooks of another version", "roadtest hooks install")
    else:
        yield Finding(True, f"{path} has the hooks for all {len(wanted)} events")
    script = read_text(script_of(path))
    if script is None:
        yield Finding(False, f"{script_of(path)}, which they run, is not there", "roadtest hooks install")
    elif script != packaged_script():
        yield Finding(False, f"{script_of(path)} is of another version", "roadtest hooks install")


def _of_machine(environ: Mapping[str, str]) -> Iterator[Finding]:
    python = shutil.which("python3", path=environ.get("PATH"))
    if python is None:
        yield Finding(
            False, "there is no python3 on PATH to run the hook with", "install Python 3.8 or newer"
        )
    yield _of_shell(environ)


def _of_shell(environ: Mapping[str, str]) -> Finding:
    run_id = environ.get("TEST_RUN_ID", "")
    if environ.get("TEST_MODE") != "true":
        hint = "export TEST_MODE=true TEST_RUN_ID=my-run before you start claude"
        return Finding(False, "this shell does not ask for capture: TEST_MODE is not true", hint)
    try:
        hook.run_id({b"TEST_RUN_ID": os.fsencode(run_id)})
    except hook.Refused as problem:
        return Finding(False, str(problem), "export TEST_RUN_ID=my-run")
    return Finding(True, f"TEST_MODE is true; lines go to the folder {run_id}")


def _of_policy() -> Iterator[Finding]:
    for path in MANAGED:
        data = parse(read_text(path) or "{}", path)
        if data.get("disableAllHooks") is True or data.get("allowManagedHooksOnly") is True:
            yield Finding(False, f"{path}, a policy of this machine, allows no hooks of projects or users")
