"""Inside a sandbox without a network: start a program, and carry what it sends to one local port out by a socket file.

This file is executed as a script by ``sandbox.py`` (``python -I -S``): standard library only, no import of roadtest.
Arguments: the socket file, the port, and the program with its arguments. Its exit code is passed on.
"""

import contextlib
import os
import select
import signal
import socket
import sys
import threading

_SIGNALLED = 128


def main() -> None:
    path, port, *argv = sys.argv[1:]
    listener = socket.create_server(("127.0.0.1", int(port)))
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        try:
            os.execvpe(argv[0], argv, os.environ)  # noqa: S606
        except OSError as problem:
            sys.stderr.write(f"{argv[0]}: {problem}\n")
            os._exit(127)
    threading.Thread(target=_serve, args=(listener, path), daemon=True).start()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os._exit(code if code >= 0 else _SIGNALLED - code)


def _serve(listener: socket.socket, path: str) -> None:
    while True:
        inner, _ = listener.accept()
        outer = socket.socket(socket.AF_UNIX)
        outer.connect(path)
        threading.Thread(target=carry, args=(inner, outer), daemon=True).start()


def carry(one: socket.socket, other: socket.socket) -> None:
    """Pass on bytes both ways until either side has ended."""
    with one, other, contextlib.suppress(OSError):
        while True:
            for source in select.select([one, other], [], [])[0]:
                data = source.recv(1 << 16)
                if not data:
                    return
                (other if source is one else one).sendall(data)


if __name__ == "__main__":
    main()
