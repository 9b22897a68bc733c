"""``roadtest demo``: the example evals, on the real Claude Code, replayed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click

import roadtest
from roadtest.installation import find_claude

EXAMPLES = Path(roadtest.__file__).parent / "examples"


@click.command()
@click.argument("pytest_args", nargs=-1, type=click.UNPROCESSED)
def demo(pytest_args: tuple[str, ...]) -> None:
    """Run the example evals on the real Claude Code: no key, no network, no cost.

    Further arguments go to pytest, for example: roadtest demo -- -k guard -v
    """
    claude = find_claude()
    click.echo(f"Claude Code: {claude.path} (from {claude.source})")
    click.echo(f"The evals:   {EXAMPLES}\n", nl=True)
    # The user's own pytest configuration must not change what the demo shows.
    command = [sys.executable, "-m", "pytest", "--rootdir", str(EXAMPLES), "-c", str(EXAMPLES / "pytest.ini")]
    sys.exit(subprocess.run([*command, str(EXAMPLES), *pytest_args], check=False).returncode)
