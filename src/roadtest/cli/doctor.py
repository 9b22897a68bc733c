"""``roadtest doctor``: what is found, what is missing, what to do."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import msgspec

from roadtest import __version__
from roadtest.errors import RoadtestError
from roadtest.installation import INSTALL_HINT, Claude, find_claude

MINIMUM_GIT = (2, 31)


class Finding(msgspec.Struct, frozen=True):
    """One line of the report; ``remedy`` says what to run when it is not ok."""

    name: str
    ok: bool
    detail: str
    remedy: str = ""


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@click.option("--claude", metavar="PATH", help="Check this Claude Code.")
def doctor(as_json: bool, claude: str | None) -> None:
    """Tell what is found, what is missing and what to do.

    Really runs Claude Code once, against a scripted model on this machine: no key, no network, no cost.
    """
    findings = list(examine(claude))
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(findings)).decode())
    else:
        for finding in findings:
            click.echo(render(finding))
    if not all(finding.ok for finding in findings):
        sys.exit(2)


def render(finding: Finding) -> str:
    mark = click.style("ok     ", fg="green") if finding.ok else click.style("missing", fg="red")
    remedy = f"\n          → {finding.remedy}" if finding.remedy and not finding.ok else ""
    return f"{mark} {finding.name:<12} {finding.detail}{remedy}"


def examine(explicit: str | None) -> Iterator[Finding]:
    version = ".".join(map(str, sys.version_info[:3]))
    yield Finding("roadtest", ok=True, detail=f"{__version__} on Python {version}")
    yield _examine("git", _git, "install git 2.31 or newer")
    try:
        claude = find_claude(explicit)
    except RoadtestError as problem:
        yield Finding("claude", ok=False, detail=problem.message, remedy=problem.hint)
        return
    yield _examine("claude", lambda: _version(claude), INSTALL_HINT)
    yield _examine(
        "hooks", lambda: _hooks(claude), "run `roadtest doctor` with a newer Claude Code; hooks must fire"
    )


def _examine(name: str, look: Callable[[], str], remedy: str) -> Finding:
    try:
        return Finding(name, ok=True, detail=look())
    except (RoadtestError, OSError, subprocess.SubprocessError, ValueError) as problem:
        return Finding(name, ok=False, detail=str(problem), remedy=remedy)


def _git() -> str:
    if not shutil.which("git"):
        raise ValueError("not on PATH")
    text = subprocess.run(["git", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    number = text.split()[2]
    if tuple(map(int, number.split(".")[:2])) < MINIMUM_GIT:
        raise ValueError(f"{number} is too old")
    return number


def _version(claude: Claude) -> str:
    # Nothing of the surroundings: --version reads no settings and needs no home of the user's.
    with tempfile.TemporaryDirectory() as home:
        env = {"HOME": home, "CLAUDE_CONFIG_DIR": home, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
        answer = subprocess.run(
            [claude.path, "--version"], env=env, capture_output=True, text=True, check=True, timeout=60
        )
    return f"{answer.stdout.strip()} from {claude.source}: {claude.path}"


def _hooks(claude: Claude) -> str:
    from roadtest import script  # noqa: PLC0415 - the server is needed for this finding only
    from roadtest.claude_code import ClaudeCode  # noqa: PLC0415
    from roadtest.place import Place  # noqa: PLC0415
    from roadtest.runner import run_once  # noqa: PLC0415

    model = script.Script(script.call("Bash", command="echo roadtest"), script.say("Done."))
    with tempfile.TemporaryDirectory() as folder:
        place = Place(
            test_id="doctor", base=Path(folder), output_dir=Path(folder) / "test-output", claude=claude.path
        )
        run = run_once(ClaudeCode(script=model, allowed_tools=["Bash"], timeout=60), "Say hello.", place)
    if run.invalid:
        raise ValueError(run.invalid)
    if run.tools != ["Bash"]:
        raise ValueError(f"one Bash call was scripted, the hooks captured {run.tools or 'none'}")
    return f"fire: a scripted call was captured in {run.duration_s:.1f} s"
