"""``roadtest hooks``: capture in sessions that roadtest did not start."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from roadtest.capture import plugin as capture_plugin
from roadtest.capture.install import Change, remove_empty_folders
from roadtest.capture.install import install as install_hooks
from roadtest.capture.install import uninstall as uninstall_hooks
from roadtest.capture.status import status as hook_status

PROJECT = Path(".claude/settings.json")
LOCAL = Path(".claude/settings.local.json")

F = TypeVar("F", bound=Callable[..., Any])


def _where(command: F) -> F:
    path = click.option(
        "--settings",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Another settings file than .claude/settings.json.",
    )
    local = click.option(
        "--local", is_flag=True, help="Use .claude/settings.local.json, which is not committed."
    )
    return path(local(command))


_dry_run = click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")


@click.group()
def hooks() -> None:
    """Install the capture hooks into Claude Code's settings.

    Runs that roadtest starts need no installation: they bring their hooks along. Install them to capture sessions that
    you start yourself with TEST_MODE=true and a TEST_RUN_ID.
    """


@hooks.command()
@_where
@_dry_run
def install(settings: Path | None, local: bool, dry_run: bool) -> None:
    """Add the capture hooks; every other hook and key stays as it is."""
    _carry_out(install_hooks(_chosen(settings, local)), dry_run, "the hooks are installed already")


@hooks.command()
@_where
@_dry_run
def uninstall(settings: Path | None, local: bool, dry_run: bool) -> None:
    """Take the capture hooks out again."""
    path = _chosen(settings, local)
    _carry_out(uninstall_hooks(path), dry_run, "there are no hooks of ours to remove")
    if not dry_run:
        remove_empty_folders(path)


@hooks.command()
@_where
def status(settings: Path | None, local: bool) -> None:
    """Say whether a session started here would be captured, and why not; exit code 1 if not."""
    user = Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude") / "settings.json"
    chosen = [_chosen(settings, local)] if settings or local else [PROJECT, LOCAL, user]
    findings = hook_status(chosen, os.environ)
    for finding in findings:
        click.echo(f"{'✓' if finding.ok else '✗'} {finding.text}")
        if finding.hint and not finding.ok:
            click.echo(f"    → {finding.hint}")
    active = all(finding.ok for finding in findings)
    click.echo("capture is active" if active else "capture is not active")
    sys.exit(0 if active else 1)


@hooks.command()
@click.option(
    "--write",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Copy the plugin into this folder.",
)
def plugin(folder: Path | None) -> None:
    """Print the folder of the capture plugin: claude --plugin-dir "$(roadtest hooks plugin)"."""
    if folder:
        capture_plugin.write_plugin(folder)
    click.echo(folder or capture_plugin.ROOT)


def _chosen(settings: Path | None, local: bool) -> Path:
    if settings and local:
        raise click.UsageError("--settings and --local name two files; give one of them")
    return settings or (LOCAL if local else PROJECT)


def _carry_out(changes: list[Change], dry_run: bool, nothing: str) -> None:
    if not changes:
        click.echo(nothing)
    for change in changes:
        if dry_run:
            click.echo(_difference(change), nl=False)
        else:
            change.apply()
            click.echo(f"{'removed' if change.after is None else 'wrote'} {change.path}")


def _difference(change: Change) -> str:
    """A unified diff; of the script only that it comes or goes."""
    if change.path.suffix != ".json":
        return f"{'remove' if change.after is None else 'write'} {change.path}\n"
    before, after = ((text or "").splitlines(keepends=True) for text in (change.before, change.after))
    lines = difflib.unified_diff(before, after, str(change.path), str(change.path))
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )
