"""The pytest plugin: options, hooks and the ``agent`` fixture.

pytest imports this file in every project that has roadtest installed, so it imports nothing but the options; all else
comes when the first suite is collected or the first ``agent`` is asked for.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from roadtest.config import OPTIONS, Settings, resolve
from roadtest.errors import UsageError

if TYPE_CHECKING:
    from roadtest.agent import Agent
    from roadtest.plugin.scheduling import Schedule
    from roadtest.plugin.session import EvalSession

SETTINGS: pytest.StashKey[Settings] = pytest.StashKey()
EVALS: pytest.StashKey[EvalSession] = pytest.StashKey()
CLEARED: pytest.StashKey[bool] = pytest.StashKey()
COMPARISONS: pytest.StashKey[dict[str, str]] = pytest.StashKey()
"""Explanations of comparisons since the last report, by their summaries."""
SCHEDULE: pytest.StashKey[Schedule] = pytest.StashKey()

KEEPS_TRIALS_TOGETHER = frozenset({"load", "loadfile", "loadscope", "each"})
"""The ways of pytest-xdist to distribute tests that leave the trials of a case in one process."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("roadtest", "evals of Claude Code (roadtest)")
    for option in OPTIONS:
        parser.addini(option.ini, f"{option.help} ({option.variable})", default="")
        if option.hidden:
            continue
        if option.flag:
            group.addoption(
                option.switch, action="store_const", const="true", dest=option.ini, help=option.help
            )
        else:
            group.addoption(option.switch, metavar=option.metavar, dest=option.ini, help=option.help)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "agent(**options): defaults for the runs of the `agent` fixture")
    worker = _worker_input(config)
    try:
        config.stash[SETTINGS] = resolve(
            cli={option.name: getattr(config.option, option.ini, None) for option in OPTIONS},
            ini={option.name: config.getini(option.ini) for option in OPTIONS},
            environ=os.environ,
            root=config.rootpath,
            run_id=worker.get("roadtest_run_id"),
            processes=worker.get("workercount", 1),
        )
    except UsageError as problem:
        raise pytest.UsageError(str(problem)) from None


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out recordings and the outputs of earlier runs: there are no tests in them, but folders by the hundred."""
    if collection_path.parent == config.stash[SETTINGS].output_dir:
        signs = ("run.json", "lifecycle.jsonl")
        return any(collection_path.joinpath(sign).is_file() for sign in signs) or None
    if f"{os.sep}cassettes{os.sep}" in str(collection_path):
        signs = ("metadata.json", "request-1.json")
        return all(collection_path.joinpath(sign).is_file() for sign in signs) or None
    return None


def _worker_input(config: pytest.Config) -> dict[str, Any]:
    """What the controlling process of pytest-xdist told this one; empty where there is none."""
    told: dict[str, Any] = getattr(config, "workerinput", {})
    return told


def _distributes(config: pytest.Config) -> bool:
    """Is this the process that hands out tests to workers?"""
    return config.pluginmanager.hasplugin("dsession")


def evals_of(config: pytest.Config) -> EvalSession:
    """The session's state, made when it is first asked for."""
    if EVALS not in config.stash:
        from roadtest.plugin.session import EvalSession  # noqa: PLC0415 - a project without evals does not wait for it

        command = ["pytest", *map(str, config.invocation_params.args)]
        worker = _worker_input(config).get("workerid", "")
        sessions = config.pluginmanager.getplugin("roadtest-sessions")
        make: Any = sessions.make_session if sessions else EvalSession
        config.stash[EVALS] = make(
            config.stash[SETTINGS], command=command, worker=worker, adopt=_distributes(config)
        )
    return config.stash[EVALS]


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(
    collector: pytest.Collector, name: str, obj: Any
) -> list[pytest.Collector] | None:
    """``describe_eval`` leaves each suite in its module, under a name that no one else can write."""
    if not name.startswith("describe_eval(") or not isinstance(collector, pytest.Module):
        return None
    from roadtest.plugin.collection import SuiteCollector  # noqa: PLC0415

    evals = evals_of(collector.config)
    return [SuiteCollector.from_parent(collector, name=obj.name, suite=obj, session_of_evals=evals)]


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    if EVALS in session.config.stash:
        from roadtest.plugin.scheduling import Schedule  # noqa: PLC0415

        distribution = _worker_input(session.config).get("roadtest_dist")
        session.config.stash[SCHEDULE] = Schedule(
            session.config.stash[EVALS],
            session.config,
            session.items,
            here=distribution is None,
            together=distribution is None or distribution in KEEPS_TRIALS_TOGETHER,
        )


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    if SCHEDULE in item.config.stash:
        item.config.stash[SCHEDULE].expect(nextitem)


