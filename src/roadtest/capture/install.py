"""Put the capture hooks into a settings file of Claude Code, and take them out again.

What is installed is meant to be committed and shared: a copy of the hook in ``.claude/hooks/`` and a command that finds
it by ``$CLAUDE_PROJECT_DIR`` and runs it with any ``python3``. Nobody needs roadtest to open the project.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roadtest.capture import hook, json_text
from roadtest.capture.settings import command, groups
from roadtest.errors import UsageError

SCRIPT = "roadtest-capture.py"


@dataclass(frozen=True)
class Change:
    """What a file is and what it is to be; None where there is no file."""

    path: Path
    before: str | None
    after: str | None

    def apply(self) -> None:
        target = self.path.resolve()
        if self.after is None:
            target.unlink(missing_ok=True)
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.with_name(f".{target.name}.{os.getpid()}")
        temporary.write_text(self.after, encoding="utf-8", newline="")
        if target.exists():
            shutil.copymode(target, temporary)
        temporary.replace(target)


def install(settings: Path) -> list[Change]:
    """The changes that put the hooks in; none where they are in already."""
    text = read_text(settings)
    wanted = wanted_groups(settings)
    current = text is not None and installed_groups(parse(text, settings)) == wanted
    after = text if current else _with(_without(text, settings), wanted, settings)
    return _changes((settings, after), (script_of(settings), packaged_script()))


def uninstall(settings: Path) -> list[Change]:
    """The changes that take the hooks out; none where there are none."""
    script = script_of(settings)
    shared = any(installed_groups(parse(text, other)) for other, text in _neighbours(settings))
    return _changes(
        (settings, _without(read_text(settings), settings)), (script, read_text(script) if shared else None)
    )


def remove_empty_folders(settings: Path) -> None:
    """What installing may have made and nothing lives in any more."""
    for folder in (script_of(settings).parent, settings.parent):
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


def wanted_groups(settings: Path) -> dict[str, list[dict[str, Any]]]:
    return groups(command(_reference(settings)))


def installed_groups(data: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Our groups by event."""
    ours = {event: [found[at] for at, *_ in _ours(found)] for event, found in data.get("hooks", {}).items()}
    return {event: found for event, found in ours.items() if found}


def script_of(settings: Path) -> Path:
    return settings.parent / "hooks" / SCRIPT


def packaged_script() -> str:
    return Path(hook.__file__).read_text(encoding="utf-8")


def read_text(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as problem:
        raise UsageError(
            f"{path} is not UTF-8: {problem}", hint="nothing was changed; repair the file"
        ) from None


def parse(text: str, path: Path) -> dict[str, Any]:
    """The settings in a text, refused where they are not what Claude Code could read."""
    try:
        data = json.loads(text.removeprefix("\ufeff"))
    except json.JSONDecodeError as problem:
        place = f"line {problem.lineno}, column {problem.colno}"
        raise UsageError(
            f"{path} is not JSON: {problem.msg} at {place}.", hint="nothing was changed; repair the file"
        ) from None
    if wrong := "; ".join(_misshapen(data)):
        raise UsageError(
            f"{path} is not what Claude Code takes as settings: {wrong}.", hint="nothing was changed"
        )
    settings: dict[str, Any] = data
    return settings


def _misshapen(data: Any) -> Iterator[str]:
    if not isinstance(data, dict):
        yield "it is not an object"
    elif not isinstance(data.get("hooks", {}), dict):
        yield '"hooks" is not an object'
    else:
        yield from (
            f'"hooks.{event}" is not a list'
            for event, found in data.get("hooks", {}).items()
            if not isinstance(found, list)
        )


def _changes(*wanted: tuple[Path, str | None]) -> list[Change]:
    changes = (Change(path, read_text(path), after) for path, after in wanted)
    return [change for change in changes if change.before != change.after]


def _neighbours(settings: Path) -> Iterator[tuple[Path, str]]:
    """The other settings files that use the same copy of the hook."""
    for other in settings.parent.glob("settings*.json"):
        text = read_text(other)
        if other != settings and text is not None:
            yield other, text


def _reference(settings: Path) -> str:
    """How the command names the script: by the project where the settings are a project's own."""
    folder = settings.absolute().parent
    if folder.name == ".claude" and folder.parent != Path.home():
        return f'"$CLAUDE_PROJECT_DIR"/.claude/hooks/{SCRIPT}'
    return shlex.quote(str(script_of(settings).absolute()))


def _ours(found: list[Any]) -> list[tuple[int, ...]]:
    """Positions of groups that are all ours, and of our handlers in groups that others share."""
    positions: list[tuple[int, ...]] = []
    for at, group in enumerate(found):
        handlers = group.get("hooks") if isinstance(group, dict) else None
        every = handlers if isinstance(handlers, list) else []
        mine = [position for position, handler in enumerate(every) if SCRIPT in json.dumps(handler)]
        positions += [(at,)] if mine and len(mine) == len(every) else [(at, position) for position in mine]
    return positions


def _with(text: str | None, wanted: dict[str, list[dict[str, Any]]], path: Path) -> str:
    if text is None:
        return json.dumps({"hooks": wanted}, indent=2) + "\n"
    style = json_text.Style.of(text)
    if "hooks" not in parse(text, path):
        return json_text.insert(text, json_text.root(text), wanted, style, "hooks")
    for event, added in wanted.items():
        _, hooks = _member(text, json_text.root(text), "hooks")
        if event not in parse(text, path)["hooks"]:
            text = json_text.insert(text, hooks, added, style, event)
        else:
            for group in added:
                text = json_text.insert(text, _member(text, hooks, event)[1], group, style)
    return text


def _without(text: str | None, path: Path) -> str | None:
    """The text with our groups cut out, one after another from the end."""
    while text is not None and (found := _last_of_ours(text, path)):
        text = json_text.remove(text, found, json_text.Style.of(text))
    return text


def _last_of_ours(text: str, path: Path) -> list[int]:
    data = parse(text, path)
    if not installed_groups(data):
        return []
    hooks_at, hooks = _member(text, json_text.root(text), "hooks")
    events = json_text.items(text, hooks)
    event_at = max(position for position, item in enumerate(events) if _ours(data["hooks"][item.key]))
    group_at, *handler_at = _ours(data["hooks"][events[event_at].key])[-1]
    if not handler_at:
        return [hooks_at, event_at, group_at]
    group = json_text.items(text, events[event_at].value_start)[group_at]
    return [hooks_at, event_at, group_at, _member(text, group.value_start, "hooks")[0], *handler_at]


def _member(text: str, start: int, key: str) -> tuple[int, int]:
    """Position of the member with this key, and where its value begins; of two with the same key the last counts."""
    found = (
        (at, item.value_start) for at, item in enumerate(json_text.items(text, start)) if item.key == key
    )
    return max(found)
