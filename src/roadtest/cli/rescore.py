"""``roadtest rescore``: score a recorded run again, without running it."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import click
import pytest

from roadtest.cli.project import output_dir
from roadtest.cli.run import Outcomes
from roadtest.cli.show import select
from roadtest.errors import UsageError
from roadtest.record import find_run, read_record
from roadtest.results import CaseResult, Record


@click.command()
@click.argument("run", default="", metavar="[RUN[::CASE]]")
@click.option(
    "--eval-report", metavar="PATH", help="Write the result as a report: .html, .json or .md by its name."
)
def rescore(run: str, *, eval_report: str | None) -> None:
    """Score a recorded run again, without running it.

    Scorers, thresholds and expected calls are taken from the eval files as they are now, output and calls from the
    record. The result is a new record beside the old one. Nothing is run and nothing is spent, except by judges that
    EVAL_LLM_JUDGE allows. Exit codes are those of `roadtest run`.
    """
    from roadtest.rescoring import Rescoring  # noqa: PLC0415 - `roadtest --help` does not wait for it

    name, _, case = run.partition("::")
    record = read_record(find_run(name, output_dir()))
    chosen = select(record, case) if case else record.cases
    outcomes = Outcomes()
    arguments = [*_arguments(record, chosen), *([f"--eval-report={eval_report}"] if eval_report else [])]
    status = pytest.main(arguments, plugins=[outcomes, Rescoring(record, chosen)])
    sys.exit(outcomes.exit_code(status))


def _arguments(record: Record, chosen: list[CaseResult]) -> list[str]:
    files = dict.fromkeys(str(Path(record.root, result.file)) for result in chosen if result.suite)
    if not files:
        raise UsageError(
            f"Run {record.run_id} has no case of a suite.",
            hint="tests with the agent fixture run again with pytest",
        )
    for file in files:
        if not Path(file).is_file():
            raise UsageError(
                f"The eval file {file} is no longer there.", hint="check out the commit of the run"
            )
    # One process: workers would be other sessions, which know nothing of the record.
    has_xdist = find_spec("xdist") and not os.environ.get("PYTEST_DISABLE_PLUGIN_AUTOLOAD")
    alone = ["-n0"] if has_xdist else []
    trials = [f"--trials={record.settings['trials']}"] if record.settings.get("trials") else []
    return ["-q", "-p", "no:cacheprovider", f"--rootdir={record.root}", *alone, *trials, *files]
