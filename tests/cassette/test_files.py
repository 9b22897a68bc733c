"""Cassettes on disk are whole or not there, whoever writes, reads, fills the disk or is killed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roadtest.cassette import exchange_folders, files
from roadtest.cassette.records import (
    FORMAT,
    Cassette,
    Exchange,
    Fingerprints,
    Lane,
    Metadata,
    News,
    RecordedError,
    RecordedRequest,
    RecordedResponse,
    Result,
)
from roadtest.errors import CassetteError

LEAF = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.text()
    | st.floats(allow_nan=False, allow_infinity=False)
)
JSON = st.recursive(
    LEAF, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
)
BLOCK = st.dictionaries(st.text(), JSON, max_size=3).map(lambda extra: {**extra, "type": "x"})


def cassette(mark: str, size: int = 3) -> Cassette:
    """A cassette in which every file bears the mark."""
    exchanges = [
        Exchange(
            number,
            RecordedRequest("main", number - 1 or None, new=News(results=[Result("t", mark)])),
            RecordedResponse(message={"content": [{"type": "text", "text": mark}]}),
        )
        for number in range(1, size + 1)
    ]
    return Cassette(Metadata(FORMAT, claude_version=mark, exchanges=size), exchanges)


def mark_of(found: Cassette) -> str:
    """The one mark of a cassette; two would mean that two were mixed."""
    marks = {found.metadata.claude_version}
    for exchange in found.exchanges:
        assert exchange.response.message
        marks |= {exchange.request.new.results[0].content, exchange.response.message["content"][0]["text"]}
    (mark,) = marks
    return mark


@settings(
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=10,
)
@given(
    content=st.lists(BLOCK, max_size=3),
    body=JSON,
    text=st.text(),
    options=st.dictionaries(st.text(), JSON, max_size=2),
)
def test_everything_survives_the_disk(
    tmp_path: Path, content: list[Any], body: Any, text: str, options: dict[str, Any]
) -> None:
    """What is saved is what is loaded, whatever blocks, texts and fields it holds."""
    saved = Cassette(
        Metadata(
            FORMAT, "2026-01-02", "2.1", 2, {"agent-1": Lane(text)}, Fingerprints("p", options, {text: "d"})
        ),
        [
            Exchange(
                1,
                RecordedRequest("main", new=News(text=[text])),
                RecordedResponse(message={"content": content}),
            ),
            Exchange(
                2,
                RecordedRequest("agent-1", 1),
                RecordedResponse(error=RecordedError(529, body, {"retry-after": "1"})),
            ),
        ],
    )
    files.save(tmp_path / "c", saved)
    assert files.load(tmp_path / "c") == saved


def test_files_are_for_people(tmp_path: Path) -> None:
    """The files are indented JSON with a line end, and only what they need."""
    files.save(tmp_path / "c", cassette("x", 1))
    assert sorted(path.name for path in (tmp_path / "c").iterdir()) == [
        "metadata.json",
        "request-1.json",
        "response-1.json",
    ]
    text = (tmp_path / "c" / "request-1.json").read_text()
    assert text.startswith('{\n  "lane": "main",\n')
    assert text.endswith("}\n")


def test_nothing_is_left_beside_a_cassette(tmp_path: Path) -> None:
    """Saving over an older cassette leaves the new one only."""
    for mark in ("old", "new"):
        files.save(tmp_path / "c", cassette(mark))
    assert mark_of(files.load(tmp_path / "c")) == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["c"]


def test_trials_inside_a_case_are_kept(tmp_path: Path) -> None:
    """Saving a case does not touch the cassettes of its trials in the folder below."""
    files.save(tmp_path / "c", cassette("old"))
    files.save(tmp_path / "c" / "trial-2", cassette("trial"))
    files.save(tmp_path / "c", cassette("new"))
    assert mark_of(files.load(tmp_path / "c")) == "new"
    assert mark_of(files.load(tmp_path / "c" / "trial-2")) == "trial"


def test_without_exchange_two_renames_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system that cannot swap folders still gets the new cassette whole."""
    monkeypatch.setattr(files, "exchange_folders", lambda *_: False)
    for mark in ("old", "new"):
        files.save(tmp_path / "c", cassette(mark))
    assert mark_of(files.load(tmp_path / "c")) == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["c"]


def test_a_kill_between_two_renames_loses_nothing(tmp_path: Path) -> None:
    """Where folders cannot be swapped, the old cassette is found beside its place, and put back by the next recorder."""
    files.save(tmp_path / "c", cassette("old"))
    (tmp_path / "c").rename(tmp_path / ".c.old-abc")
    files.save(tmp_path / ".c.new-abc", cassette("half", 1))
    assert files.exists(tmp_path / "c")
    assert mark_of(files.load(tmp_path / "c")) == "old"
    files.save(tmp_path / "c", cassette("new"))
    assert mark_of(files.load(tmp_path / "c")) == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["c"]