@pytest.hookimpl(trylast=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """After all fixtures of the item are up."""
    if hasattr(item, "trial") and SCHEDULE in item.config.stash:
        from roadtest.plugin.collection import EvalItem  # noqa: PLC0415

        if isinstance(item, EvalItem):
            item.config.stash[SCHEDULE].await_result(item)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _explain(report, item, call)
    if EVALS in item.config.stash:
        from roadtest.plugin.outcomes import adjust  # noqa: PLC0415

        adjust(report, item, call, item.config.stash[EVALS])
        if stopped := item.config.stash[EVALS].stopped:
            item.session.shouldstop = stopped
    return report


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> Generator[None, object, object]:
    """End what still runs; the record is whole before the terminal's summary, which reads it."""
    evals = session.config.stash.get(EVALS, None)
    if evals:
        evals.end()
    done = yield
    if evals is None and _distributes(session.config):
        from roadtest.record import journals_in  # noqa: PLC0415

        folder = session.config.stash[SETTINGS].output_dir / session.config.stash[SETTINGS].run_id
        evals = evals_of(session.config) if journals_in(folder) else None
    if evals:
        evals.close(int(session.exitstatus))
    return done


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    evals = config.stash.get(EVALS, None)
    if evals and (results := evals.all_results()):
        from roadtest.plugin.terminal import write_summary  # noqa: PLC0415

        write_summary(terminalreporter, results, evals.notes())


def pytest_unconfigure(config: pytest.Config) -> None:
    """Whatever happened to the session: nothing of it goes on."""
    if evals := config.stash.get(EVALS, None):
        evals.end()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """In the controlling process of pytest-xdist: tell each worker what it cannot know."""
    settings = node.config.stash[SETTINGS]
    node.workerinput["roadtest_run_id"] = settings.run_id
    node.workerinput["roadtest_dist"] = node.config.getoption("dist")
    if CLEARED not in node.config.stash:
        node.config.stash[CLEARED] = True
        if (settings.output_dir / settings.run_id).exists():
            from roadtest.record import clear  # noqa: PLC0415

            clear(settings.output_dir / settings.run_id)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    if config.getoption("dist") != "load":
        return None
    from roadtest.plugin.distribution import KeepTrialsTogether  # noqa: PLC0415 - pytest-xdist is there if this is called

    return KeepTrialsTogether(config, log)


def pytest_assertrepr_compare(
    config: pytest.Config, op: str, left: object, right: object
) -> list[str] | None:
    """Explain ``run.trajectory == [...]``: the summary here, where pytest would cut more, the rest in the report."""
    if op != "==" or "roadtest.trajectory" not in sys.modules:
        return None
    from roadtest.matching.assertions import explain_comparison  # noqa: PLC0415

    lines = explain_comparison(left, right)
    if lines is not None:
        config.stash.setdefault(COMPARISONS, {})[lines[1]] = "\n".join(lines[1:])
    return lines and lines[:2]


def _explain(report: pytest.TestReport, item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Show in full the comparisons of trajectories that a failed assertion speaks of."""
    compared = item.config.stash.get(COMPARISONS, {})
    if call.excinfo is not None and "roadtest.matching" in sys.modules:
        from roadtest.matching.assertions import explain_failures  # noqa: PLC0415

        message = str(call.excinfo.value)
        values = [value for entry in call.excinfo.traceback for value in entry.frame.f_locals.values()]
        told = [text for summary, text in compared.items() if summary in message]
        for text in dict.fromkeys([*told, *explain_failures(message, values)]):
            report.sections.append(("expected calls and those made", text))
    compared.clear()


@pytest.fixture
def agent(request: pytest.FixtureRequest) -> Iterator[Agent]:
    """Run Claude Code in this test: ``run = agent.run("prompt", allowed_tools=[...])``."""
    from roadtest.agent import open_agent  # noqa: PLC0415

    with open_agent(evals_of(request.config), request.node) as opened:
        yield opened
