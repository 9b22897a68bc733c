"""What a run was and how it scored: the one record between runner, scorers and reports.

A ``Run`` is one run of Claude Code, a ``CaseResult`` is one trial of one case with its scores, a ``Record``
is all of them with the settings they ran under. Each is JSON through ``to_json`` and ``from_json``;
``FORMAT`` changes when a reader would have to. docs/reference/run-record.md is made from these types.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from roadtest.calls import ToolCall
from roadtest.errors import UsageError
from roadtest.plain import to_plain
from roadtest.statistics import Tally, Verdict
from roadtest.trajectory import Trajectory

FORMAT = 1
_ROUNDING = 1e-9

DriftKind = Literal["context", "result", "harness"]
Policy = Literal["fail", "warn", "ignore"]
Played = Literal["", "replayed", "recorded", "live", "scripted"]


class Score(msgspec.Struct, frozen=True):
    """A value from 0 to 1 that never travels without its reason."""

    value: float
    reason: str = ""
    details: dict[str, Any] = {}
    """Data that the reason was made from, for reports: a trajectory's difference, a judge's answer."""
    name: str = ""

    def __post_init__(self) -> None:
        if not -_ROUNDING <= self.value <= 1 + _ROUNDING:
            raise UsageError(
                f"The score {self.name or 'here'} is {self.value!r}; a score is a number from 0 to 1.",
                hint="divide by the best value that the scorer can give",
            )


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tokens, as the API counts them."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0


class Drift(msgspec.Struct, frozen=True):
    """One way in which the world differs from the recording."""

    kind: DriftKind
    message: str
    policy: Policy = "fail"


class Policies(msgspec.Struct, frozen=True):
    """What each kind of drift does to a run: ``fail`` makes it invalid, ``warn`` notes it."""

    context: Policy = "fail"
    result: Policy = "fail"
    harness: Policy = "warn"


class Run(msgspec.Struct, kw_only=True):
    """One run of Claude Code (or of a custom task) and all that is known about it."""

    output: str = ""
    trajectory: Trajectory = msgspec.field(default_factory=Trajectory)
    usage: Usage = Usage()
    cost_usd: float = 0.0
    duration_s: float = 0.0
    turns: int = 0
    exit_code: int | None = None
    timed_out: bool = False
    session_id: str = ""
    model: str = ""
    claude_version: str = ""
    structured: Any = None
    messages: list[dict[str, Any]] = msgspec.field(default_factory=list)
    """What the CLI streamed; in a record only the beginning and the end of a long conversation."""
    stderr: str = ""
    workspace: Path | None = None
    diff: str = ""
    """What the agent changed in its workspace, as git shows it."""
    changed_files: list[str] | None = None
    """The files it added, changed or removed; None where nobody watched."""
    drift: list[Drift] = msgspec.field(default_factory=list)
    notes: list[str] = msgspec.field(default_factory=list)
    invalid: str = ""
    """Why this run proves nothing; empty when it can be scored."""
    test_id: str = ""
    played: Played = ""
    """Where the model's answers came from."""
    format: int = FORMAT

    @property
    def tools(self) -> list[str]:
        """The names of the tools called, in order."""
        return [call.name for call in self.trajectory]

    @property
    def agents(self) -> list[str]:
        """The types of the subagents that made calls, each once, in order of appearance."""
        return list(dict.fromkeys(call.agent for call in self.trajectory if call.agent))

    def to_json(self) -> bytes:
        return to_json(self)

    @classmethod
    def from_json(cls, data: bytes | str) -> Run:
        return from_json(data, cls)


