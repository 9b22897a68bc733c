"""What pytest itself offers works on evals as it does on tests."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import suppress

import pytest

SUITE = """
from roadtest import Case, Score, describe_eval
describe_eval("suite", data=[Case("good", "good"), Case("bad", "bad")], task=str, scorers=[lambda output: output == "good"])
describe_eval("other", data=[Case("good", "good")], task=str, scorers=[lambda output: Score(0.9, "nearly all")])
"""


@pytest.fixture
def suite(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makepyfile(test_it=SUITE)
    return pytester


def test_k_selects_by_name(suite: pytest.Pytester) -> None:
    """-k takes suite and case names."""
    suite.runpytest("-k", "other").assert_outcomes(passed=1, deselected=2)
    suite.runpytest("-k", "suite and good").assert_outcomes(passed=1, deselected=2)


def test_last_failed_runs_only_those(suite: pytest.Pytester) -> None:
    """--lf runs what failed before and --ff runs it first."""
    suite.runpytest().assert_outcomes(passed=2, failed=1)
    suite.runpytest("--lf").assert_outcomes(failed=1)
    result = suite.runpytest("--ff", "-v")
    result.stdout.fnmatch_lines(["*suite::bad FAILED*", "*suite::good PASSED*", "*other::good PASSED*"])


def test_works_without_the_cache(suite: pytest.Pytester) -> None:
    """Nothing depends on pytest's cache."""
    suite.runpytest("-p", "no:cacheprovider").assert_outcomes(passed=2, failed=1)


def test_durations_are_those_of_the_cases(suite: pytest.Pytester) -> None:
    """--durations lists the time of the run in the call, not the wait for it in the setup."""
    suite.makepyfile(
        test_it="""
        import time
        from roadtest import Case, describe_eval
        describe_eval("slow", data=[Case("one", "x")], task=lambda text: (time.sleep(0.05), text)[1],
                      scorers=[lambda output: True])
        """
    )
    suite.runpytest("--durations=1", "--durations-min=0.04").stdout.re_match_lines(
        [r"\d+\.\d\ds call +test_it.py::slow::one"]
    )


def test_random_order_changes_nothing(suite: pytest.Pytester) -> None:
    """Evals are run and judged right in any order."""
    plugin = "random_order.plugin"
    suite.runpytest("-p", plugin, "--random-order-bucket=global", "--random-order-seed=3").assert_outcomes(
        passed=2, failed=1
    )


def test_quiet_output_is_short(suite: pytest.Pytester) -> None:
    """Where nobody watches there is no live line and no control character."""
    text = suite.runpytest("-q").stdout.str()
    assert "\x1b" not in text
    assert "running" not in text


def test_junit_xml_carries_the_scores(suite: pytest.Pytester) -> None:
    """JUnit XML names each case, calls a failure a failure, and holds scores, verdict and reason as properties."""
    suite.runpytest("--junitxml=junit.xml")
    cases = {
        (case.get("classname"), case.get("name")): case
        for case in ET.parse(suite.path / "junit.xml").getroot().iter("testcase")
    }
    nearly = {item.get("name"): item.get("value") for item in cases["test_it.other", "good"].iter("property")}
    assert nearly["verdict"] == "passed"
    assert nearly["score.<lambda>"] == "0.9"
    assert nearly["reason.<lambda>"] == "nearly all"
    failure = cases["test_it.suite", "bad"].find("failure")
    assert failure is not None
    assert failure.get("message") == "failed: <lambda>: scored 0"


def test_the_live_line_is_for_those_who_watch(suite: pytest.Pytester) -> None:
    """On a terminal a line tells how many cases are done and running, and pytest writes over it."""
    os.mkfifo(suite.path / "seen")
    suite.makepyfile(
        test_it="""
        from pathlib import Path
        from roadtest import Case, describe_eval
        # Reading the pipe waits until somebody has seen the line and opens it for writing.
        describe_eval("slow", data=[Case("one", "x")], task=lambda text: Path("seen").read_text(),
                      scorers=[lambda output: output == "yes"])
        """
    )
    master, terminal = pty.openpty()
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    environ = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    line = "  0/1 done · 1 running"
    drawn = f"{line}\x1b[K\x1b[{len(line)}D".encode()
    shown = b""
    with subprocess.Popen(
        command, stdin=terminal, stdout=terminal, stderr=terminal, env=environ, cwd=suite.path
    ) as child:
        os.close(terminal)
        for piece in read_all(master):
            before, shown = shown, shown + piece
            if drawn in shown and drawn not in before:
                (suite.path / "seen").write_text("yes")
    os.close(master)
    assert child.returncode == 0, shown.decode()


def read_all(descriptor: int) -> Iterator[bytes]:
    """What a terminal shows until nobody writes to it any more, which Linux tells by an error."""
    with suppress(OSError):
        while piece := os.read(descriptor, 65536):
            yield piece
