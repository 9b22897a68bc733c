"""Who answers a run: a script, a cassette, or nobody."""

from __future__ import annotations

import os
from pathlib import Path

from roadtest import cassette
from roadtest.cassette.scripted import ScriptSession
from roadtest.cassette.wire import Answer, Refuse, Request
from roadtest.claude_code import ClaudeCode
from roadtest.errors import UsageError
from roadtest.isolation import World
from roadtest.place import Place


def model_side(
    task: ClaudeCode, place: Place, world: World, prompt: str, session_id: str
) -> ScriptSession | cassette.CassetteSession:
    """The session that answers this run: the script of the task, or the cassette of its place."""
    places = {"workspace": world.path, "home": world.home, "config_dir": world.config_dir, "tmp": world.tmp}
    values = {name: str(path) for name, path in places.items()}
    # A program may tell where a folder really is; the name it goes by comes first.
    values |= {
        f"real_{name}": real for name, path in places.items() if (real := str(path.resolve())) != str(path)
    }
    if task.script is not None:
        return ScriptSession(task.script, values)
    if place.cassette is None:
        raise UsageError(
            "This task has no model to talk to.",
            hint="name the folder of a cassette with cassette=..., or give ClaudeCode(script=script.Script(...))",
        )
    return cassette.open_cassette(
        place.cassette,
        mode=place.cassettes,
        values={**values, "session_id": session_id, "project": str(place.base)},
        context=context_of(task, prompt, world.path, place.base),
        policies=task.policies(),
        volatile=task.volatile,
        environ=os.environ,
        agent_env=task.env,
        named=place.cassette_named,
    )


def context_of(task: ClaudeCode, prompt: str, workspace: Path, base: Path) -> cassette.Fingerprints:
    """What the model's answers depend on, in a workspace that the agent has not changed yet."""
    plugins = [base / plugin for plugin in task.plugins]
    return cassette.fingerprint(workspace, prompt=prompt, options=task.model_options(), plugins=plugins)


class NoModel:
    """The model's side where there is none: says so to whoever asks."""

    def __init__(self, problem: str) -> None:
        self.problem = problem
        self.asked = False

    def answer(self, request: Request) -> Answer:
        self.asked = True
        return Refuse(self.problem)
