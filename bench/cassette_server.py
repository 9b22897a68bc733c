"""roadtest's server in a process of its own, told on stdin what to serve: a JSON list per line, a JSON answer per line.

``[mode, folder, values]`` serves a cassette and tells under which path; any next line ends that, and keeps what was
recorded.
"""

from __future__ import annotations

import json
import sys
import time
from contextlib import ExitStack
from pathlib import Path

from roadtest.cassette import Fingerprints, open_cassette
from roadtest.cassette.server import shared
from roadtest.results import Policies


def main() -> None:
    server = shared()
    _say(server.port)
    for line in sys.stdin:
        mode, folder, values = json.loads(line)
        with ExitStack() as stack:
            started = time.perf_counter()
            session = open_cassette(
                Path(folder), mode=mode, values=values, context=Fingerprints(), policies=Policies()
            )
            opened = time.perf_counter() - started
            session.begin_turn()
            mount = stack.enter_context(server.mount(session))
            _say([f"/{mount.token}", opened])
            sys.stdin.readline()
            if session.problem or session.unplayed:
                raise RuntimeError(f"{session.problem}\n{session.unplayed}")
            started = time.perf_counter()
            session.save()
            _say(time.perf_counter() - started)


def _say(what: object) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    main()
