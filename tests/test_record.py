"""The record on disk: written case by case, read back also after a crash."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from roadtest.calls import ToolCall
from roadtest.errors import EnvironmentProblem, UsageError
from roadtest.record import RecordWriter, clear, find_run, git_state, is_running, list_runs, read_record
from roadtest.results import FORMAT, CaseResult, RecordHeader, Run, Score, Totals
from roadtest.trajectory import Trajectory

HEADER = RecordHeader(run_id="r", started_at="2026-01-02T03:04:05.678Z", settings={"jobs": 2})


def plainly(text: str) -> str:
    return text


def result(case: str, **fields: object) -> CaseResult:
    run = Run(
        output=f"did {case}",
        trajectory=Trajectory([ToolCall(name="Read", args={"file_path": case})]),
        cost_usd=0.5,
    )
    given = {"suite": "s", "node_id": f"test_a.py::s::{case}", "verdict": "passed", "runs": [run], **fields}
    return CaseResult(case=case, **given)  # type: ignore[arg-type]


def write(folder: Path, *cases: CaseResult, redact: Callable[[str], str] = plainly) -> Path:
    writer = RecordWriter(folder, HEADER, redact=redact)
    for case in cases:
        writer.add(case)
    path = writer.close(exit_status=0)
    assert path is not None
    return path


def test_a_finished_run_is_one_file(tmp_path: Path) -> None:
    """After the run there is ``run.json`` with header, cases and totals, and no journal."""
    cases = [
        result("a"),
        result("b", verdict="failed", scores=[Score(0.2, "too short", {"length": 3}, "length")]),
    ]
    path = write(tmp_path / "r", *cases)
    record = read_record(path.parent)
    assert list(path.parent.iterdir()) == [path]
    assert record.cases == cases
    assert record.totals == Totals.of(cases)
    assert (record.run_id, record.settings, record.exit_status) == ("r", {"jobs": 2}, 0)
    assert record.finished_at


def test_run_json_has_a_case_a_line(tmp_path: Path) -> None:
    """The file is JSON that line-based tools can work on."""
    lines = write(tmp_path / "r", result("a"), result("b")).read_text().splitlines()
    cases = [line for line in lines if line.startswith('{"suite":')]
    assert len(cases) == 2
    assert msgspec.json.decode(cases[0].rstrip(","))["case"] == "a"


def test_a_run_without_cases_is_a_record_too(tmp_path: Path) -> None:
    """Nothing selected, nothing run: the record says so."""
    assert read_record(write(tmp_path / "r").parent).cases == []


def test_a_running_run_can_be_read(tmp_path: Path) -> None:
    """What is finished is there to read while the rest still runs."""
    writer = RecordWriter(tmp_path, HEADER, redact=plainly)
    writer.add(result("a"))
    record = read_record(tmp_path)
    assert is_running(tmp_path)
    assert [case.case for case in record.cases] == ["a"]
    assert not record.finished_at
    writer.close()
    assert not is_running(tmp_path)


WRITER = """
import sys
from pathlib import Path
from roadtest.record import RecordWriter
from roadtest.results import CaseResult, RecordHeader, Run

worker = sys.argv[2]
writer = RecordWriter(Path(sys.argv[1]), RecordHeader(run_id="r", started_at="x"), redact=str, worker=worker)
print("ready", flush=True)
for index in range(int(sys.argv[3])):
    run = Run(output="x" * (1 + index * 7919 % 300_000), cost_usd=1)
    writer.add(CaseResult(suite="s", case=f"{worker}-{index}", node_id="n", verdict="passed", runs=[run]))
    print(index, flush=True)
