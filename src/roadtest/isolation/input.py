"""The standard input of a program that is talked to while it runs."""

from __future__ import annotations

import os


class Input:
    """What the program is told: something to begin with, and more as it goes on.

    Nothing here waits for the program to read: what its pipe does not take is kept, and written when that can be. All calls
    come from one thread.
    """

    def __init__(self, first: bytes = b"") -> None:
        self._unsaid = bytearray(first)
        self._ended = False
        self._pipe: int | None = None

    def say(self, more: bytes) -> None:
        if not self._ended:
            self._unsaid += more
            self.press_on()

    def end(self) -> None:
        """Say no more; the program reads the end once it has read the rest."""
        self._ended = True
        self.press_on()

    def open(self) -> int:
        """The descriptor for the program to read from."""
        theirs, self._pipe = os.pipe()
        os.set_blocking(self._pipe, False)
        self.press_on()
        return theirs

    @property
    def waiting(self) -> int | None:
        """The descriptor that something is yet to be written to, if so."""
        return self._pipe if self._unsaid else None

    def press_on(self) -> None:
        """Write as much as the pipe takes; a program that no longer reads has heard enough."""
        if self._pipe is None:
            return
        try:
            while self._unsaid:
                del self._unsaid[: os.write(self._pipe, self._unsaid)]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._ended = True
        if self._ended:
            self.close()

    def close(self) -> None:
        self._ended = True
        self._unsaid.clear()
        if self._pipe is not None:
            os.close(self._pipe)
            self._pipe = None
