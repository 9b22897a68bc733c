"""Cassettes on disk: ``metadata.json`` and a ``request-N.json`` and ``response-N.json`` for each exchange.

A folder is there whole or not at all. It is written beside its place under a hidden name, synced, and put in place by one
rename, or by exchanging the two folders where there is an older one. A reader holds on to the folder it opened, so a
recorder that finishes meanwhile cannot mix old files with new ones under its hands.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from roadtest.cassette.exchange_folders import exchange_folders
from roadtest.cassette.records import (
    FORMAT,
    Cassette,
    Exchange,
    Metadata,
    RecordedRequest,
    RecordedResponse,
)
from roadtest.errors import CassetteError
from roadtest.temporary import locked

METADATA = "metadata.json"
_HIDDEN = re.compile(r"\.(?P<name>.+)\.(?:new|old)-\w+")
_ATTEMPTS = 5
T = TypeVar("T")


def exists(folder: Path) -> bool:
    return (_current(folder) / METADATA).is_file()


def load(folder: Path) -> Cassette:
    """Read a cassette; raises ``CassetteError``, naming the file, if any of it is missing or broken."""
    for _ in range(_ATTEMPTS):
        with _opened(folder) as directory:
            try:
                return _read(folder, directory)
            except CassetteError:
                if not _was_replaced(folder, directory):
                    raise
    raise CassetteError(f"{folder} is being rewritten without end.", hint="stop the other recorder")


def save(folder: Path, cassette: Cassette) -> None:
    """Put the cassette in its place, whole or not at all."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with locked(folder):
            _sweep(folder)
            new = Path(tempfile.mkdtemp(prefix=f".{folder.name}.new-", dir=folder.parent))
            try:
                _write(new, cassette)
                _put_in_place(new, folder)
            finally:
                shutil.rmtree(new, ignore_errors=True)
    except OSError as problem:
        raise CassetteError(
            f"The recording could not be saved to {folder}: {problem.strerror or problem}. Nothing was changed there.",
            hint="make room or give access, then record again",
        ) from problem


def encode(record: Any) -> bytes:
    """A record as the JSON that a person reviews."""
    return msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n"


def is_leftover(path: Path) -> bool:
    """Whether this folder was left by a recorder that was killed."""
    return _HIDDEN.fullmatch(path.name) is not None


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    try:
        directory = os.open(_current(folder), os.O_RDONLY | os.O_DIRECTORY)
    except OSError as problem:
        raise CassetteError(
            f"There is no cassette at {folder} ({problem.strerror}).",
            hint="record it with --cassettes=record",
        ) from problem
    try:
        yield directory
    finally:
        os.close(directory)


def _current(folder: Path) -> Path:
    """The folder, or what it was before a recorder was killed between taking the old one away and putting the new."""
    if not folder.exists():
        for old in folder.parent.glob(f".{glob.escape(folder.name)}.old-*"):
            return old
    return folder


def _was_replaced(folder: Path, directory: int) -> bool:
    try:
        return not os.path.samestat(_current(folder).stat(), os.fstat(directory))
    except FileNotFoundError:
        return True


def _read(folder: Path, directory: int) -> Cassette:
    metadata = _read_metadata(folder, directory)
    numbers = range(1, metadata.exchanges + 1)
    extra = {name for name in os.listdir(directory) if re.fullmatch(r"(?:request|response)-\d+\.json", name)}
    extra -= {f"{kind}-{number}.json" for kind in ("request", "response") for number in numbers}
    if extra:
        raise _broken(folder / min(extra), f"{METADATA} counts {metadata.exchanges} exchanges only")
    exchanges = [
        Exchange(
            number,
            _read_record(folder, directory, f"request-{number}.json", RecordedRequest),
            _read_response(folder, directory, number),
        )
        for number in numbers
    ]
    _check_references(folder, exchanges)
    return Cassette(metadata, exchanges)


