"""The shape of the code base: who may import whom, what is public, and what costs nothing until it is used."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import roadtest

PACKAGE = Path(roadtest.__file__).parent
MODULES = sorted(
    ".".join(("roadtest", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
    for path in PACKAGE.rglob("*.py")
    if "examples" not in path.parts and path.name != "__main__.py"
)


def python(code: str, *flags: str) -> str:
    done = subprocess.run([sys.executable, *flags, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


IMPORT_EACH = """
import importlib, os, sys, traceback
import asyncio, click, httpcore2, msgspec, pytest, statistics, uvicorn  # what takes long and is not ours

def import_below(package):
    for module in sys.argv[1:]:
        if module.rpartition(".")[0] == package:
            child = os.fork()  # a process of its own for each, without starting Python each time
            if not child:
                import_alone(module)
            if os.waitpid(child, 0)[1]:
                print(module, flush=True)

def import_alone(module):
    try:
        importlib.import_module(module)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    import_below(module)  # whatever is imported from a package, Python imports the package first
    os._exit(0)

import_below("")
"""


def test_each_module_imports_alone() -> None:
    """Each module can be imported first, alone and without a warning."""
    command = [sys.executable, "-W", "error", "-c", IMPORT_EACH, *MODULES]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "", done.stderr


def test_the_hook_needs_nothing_but_the_interpreter() -> None:
    """The hook imports only modules that every Python has without site-packages, and none of roadtest."""
    tree = ast.parse((PACKAGE / "capture" / "hook.py").read_text())
    imported = {
        name.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        )
    }
    assert imported <= sys.stdlib_module_names
    assert "roadtest" not in imported


def test_loading_the_plugin_pulls_in_nothing_heavy() -> None:
    """Loading the pytest plugin imports neither the server, nor rich, nor the reports, nor msgspec."""
    loaded = python("import sys, roadtest.pytest_plugin; print(*sys.modules)").split()
    heavy = {
        "uvicorn",
        "rich",
        "jinja2",
        "httpcore2",
        "yaml",
        "msgspec",
        "asyncio",
        "roadtest.report",
        "roadtest.runner",
    }
    assert not heavy & set(loaded)


def test_the_public_names_are_these() -> None:
    """The public API is one short list, and every name on it can be imported."""
    assert roadtest.__all__ == [
        "Case",
        "ClaudeCode",
        "Match",
        "Run",
        "Score",
        "ToolCall",
        "Trajectory",
        "Trials",
        "Workspace",
        "call",
        "describe_eval",
        "get_tool_calls",
        "run_agent",
        "scorers",
        "script",
    ]
    for name in roadtest.__all__:
        assert getattr(roadtest, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    """A name that is not public is refused as any module would."""
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = roadtest.nothing


def test_no_module_is_a_drawer_for_leftovers() -> None:
    """No module is called utils, helpers, common or misc."""
    assert not {"utils", "helpers", "common", "misc"} & {part for name in MODULES for part in name.split(".")}
