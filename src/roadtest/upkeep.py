"""Whether the cassettes of a project are still what its evals need; nothing is run to find out.

The eval files are imported and their cases collected, as ``pytest --collect-only`` does, so that what a case would ask for
can be held against what was recorded.
"""

from __future__ import annotations

import contextlib
import io
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from roadtest.cassette import Fingerprints, shelf
from roadtest.cassette.fingerprint import context_differences
from roadtest.cassette.redact import Redactor
from roadtest.cassette.shelf import Found
from roadtest.claude_code import ClaudeCode
from roadtest.errors import RoadtestError, UsageError
from roadtest.isolation import Workspace, open_world
from roadtest.model_side import context_of
from roadtest.record import find_run, read_record

if TYPE_CHECKING:
    from roadtest.evals.trial import Trial

Kind = Literal["unreadable", "secret", "stale", "unplayed", "orphaned", "leftover"]

_REWRITE = "record it anew with --cassettes=rewrite"
_TRIAL = re.compile(r"(?:trial|run)-\d+")
_COLLECTED = {0, 5}  # something, or nothing


class Problem(msgspec.Struct, frozen=True):
    """One thing that is wrong with a cassette."""

    kind: Kind
    path: Path
    message: str
    hint: str


@dataclass
class Claims:
    """The cases of a project, by the folder in which their cassettes lie."""

    trials: list[Trial] = field(default_factory=list)
    tests: list[Path] = field(default_factory=list)
    """The folders of tests that drive an agent themselves."""

    def orphans(self, found: Sequence[Found]) -> list[Path]:
        """Cassettes that belong to no case or test; another number of trials or runs makes none an orphan."""
        folders = [*(trial.cassette for trial in self.trials), *self.tests]
        claimed = {_case_folder(folder.absolute()) for folder in folders}
        return [
            one.folder
            for one in found
            if _case_folder(one.folder) not in claimed and not (one.cassette and one.cassette.metadata.named)
        ]


def check_cassettes(path: Path, environ: Mapping[str, str]) -> list[Problem]:
    """Everything that is wrong with the cassettes below this folder, by folder."""
    found = shelf.find(path)
    claims = collect(path)
    problems = [
        *_unreadable(found),
        *_secrets(found, Redactor(environ)),
        *_stale(found, claims),
        *_unplayed(found, claims, environ),
        *_orphaned(found, claims),
        *(_leftover(folder) for folder in shelf.leftovers(path)),
    ]
    return sorted(problems, key=lambda problem: problem.path)


def collect(path: Path) -> Claims:
    """The cases that pytest finds around these cassettes; raises ``UsageError`` where it cannot tell."""
    import pytest  # noqa: PLC0415 - listing cassettes needs none of this

    from roadtest.agent import cassette_of  # noqa: PLC0415
    from roadtest.plugin.collection import EvalItem  # noqa: PLC0415

    class Collector:
        def pytest_collection_finish(self, session: pytest.Session) -> None:
            for item in session.items:
                if isinstance(item, EvalItem):
                    claims.trials.append(item.trial)
                elif "agent" in getattr(item, "fixturenames", ()):
                    claims.tests.append(cassette_of(item))

    claims = Claims()
    said = io.StringIO()
    arguments = ["--collect-only", "-q", "-p", "no:cacheprovider", str(_where_evals_are(path))]
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        status = int(pytest.main(arguments, plugins=[Collector()]))
    if status not in _COLLECTED:
        raise UsageError(
            f"The evals around {path} could not be collected, so that nobody can say which cassettes they need.\n"
            f"{said.getvalue().strip()}",
            hint=f"see what this says: pytest --collect-only {_where_evals_are(path)}",
        )
    return claims


def _where_evals_are(path: Path) -> Path:
    """The folder itself, or, of one inside ``cassettes``, the folder that this lies in."""
    inside = [place for place in (path.absolute(), *path.absolute().parents) if place.name == shelf.FOLDER]
    return inside[-1].parent if inside else path


