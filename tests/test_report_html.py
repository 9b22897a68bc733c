"""The page of a run: whole, harmless, and without a request."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path, PurePath

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from roadtest.calls import ToolCall
from roadtest.cli.view import view
from roadtest.errors import UsageError
from roadtest.matching import call, match
from roadtest.record import RecordWriter
from roadtest.report.export import export
from roadtest.report.html import Node, render, tree
from roadtest.results import Record, RecordHeader, Score, from_json
from tests.records import FAILED, FULL, PASSED, RUN_ID, a_call, a_record, a_result, a_run

VOID = {"meta", "input", "br"}
TAGS = set(
    re.findall(
        r"\w+",
        "html head meta title style body header p h1 code div button span label input main section h2 "
        "details summary article h5 pre ul li dl dt dd footer script",
    )
)


class Page(HTMLParser):
    """Reads a page and fails on a tag that is closed out of turn."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.text += data


@pytest.fixture(scope="module")
def page() -> Page:
    return Page(render(FULL))


def test_every_tag_is_closed_in_turn(page: Page) -> None:
    """The page is well-formed."""
    assert page.open == []


def test_the_page_has_every_case_with_its_verdict(page: Page) -> None:
    """Each case is a block of its own that carries its verdict for the filter."""
    cases = [attrs for tag, attrs in page.tags if tag == "details" and "data-verdict" in attrs]
    assert [attrs["data-verdict"] for attrs in cases] == [
        "passed",
        "failed",
        "invalid",
        "error",
        "passed",
        "passed",
    ]
    assert len({attrs["id"] for attrs in cases}) == 6


def test_the_page_shows_what_the_terminal_shows(page: Page) -> None:
    """Reasons, differences, intervals, drift, tracebacks and commands are all there."""
    for part in (
        "superset match failed",
        "wrong args",
        "67 %, likely 21 % to 94 %",
        "pass^3 0.00",
        ".claude/skills/todo-finder/SKILL.md changed",
        "KeyError: 'x'",
        "sonnet against haiku",
        "flaky",
        "pytest 'evals/test_search.py::file search::find fixmes' --cassettes=rewrite",
    ):
        assert part in page.text


def test_a_very_long_comparison_shows_its_fault() -> None:
    """Of thousands of calls the page has those around the fault, and says how many more there are."""
    made = [a_call("Read", file_path=f"/{number}") for number in range(3000)]
    expected = [call(one.name, one.args) for one in made[:-1]]
    found = match(made, [*expected, call("Read", file_path="/elsewhere")])
    score = Score(0, found.summary, found.to_data(), "trajectory_match")
    page = Page(render(a_record(a_result("long", "failed", scores=[score]))))
    assert page.open == []
    assert "… 2,997 as expected" in page.text
    assert "3000 Read(file_path='/elsewhere')" in page.text


def test_the_page_asks_for_nothing(page: Page) -> None:
    """No tag refers to anything outside of the page, and its policy forbids it."""
    for tag, attrs in page.tags:
        assert not {"src", "href", "srcset", "action", "data"} & attrs.keys(), tag
        assert not any(name.startswith("on") for name in attrs)
    assert "url(" not in render(FULL)
    policy = next(attrs["content"] for _, attrs in page.tags if attrs.get("http-equiv"))
    assert policy is not None
    assert policy.startswith("default-src 'none';")


def test_the_policy_allows_the_one_script_of_the_page() -> None:
    """The hash in the policy is that of the script as it stands in the page."""
    text = render(FULL)
    script = text[text.rindex("<script>") + len("<script>") : text.rindex("</script>")]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in text


@settings(max_examples=40)
@given(st.text(alphabet="<>&\"'/abscript{}% \n", max_size=60))
def test_what_an_agent_wrote_cannot_become_part_of_the_page(evil: str) -> None:
    """Output, arguments, names and reasons are text, whatever they contain."""
    run = a_run(a_call(evil, x=evil), output=evil, diff=f"+{evil}", notes=[evil], stderr=evil)
    result = a_result(evil, "error", suite=evil, reason=evil, traceback=evil, runs=[run])
    page = Page(render(a_record(result)))
    assert page.open == []
    assert sum(tag == "script" for tag, _ in page.tags) == 1
    assert {tag for tag, _ in page.tags} <= TAGS


