"""``roadtest cassettes``: list, show, check and prune recordings."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from roadtest.cassette import shelf
from roadtest.cassette.shelf import Found
from roadtest.cli import EXIT_FAILED
from roadtest.errors import UsageError

if TYPE_CHECKING:
    from roadtest.upkeep import Problem

_WHERE = click.argument("path", default=".", type=click.Path(exists=True, file_okay=False, path_type=Path))


@click.group()
def cassettes() -> None:
    """List, show, check and prune recordings."""


@cassettes.command("list")
@_WHERE
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def list_(path: Path, *, as_json: bool) -> None:
    """List the cassettes below PATH, by default the current folder."""
    found = shelf.find(path)
    if as_json:
        click.echo(_json([_summary(one) for one in found]))
        return
    for one in found:
        click.echo(_line(one))
    click.echo(f"{len(found)} cassettes, {_size(sum(one.size for one in found))}")


@cassettes.command("show")
@click.argument("cassette")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def show(cassette: str, *, as_json: bool) -> None:
    """Print the conversation in a cassette: CASSETTE is its folder, or the end of that path."""
    one = _choose(cassette)
    if one.cassette is None:
        raise one.problem or UsageError(f"There is no cassette at {one.folder}.")
    if as_json:
        click.echo(_json({**_summary(one), "exchanges": msgspec.to_builtins(one.cassette.exchanges)}))
        return
    click.echo(_line(one))
    for line in shelf.outline(one.cassette):
        click.echo(line)


@cassettes.command("check")
@_WHERE
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def check(path: Path, *, as_json: bool) -> None:
    """Find stale, unreadable, unplayed and orphaned cassettes, and any secret, without running an agent.

    Exit code 1 if there is anything to find.
    """
    from roadtest.upkeep import check_cassettes  # noqa: PLC0415 - pulls in pytest and all that runs an eval

    problems = check_cassettes(path, os.environ)
    if as_json:
        click.echo(_json([msgspec.to_builtins(problem, enc_hook=str) for problem in problems]))
    else:
        _report(problems, len(shelf.find(path)))
    sys.exit(EXIT_FAILED if problems else 0)


@cassettes.command("prune")
@_WHERE
@click.option("--dry-run", is_flag=True, help="Only tell what would be removed.")
@click.option("--yes", is_flag=True, help="Remove without asking.")
def prune(path: Path, *, dry_run: bool, yes: bool) -> None:
    """Remove cassettes that no case claims any more, and what killed recorders left behind."""
    from roadtest.upkeep import collect  # noqa: PLC0415 - see check

    unclaimed = [*collect(path).orphans(shelf.find(path)), *shelf.leftovers(path)]
    for folder in unclaimed:
        click.echo(f"{'would remove' if dry_run else 'remove'}  {_relative(folder)}")
    if not unclaimed:
        click.echo("nothing to prune")
    elif not dry_run and (yes or click.confirm(f"Remove these {len(unclaimed)} folders?")):
        for folder in unclaimed:
            _remove(folder)


def _report(problems: list[Problem], checked: int) -> None:
    for problem in problems:
        click.echo(f"{problem.kind:10}  {_relative(problem.path)}: {problem.message}")
        click.echo(f"{'':10}  → {problem.hint}")
    click.echo(f"{checked} cassettes checked, {len(problems)} problems")


def _choose(wanted: str) -> Found:
    if Path(wanted).is_dir() and (direct := shelf.find(Path(wanted))):
        found = [one for one in direct if one.folder == Path(wanted).absolute()] or direct
    else:
        tail = Path(wanted).parts
        found = [one for one in shelf.find(Path()) if one.folder.parts[-len(tail) :] == tail]
    if len(found) == 1:
        return found[0]
    names = ", ".join(_relative(one.folder) for one in found[:5])
    raise UsageError(
        f"{len(found) or 'No'} cassettes are meant by {wanted!r}{f': {names}' if names else ''}.",
        hint="roadtest cassettes list",
    )


def _remove(folder: Path) -> None:
    """Its own files; the folders of other cassettes inside stay, and so do parents that are not empty."""
    if folder.name.startswith("."):
        shutil.rmtree(folder)
        return
    for file in folder.iterdir():
        if file.is_file():
            file.unlink()
    for place in (folder, *folder.parents):
        if any(place.iterdir()):
            return
        place.rmdir()
        if place.name == shelf.FOLDER:
            return


def _line(one: Found) -> str:
    if one.cassette is None:
        return f"{_relative(one.folder)}  unreadable: {one.problem.message if one.problem else ''}"
    metadata = one.cassette.metadata
    facts = [f"{len(one.cassette.exchanges)} exchanges", _size(one.size)]
    if metadata.lanes:
        facts.insert(1, f"{len(metadata.lanes)} subagents")
    recorded = f"recorded {metadata.recorded_at}" if metadata.recorded_at else "written by hand"
    version = f" with Claude Code {metadata.claude_version}" if metadata.claude_version else ""
    return f"{_relative(one.folder)}  {', '.join(facts)}, {recorded}{version}"


def _summary(one: Found) -> dict[str, Any]:
    summary: dict[str, Any] = {"path": _relative(one.folder), "size": one.size}
    if one.cassette is None:
        return {**summary, "problem": str(one.problem)}
    return {**summary, "metadata": msgspec.to_builtins(one.cassette.metadata)}


def _json(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def _size(count: int) -> str:
    return f"{count / 1000:.1f} KB"


def _relative(path: Path) -> str:
    return os.path.relpath(path)
