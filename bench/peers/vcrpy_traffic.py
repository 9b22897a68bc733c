"""vcrpy records or replays a conversation inside its client: a job per line on stdin, a result per line on stdout."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import vcr  # type: ignore[import-not-found]
from vcr.persisters.filesystem import FilesystemPersister  # type: ignore[import-not-found]
from vcr.serializers import yamlserializer  # type: ignore[import-not-found]

sys.path.insert(0, str(Path(__file__).parents[2]))

from bench import client


def main() -> None:
    for line in sys.stdin:
        job, port, log, count, cassette = json.loads(line)
        if job == "load":
            started = time.perf_counter()
            FilesystemPersister.load_cassette(cassette, yamlserializer)
            seconds = [time.perf_counter() - started]
        else:
            conversation = client.read(Path(log), count)
            with vcr.use_cassette(cassette, record_mode="all" if job == "record" else "none"):
                seconds = client.send(conversation, port)
        print(json.dumps(seconds), flush=True)


if __name__ == "__main__":
    main()
