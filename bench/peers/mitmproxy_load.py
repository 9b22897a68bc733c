"""Times mitmproxy reading its flows: the path of a file per line on stdin, seconds per line on stdout."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from mitmproxy.io import FlowReader  # type: ignore[import-not-found]


def main() -> None:
    for line in sys.stdin:
        started = time.perf_counter()
        with Path(json.loads(line)).open("rb") as file:
            flows = list(FlowReader(file).stream())
        print(f"[{time.perf_counter() - started}, {len(flows)}]", flush=True)


if __name__ == "__main__":
    main()
