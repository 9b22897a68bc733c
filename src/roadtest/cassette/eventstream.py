"""Bytes to server-sent events: content encodings, line ends and fields, whatever the pieces."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from roadtest.errors import CassetteError

_AUTODETECT = 32 + zlib.MAX_WBITS  # zlib recognises both the gzip and the zlib header
_BOM = b"\xef\xbb\xbf"


class Inflater:
    """Undoes a ``content-encoding``, piece by piece: some proxies compress though asked for identity."""

    def __init__(self, encoding: str = "") -> None:
        self._encoding = encoding.strip().lower()
        if self._encoding not in {"", "identity", "gzip", "x-gzip", "deflate"}:
            raise CassetteError(
                f"The upstream answered with content-encoding {encoding!r}, which cannot be recorded.",
                hint="let the upstream, or the proxy before it, honour accept-encoding: identity",
            )
        self._compressed = self._encoding not in {"", "identity"}
        self._zlib = zlib.decompressobj(_AUTODETECT)
        self._started = False

    def feed(self, data: bytes) -> bytes:
        if not self._compressed:
            return data
        try:
            return self._inflate(data)
        except zlib.error as problem:
            raise CassetteError(
                f"The answer says content-encoding {self._encoding!r} and does not decode: {problem}.",
                hint="record again; if it happens again, look at the proxy between here and the upstream",
            ) from None

    def close(self) -> None:
        """No more bytes will come: a compressed body has to be at its end."""
        if self._compressed and self._started and not self._zlib.eof:
            raise CassetteError(
                "The upstream's compressed answer was cut before its end.", hint="record again"
            )

    def _inflate(self, data: bytes) -> bytes:
        pieces = []
        while data:
            if self._zlib.eof:
                self._zlib = zlib.decompressobj(_AUTODETECT)  # a gzip body may be several, end to end
            elif not self._started and self._encoding == "deflate" and data[0] & 0x0F != zlib.DEFLATED:
                self._zlib = zlib.decompressobj(
                    -zlib.MAX_WBITS
                )  # "deflate" without the zlib header it should have
            self._started = True
            pieces.append(self._zlib.decompress(data))
            data = self._zlib.unused_data
        return b"".join(pieces)


def inflate(body: bytes, encoding: str) -> bytes:
    """A whole body with its ``content-encoding`` undone."""
    inflater = Inflater(encoding)
    data = inflater.feed(body)
    inflater.close()
    return data


class EventStream:
    """Takes pieces of a ``text/event-stream`` and gives its events, each as name and data.

    Lines may end in LF, CRLF or CR. Work is linear in the bytes, also when a line comes in a million pieces.
    """

    def __init__(self) -> None:
        self._line: list[bytes] = []
        self._after_cr = False
        self._at_start = True
        self._name = b""
        self._data: list[bytes] = []

    def feed(self, data: bytes) -> Iterator[tuple[str, bytes]]:
        if self._after_cr and data.startswith(b"\n"):
            data = data[1:]
        if data:
            self._after_cr = data.endswith(b"\r")
        for piece in data.splitlines(keepends=True):
            line = piece.rstrip(b"\r\n")
            self._line.append(line)
            if len(line) < len(piece):
                yield from self._end_line()

    def close(self) -> Iterator[tuple[str, bytes]]:
        """The event that the stream ended in, if any: whether it is whole is for its reader to find out."""
        if self._line:
            yield from self._end_line()
        yield from self._end_event()

    def _end_line(self) -> Iterator[tuple[str, bytes]]:
        line = b"".join(self._line)
        self._line.clear()
        if self._at_start:
            line, self._at_start = line.removeprefix(_BOM), False
        if not line:
            yield from self._end_event()
            return
        field, _, value = line.partition(b":")
        if field == b"data":
            self._data.append(value.removeprefix(b" "))
        elif field == b"event":
            self._name = value.removeprefix(b" ")

    def _end_event(self) -> Iterator[tuple[str, bytes]]:
        data, name = b"\n".join(self._data), self._name.decode("utf-8", "replace")
        self._data, self._name = [], b""
        if data:
            yield name, data
