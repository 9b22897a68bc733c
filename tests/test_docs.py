"""The documentation cannot rot: its links lead somewhere, its code runs, its commands exist."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click
import pytest

from roadtest.cli import roadtest
from roadtest.cli.demo import EXAMPLES

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), EXAMPLES / "README.md"])
FENCE = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)[^)]*\)")


class Block(NamedTuple):
    page: Path
    line: int
    text: str

    @property
    def is_test_file(self) -> bool:
        return "describe_eval(" in self.text or re.search(r"^def test_", self.text, re.MULTILINE) is not None

    @property
    def needs_a_model(self) -> bool:
        return "script" not in self.text and "task=" in self.text


def blocks(language: str) -> Iterator[Block]:
    for page in PAGES:
        text = page.read_text()
        for found in FENCE.finditer(text):
            if found[1] == language:
                yield Block(page, text.count("\n", 0, found.start()) + 1, found[2])


def name_of(item: object) -> str:
    if isinstance(item, Block):
        return f"{item.page.name}:{item.line}"
    return str(item.relative_to(ROOT)) if isinstance(item, Path) else str(item)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    """Each relative link of a page names a file or folder that exists."""
    links = [link for link in LINK.findall(page.read_text()) if "://" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("block", [block for block in blocks("python") if block.is_test_file], ids=name_of)
def test_evals_in_the_docs_run(block: Block, pytester: pytest.Pytester) -> None:
    """An eval shown in the docs is collected, and runs where it brings its own model."""
    shutil.copytree(EXAMPLES / "todo-app", pytester.path / "fixtures" / "todo-app")
    shutil.copytree(EXAMPLES / "todo-app", pytester.path / "todo-app")
    (pytester.path / "test_docs_block.py").write_text(block.text)
    mode = ["--collect-only"] if block.needs_a_model else []
    assert pytester.runpytest(*mode, "test_docs_block.py").ret == 0


@pytest.mark.parametrize(
    "block", [block for block in blocks("python") if not block.is_test_file], ids=name_of
)
def test_python_in_the_docs_runs(block: Block, tmp_path: Path) -> None:
    """Any other Python in the docs runs as it stands."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", block.text],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def commands() -> Iterator[tuple[str, list[str]]]:
    for block in [*blocks("sh"), *blocks("console")]:
        for number, line in enumerate(block.text.splitlines(), block.line + 1):
            words = shlex.split(line.removeprefix("$ "), comments=True)
            if words[:1] == ["roadtest"]:
                yield f"{block.page.name}:{number}", words[1:]


@pytest.mark.parametrize(("place", "words"), list(commands()))
def test_commands_in_the_docs_exist(place: str, words: list[str]) -> None:
    """Each roadtest command line in the docs names a command, and options that it has."""
    command: click.Command = roadtest
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        found = command.get_command(click.Context(command), words[0])
        assert found is not None, f"{place}: no command {words[0]}"
        command, words = found, words[1:]
    known = {option for parameter in command.params for option in parameter.opts} | {"--help", "--"}
    if command.context_settings.get("ignore_unknown_options"):
        return
    assert {word.partition("=")[0] for word in words if word.startswith("--")} <= known, place
