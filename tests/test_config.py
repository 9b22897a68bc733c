"""Command line over environment over ini file over default, resolved once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from roadtest.config import OPTIONS, Settings, cores, new_run_id, resolve
from roadtest.errors import UsageError

ROOT = Path("/project")


def settle(
    cli: dict[str, Any] | None = None,
    environ: dict[str, str] | None = None,
    ini: dict[str, str] | None = None,
    **more: Any,
) -> Settings:
    return resolve(cli=cli or {}, environ=environ or {}, ini=ini or {}, root=ROOT, **more)


def test_the_defaults() -> None:
    """With nothing said, cassettes are replayed, a case runs on each core, and nothing is kept or limited."""
    settings = settle()
    assert settings.cassettes == "replay"
    assert settings.agent_jobs == cores()
    assert settings.output_dir == ROOT / "test-output"
    assert (settings.trials, settings.max_cost, settings.agent_model, settings.eval_report) == (
        None,
        None,
        None,
        None,
    )
    assert not settings.keep_workspaces
    assert not settings.llm_judge


VALUES = {
    "cassettes": (("record", "record"), ("rewrite", "rewrite"), ("live", "live")),
    "trials": (("3", 3), ("4", 4), ("5", 5)),
    "agent_jobs": (("3", 3), ("4", 4), ("5", 5)),
    "agent_model": (("haiku", "haiku"), ("sonnet", "sonnet"), ("opus", "opus")),
    "max_cost": (("1", 1.0), ("2.5", 2.5), ("$3", 3.0)),
    "keep_workspaces": (("true", True), ("1", True), ("no", False)),
    "eval_report": (("/a.html", Path("/a.html")), ("/b.json", Path("/b.json")), ("/c.md", Path("/c.md"))),
    "output_dir": (("a", ROOT / "a"), ("/b", Path("/b")), ("c", ROOT / "c")),
    "claude": (("/a", "/a"), ("/b", "/b"), ("/c", "/c")),
}


@pytest.mark.parametrize("name", VALUES)
def test_the_nearer_source_wins(name: str) -> None:
    """The command line wins over the environment, the environment over the ini file."""
    (typed, first), (exported, second), (written, third) = VALUES[name]
    environ = {f"ROADTEST_{name.upper()}": exported}
    assert getattr(settle({name: typed}, environ, {name: written}), name) == first
    assert getattr(settle({}, environ, {name: written}), name) == second
    assert getattr(settle({}, {}, {name: written}), name) == third


def test_every_option_is_tested() -> None:
    """The table above names each option there is."""
    assert {option.name for option in OPTIONS} == set(VALUES)


@pytest.mark.parametrize(
    ("cli", "environ", "ini", "source"),
    [
        ({"trials": "0"}, {}, {}, "--trials is '0'"),
        ({"trials": "many"}, {}, {}, "--trials is 'many'"),
        ({}, {"ROADTEST_CASSETTES": "maybe"}, {}, "ROADTEST_CASSETTES is 'maybe'"),
        ({}, {}, {"max_cost": "-1"}, "roadtest_max_cost is '-1'"),
        ({}, {}, {"max_cost": "inf"}, "roadtest_max_cost is 'inf'"),
        ({"eval_report": "report.pdf"}, {}, {}, "--eval-report is 'report.pdf'"),
        ({}, {"EVAL_LLM_JUDGE": "perhaps"}, {}, "EVAL_LLM_JUDGE is 'perhaps'"),
        ({}, {"TEST_RUN_ID": "a/b"}, {}, "TEST_RUN_ID is 'a/b'"),
        ({}, {"TEST_RUN_ID": ".."}, {}, "TEST_RUN_ID is '..'"),
    ],
)
def test_a_bad_value_is_refused_by_the_name_of_its_source(
    cli: dict[str, str], environ: dict[str, str], ini: dict[str, str], source: str
) -> None:
    """The error says where the value was set and what it may be."""
    with pytest.raises(UsageError) as caught:
        settle(cli, environ, ini)
    assert source in caught.value.message
    assert caught.value.hint


def test_workers_share_cores_and_budget() -> None:
    """Each of several processes takes its share, so that together they stay within both."""
    settings = settle({"max_cost": "4"}, processes=4)
    assert settings.max_cost == 1.0
    assert settings.agent_jobs == max(1, cores() // 4)


def test_a_run_id_is_taken_or_made() -> None:
    """TEST_RUN_ID names the session; without it each session has an id of its own, later ones sorting later."""
    assert settle({}, {"TEST_RUN_ID": "wt-a"}).run_id == "wt-a"
    assert settle(run_id="given").run_id == "given"
    ids = {new_run_id() for _ in range(50)}
    assert len(ids) == 50
    assert all(len(run_id) == len("20260131-235959-1a2b3c") for run_id in ids)


@pytest.mark.parametrize(("text", "judge"), [("1", True), ("true", True), ("0", False), ("", False)])
def test_the_judge_is_off_unless_told(text: str, judge: bool) -> None:
    """EVAL_LLM_JUDGE=1 lets judges ask a model."""
    assert settle({}, {"EVAL_LLM_JUDGE": text}).llm_judge is judge