"""


def start_writer(folder: Path, worker: str, count: int, ending: str = "") -> subprocess.Popen[str]:
    code = textwrap.dedent(WRITER) + ending
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen(
        [sys.executable, "-c", code, str(folder), worker, str(count)],
        stdout=subprocess.PIPE,
        text=True,
        env=environ,
    )


@pytest.mark.parametrize("finished", [0, 1, 7, 40])
def test_a_killed_run_loses_nothing_finished(tmp_path: Path, finished: int) -> None:
    """After ``kill -9`` at any moment every case that was written before is read back."""
    writer = start_writer(tmp_path, "", 1_000_000)
    assert writer.stdout is not None
    said = [writer.stdout.readline() for _ in range(finished + 1)]
    writer.send_signal(signal.SIGKILL)
    said += writer.communicate()[0].splitlines(keepends=True)
    whole = [line for line in said[1:] if line.endswith("\n")]
    record = read_record(tmp_path)
    assert [case.case for case in record.cases[: len(whole)]] == [f"-{index}" for index in range(len(whole))]
    assert len(record.cases) in (len(whole), len(whole) + 1)
    assert not is_running(tmp_path)


def test_a_torn_last_line_is_passed_over(tmp_path: Path) -> None:
    """A case whose line has no end was not finished; those before it are read, and merged."""
    writer = RecordWriter(tmp_path, HEADER, redact=plainly)
    writer.add(result("a"))
    with (tmp_path / "cases-gw0.jsonl").open("wb") as worker:
        worker.write((tmp_path / "cases.jsonl").read_bytes() + b'{"suite":"s","case":"torn"')
    assert [case.case for case in read_record(tmp_path).cases] == ["a", "a"]
    writer.close()
    assert [case.case for case in read_record(tmp_path).cases] == ["a", "a"]


def test_parallel_workers_end_in_one_record(tmp_path: Path) -> None:
    """Four processes write journals of their own; the owner makes one record of them."""
    owner = RecordWriter(tmp_path, HEADER, redact=plainly)
    workers = [start_writer(tmp_path, f"gw{index}", 25, "writer.close()") for index in range(4)]
    for worker in workers:
        worker.communicate()
        assert worker.returncode == 0
    owner.close(exit_status=0)
    record = read_record(tmp_path)
    expected = {f"gw{worker}-{index}" for worker in range(4) for index in range(25)}
    assert {case.case for case in record.cases} == expected
    assert len(record.cases) == 100
    assert record.totals.passed == 100
    assert record.totals.cost_usd == 100
    assert list(tmp_path.iterdir()) == [tmp_path / "run.json"]


def test_a_killed_worker_keeps_its_finished_cases(tmp_path: Path) -> None:
    """What a worker wrote before it was killed is in the record that the owner makes."""
    owner = RecordWriter(tmp_path, HEADER, redact=plainly)
    owner.add(result("mine"))
    worker = start_writer(tmp_path, "gw0", 1_000_000)
    assert worker.stdout is not None
    for _ in range(4):
        worker.stdout.readline()
    worker.kill()
    worker.communicate()
    owner.close()
    names = [case.case for case in read_record(tmp_path).cases]
    assert names[:4] == ["mine", "gw0-0", "gw0-1", "gw0-2"]


def test_threads_write_whole_lines(tmp_path: Path) -> None:
    """Cases that finish at the same time do not mix."""
    writer = RecordWriter(tmp_path, HEADER, redact=plainly)

    def add_many(start: int) -> None:
        for number in range(start, start + 50):
            writer.add(result(str(number)))

    threads = [threading.Thread(target=add_many, args=(start,)) for start in range(0, 200, 50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.close()
    assert sorted(int(case.case) for case in read_record(tmp_path).cases) == list(range(200))


def test_two_runs_never_share_a_folder(tmp_path: Path) -> None:
    """A second run with the same id is refused while the first one lives, and replaces it afterwards."""
    first = RecordWriter(tmp_path, HEADER, redact=plainly)
    first.add(result("old"))
    with pytest.raises(UsageError, match="TEST_RUN_ID=another-name"):
        RecordWriter(tmp_path, HEADER, redact=plainly)
    assert [case.case for case in read_record(tmp_path).cases] == ["old"]
    first.close()
    write(tmp_path, result("new"))
    assert [case.case for case in read_record(tmp_path).cases] == ["new"]


def test_a_worker_that_lives_keeps_others_out(tmp_path: Path) -> None:
    """Workers without an owner hold the folder too: it can neither be cleared nor taken over."""
    worker = RecordWriter(tmp_path, HEADER, redact=plainly, worker="gw0")
    worker.add(result("a"))
    assert is_running(tmp_path)
    for take in (lambda: clear(tmp_path), lambda: RecordWriter(tmp_path, HEADER, redact=plainly)):
        with pytest.raises(UsageError, match="Another run is writing"):
            take()
    worker.close()
    assert [case.case for case in read_record(tmp_path).cases] == ["a"]
    assert not is_running(tmp_path)


def test_an_owner_that_comes_late_adopts_the_journals(tmp_path: Path) -> None:
    """Where the owner is made after its workers ended, it brings together what they wrote."""
    worker = RecordWriter(tmp_path, HEADER, redact=plainly, worker="gw0")
    worker.add(result("a"))
    worker.close()
    RecordWriter(tmp_path, HEADER, redact=plainly, adopt=True).close(exit_status=0)
    assert [case.case for case in read_record(tmp_path).cases] == ["a"]


def test_versions_of_claude_code_come_from_the_runs(tmp_path: Path) -> None:
    """Each run says which version it was; the record lists them, also when it was killed."""
    writer = RecordWriter(tmp_path, HEADER, redact=plainly)
    for version in ("2.1.2", "2.1.1", ""):
        writer.add(result("a", runs=[Run(claude_version=version)]))
    assert read_record(tmp_path).versions == {"claude": "2.1.1, 2.1.2"}
    writer.close()
    assert read_record(tmp_path).versions == {"claude": "2.1.1, 2.1.2"}


def test_secrets_do_not_reach_the_disk(tmp_path: Path) -> None:
    """Every string of header and cases is redacted before a byte is written, and in the merged file."""
    secret = "sk-" + "ant-" + "x" * 20
    header = RecordHeader(run_id="r", started_at="x", settings={"key": secret}, command=[f"--key={secret}"])
    writer = RecordWriter(tmp_path, header, redact=lambda text: text.replace(secret, "{{redacted:KEY}}"))
    writer.add(result("a", metadata={secret: [secret]}, reason=f"line\n{secret}", expected=[{"k": secret}]))
    journal = (tmp_path / "cases.jsonl").read_text()
    writer.close()
    for written in (journal, (tmp_path / "run.json").read_text()):
        assert secret not in written
        assert written.count("{{redacted:KEY}}") == 6


def test_a_long_conversation_is_kept_in_part(tmp_path: Path) -> None:
    """Messages are bounded in number and length and say what was left out; the output is kept whole."""
    messages = [{"type": "assistant", "text": str(index)} for index in range(1000)]
    messages[0]["text"] = "y" * 100_000
    run = Run(output="z" * 100_000, messages=messages, stderr="e" * 100_000)
    write(tmp_path, result("a", runs=[run]))
    kept = read_record(tmp_path).cases[0].runs[0]
    assert len(kept.messages) == 201
    assert kept.messages[20] == {"type": "roadtest", "omitted_messages": 800}
    assert kept.messages[0]["text"].endswith("… (83616 more characters)")
    assert kept.messages[-1]["text"] == "999"
    assert kept.output == run.output
    assert len(run.messages) == 1000


FULL_DISK = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
from roadtest.errors import EnvironmentProblem
for case in ("small", "large", "small"):
    size = 100_000 if case == "large" else 10
    try:
        run = Run(output="x" * size)
        writer.add(CaseResult(suite="s", case=case, node_id="n", verdict="passed", runs=[run]))
    except EnvironmentProblem as problem:
        print(problem)
"""


