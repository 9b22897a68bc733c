"""Git's index file, as far as needed to give its entries other times without reading the files again."""

from __future__ import annotations

import hashlib
import struct
from pathlib import Path

import msgspec

_HEADER = struct.Struct(">4sII")
_NUMBER = struct.Struct(">I")
_TIME = struct.Struct(">II")
_MODIFIED, _MODE, _HASH = 8, 24, 40  # where these are in an entry
_EXTENDED = 0x40
_SHA1 = 20
GITLINK = 0o16


class Entry(msgspec.Struct, frozen=True, gc=False):
    offset: int
    path: bytes
    kind: int
    """What the file is, as the upper four bits of its mode have it."""


class Index:
    """An index of version 2 or 3; all its copies have the same layout, whatever they know about the files."""

    def __init__(self, path: Path, hash_length: int) -> None:
        self._path = path
        self._hash_length = hash_length
        self._data = bytearray(path.read_bytes())
        signature, version, count = _HEADER.unpack_from(self._data)
        if signature != b"DIRC" or version not in (2, 3):
            raise ValueError(f"{path} is not an index of version 2 or 3")
        self.entries: list[Entry] = []
        self._end = _HEADER.size
        for _ in range(count):
            entry, self._end = self._entry(self._end)
            self.entries.append(entry)

    def _entry(self, offset: int) -> tuple[Entry, int]:
        """The entry at this place, and where the next one begins."""
        data, flags = self._data, offset + _HASH + self._hash_length
        name = flags + (4 if data[flags] & _EXTENDED else 2)
        end = data.index(0, name)
        kind = _NUMBER.unpack_from(data, offset + _MODE)[0] >> 12
        return Entry(offset, bytes(data[name:end]), kind), offset + (end - offset + 8) // 8 * 8

    def take_over(self, copy: Path, first: int, last: int) -> None:
        """Learn from a copy what it knows about these entries."""
        start = self.entries[first].offset
        end = self.entries[last].offset if last < len(self.entries) else self._end
        self._data[start:end] = copy.read_bytes()[start:end]

    def set_time(self, entry: Entry, second: int) -> None:
        _TIME.pack_into(self._data, entry.offset + _MODIFIED, second, 0)

    def write(self) -> None:
        digest = hashlib.sha1 if self._hash_length == _SHA1 else hashlib.sha256
        body = self._data[: -self._hash_length]
        self._path.write_bytes(body + digest(body).digest())
