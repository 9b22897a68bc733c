"""Ready-made rules for arguments that can be written in more than one way.

Each takes ``(actual, expected)`` and is meant for ``overrides``:
``trajectory_match(overrides={"Grep": scorers.fuzzy.grep, "Bash": scorers.fuzzy.bash})``. What the expected arguments do not
mention is not looked at.
"""

from __future__ import annotations

import os.path
import re
import shlex
from collections.abc import Callable, Iterator
from typing import Any

from roadtest.matching.operators import Operator
from roadtest.matching.values import agrees

Same = Callable[[Any, Any], bool]


def grep(actual: dict[str, Any], expected: dict[str, Any]) -> bool:
    """The same search: the pattern in any case and with or without escapes and word boundaries, the same place."""
    return _agree(actual, expected, {"pattern": _same_pattern, "path": _same_path, "glob": _same_glob})


def glob(actual: dict[str, Any], expected: dict[str, Any]) -> bool:
    """The same files: ``*.py`` and ``**/*.py`` are one, and so are ``src/**/*.py`` and ``**/*.py`` in ``src``."""
    if any(isinstance(expected.get(key), Operator) for key in ("pattern", "path")):
        return _agree(actual, expected, {"pattern": _same_glob, "path": _same_path})
    rest = {key: value for key, value in expected.items() if key not in ("pattern", "path")}
    return ("pattern" not in expected or _located(actual) == _located(expected)) and _agree(actual, rest, {})


def read(actual: dict[str, Any], expected: dict[str, Any]) -> bool:
    """The same file, absolute or relative; ``offset`` and ``limit`` only where they are expected."""
    return _agree(actual, expected, {"file_path": _same_path})


def bash(actual: dict[str, Any], expected: dict[str, Any]) -> bool:
    """The same command: quoting, spacing, order of options, and a leading ``cd`` do not count.

    The expected command may also be one of several that the actual one runs with ``&&``, ``;`` or ``|``.
    """
    return _agree(actual, expected, {"command": _same_command, "description": _anything})


def runs_program(program: str) -> re.Pattern[str]:
    """A pattern for commands that run this program, at the start or after a pipe or another separator."""
    return re.compile(rf"(?:^|[|;&(\n`])\s*(?:\w+=\S*\s+)*(?:\S*/)?{re.escape(program)}(?![\w-])")


def _agree(actual: dict[str, Any], expected: dict[str, Any], rules: dict[str, Same]) -> bool:
    for key, wanted in expected.items():
        if key not in actual and rules.get(key) is not _anything:
            return False
        if isinstance(wanted, str) and key in rules:
            if not rules[key](actual.get(key), wanted):
                return False
        elif not agrees(actual[key], wanted, "superset"):
            return False
    return True


def _anything(actual: Any, expected: Any) -> bool:
    return True


def _same_pattern(actual: Any, expected: str) -> bool:
    return isinstance(actual, str) and _plain_pattern(actual) == _plain_pattern(expected)


def _plain_pattern(pattern: str) -> str:
    pattern = re.sub(r"\(\?[a-z]+\)|\\b|\\<|\\>", "", pattern)
    return re.sub(r"\\([^\w\s])", r"\1", pattern).strip("^$").casefold().removesuffix(":")


def _same_path(actual: Any, expected: str) -> bool:
    """The same path, or one absolute that ends in the other."""
    if not isinstance(actual, str):
        return False
    short, long = sorted((os.path.normpath(actual), os.path.normpath(expected)), key=len)
    return short == long or (long.startswith(os.sep) and long.endswith(os.sep + short))


def _same_glob(actual: Any, expected: str) -> bool:
    return isinstance(actual, str) and _plain_glob(actual) == _plain_glob(expected)


def _plain_glob(pattern: str) -> str:
    return os.path.normpath(pattern).removeprefix("**/")


def _located(args: dict[str, Any]) -> tuple[str, str]:
    """Where a glob searches and for what, however it is split into path and pattern."""
    path, pattern = str(args.get("path") or "."), str(args.get("pattern"))
    fixed, slash, rest = pattern.partition("**/")
    if slash and fixed and not set("*?[{") & set(fixed):
        path, pattern = os.path.join(path, fixed), rest  # noqa: PTH118 - of an agent's arguments, not of our files
    return os.path.normpath(path), _plain_glob(pattern)


def _same_command(actual: Any, expected: str) -> bool:
    if not isinstance(actual, str):
        return False
    mine, theirs = list(_commands(actual)), list(_commands(expected))
    return actual.strip() == expected.strip() or (bool(theirs) and all(command in mine for command in theirs))


def _commands(script: str) -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """The simple commands of a script: program, options in any order, other words in order."""
    for words in _split(script):
        program, *rest = words
        if program != "cd":
            options = tuple(sorted(word for word in rest if word.startswith("-")))
            yield os.path.basename(program), options, tuple(word for word in rest if not word.startswith("-"))  # noqa: PTH119


def _split(script: str) -> Iterator[list[str]]:
    try:
        lexer = shlex.shlex(script, posix=True, punctuation_chars="|&;()\n")
        lexer.whitespace = " \t\r"
        lexer.whitespace_split = True
        tokens = list(lexer)
    except ValueError:  # an open quote: compare the text as it is
        tokens = [script.strip()]
    words: list[str] = []
    for token in [*tokens, ";"]:
        if set(token) <= set("|&;()\n"):
            if words:
                yield words
            words = []
        else:
            words.append(token)