def test_a_full_disk_tears_no_line(tmp_path: Path) -> None:
    """A case that does not fit is an error that says what to do; those before and after it are whole."""
    writer = start_writer(tmp_path, "", 0, FULL_DISK)
    said, _ = writer.communicate()
    assert "cannot be written to" in said
    assert "ROADTEST_OUTPUT_DIR" in said
    assert [case.case for case in read_record(tmp_path).cases] == ["small", "small"]


def test_closing_twice_is_closing_once(tmp_path: Path) -> None:
    """A second close does nothing."""
    writer = RecordWriter(tmp_path, HEADER, redact=plainly)
    assert writer.close() == tmp_path / "run.json"
    assert writer.close() is None


def test_a_newer_record_is_refused_by_name(tmp_path: Path) -> None:
    """The error names the file and both formats."""
    (tmp_path / "run.json").write_bytes(msgspec.json.encode({"format": FORMAT + 1}))
    with pytest.raises(UsageError, match=rf"run.json has format {FORMAT + 1}"):
        read_record(tmp_path)


def test_runs_are_found_by_id_prefix_path_or_age(tmp_path: Path) -> None:
    """A run is named by its id, the beginning of it, its folder or file; no name means the newest."""
    for age, name in enumerate(["ci/7", "two-a", "two-b", "one"]):
        path = write(tmp_path / name, result(name))
        os.utime(path, (1_000_000 - age, 1_000_000 - age))
    assert [str(run.relative_to(tmp_path)) for run in list_runs(tmp_path)] == [
        "ci/7",
        "two-a",
        "two-b",
        "one",
    ]
    assert find_run("", tmp_path) == tmp_path / "ci/7"
    RecordWriter(tmp_path / "killed", HEADER, redact=plainly, worker="gw0").close()
    assert find_run("", tmp_path) == tmp_path / "killed"
    assert find_run("one", tmp_path) == tmp_path / "one"
    assert find_run("on", tmp_path) == tmp_path / "one"
    assert find_run(str(tmp_path / "one"), tmp_path / "elsewhere") == tmp_path / "one"
    assert find_run(str(tmp_path / "one/run.json"), tmp_path / "elsewhere") == tmp_path / "one"


