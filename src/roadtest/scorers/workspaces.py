"""Scorers of what the agent left behind in its workspace."""

from __future__ import annotations

import os
import re
import shlex
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from roadtest.errors import UsageError
from roadtest.results import Run, Score
from roadtest.scorers.base import Scorer, named, require_workspace, share, verdict

ALLOWED_ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "TZ", "SYSTEMROOT")
"""All that a command takes over from the environment of the tests."""
_TAIL = 2_000


def file_contains(path: str, *texts: str | re.Pattern[str], partial: bool = False) -> Scorer:
    """The file in the final workspace contains each of these texts or patterns; without any, it exists."""
    _check_inside(path, "file_contains")

    @named("file_contains")
    def score(workspace: Path | None) -> Score:
        folder = require_workspace(workspace, "file_contains").resolve()
        file = (folder / path).resolve()
        if not file.is_relative_to(folder):
            return verdict(False, f"{path} leads out of the workspace")
        if not file.is_file():
            return verdict(False, f"there is no file {path}")
        content = file.read_text(encoding="utf-8", errors="replace")
        missing = [_shown(text) for text in texts if not _is_in(text, content)]
        found = len(texts) - len(missing)
        if not texts:
            return verdict(True, f"{path} exists")
        reason = f"{path} contains {found} of {len(texts)} texts" + (
            f", not {', '.join(missing)}" if missing else ""
        )
        return share(found, len(texts), reason, partial=partial, missing=missing)

    return score


def _is_in(text: str | re.Pattern[str], content: str) -> bool:
    return text in content if isinstance(text, str) else text.search(content) is not None


def _shown(text: str | re.Pattern[str]) -> str:
    return repr(text if isinstance(text, str) else text.pattern)


def only_changes(*globs: str) -> Scorer:
    """The agent changed no file but those that match one of these globs; without any, no file at all.

    ``*`` stays within a folder and ``**`` crosses folders, as in ``src/**/*.py``. What git ignores does not count.
    """
    patterns = [_glob(glob) for glob in globs]

    @named("only_changes")
    def score(run: Run) -> Score:
        if run.changed_files is None:
            raise UsageError(
                "only_changes needs to know which files were changed, and this run does not say.",
                hint="run Claude Code with ClaudeCode(...), or have the task return Run(changed_files=[...])",
            )
        wrong = [
            name for name in run.changed_files if not any(pattern.fullmatch(name) for pattern in patterns)
        ]
        if not wrong:
            return verdict(True, f"{len(run.changed_files)} files were changed, all of them allowed")
        allowed = ", ".join(globs) or "no file"
        return verdict(
            False, f"{', '.join(wrong)} changed; allowed is {allowed}", changed=run.changed_files, wrong=wrong
        )

    return score


def _glob(glob: str) -> re.Pattern[str]:
    """The glob as an expression over paths with slashes."""
    _check_inside(glob, "only_changes")
    parts = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    pieces = re.split(r"(\*\*/|\*\*|\*|\?)", glob.removeprefix("./"))
    expression = "".join(parts.get(piece, re.escape(piece)) for piece in pieces)
    return re.compile(expression + (".*" if glob.endswith("/") else ""), re.DOTALL)


def command_succeeds(
    command: str | Sequence[str], *, timeout: float = 120, env: Mapping[str, str] | None = None
) -> Scorer:
    """The command, run in the final workspace, ends with exit code 0.

    It is not run by a shell; for pipes write ``["sh", "-c", "..."]``. Its environment is made anew: ``PATH`` and the
    locale of the tests, an empty HOME, and ``env``; so no credentials of the tests reach code that an agent wrote.
    """
    argv = shlex.split(command) if isinstance(command, str) else list(command)
    if not argv:
        raise UsageError("command_succeeds needs a command.")
    shown = shlex.join(argv)

    @named("command_succeeds")
    def score(workspace: Path | None) -> Score:
        from roadtest.isolation import run_process  # noqa: PLC0415 - only this scorer starts processes

        folder = require_workspace(workspace, "command_succeeds")
        lines: list[bytes] = []
        with tempfile.TemporaryDirectory(prefix="roadtest-home-") as home:
            done = run_process(
                argv, cwd=folder, env=_environment(home, env or {}), timeout=timeout, on_line=lines.append
            )
        output = b"\n".join(lines).decode("utf-8", "replace")
        if done.timed_out:
            return verdict(False, f"`{shown}` took longer than {timeout:g} s\n{_tail(output, done.stderr)}")
        passed = done.exit_code == 0
        reason = f"`{shown}` ended with exit code {done.exit_code}"
        return verdict(
            passed, reason if passed else f"{reason}\n{_tail(output, done.stderr)}", exit_code=done.exit_code
        )

    return score


def _environment(home: str, env: Mapping[str, str]) -> dict[str, str]:
    taken = {name: os.environ[name] for name in ALLOWED_ENVIRONMENT if name in os.environ}
    return {**taken, "HOME": home, "TMPDIR": home, "PYTHONDONTWRITEBYTECODE": "1", **env}


def _tail(*outputs: str) -> str:
    text = "\n".join(filter(None, (output.strip() for output in outputs)))
    return text if len(text) <= _TAIL else f"…{text[-_TAIL:]}"


def _check_inside(path: str, scorer: str) -> None:
    if not path or PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
        raise UsageError(f"{scorer}: {path!r} is not a path inside the workspace.")