def test_folders_are_exchanged_at_once(tmp_path: Path) -> None:
    """On this system two folders swap names in one step, and a missing one is an error."""
    (tmp_path / "a" / "one").mkdir(parents=True)
    (tmp_path / "b" / "two").mkdir(parents=True)
    assert exchange_folders.exchange_folders(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "a" / "two").is_dir()
    assert (tmp_path / "b" / "one").is_dir()
    with pytest.raises(FileNotFoundError):
        exchange_folders.exchange_folders(tmp_path / "a", tmp_path / "none")


KILLS = """
import os, random, signal, sys, time
from pathlib import Path
from roadtest.cassette import files
from tests.cassette.test_files import cassette, mark_of

folder, random = Path(sys.argv[1]), random.Random(5)
started = time.monotonic()
files.save(folder, cassette("0"))
length = time.monotonic() - started
for attempt in range(1, 51):
    child = os.fork()
    if not child:
        for number in range(1000):
            files.save(folder, cassette(f"{attempt}-{number}", random.randint(1, 6)))
        os._exit(0)
    time.sleep(random.uniform(0, 4 * length))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    found = files.load(folder)
    mark_of(found)
    assert len(found.exchanges) == found.metadata.exchanges
files.save(folder, cassette("last"))
assert mark_of(files.load(folder)) == "last"
print(sorted(path.name for path in folder.parent.iterdir()))
"""


def test_killed_at_any_moment(tmp_path: Path) -> None:
    """A recorder killed at fifty random points leaves the old cassette or a new one, whole, and nothing after the next."""
    done = _python(KILLS, str(tmp_path / "place" / "c"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "['c']"


WRITER = """
import sys
from pathlib import Path
from roadtest.cassette import files
from tests.cassette.test_files import cassette

for number in range(25):
    files.save(Path(sys.argv[1]), cassette(f"{sys.argv[2]}-{number}", 1 + number % 5))
"""


def test_two_recorders_do_not_mix(tmp_path: Path) -> None:
    """While two processes record the same cassette, a reader sees one or the other, never both or half."""
    files.save(tmp_path / "c", cassette("first"))
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path / "c"), name], cwd=_root())
        for name in "ab"
    ]
    while any(writer.poll() is None for writer in writers):
        mark_of(files.load(tmp_path / "c"))
    assert [writer.returncode for writer in writers] == [0, 0]
    assert mark_of(files.load(tmp_path / "c")) in {"a-24", "b-24"}


FULL = """
import resource, sys
from pathlib import Path
from roadtest.cassette import files
from roadtest.errors import CassetteError
from tests.cassette.test_files import cassette

resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    files.save(Path(sys.argv[1]), cassette("new" * 3000))
except CassetteError as problem:
    print(problem)
"""


def test_a_full_disk_changes_nothing(tmp_path: Path) -> None:
    """When the disk takes no more, the old cassette stays as it was and the error says so."""
    files.save(tmp_path / "c", cassette("old"))
    done = _python(FULL, str(tmp_path / "c"))
    assert "could not be saved" in done.stdout
    assert "Nothing was changed" in done.stdout
    assert mark_of(files.load(tmp_path / "c")) == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["c"]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("metadata.json", b"{", "metadata.json"),
        ("metadata.json", b'{"format": 1, "exchanges": "many"}', "exchanges"),
        ("metadata.json", b"{}", "its format is None"),
        ("request-1.json", b'{"lane": 5}', "request-1.json"),
        ("request-2.json", b'{"lane": "main", "continues": 7}', "continues response 7"),
        ("request-9.json", b"{}", "counts 3 exchanges only"),
        ("response-2.json", b"\xff\xfe", "response-2.json"),
        ("response-2.json", b"{}", "either a message or an error"),
        ("response-3.json", b'{"message": {"content": "text"}}', "not a list of blocks"),
        ("response-3.json", None, "response-3.json"),
    ],
)
def test_a_broken_file_is_named(tmp_path: Path, name: str, content: bytes | None, said: str) -> None:
    """A file that cannot be read is an error that names it and says what to do."""
    files.save(tmp_path / "c", cassette("x"))
    path = tmp_path / "c" / name
    path.unlink() if content is None else path.write_bytes(content)
    with pytest.raises(CassetteError) as caught:
        files.load(tmp_path / "c")
    assert name in caught.value.message
    assert said in caught.value.message
    assert "--cassettes=rewrite" in caught.value.hint


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    """A cassette of a later version says which versions are at odds and how to go on."""
    files.save(tmp_path / "c", cassette("x"))
    metadata = {"format": FORMAT + 1, "whatever": "it holds"}
    (tmp_path / "c" / "metadata.json").write_bytes(msgspec.json.encode(metadata))
    with pytest.raises(CassetteError, match=rf"metadata\.json is of format {FORMAT + 1}") as caught:
        files.load(tmp_path / "c")
    assert "upgrade roadtest" in caught.value.hint


def test_a_missing_cassette_says_how_to_record(tmp_path: Path) -> None:
    """Where there is nothing, the error says so and how to change that."""
    with pytest.raises(CassetteError, match="no cassette") as caught:
        files.load(tmp_path / "c")
    assert "--cassettes=record" in caught.value.hint


def _python(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, *arguments], cwd=_root(), capture_output=True, text=True, check=False
    )


def _root() -> Path:
    return Path(__file__).parents[2]
