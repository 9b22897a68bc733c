"""``roadtest clean``: remove old outputs, workspaces and dead worktrees."""

from __future__ import annotations

import re
from pathlib import Path

import click

from roadtest.cli.project import output_dir
from roadtest.isolation.cleaning import (
    Leftover,
    old_outputs,
    old_workspaces,
    remove_output,
    remove_workspace,
)
from roadtest.isolation.worktree import FOLDER
from roadtest.temporary import temporary_root

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def _age(ctx: click.Context, param: click.Parameter, value: str) -> float:
    match = re.fullmatch(r"(\d+)([smhdw]?)", value)
    if not match:
        raise click.BadParameter(f"{value!r} is no age; write 30m, 12h, 7d or 2w")
    return float(match[1]) * _SECONDS[match[2] or "s"]


@click.command()
@click.option(
    "--older-than",
    callback=_age,
    default="7d",
    show_default=True,
    help="Spare what is younger: 30m, 12h, 7d, 2w.",
)
@click.option("--dry-run", is_flag=True, help="Tell what would be removed, and remove nothing.")
def clean(older_than: float, *, dry_run: bool) -> None:
    """Remove old outputs, kept workspaces, and whatever killed runs have left behind.

    Outputs are those of this folder's runs; what a killed run left goes at any age. Only what roadtest has made is
    removed: other files in an output folder stay, and so do your own worktrees.
    """
    outputs = list(old_outputs(output_dir(), older_than))
    workspaces = [found for parent in _parents(Path.cwd()) for found in old_workspaces(parent, older_than)]
    for found in [*outputs, *workspaces]:
        click.echo(f"{'would remove' if dry_run else 'removed'} {_short(found)}  ({found.why})")
    if not dry_run:
        for output in outputs:
            remove_output(output)
        for workspace in workspaces:
            remove_workspace(workspace)
    if not outputs and not workspaces:
        click.echo("nothing to remove")


def _parents(start: Path) -> list[Path]:
    """Where workspaces can be: among the temporary files, and under this folder or the repository around it."""
    around = [folder / FOLDER for folder in (start, *start.parents) if (folder / FOLDER).is_dir()]
    return [temporary_root(), *around]


def _short(found: Leftover) -> str:
    path = found.path.resolve()
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
