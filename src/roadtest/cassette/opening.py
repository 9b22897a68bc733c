"""Which session serves a run: the mode, what is on disk, and what has changed decide."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, TypeAlias

from roadtest.cassette import files
from roadtest.cassette.fingerprint import context_differences
from roadtest.cassette.reading import Reader
from roadtest.cassette.record import RecordSession, Upstream
from roadtest.cassette.records import Cassette, Fingerprints
from roadtest.cassette.redact import Redactor
from roadtest.cassette.replay import ReplaySession
from roadtest.cassette.volatile import Volatile
from roadtest.cassette.wire import Answer, Forward, Request
from roadtest.errors import CassetteError, UsageError
from roadtest.results import Drift, Played, Policies

Mode: TypeAlias = Literal["replay", "record", "rewrite", "live"]
MODES: tuple[Mode, ...] = ("replay", "record", "rewrite", "live")

API = "https://api.anthropic.com"


class CassetteSession:
    """The model's side of one run, from a cassette, into one, or past it.

    Mount it on the server; call ``begin_turn`` before each prompt. When the run is over:

    - ``problem`` says why the run proves nothing, and is empty if all is well;
    - ``drift`` and ``notes`` say what differed from the recording, also without making the run invalid;
    - ``unplayed`` lists recorded answers that were not asked for: unless something else ended the run, it proves nothing;
    - ``save()`` keeps what was recorded, if anything was, whole or not at all. Call it only after a run that is worth
      keeping; a session that is dropped leaves no trace.
    """

    def __init__(
        self,
        inner: ReplaySession | RecordSession | LiveSession,
        folder: Path,
        context: Fingerprints,
        drift: Iterable[Drift] = (),
        named: bool = False,
    ) -> None:
        self._inner = inner
        self._folder = folder
        self._context = context
        self._named = named
        self._drift = list(drift)

    @property
    def played(self) -> Played:
        match self._inner:
            case ReplaySession():
                return "replayed"
            case RecordSession():
                return "recorded"
            case LiveSession():
                return "live"

    @property
    def problem(self) -> str:
        """Why the run proves nothing; empty if all is well."""
        return self._inner.problem

    @property
    def drift(self) -> list[Drift]:
        return [*self._drift, *self._inner.drift]

    @property
    def notes(self) -> list[str]:
        return list(self._inner.notes)

    @property
    def unplayed(self) -> list[str]:
        return list(self._inner.unplayed)

    def answer(self, request: Request) -> Answer:
        return self._inner.answer(request)

    def begin_turn(self) -> None:
        self._inner.begin_turn()

    def end(self) -> None:
        """No further prompt will come; raises where the recording goes on with one."""
        if isinstance(self._inner, ReplaySession) and (left := self._inner.prompts_left):
            raise CassetteError(
                f"The cassette {self._folder} goes on with {left} more {'prompt' if left == 1 else 'prompts'}, "
                "which nobody sent: this is not the conversation that was recorded.",
                hint="record it anew with --cassettes=rewrite",
            )

    def save(self) -> None:
        """Keep what was recorded; does nothing unless recording."""
        if isinstance(self._inner, RecordSession):
            now = datetime.now(UTC).isoformat(timespec="seconds")
            cassette = self._inner.cassette(self._context, now)
            cassette.metadata.named = self._named
            files.save(self._folder, cassette)


class LiveSession:
    """Passes everything on and keeps nothing."""

    problem = ""
    drift: tuple[Drift, ...] = ()
    notes: tuple[str, ...] = ()
    unplayed: tuple[str, ...] = ()

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream

    def answer(self, request: Request) -> Answer:
        return Forward(self._upstream.base_url, self._upstream.headers, _DeafTap())

    def begin_turn(self) -> None:
        pass


class _DeafTap:
    def start(self, status: int, headers: Mapping[str, str]) -> None:
        pass

    def feed(self, data: bytes) -> None:
        pass

    def end(self, failure: str = "") -> None:
        pass


def open_cassette(
    folder: Path,
    *,
    mode: Mode = "replay",
    values: Mapping[str, str],
    context: Fingerprints,
    policies: Policies = Policies(),  # noqa: B008 - frozen
    volatile: Iterable[str] = (),
    environ: Mapping[str, str] = os.environ,
    agent_env: Mapping[str, str] | None = None,
    named: bool = False,
) -> CassetteSession:
    """The session for a run whose cassette lives in ``folder``.

    ``values`` are this run's live values by placeholder name: ``workspace``, ``home``, ``config_dir``, ``tmp``,
    ``session_id``. ``context`` comes from ``fingerprint``. ``environ`` is the user's own: it holds the credentials for
    the upstream, which the agent is not given. Its secrets must not be kept, nor those in ``agent_env``, which it is given.
    ``named`` is told to those who look for cassettes that nobody needs.

    Raises ``CassetteError`` if there is nothing to replay, or it is broken, or stale under ``policies.context == "fail"``.
    """
    reader = Reader(values, Volatile(volatile), Redactor(environ, agent_env or {}))
    context = reader.stored(context)
    if mode == "live":
        return CassetteSession(LiveSession(upstream_of(environ)), folder, context)
    if mode == "rewrite" or (mode == "record" and not _is_fresh(folder, context, policies)):
        return CassetteSession(RecordSession(reader, upstream_of(environ)), folder, context, named=named)
    cassette = _load(folder)
    stale = context_drift(cassette, context, policies)
    if policies.context == "fail" and stale:
        changes = "\n".join(f"  - {item.message}" for item in stale)
        raise CassetteError(
            f"The cassette {folder} is stale: what the model was told has changed since it was recorded.\n{changes}",
            hint="record it anew with --cassettes=record",
        )
    recorded_in = cassette.metadata.context.commit
    session = ReplaySession(cassette, reader, policies, same_files=recorded_in in ("", context.commit))
    return CassetteSession(session, folder, context, stale)


def context_drift(cassette: Cassette, context: Fingerprints, policies: Policies) -> list[Drift]:
    """What changed in the context since the recording."""
    if policies.context == "ignore":
        return []
    return [
        Drift("context", difference, policies.context)
        for difference in context_differences(cassette.metadata.context, context)
    ]


def upstream_of(environ: Mapping[str, str]) -> Upstream:
    """Where to record from: ``ROADTEST_UPSTREAM``, or the base URL that the user has set, or the API."""
    base_url = environ.get("ROADTEST_UPSTREAM") or environ.get("ANTHROPIC_BASE_URL") or API
    if key := environ.get("ANTHROPIC_API_KEY"):
        return Upstream(base_url, {"x-api-key": key})
    if token := environ.get("ANTHROPIC_AUTH_TOKEN"):
        return Upstream(base_url, {"authorization": f"Bearer {token}"})
    if base_url == API:
        raise UsageError(
            "Recording asks the real model, and there is no key for it: neither ANTHROPIC_API_KEY nor ANTHROPIC_AUTH_TOKEN "
            "is set.",
            hint="set one of them, or replay with --cassettes=replay",
        )
    return Upstream(base_url)


def _load(folder: Path) -> Cassette:
    if not files.exists(folder):
        raise CassetteError(
            f"There is no cassette at {folder}.",
            hint="record it with --cassettes=record (this asks the real model)",
        )
    return files.load(folder)


def _is_fresh(folder: Path, context: Fingerprints, policies: Policies) -> bool:
    """Whether there is nothing to record; a cassette that cannot be read is not overwritten unasked."""
    return files.exists(folder) and not context_drift(files.load(folder), context, policies)
