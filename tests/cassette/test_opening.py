from __future__ import annotations

from pathlib import Path

import pytest

from roadtest.cassette import Fingerprints, Mode, files, open_cassette
from roadtest.cassette.opening import upstream_of
from roadtest.errors import CassetteError, UsageError
from roadtest.results import Policies
from tests.cassette.test_files import cassette

KEY = {"ANTHROPIC_API_KEY": "a-key-for-the-upstream"}
OLD, NEW = Fingerprints(files={"CLAUDE.md": "1"}), Fingerprints(files={"CLAUDE.md": "2"})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    recorded = cassette("x")
    recorded.metadata.context = OLD
    files.save(tmp_path / "c", recorded)
    return tmp_path / "c"


def played(
    folder: Path,
    mode: Mode,
    context: Fingerprints = OLD,
    policies: Policies = Policies(),  # noqa: B008 - frozen
) -> str:
    session = open_cassette(folder, mode=mode, values={}, context=context, policies=policies, environ=KEY)
    return session.played


@pytest.mark.parametrize(
    ("mode", "fresh", "stale", "missing"),
    [
        ("replay", "replayed", "error", "error"),
        ("record", "replayed", "recorded", "recorded"),
        ("rewrite", "recorded", "recorded", "recorded"),
        ("live", "live", "live", "live"),
    ],
)
def test_modes(folder: Path, mode: Mode, fresh: str, stale: str, missing: str) -> None:
    """Each mode replays, records or refuses, depending on what is there."""
    assert played(folder, mode) == fresh
    for place, context, outcome in ((folder, NEW, stale), (folder / "none", OLD, missing)):
        if outcome == "error":
            with pytest.raises(CassetteError):
                played(place, mode, context)
        else:
            assert played(place, mode, context) == outcome


def test_a_stale_cassette_names_what_changed(folder: Path) -> None:
    """The error names the file and how to record anew; under other policies the run goes on."""
    with pytest.raises(CassetteError) as caught:
        played(folder, "replay", NEW)
    assert "CLAUDE.md changed" in caught.value.message
    assert str(folder) in caught.value.message
    assert "--cassettes=record" in caught.value.hint
    assert played(folder, "replay", NEW, Policies(context="warn")) == "replayed"
    assert played(folder, "record", NEW, Policies(context="ignore")) == "replayed"


@pytest.mark.parametrize("mode", ["replay", "record"])
def test_what_cannot_be_read_is_not_overwritten_unasked(folder: Path, mode: Mode) -> None:
    """A cassette of a newer format or a broken one is an error in mode record too; rewrite replaces it."""
    (folder / "metadata.json").write_text('{"format": 99}')
    with pytest.raises(CassetteError, match="format 99"):
        played(folder, mode)
    assert played(folder, "rewrite") == "recorded"


def test_where_the_model_is() -> None:
    """The upstream is the one named for recording, else the user's own, else the API, with the user's credentials."""
    assert upstream_of(KEY).base_url == "https://api.anthropic.com"
    assert upstream_of({**KEY, "ANTHROPIC_BASE_URL": "http://gateway"}).base_url == "http://gateway"
    both = {"ANTHROPIC_BASE_URL": "http://gateway", "ROADTEST_UPSTREAM": "http://up"}
    assert upstream_of(both).base_url == "http://up"
    assert upstream_of(KEY).headers == {"x-api-key": KEY["ANTHROPIC_API_KEY"]}
    assert upstream_of({"ANTHROPIC_AUTH_TOKEN": "t"}).headers == {"authorization": "Bearer t"}


def test_recording_without_a_key_says_so(tmp_path: Path) -> None:
    """The API needs a key, and the error says which variable to set."""
    with pytest.raises(UsageError, match="ANTHROPIC_API_KEY"):
        open_cassette(tmp_path / "c", mode="rewrite", values={}, context=OLD, environ={})


def test_secrets_in_options_do_not_reach_the_disk(tmp_path: Path) -> None:
    """Options are stored without secrets, and a replay with the same secret is not stale."""
    environ = {**KEY, "SERVICE_TOKEN": "tok-" + "a1b2c3d4" * 3}
    context = Fingerprints(options={"append_system_prompt": f"use {environ['SERVICE_TOKEN']}"})
    session = open_cassette(tmp_path / "c", mode="rewrite", values={}, context=context, environ=environ)
    assert environ["SERVICE_TOKEN"] not in str(session._context)
    recorded = cassette("x")
    recorded.metadata.context = session._context
    files.save(tmp_path / "c", recorded)
    again = open_cassette(tmp_path / "c", values={}, context=context, environ=environ)
    assert again.played == "replayed"