def _case_folder(cassette: Path) -> Path:
    return cassette.parent if _TRIAL.fullmatch(cassette.name) else cassette


def _unreadable(found: Sequence[Found]) -> Iterator[Problem]:
    for one in found:
        if one.problem is not None:
            yield Problem("unreadable", one.folder, one.problem.message, one.problem.hint)


def _secrets(found: Sequence[Found], redactor: Redactor) -> Iterator[Problem]:
    for one in found:
        for path, names in shelf.secrets_in(one.folder, redactor):
            hint = f"{_REWRITE}, and change the secret: it was in a file"
            yield Problem("secret", path, f"holds a secret: {', '.join(names)}", hint)


def _stale(found: Sequence[Found], claims: Claims) -> Iterator[Problem]:
    """What was recorded under other instructions, settings, options or prompts than there are now."""
    cassettes = {one.folder: one.cassette for one in found if one.cassette is not None}
    by_workspace: dict[tuple[Workspace, Path], list[tuple[Trial, ClaudeCode]]] = {}
    for trial in claims.trials:
        task = trial.task if isinstance(trial.task, ClaudeCode) else ClaudeCode()  # as a callable is lent it
        if trial.cassette.absolute() in cassettes and task.script is None:
            by_workspace.setdefault((task.workspace, trial.suite.file.parent), []).append((trial, task))
    for (workspace, base), trials in by_workspace.items():
        with _opened(workspace, base) as path:
            for trial, task in trials:
                folder = trial.cassette.absolute()
                recorded = cassettes[folder].metadata.context
                yield from _changes(
                    folder, task, recorded, context_of(task, str(trial.case.input), path, base)
                )


@contextlib.contextmanager
def _opened(workspace: Workspace, base: Path) -> Iterator[Path]:
    """The workspace as it is before its set-up commands: those would be something run."""
    recipe = msgspec.structs.replace(workspace, setup=())
    with (
        tempfile.TemporaryDirectory() as outputs,
        open_world(recipe, base=base, test_id="check", output_dir=Path(outputs)) as world,
    ):
        yield world.path


def _changes(folder: Path, task: ClaudeCode, recorded: Fingerprints, live: Fingerprints) -> Iterator[Problem]:
    if task.policies().context != "fail":
        return
    if task.workspace.setup:
        # Files may come and go with the set-up; those that were there before it and are there now can be compared.
        recorded, live = _in_both(recorded, live), _in_both(live, recorded)
    if differences := list(context_differences(recorded, live)):
        yield Problem("stale", folder, "; ".join(differences), "record it anew with --cassettes=record")


def _in_both(one: Fingerprints, other: Fingerprints) -> Fingerprints:
    return msgspec.structs.replace(
        one, files={name: digest for name, digest in one.files.items() if name in other.files}
    )


def _unplayed(found: Sequence[Found], claims: Claims, environ: Mapping[str, str]) -> Iterator[Problem]:
    """What the newest run did not ask for, if there was a run."""
    folders = {one.folder for one in found}
    by_node = {trial.node_id: trial.cassette.absolute() for trial in claims.trials}
    try:
        record = read_record(find_run("", Path(environ.get("ROADTEST_OUTPUT_DIR") or "test-output")))
    except RoadtestError:
        return
    for result in record.cases:
        folder = by_node.get(result.node_id)
        for run in result.runs:
            unplayed = [line.strip(" -") for line in run.invalid.splitlines() if "was not asked for" in line]
            if folder in folders and unplayed:
                message = f"in run {record.run_id}, {'; '.join(unplayed)}"
                yield Problem("unplayed", folder, message, _REWRITE)


def _orphaned(found: Sequence[Found], claims: Claims) -> Iterator[Problem]:
    for folder in claims.orphans(found):
        yield Problem("orphaned", folder, "no case claims it", "remove it: roadtest cassettes prune")


def _leftover(folder: Path) -> Problem:
    return Problem(
        "leftover", folder, "left by a recorder that was killed", "remove it: roadtest cassettes prune"
    )
