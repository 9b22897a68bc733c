"""What pytest's reports say about evals and about tests with the ``agent`` fixture, where its own words would mislead."""

from __future__ import annotations

import pytest

from roadtest.agent import Agent
from roadtest.errors import EnvironmentProblem, InvalidRun
from roadtest.plugin.collection import EvalItem
from roadtest.plugin.session import EvalSession
from roadtest.plugin.terminal import CaseRepr
from roadtest.record import now
from roadtest.results import CaseResult
from roadtest.statistics import Verdict


def adjust(
    report: pytest.TestReport, item: pytest.Item, call: pytest.CallInfo[None], evals: EvalSession
) -> None:
    if isinstance(item, EvalItem):
        _adjust_eval(report, item, evals.settings.run_id)
    elif isinstance(agent := getattr(item, "funcargs", {}).get("agent"), Agent) and call.when == "call":
        invalid = call.excinfo is not None and isinstance(call.excinfo.value, InvalidRun | EnvironmentProblem)
        if invalid:
            _make_error(report)
        _record_test(report, item, agent, evals, invalid=invalid)


def _adjust_eval(report: pytest.TestReport, item: EvalItem, run_id: str) -> None:
    if item.result is None:
        return
    if item.result.verdict != "passed" and report.when != "teardown" and report.outcome != "passed":
        report.longrepr = CaseRepr(item.result, run_id, item.trial.suite.line)
    if report.when == "setup":
        # The wait is no measure of anything: the trial may have run long before, or waited for others.
        report.duration = 0.0
        if item.result.verdict in ("invalid", "error") and report.skipped:
            # An xfail mark expects the case to fail; it does not expect that nothing can be said.
            _make_error(report)
    elif report.when == "call":
        report.duration = item.result.duration_s


def _make_error(report: pytest.TestReport) -> None:
    """What did not happen in the test itself is an error to pytest and JUnit XML, not a failure."""
    report.outcome = "failed"
    report.when = "setup"
    vars(report).pop("wasxfail", None)


def _record_test(
    report: pytest.TestReport, item: pytest.Item, agent: Agent, evals: EvalSession, *, invalid: bool
) -> None:
    if report.skipped or not agent.runs:
        return
    verdict: Verdict = "invalid" if invalid else "failed" if report.failed else "passed"
    evals.add(
        CaseResult(
            suite="",
            case=item.name,
            node_id=item.nodeid,
            verdict=verdict,
            file=item.nodeid.partition("::")[0],
            reason="" if verdict == "passed" else report.longreprtext.strip().rpartition("\n")[2],
            runs=list(agent.runs),
            started_at=now(),
            duration_s=report.duration,
            folder=agent.folder,
        )
    )
