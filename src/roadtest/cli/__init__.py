"""The ``roadtest`` command: parse, call one function, print. Each subcommand lives in the module of its name."""

from __future__ import annotations

import sys
from importlib import import_module

import click

from roadtest import __version__
from roadtest.errors import EnvironmentProblem, InvalidRun, RoadtestError, UsageError

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_INVALID = 3
EXIT_INTERRUPTED = 130

_COMMANDS = {
    "init": "write a first eval, with everything it needs",
    "doctor": "tell what is found, what is missing and what to do",
    "run": "run evals: the options of pytest, and exit codes for CI",
    "show": "print a run, or one case of it",
    "view": "write a run as one HTML page",
    "rescore": "score a recorded run again, without running it",
    "hooks": "install the capture hooks into Claude Code's settings",
    "cassettes": "list, show, check and prune recordings",
    "clean": "remove old outputs, workspaces and dead worktrees",
    "demo": "run the example evals on the real Claude Code, replayed",
}


class _LateGroup(click.Group):
    """Imports a subcommand when it is asked for; ``roadtest --help`` imports none."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"roadtest.cli.{cmd_name}"), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(cls=_LateGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="roadtest")
def roadtest() -> None:
    """Road-test Claude Code agents, subagents, skills and hooks."""


def main() -> None:
    """Run the command; an error that is meant for the user is printed without a traceback."""
    try:
        sys.exit(roadtest.main(standalone_mode=True))
    except (UsageError, EnvironmentProblem) as problem:
        _fail(problem, EXIT_USAGE)
    except InvalidRun as problem:
        _fail(problem, EXIT_INVALID)
    except RoadtestError as problem:
        _fail(problem, EXIT_FAILED)
    except OSError as problem:
        what = f"{problem.filename}: {problem.strerror}" if problem.filename else str(problem)
        hint = "check that the path exists and that you may write there"
        _fail(EnvironmentProblem(what, hint=hint), EXIT_USAGE)


def _fail(problem: RoadtestError, code: int) -> None:
    click.echo(f"roadtest: {problem}", err=True)
    sys.exit(code)
