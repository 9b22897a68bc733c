"""The ``roadtest`` command in this process: starting Python and loading pytest takes longer than most of what it does."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

import pytest

from roadtest.cli import main


def roadtest(
    *arguments: str, cwd: Path, env: Mapping[str, str] | None = None, answer: str = ""
) -> subprocess.CompletedProcess[str]:
    """What the command says and how it ends, in this folder, with this environment if one is given."""
    out, err = io.StringIO(), io.StringIO()
    with (
        chdir(cwd),
        mock.patch.dict(os.environ, os.environ if env is None else env, clear=True),
        mock.patch.object(sys, "argv", ["roadtest", *arguments]),
        mock.patch.object(sys, "path", [*sys.path]),
        mock.patch.object(sys, "stdin", io.StringIO(answer)),
        redirect_stdout(out),
        redirect_stderr(err),
        pytest.raises(SystemExit) as ended,
    ):
        main()
    forget_modules_below(cwd)
    return subprocess.CompletedProcess(arguments, int(ended.value.code or 0), out.getvalue(), err.getvalue())


def forget_modules_below(folder: Path) -> None:
    """The next command finds the evals as they are then, as a new process would."""
    for name, module in [*sys.modules.items()]:
        if (getattr(module, "__file__", None) or "").startswith(f"{folder}/"):
            del sys.modules[name]
