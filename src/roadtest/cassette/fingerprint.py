"""What an answer of the model depends on besides the conversation: instructions, skills, agents, settings, options.

Each file is digested by itself, so that a stale cassette can name the one that changed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from roadtest.cassette.canonical import digest
from roadtest.cassette.records import Fingerprints

_MEMORY = frozenset({"CLAUDE.md", "CLAUDE.local.md", "AGENTS.md"})
_PROJECT_FILES = frozenset({".mcp.json"})
_NOT_CONTEXT = frozenset({".git", ".venv", "__pycache__", "node_modules", "worktrees"})
_NOT_SEARCHED = _NOT_CONTEXT | {".claude", ".hg", ".svn", ".trees", "venv"}
_IMPORT = re.compile(r"(?<![\w`])@([^\s`@]+)")
_DEEPEST_IMPORT = 5
_LONGEST_VALUE = 80


def fingerprint(
    workspace: Path,
    *,
    prompt: str = "",
    options: Mapping[str, Any] | None = None,
    plugins: Iterable[Path] = (),
) -> Fingerprints:
    """The context of a run in this workspace, before the run changes anything in it."""
    return Fingerprints(
        prompt=digest(prompt) if prompt else "",
        options={name: _shown(value) for name, value in (options or {}).items() if value},
        files=dict(sorted(_files(workspace, plugins))),
        commit=_commit(workspace / ".git"),
    )


def context_differences(recorded: Fingerprints, live: Fingerprints) -> Iterator[str]:
    """What changed since the recording, a line each; a cassette that was written by hand depends on nothing."""
    if recorded == Fingerprints():
        return
    if recorded.prompt and live.prompt and recorded.prompt != live.prompt:
        yield "the prompt changed"
    for name in sorted(recorded.options.keys() | live.options.keys()):
        before, now = recorded.options.get(name), live.options.get(name)
        if before != now:
            yield f"option {name} changed from {_said(before)} to {_said(now)}"
    for name in sorted(recorded.files.keys() | live.files.keys()):
        if name not in live.files:
            yield f"{name} is gone"
        elif name not in recorded.files:
            yield f"{name} is new"
        elif recorded.files[name] != live.files[name]:
            yield f"{name} changed"


def _commit(git_dir: Path) -> str:
    """The commit that is checked out, read without starting git; empty where there is none."""
    try:
        kind, _, ref = (git_dir / "HEAD").read_text().strip().partition(": ")
        return (git_dir / ref).read_text().strip() if ref else kind
    except OSError:
        return ""


def _files(workspace: Path, plugins: Iterable[Path]) -> Iterator[tuple[str, str]]:
    for path in _context_files(workspace):
        yield path.relative_to(workspace).as_posix(), digest(path.read_bytes())
        yield from _imports(path, workspace, 1)
    for plugin in plugins:
        for path in _below(plugin, _NOT_CONTEXT):
            yield f"plugin {plugin.name}: {path.relative_to(plugin).as_posix()}", digest(path.read_bytes())


def _context_files(workspace: Path) -> Iterator[Path]:
    for path in _below(workspace, _NOT_SEARCHED):
        if path.name in _MEMORY or (path.name in _PROJECT_FILES and path.parent == workspace):
            yield path
    yield from _below(workspace / ".claude", _NOT_CONTEXT)


def _below(folder: Path, without: frozenset[str]) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(set(folders) - without)
        yield from (path for name in names if (path := Path(parent, name)).is_file())


def _imports(path: Path, workspace: Path, depth: int) -> Iterator[tuple[str, str]]:
    """Files that a memory file pulls in with ``@path``."""
    if path.suffix != ".md" or depth > _DEEPEST_IMPORT:
        return
    for named in _IMPORT.findall(path.read_text("utf-8", "replace")):
        target = (path.parent / named.rstrip(".,;:)")).resolve()
        if target.is_relative_to(workspace.resolve()) and target.is_file():
            yield target.relative_to(workspace.resolve()).as_posix(), digest(target.read_bytes())
            yield from _imports(target, workspace, depth + 1)


def _shown(value: Any) -> Any:
    """A value as it is where a person can read it, otherwise its digest."""
    encoded = msgspec.json.encode(value, enc_hook=str, order="sorted")
    return msgspec.json.decode(encoded) if len(encoded) <= _LONGEST_VALUE else f"sha256:{digest(encoded)}"


def _said(value: Any) -> str:
    return "nothing" if value is None else msgspec.json.encode(value).decode()