def count(nodes: list[Node] | tuple[Node, ...]) -> int:
    return sum(1 + count(list(node.inside)) for node in nodes)


ids = st.sampled_from(["", "a", "b", "c", "d"])


@given(st.lists(st.builds(ToolCall, name=st.just("T"), id=ids, parent_id=st.none() | ids), max_size=8))
def test_the_tree_has_every_call_once(calls: list[ToolCall]) -> None:
    """Whatever ids and parents a file may hold, no call is lost and none is shown twice."""
    assert count(tree(calls)) == len(calls)


def test_the_tree_puts_subagents_under_their_call() -> None:
    """A call of a subagent hangs under the call that spawned it."""
    calls = [
        ToolCall(name="Agent", id="1"),
        ToolCall(name="Read", id="2", parent_id="1"),
        ToolCall(name="Bash", id="3"),
    ]
    assert [(node.call.name, [inner.call.name for inner in node.inside]) for node in tree(calls)] == [
        ("Agent", ["Read"]),
        ("Bash", []),
    ]


def test_an_empty_run_is_a_page_too() -> None:
    """Nothing run is said in words."""
    assert "No eval was run." in render(a_record())


def test_a_killed_run_says_so_on_its_page() -> None:
    """A record without an end is marked."""
    assert "did not finish" in Page(render(a_record(PASSED, finished_at=""))).text


def test_a_huge_output_is_cut_on_the_page() -> None:
    """The page stays readable, and says how much more the record has."""
    text = render(a_record(a_result("big", runs=[a_run(output="x" * 1_000_000)])))
    assert len(text) < 100_000
    assert "980,000 more characters in the record" in text


def test_view_writes_the_page_beside_the_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``roadtest view`` prints the path of the page it wrote; ``-o`` chooses another."""
    monkeypatch.setenv("ROADTEST_OUTPUT_DIR", str(tmp_path))
    writer = RecordWriter(tmp_path / "r", RecordHeader(run_id="r", started_at="now"), redact=str)
    writer.add(FAILED)
    writer.close()
    said = CliRunner().invoke(view, [], catch_exceptions=False).output.strip()
    assert said == str(tmp_path / "r" / "report.html")
    assert "find fixmes" in Path(said).read_text()
    CliRunner().invoke(view, ["r", "-o", str(tmp_path / "mine.html")], catch_exceptions=False)
    assert (tmp_path / "mine.html").is_file()


def test_a_report_is_what_its_name_says() -> None:
    """``.html`` is the page, ``.json`` the record, ``.md`` a summary; any other name is an error."""
    assert export(FULL, PurePath("a.HTML")).lstrip().startswith("<!doctype html>")
    assert from_json(export(FULL, PurePath("a.json")), Record) == FULL
    assert export(FULL, PurePath("a.md")).startswith("### roadtest: 6 cases")
    with pytest.raises(UsageError, match=re.escape(".html, .json, .md")):
        export(FULL, PurePath("a.pdf"))


def test_markdown_has_the_table_and_the_failures() -> None:
    """The summary for CI unfolds each case that did not pass, in a block that its content cannot leave."""
    evil = a_result("</details>", "failed", runs=[a_run(output="```\n</details>")], reason="no")
    lines = export(a_record(PASSED, evil), PurePath("a.md")).splitlines()
    assert "| file search | 1 | 1 |  |  |  | $0.0246 | 2.8 s |" in lines
    assert "<details><summary>✗ failed: file search::&lt;/details></summary>" in lines
    assert "      </details>" in lines
    assert lines.count("</details>") == 1
    assert lines[-1] == f"<sub>run {RUN_ID}</sub>"
    assert export(a_record(), PurePath("a.md")).startswith("### roadtest: no eval was run")
