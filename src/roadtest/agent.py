"""Run Claude Code from a test: the ``agent`` fixture, and ``run_agent`` for everywhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from roadtest.cassette import Mode
from roadtest.claude_code import ClaudeCode
from roadtest.config import new_run_id
from roadtest.errors import InvalidRun, UsageError
from roadtest.evals.cases import distinct_slug, slug
from roadtest.installation import find_claude
from roadtest.place import Place
from roadtest.results import Run
from roadtest.runner import Conversation, converse, run_once

if TYPE_CHECKING:
    import pytest

    from roadtest.plugin.session import EvalSession


class LiveRun(Run, dict=True):
    """A run whose session is still there, so that it can go on."""

    def resume(self, prompt: str) -> LiveRun:
        """Send the next prompt on the same session, in the same workspace, to the same cassette."""
        agent: Agent = self.__dict__["agent"]
        return agent._send(self.__dict__["conversation"], prompt, self.__dict__["allow_invalid"])  # noqa: SLF001


class Agent:
    """What the ``agent`` fixture gives: ``agent.run("prompt", allowed_tools=[...])``.

    Workspaces and sessions stay until the test ends, so that the test can look into them and go on talking.
    """

    def __init__(self, place: Callable[[int], Place], defaults: ClaudeCode) -> None:
        self._place = place
        self._defaults = defaults
        self._stack = ExitStack()
        self._started = 0
        self.runs: list[Run] = []
        self.folder = ""
        """Where the calls of the last run lie, under the folder of the session."""

    def run(self, prompt: str, *, allow_invalid: bool = False, **options: Any) -> LiveRun:
        """Run Claude Code once; ``options`` are those of ``ClaudeCode``.

        A run that proves nothing raises InvalidRun, which the plugin reports as an error, not as a failure.
        ``allow_invalid=True`` returns it instead, for tests of what happens then.
        """
        task = task_from(options, self._defaults)
        self._started += 1
        place = self._place(self._started)
        self.folder = place.test_id.partition("/")[2]
        conversation = self._stack.enter_context(converse(task, place))
        return self._send(conversation, prompt, allow_invalid)

    def _send(self, conversation: Conversation, prompt: str, allow_invalid: bool) -> LiveRun:
        run = conversation.send(prompt)
        self.runs.append(run)
        if run.invalid and not allow_invalid:
            raise InvalidRun(
                run.invalid, hint="the run proves nothing, so this test neither passed nor failed"
            )
        live = LiveRun(**msgspec.structs.asdict(run))
        live.__dict__.update(agent=self, conversation=conversation, allow_invalid=allow_invalid)
        return live


def task_from(options: Mapping[str, Any], base: ClaudeCode | None = None) -> ClaudeCode:
    """``ClaudeCode`` with these options over those of ``base``."""
    known = {item.name for item in fields(ClaudeCode)}
    if unknown := [name for name in options if name not in known]:
        raise UsageError(
            f"ClaudeCode has no option {unknown[0]!r}.", hint=f"its options are {', '.join(sorted(known))}"
        )
    inherited = {name: getattr(base, name) for name in known} if base else {}
    return ClaudeCode(**{**inherited, **options})


def cassette_of(node: pytest.Item) -> Path:
    """The folder of the first run of a test; later ones have folders of their own inside."""
    return node.path.parent / "cassettes" / distinct_slug(node.path.stem) / distinct_slug(_name_in_file(node))


@contextmanager
def open_agent(evals: EvalSession, node: pytest.Item) -> Iterator[Agent]:
    """The agent of one test; marks closer to the test win over those of its class and module."""
    options: dict[str, Any] = {}
    for mark in reversed(list(node.iter_markers("agent"))):
        options |= mark.kwargs
    model = evals.settings.agent_model
    defaults = task_from({**options, **({"model": model} if model else {})})
    # By path and class too: another process of pytest-xdist cannot know which names are taken here.
    file = node.nodeid.partition("::")[0].removesuffix(".py")
    name = f"{slug(file)}.{slug(_name_in_file(node))}"
    cassette = cassette_of(node)

    def place(number: int) -> Place:
        folder = cassette if number == 1 else cassette / f"run-{number}"
        return replace(evals.place(evals.unique_test_id(name), node.path.parent), cassette=folder)

    agent = Agent(place, defaults)
    with agent._stack:  # noqa: SLF001 - what one test opened ends with it
        yield agent


def _name_in_file(node: pytest.Item) -> str:
    return node.nodeid.partition("::")[2] or node.name


def run_agent(
    prompt: str,
    *,
    allowed_tools: Sequence[str] = (),
    max_turns: int | None = None,
    test_id: str | None = None,
    base: str | Path = ".",
    output_dir: str | Path = "test-output",
    cassette: str | Path | None = None,
    cassettes: Mode = "replay",
    **options: Any,
) -> Run:
    """Run Claude Code once, outside of pytest; the calls stay readable by ``get_tool_calls(test_id)``.

    The model's answers come from the folder ``cassette``, or go there, as ``cassettes`` says; or they are written by hand
    with ``script=``. A run that proves nothing is returned with ``run.invalid`` saying why.
    """
    place = Place(
        test_id=test_id or new_run_id(),
        base=Path(base).resolve(),
        output_dir=Path(output_dir).resolve(),
        claude=find_claude().path,
        cassette=Path(base, cassette).resolve() if cassette is not None else None,
        cassette_named=True,
        cassettes=cassettes,
    )
    task = task_from({"allowed_tools": allowed_tools, "max_turns": max_turns, **options})
    return run_once(task, prompt, place)
