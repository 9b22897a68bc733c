"""A long conversation of the real Claude Code, kept as it went over the wire."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench import bare, client
from bench.measure import command

SAID = "Each of these lines is read by the model and comes back with every later request.\n"


@dataclass(frozen=True)
class Traffic:
    model: bare.Canned
    """Still running: it answers the same requests again."""
    log: Path
    asked: list[client.Asked]
    places: dict[str, str]
    """Where Claude Code ran, by the names that a cassette gives to such values."""


@contextmanager
def converse(turns: int, folder: Path) -> Iterator[Traffic]:
    """Let Claude Code read a file in each turn, and keep what it asked."""
    workspace, log, private = folder / "workspace", folder / "log", folder / "private"
    workspace.mkdir(parents=True)
    log.mkdir()
    with bare.canned_model(_turns(turns, workspace), folder, log=log) as model:
        command(
            bare.claude_command("Read them all."), env=bare.environment(private, model.url), cwd=workspace
        )
    asked = client.read(log)
    private_places = {"home": "home", "config_dir": "config", "tmp": "tmp"}
    places = {name: str(private / below) for name, below in private_places.items()}
    session = {"workspace": str(workspace), "session_id": asked[0].headers["x-claude-code-session-id"]}
    with bare.canned_model(_turns(turns, workspace), folder) as model:
        yield Traffic(model, log, asked, places | session)


def _turns(count: int, workspace: Path) -> bare.Turns:
    turns = []
    for number in range(count - 1):
        path = workspace / f"{number}.txt"
        path.write_text(f"File {number}.\n" + SAID * (3 + number % 10))
        turns.append([bare.say(f"Now file {number}."), bare.call("Read", number, file_path=str(path))])
    return [*turns, [bare.say("I have read them all.")]]