def _read_metadata(folder: Path, directory: int) -> Metadata:
    data = _read_file(folder, directory, METADATA)
    try:
        version = msgspec.json.decode(data, type=dict[str, Any]).get("format")
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise _broken(folder / METADATA, str(problem)) from problem
    if isinstance(version, int) and version > FORMAT:
        raise CassetteError(
            f"{folder / METADATA} is of format {version}; this roadtest reads up to format {FORMAT}.",
            hint="upgrade roadtest, or record it anew with --cassettes=rewrite",
        )
    if version != FORMAT:
        raise _broken(folder / METADATA, f"its format is {version!r}, not a number from 1 to {FORMAT}")
    return _decode(folder / METADATA, data, Metadata)


def _read_response(folder: Path, directory: int, number: int) -> RecordedResponse:
    name = f"response-{number}.json"
    response = _read_record(folder, directory, name, RecordedResponse)
    content = response.message.get("content") if response.message is not None else None
    if (response.message is None) == (response.error is None):
        raise _broken(folder / name, "it needs either a message or an error")
    if response.message is not None and not (
        isinstance(content, list) and all(isinstance(block, dict) and "type" in block for block in content)
    ):
        raise _broken(folder / name, "the content of its message is not a list of blocks")
    return response


def _check_references(folder: Path, exchanges: list[Exchange]) -> None:
    for exchange in exchanges:
        continues = exchange.request.continues
        if continues is not None and not 0 < continues < exchange.number:
            raise _broken(
                folder / f"request-{exchange.number}.json",
                f"it continues response {continues}, which is not before it",
            )


def _read_record(folder: Path, directory: int, name: str, kind: type[T]) -> T:
    return _decode(folder / name, _read_file(folder, directory, name), kind)


def _read_file(folder: Path, directory: int, name: str) -> bytes:
    try:
        with open(os.open(name, os.O_RDONLY, dir_fd=directory), "rb") as file:  # noqa: PTH123 - a path would be looked up anew
            return file.read()
    except OSError as problem:
        raise _broken(folder / name, problem.strerror or str(problem)) from problem


def _decode(path: Path, data: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise _broken(path, str(problem)) from problem


def _broken(path: Path, why: str) -> CassetteError:
    return CassetteError(
        f"The cassette is broken: {path}: {why}.",
        hint="restore the file, or record it anew with --cassettes=rewrite",
    )


def _write(folder: Path, cassette: Cassette) -> None:
    folder.chmod(0o755)
    for exchange in cassette.exchanges:
        _write_file(folder / f"request-{exchange.number}.json", encode(exchange.request))
        _write_file(folder / f"response-{exchange.number}.json", encode(exchange.response))
    _write_file(folder / METADATA, encode(cassette.metadata))
    _sync(folder)


def _write_file(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _put_in_place(new: Path, folder: Path) -> None:
    """Afterwards ``new`` holds what was there before, if anything was."""
    if not folder.exists():
        new.rename(folder)
    else:
        if not exchange_folders(new, folder):
            # Between these two renames there is nothing in its place; readers and recorders look beside it.
            old = folder.with_name(f".{folder.name}.old-{new.name.rpartition('-')[2]}")
            folder.rename(old)
            new.rename(folder)
            old.rename(new)
        _bring_back_trials(new, folder)
    _sync(folder.parent)


def _bring_back_trials(old: Path, folder: Path) -> None:
    """The trials and variants of a case have cassettes of their own, in folders inside its own."""
    for trial in old.iterdir():
        if trial.is_dir() and not (folder / trial.name).exists():
            trial.rename(folder / trial.name)


def _sync(folder: Path) -> None:
    directory = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some file systems cannot sync a folder, and lose nothing by it
            os.fsync(directory)
    finally:
        os.close(directory)


def _sweep(folder: Path) -> None:
    """Put back, or take away, what a recorder of this cassette left when it was killed."""
    for left in sorted(folder.parent.glob(f".{glob.escape(folder.name)}.*-*")):
        if ".old-" in left.name and not folder.exists():
            left.rename(folder)
        else:
            _bring_back_trials(left, folder)
            shutil.rmtree(left, ignore_errors=True)
