"""``roadtest view``: write a run as one HTML page."""

from __future__ import annotations

from pathlib import Path

import click

from roadtest.cli.project import output_dir
from roadtest.record import find_run, read_record


@click.command()
@click.argument("run", default="", metavar="[RUN]")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Where to write it; default: beside the record."
)
@click.option("--open", "open_it", is_flag=True, help="Open it in the browser.")
def view(run: str, *, output: Path | None, open_it: bool) -> None:
    """Write a run as one HTML page that needs nothing else, and print its path.

    RUN is a run id, the beginning of one, or a path; without it the newest run is written.
    """
    from roadtest.report.html import render  # noqa: PLC0415 - `roadtest --help` does not wait for it

    folder = find_run(run, output_dir())
    path = output or folder / "report.html"
    path.write_text(render(read_record(folder)), "utf-8")
    click.echo(path)
    if open_it:
        click.launch(path.resolve().as_uri())
