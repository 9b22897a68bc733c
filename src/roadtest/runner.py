"""One case on the real Claude Code: isolate → serve → run → read back → ``Run``."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic

import msgspec

from roadtest import capture, cassette
from roadtest.capture.stream import Stream
from roadtest.cassette.asking import Endpoint, answering
from roadtest.cassette.faults import FaultySession
from roadtest.cassette.redact import Redactor, redact_jsonl
from roadtest.cassette.server import Mount, shared
from roadtest.claude_code import ClaudeCode
from roadtest.errors import CassetteError, UsageError
from roadtest.isolation import (
    Finished,
    Input,
    World,
    confined,
    engine_refused,
    engine_variables,
    get_ready,
    merge_settings,
    open_world,
    protective_settings,
    run_process,
)
from roadtest.model_side import NoModel, model_side
from roadtest.place import Place
from roadtest.results import Run

DUMMY_KEY = "roadtest-needs-no-key"


def run_once(task: ClaudeCode, prompt: str, place: Place) -> Run:
    """One prompt, one run; the workspace is gone when this returns."""
    with converse(task, place) as conversation:
        return conversation.send(prompt)


@contextmanager
def converse(task: ClaudeCode, place: Place) -> Iterator[Conversation]:
    """A workspace with the model's side served, for one prompt or several on the same session.

    What was recorded is kept when this ends, if every run in it was worth keeping.
    """
    get_ready()
    with (
        open_world(
            task.workspace,
            base=place.base,
            test_id=place.test_id,
            output_dir=place.output_dir,
            keep=place.keep_workspace,
            env=task.env,
            pass_env=task.pass_env,
            settings=task.settings,
        ) as world,
        without_secrets(place.capture_folder, task.env),
        ExitStack() as stack,
    ):
        conversation = Conversation(task, place, world, stack)
        try:
            yield conversation
        finally:
            conversation.keep_recording()
        conversation.end()


@contextmanager
def without_secrets(capture_folder: Path, env: Mapping[str, str]) -> Iterator[None]:
    """Take the secrets out of the captured calls when the run that they belong to is over."""
    try:
        yield
    finally:
        redactor = Redactor(os.environ, env)
        for path in capture_folder.glob("*.jsonl"):
            redact_jsonl(path, redactor)


class Conversation:
    """Each ``send`` is one run of ``claude``; the second and later ones resume the session of the first."""

    def __init__(self, task: ClaudeCode, place: Place, world: World, stack: ExitStack) -> None:
        self._task = task
        self._place = place
        self._world = world
        self._stack = stack
        self._session_id = str(uuid.uuid4())
        self._cassette: cassette.CassetteSession | None = None
        self._no_model: NoModel | None = None
        self._mount: Mount
        self._runs: list[Run] = []

    def send(self, prompt: str) -> Run:
        if not self._runs:
            self._serve(prompt)
        if self._cassette:
            self._cassette.begin_turn()
        stream, dialogue = Stream(), self._dialogue(prompt)
        before = capture.Mark.of(self._place.capture_folder)
        started = monotonic()
        with self._confined(self._argv(prompt, dialogue)) as argv:
            finished = self._follow(argv, stream, dialogue)
        self._receiver.close()
        captured = capture.read(self._place.capture_folder, since=before)
        if dialogue and dialogue.refusal and stream.init:
            self._receiver.problems.append(f"the capture hooks were not taken: {dialogue.refusal}")
        run = self._read_back(stream, captured, finished, monotonic() - started)
        self._runs.append(run)
        return run

    @property
    def workspace(self) -> Path:
        return self._world.path

    def lend(self, prompt: str) -> dict[str, str]:
        """The environment for a ``claude`` that somebody else starts: its calls are captured, its model is served.

        Where there is nothing to serve, that is held against the run only if it asks.
        """
        try:
            self._serve(prompt)
        except (CassetteError, UsageError) as problem:
            self._no_model = NoModel(str(problem))
            self._mount = self._stack.enter_context(shared().mount(self._no_model))
        if self._cassette:
            self._cassette.begin_turn()
        settings = capture.hook_settings(compile_in=self._world.home)
        (self._world.config_dir / "settings.json").write_bytes(msgspec.json.encode(settings))
        return self._environment()

    def take_back(self, run: Run) -> Run:
        """Add to somebody else's run what we saw of it."""
        captured, changes = capture.read(self._place.capture_folder), self._world.changes()
        run = msgspec.structs.replace(
            run,
            workspace=run.workspace or self._world.path,
            diff=run.diff or changes.diff,
            changed_files=list(changes.files) if run.changed_files is None else run.changed_files,
            drift=self._cassette.drift if self._cassette else run.drift,
            played=self._cassette.played if self._cassette else run.played,
            notes=run.notes if self._no_model else [*run.notes, *self._notes()],
            invalid=run.invalid or "\n".join(self._doubts_of_surroundings()),
        )
        if captured.active and not run.trajectory:
            run.trajectory = captured.trajectory
            run.session_id = run.session_id or captured.lifecycle[0].session_id
        self._runs.append(run)
        return run

    def keep_recording(self) -> None:
        """Save what was recorded, unless a run in it proves nothing: that would be replayed for ever."""
        worth_keeping = self._runs and not any(run.invalid or run.timed_out for run in self._runs)
        if worth_keeping and self._cassette:
            self._cassette.save()

    def end(self) -> None:
        """Nothing more will be sent; raises where the recording of a valid conversation goes on."""
        if self._cassette and self._runs and not any(run.invalid or run.timed_out for run in self._runs):
            self._cassette.end()

    def _serve(self, prompt: str) -> None:
        session = model_side(self._task, self._place, self._world, prompt, self._session_id)
        self._served = FaultySession(session, self._task.faults)
        self._receiver = capture.Receiver(
            self._place.capture_folder, self._world.environment(), self._world.home / "roadtest-events"
        )
        self._mount = self._stack.enter_context(shared().mount(self._served))
        if isinstance(session, cassette.CassetteSession):
            self._cassette = session
            self._stack.enter_context(answering(Endpoint(self._mount.base_url)))

    def _dialogue(self, prompt: str) -> capture.Dialogue | None:
        """None where a run has to be told its prompt on the command line, and runs the hook for each event.

        Talked to, Claude Code would not end by itself, and has other limits for what it runs in the background.
        """
        if self._task.background_agents or not prompt.strip():
            return None
        return capture.Dialogue(prompt, self._receiver)

    def _argv(self, prompt: str, dialogue: capture.Dialogue | None) -> list[str]:
        settings_file = self._world.home / "roadtest-settings.json"
        hooks = (
            capture.spooling_settings(self._receiver.spool)
            if dialogue
            else capture.hook_settings(compile_in=self._world.home)
        )
        settings = merge_settings(
            hooks,
            self._task.extra_settings,
            protective_settings(self._world.path, self._environment()),
        )
        settings_file.write_bytes(msgspec.json.encode(settings))
        session = ["--resume" if self._runs else "--session-id", self._session_id]
        told = dialogue.arguments if dialogue else (prompt,)
        command = self._task.command(*told, settings_file=settings_file, base=self._place.base)
        return [str(self._place.claude), *command, *session]

    def _follow(self, argv: list[str], stream: Stream, dialogue: capture.Dialogue | None) -> Finished:
        """Run it to its end; in a dialogue that is ours to decide, and comes with the result."""
        told = Input(dialogue.opening) if dialogue else None

        def on_line(line: bytes) -> None:
            reply = dialogue.reply(line) if dialogue else None
            if reply is None:
                stream.feed(line)
            if told:
                told.say(reply or b"")
                if stream.finished:
                    told.end()

        tuning = engine_variables()
        finished = run_process(
            argv,
            cwd=self._world.path,
            env=tuning | self._environment(),
            timeout=self._task.timeout,
            on_line=on_line,
            cancel=self._place.cancel,
            stdin=told,
        )
        if tuning and not stream.init and engine_refused(finished.stderr):
            return self._follow(argv, stream, dialogue)
        return finished

    @contextmanager
    def _confined(self, argv: list[str]) -> Iterator[list[str]]:
        """The command as it is, or in the sandbox that the task asks for."""
        if self._task.sandbox is None:
            yield argv
            return
        writable = [*self._world.folders, self._place.capture_folder]
        with confined(argv, writable=writable, port=self._mount.port) as inside:
            yield inside

    def _environment(self) -> dict[str, str]:
        """The child's world, with this server as its model and as the only way out."""
        env = self._world.environment()
        env |= {
            "ANTHROPIC_BASE_URL": self._mount.base_url,
            "ANTHROPIC_API_KEY": DUMMY_KEY,
            "HTTP_PROXY": self._mount.proxy_url,
            "HTTPS_PROXY": self._mount.proxy_url,
            "NO_PROXY": "127.0.0.1,localhost",
        }
        if not self._task.background_agents:
            env["CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"] = "1"
        return env

    def _read_back(
        self, stream: Stream, captured: capture.Captured, finished: Finished, duration: float
    ) -> Run:
        reconciled = capture.reconcile(captured, stream)
        changes = self._world.changes()
        doubts = [*self._doubts(stream, finished), *reconciled.problems, *self._receiver.problems]
        return Run(
            output=stream.output,
            trajectory=reconciled.trajectory,
            usage=stream.usage,
            cost_usd=stream.cost_usd,
            duration_s=duration,
            turns=stream.turns,
            exit_code=finished.exit_code,
            timed_out=finished.timed_out,
            session_id=self._session_id,
            model=stream.model,
            claude_version=stream.claude_version,
            structured=stream.structured,
            messages=stream.messages,
            stderr=finished.stderr,
            workspace=self._world.path,
            diff=changes.diff,
            changed_files=list(changes.files),
            notes=[*self._notes(), *finished.killed],
            drift=self._cassette.drift if self._cassette else [],
            invalid="\n".join(doubts),
            test_id=self._place.test_id,
            played=self._cassette.played if self._cassette else "scripted",
        )

    def _notes(self) -> list[str]:
        if self._cassette is None:
            return self._served.unplayed
        warnings = (item.message for item in self._cassette.drift if item.policy == "warn")
        return [*self._served.unplayed, *self._cassette.notes, *warnings]

    def _doubts_of_surroundings(self) -> Iterator[str]:
        for target in self._mount.egress:
            yield f"the run tried to leave the machine: {target}"
        if self._cassette and self._cassette.problem:
            yield self._cassette.problem
        if self._no_model and self._no_model.asked:
            yield self._no_model.problem

    def _doubts(self, stream: Stream, finished: Finished) -> Iterator[str]:
        """Reasons why this run proves nothing, the most telling first."""
        yield from self._doubts_of_surroundings()
        if finished.cancelled:
            yield "the run was cancelled"
        elif self._cassette and self._cassette.problem:
            return
        elif stream.api_error:
            yield f"the model could not be asked: {stream.api_error}"
        elif stream.broken_off:
            yield f"Claude Code broke off the run: {stream.broken_off}"
        elif self._cassette and self._cassette.unplayed and not finished.timed_out:
            yield "the agent stopped before the recording did:\n" + "\n".join(self._cassette.unplayed)
        elif not stream.finished and not finished.timed_out:
            yield f"Claude Code ended with exit code {finished.exit_code} and no result\n{finished.stderr}".rstrip()