@pytest.mark.parametrize(
    ("name", "hint"), [("two", "several runs begin so: two-"), ("x", "the newest runs are: two-")]
)
def test_an_unknown_run_is_answered_with_the_known_ones(tmp_path: Path, name: str, hint: str) -> None:
    """The error lists what there is."""
    write(tmp_path / "two-a")
    write(tmp_path / "two-b")
    with pytest.raises(UsageError, match=hint):
        find_run(name, tmp_path)


def test_no_run_at_all_says_how_to_make_one(tmp_path: Path) -> None:
    """In an empty project the error names the command to start with."""
    for ask in (
        lambda: find_run("", tmp_path),
        lambda: find_run("x", tmp_path),
        lambda: read_record(tmp_path),
    ):
        with pytest.raises(UsageError, match="roadtest run"):
            ask()


def test_an_unwritable_folder_is_explained(tmp_path: Path) -> None:
    """Where the output folder is a file, the error is not a traceback."""
    (tmp_path / "out").write_text("")
    with pytest.raises(EnvironmentProblem, match="cannot be written"):
        RecordWriter(tmp_path / "out" / "r", HEADER, redact=plainly)


def test_the_state_of_the_repository_is_known(tmp_path: Path) -> None:
    """Commit, branch and uncommitted changes are read from git; outside of a repository there is nothing."""
    assert git_state(tmp_path) is None

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=tmp_path, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    git("init", "-q", "-b", "trunk")
    assert git_state(tmp_path) is None
    (tmp_path / "a").write_text("1")
    git("add", "a")
    git("-c", "user.name=n", "-c", "user.email=e@example.invalid", "commit", "-qm", "m")
    clean = git_state(tmp_path)
    assert clean is not None
    assert (clean.commit, clean.branch, clean.dirty) == (git("rev-parse", "HEAD"), "trunk", False)
    (tmp_path / "a").write_text("2")
    assert git_state(tmp_path) == msgspec.structs.replace(clean, dirty=True)
