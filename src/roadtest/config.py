"""What a session runs under: command line over environment over ini file over default, resolved once.

``OPTIONS`` is the one list of them: pytest's options and ini keys, the environment variables and ``roadtest run`` are all
made from it. Imported with the plugin in every pytest run, so only the standard library is used here.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args

from roadtest.errors import UsageError

Mode = Literal["replay", "record", "rewrite", "live"]

RUN_ID = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]+")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Everything that is not said in an eval file."""

    root: Path
    """The folder that pytest runs from; outputs and reports are relative to it."""
    run_id: str
    cassettes: Mode = "replay"
    trials: int | None = None
    agent_jobs: int = 1
    agent_model: str | None = None
    max_cost: float | None = None
    keep_workspaces: bool = False
    eval_report: Path | None = None
    output_dir: Path = Path("test-output")
    claude: str | None = None
    llm_judge: bool = False

    def to_plain(self) -> dict[str, Any]:
        """For the run record: what was set, without where we are."""
        plain = {item.name: getattr(self, item.name) for item in fields(self)}
        return {key: str(value) if isinstance(value, Path) else value for key, value in plain.items()}


@dataclass(frozen=True)
class Option:
    """One setting and the names it goes by."""

    name: str
    parse: Callable[[str], Any]
    wants: str
    """What a good value is, for the message about a bad one."""
    help: str
    metavar: str = ""
    flag: bool = False
    hidden: bool = False
    """It has no command line option of its own."""

    @property
    def switch(self) -> str:
        return f"--{self.name.replace('_', '-')}"

    @property
    def variable(self) -> str:
        return f"ROADTEST_{self.name.upper()}"

    @property
    def ini(self) -> str:
        return f"roadtest_{self.name}"

    def read(self, text: str, source: str) -> Any:
        try:
            return self.parse(text.strip())
        except ValueError:
            raise UsageError(f"{source} is {text!r}.", hint=f"it must be {self.wants}") from None


def _mode(text: str) -> str:
    if text not in get_args(Mode):
        raise ValueError(text)
    return text


def _at_least_one(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def _money(text: str) -> float:
    amount = float(text.removeprefix("$"))
    if not 0 <= amount < float("inf"):
        raise ValueError(text)
    return amount


def _report(text: str) -> Path:
    if Path(text).suffix.lower() not in (".html", ".json", ".md"):
        raise ValueError(text)
    return Path(text)


def _truth(text: str) -> bool:
    values = {
        "1": True,
        "true": True,
        "yes": True,
        "on": True,
        "0": False,
        "false": False,
        "no": False,
        "off": False,
    }
    if text.lower() not in values:
        raise ValueError(text)
    return values[text.lower()]


OPTIONS = (
    Option(
        "cassettes",
        _mode,
        f"one of {', '.join(get_args(Mode))}",
        "where the model's answers come from: replay (recorded ones only, no network), record (record what is missing "
        "or stale, replay the rest), rewrite (record all anew) or live (record nothing); default: replay",
        "MODE",
    ),
    Option(
        "trials",
        _at_least_one,
        "a number from 1 on",
        "how often each case runs, whatever its suite says",
        "N",
    ),
    Option(
        "agent_jobs",
        _at_least_one,
        "a number from 1 on",
        "how many cases run at a time; default: one for each core",
        "N",
    ),
    Option(
        "agent_model",
        str,
        "the name of a model",
        "the model of every task that no variant gives one",
        "MODEL",
    ),
    Option(
        "max_cost", _money, "an amount in US dollars", "stop everything once this much has been spent", "USD"
    ),
    Option(
        "keep_workspaces",
        _truth,
        "true or false",
        "keep the workspaces of cases that did not pass",
        flag=True,
    ),
    Option(
        "eval_report",
        _report,
        "a path that ends in .html, .json or .md",
        "write the run as a report: .html, .json or .md by its name",
        "PATH",
    ),
    Option(
        "output_dir",
        Path,
        "a path",
        "where captured calls and run records go; default: test-output",
        hidden=True,
    ),
    Option(
        "claude",
        str,
        "the path of a program",
        "the Claude Code to run; default: the first one found",
        hidden=True,
    ),
)


def resolve(
    *,
    cli: Mapping[str, Any],
    ini: Mapping[str, str],
    environ: Mapping[str, str],
    root: Path,
    run_id: str | None = None,
    processes: int = 1,
) -> Settings:
    """Settle every option once; values of ``cli`` and ``ini`` are as they were typed, by name of the option.

    ``processes`` is how many of our kind share the machine; each takes its share of the cores and of the budget.
    """
    values: dict[str, Any] = {"agent_jobs": max(1, cores() // processes)}
    for option in OPTIONS:
        for source, text in (
            (option.switch, cli.get(option.name)),
            (option.variable, environ.get(option.variable)),
            (option.ini, ini.get(option.name)),
        ):
            if text not in (None, ""):
                values[option.name] = option.read(str(text), source)
                break
    if values.get("max_cost") is not None:
        values["max_cost"] /= processes
    values["llm_judge"] = _judge(environ)
    values["output_dir"] = root / values.get("output_dir", Settings.output_dir)
    if "eval_report" in values:
        values["eval_report"] = Path.cwd() / values["eval_report"]
    return Settings(root=root, run_id=run_id or _run_id(environ), **values)


def cores() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def new_run_id() -> str:
    """Unique, and sorted by name as by time: ``20260131-235959-1a2b3c``."""
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{os.urandom(3).hex()}"


def _run_id(environ: Mapping[str, str]) -> str:
    wanted = environ.get("TEST_RUN_ID", "")
    if not wanted:
        return new_run_id()
    if not RUN_ID.fullmatch(wanted):
        raise UsageError(
            f"TEST_RUN_ID is {wanted!r}, which cannot name the output folder of a session.",
            hint="use letters, digits, '.', '_' and '-' (each case gets a folder of its own inside)",
        )
    return wanted


def _judge(environ: Mapping[str, str]) -> bool:
    text = environ.get("EVAL_LLM_JUDGE", "")
    try:
        return _truth(text) if text else False
    except ValueError:
        raise UsageError(
            f"EVAL_LLM_JUDGE is {text!r}.", hint="set it to 1 to let judges ask a model"
        ) from None
