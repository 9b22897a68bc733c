"""The record of a run on disk: ``<output dir>/<run id>/run.json``.

While a suite runs, each finished case is one line in a journal beside it: ``cases.jsonl``, and under
pytest-xdist one ``cases-<worker>.jsonl`` for each worker. The writer that has no worker's name owns the
folder: it is closed after the workers, and then makes ``run.json`` of all journals and removes these. So a
crash loses nothing that was finished: without ``run.json`` the journals are read.

    writer = RecordWriter(folder, header, redact=redactor)     # in a worker: worker="gw0"
    writer.add(result)                                          # one line, one write
    writer.close(exit_status=0)                                 # run.json, whole or not at all

    record = read_record(find_run("2026-11-15T10-00-00", output_dir))
"""

from roadtest.record.journal import journals_in
from roadtest.record.reading import find_run, is_running, list_runs, read_record
from roadtest.record.surroundings import git_state, now
from roadtest.record.writing import RecordWriter, clear

__all__ = [
    "RecordWriter",
    "clear",
    "find_run",
    "git_state",
    "is_running",
    "journals_in",
    "list_runs",
    "now",
    "read_record",
]
