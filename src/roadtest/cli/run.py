"""``roadtest run``: pytest on evals, with exit codes that CI can tell apart."""

from __future__ import annotations

import sys
from typing import Any

import click
import pytest

from roadtest.cli import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_INVALID, EXIT_USAGE
from roadtest.cli.worktrees import run_in_worktrees
from roadtest.config import OPTIONS
from roadtest.errors import UsageError


class Outcomes:
    """Counts what pytest reports, as a plugin of its own."""

    def __init__(self) -> None:
        self.failed = 0
        self.errors = 0
        self.collection_errors = 0
        self.interrupted = False
        self.deselected = 0

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        self.deselected += len(items)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and report.when == "call":
            self.failed += 1
        elif report.failed:
            self.errors += 1

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self.collection_errors += report.failed

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """By Ctrl-C or a signal; pytest also comes here when it stops by itself, for a budget or a broken file."""
        self.interrupted = not isinstance(excinfo.value, pytest.Session.Interrupted)

    def exit_code(self, status: int) -> int:
        if self.interrupted:
            return EXIT_INTERRUPTED
        if self.failed:
            return EXIT_FAILED
        if self.collection_errors or status in (
            pytest.ExitCode.USAGE_ERROR,
            pytest.ExitCode.NO_TESTS_COLLECTED,
        ):
            return EXIT_USAGE
        return EXIT_INVALID if self.errors or status else 0


def _options(command: click.Command) -> click.Command:
    """The options of the pytest plugin, under the same names."""
    for option in reversed(OPTIONS):
        if not option.hidden:
            kind: dict[str, Any] = {"is_flag": True} if option.flag else {"metavar": option.metavar}
            click.option(option.switch, option.name, help=option.help, default=None, **kind)(command)
    return command


@_options
@click.command(context_settings={"ignore_unknown_options": True})
@click.option("--worktrees", is_flag=True, help="Run in each of the worktrees that are given, all at once.")
@click.argument("pytest_args", nargs=-1, type=click.UNPROCESSED)
def run(pytest_args: tuple[str, ...], *, worktrees: bool, **options: Any) -> None:
    """Run evals; paths, node ids and all options of pytest are understood too.

    Exit codes: 0 all passed, 1 some failed, 2 wrong usage or nothing to run, 3 nothing failed but something was invalid or
    an error (or the budget was spent), 130 interrupted.
    """
    given = [
        option.switch if option.flag else f"{option.switch}={options[option.name]}"
        for option in OPTIONS
        if options.get(option.name) not in (None, False)
    ]
    if worktrees:
        sys.exit(run_in_worktrees([*given, *pytest_args]))
    outcomes = Outcomes()
    status = pytest.main([*given, *pytest_args], plugins=[outcomes])
    if status == pytest.ExitCode.NO_TESTS_COLLECTED and not outcomes.deselected:
        raise UsageError(
            "There are no evals here: pytest looks for them in files named test_*.py or *_test.py.",
            hint="name a file or a folder of evals, or make a first one with: roadtest init",
        )
    sys.exit(outcomes.exit_code(status))