class CaseResult(msgspec.Struct, kw_only=True):
    """One trial of one case (or one test with the ``agent`` fixture): what ran, how it scored, and why."""

    suite: str
    """The name given to ``describe_eval``; empty for a test with the ``agent`` fixture."""
    case: str
    node_id: str
    """What to give to pytest to run it again."""
    verdict: Verdict
    position: int = 0
    """Its place among all that pytest had collected; reports show cases in this order."""
    file: str = ""
    """The eval file, relative to ``root`` of the record."""
    trial: int = 1
    trials: int = 1
    """How many were planned."""
    pass_if: str = "all"  # noqa: S105 - a rule, no password
    """Which of them must pass, as ``statistics.PassIf.parse`` reads it."""
    variant: str = ""
    tags: list[str] = msgspec.field(default_factory=list)
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)
    input: Any = None
    expected: Any = None
    threshold: float = 0.8
    scores: list[Score] = msgspec.field(default_factory=list)
    reason: str = ""
    """Why it did not pass, in short: the worst score's reason, or why the run is invalid or an error."""
    traceback: str = ""
    runs: list[Run] = msgspec.field(default_factory=list)
    """One for an eval; a test may start several, and each turn of a conversation is one."""
    cassette: str = ""
    """The folder, relative to ``root``; empty where none is involved."""
    played: Played = ""
    folder: str = ""
    """Where capture and whatever else belongs to this trial lies, relative to the folder of the record."""
    started_at: str = ""
    duration_s: float = 0.0
    """From start to verdict: making the workspace, running and scoring; not the wait for a free place."""

    @property
    def run(self) -> Run | None:
        """The last run, which is the only one of an eval."""
        return self.runs[-1] if self.runs else None

    @property
    def cost_usd(self) -> float:
        return sum(run.cost_usd for run in self.runs)

    @property
    def key(self) -> CaseKey:
        return CaseKey(self.file, self.suite, self.case, self.variant)

    @property
    def low_scores(self) -> list[Score]:
        """The scores that kept it from passing, the lowest first."""
        return sorted(
            (score for score in self.scores if score.value < self.threshold), key=lambda score: score.value
        )

    @property
    def title(self) -> str:
        """``suite::case``, with variant and trial where there are several."""
        names = "::".join(filter(None, (self.suite, self.case)))
        marks = [
            *([self.variant] if self.variant else []),
            *([f"trial-{self.trial}"] if self.trials > 1 else []),
        ]
        return f"{names}[{'-'.join(marks)}]" if marks else names


class CaseKey(msgspec.Struct, frozen=True, order=True):
    """What all trials of a case have in common."""

    file: str
    suite: str
    case: str
    variant: str = ""


class Totals(msgspec.Struct, kw_only=True):
    """The sums over all trials of all cases."""

    passed: int = 0
    failed: int = 0
    invalid: int = 0
    error: int = 0
    cost_usd: float = 0.0
    duration_s: float = 0.0
    """Of all cases one after the other; with several at a time the clock shows less."""

    @classmethod
    def of(cls, cases: Iterable[CaseResult]) -> Totals:
        known = list(cases)
        tally = Tally.of(case.verdict for case in known)
        return cls(
            passed=tally.passed,
            failed=tally.failed,
            invalid=tally.invalid,
            error=tally.error,
            cost_usd=sum(case.cost_usd for case in known),
            duration_s=sum(case.duration_s for case in known),
        )


class Git(msgspec.Struct, frozen=True):
    """The state of the repository that the evals ran from."""

    commit: str
    branch: str = ""
    dirty: bool = False


class RecordHeader(msgspec.Struct, kw_only=True):
    """What is known of a record before its first case."""

    run_id: str
    started_at: str
    root: str = ""
    command: list[str] = msgspec.field(default_factory=list)
    settings: dict[str, Any] = msgspec.field(default_factory=dict)
    versions: dict[str, str] = msgspec.field(default_factory=dict)
    """Of roadtest, python, pytest and claude."""
    git: Git | None = None
    format: int = FORMAT


class Record(RecordHeader, kw_only=True):
    """Everything about one run of a suite: the content of ``run.json``, and all that a report may read."""

    cases: list[CaseResult] = msgspec.field(default_factory=list)
    totals: Totals = msgspec.field(default_factory=Totals)
    finished_at: str = ""
    """Empty for a run that still goes on or was killed."""
    exit_status: int | None = None


T = TypeVar("T", Run, CaseResult, RecordHeader, Record)


def to_json(record: msgspec.Struct) -> bytes:
    return msgspec.json.encode(to_plain(record))


def from_json(data: bytes | str, kind: type[T], source: str = "this record") -> T:
    """Read back what ``to_json`` wrote; a newer format or a broken file is an error that names the source."""
    try:
        check_format(data, source)
        return msgspec.json.decode(data, type=kind, dec_hook=_decode)
    except msgspec.MsgspecError as problem:
        raise UsageError(
            f"{source} cannot be read: {problem}", hint="run the evals again to make a new one"
        ) from None


class _Versioned(msgspec.Struct):
    format: int = FORMAT


def check_format(data: bytes | str, source: str) -> None:
    found = msgspec.json.decode(data, type=_Versioned).format
    if found > FORMAT:
        raise UsageError(
            f"{source} has format {found}; this version of roadtest reads up to {FORMAT}.",
            hint="pip install --upgrade roadtest",
        )


def _decode(kind: type, value: Any) -> Any:
    if kind is Trajectory:
        return Trajectory(msgspec.convert(value, list[ToolCall]))
    if kind is Path:
        return Path(value)
    raise NotImplementedError
