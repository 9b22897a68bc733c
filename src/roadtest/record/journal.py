"""The files of a record, and what a journal among them holds: a header, then a case a line."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from pathlib import Path

RECORD_NAME = "run.json"
JOURNAL_NAME = "cases.jsonl"


def journals_in(folder: Path) -> list[Path]:
    return [path for path in (folder / JOURNAL_NAME, *sorted(folder.glob("cases-*.jsonl"))) if path.is_file()]


def is_held(journal: Path) -> bool:
    """Is the process that writes this journal alive? It holds a lock for as long as it has the file open."""
    try:
        with journal.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def whole_lines(journal: Path) -> Iterator[bytes]:
    """The cases of a journal: all lines but the header, and but a last one that its writer did not end."""
    with journal.open("rb") as file:
        next(file, None)
        yield from (line[:-1] for line in file if line.endswith(b"\n"))
