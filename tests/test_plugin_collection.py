"""What pytest collects from ``describe_eval``, and what it refuses with which words."""

from __future__ import annotations

import json
import re

import pytest


def collected(pytester: pytest.Pytester, *args: str) -> list[str]:
    result = pytester.runpytest("--collect-only", "-q", *args)
    return [line for line in result.outlines if "::" in line]


def collection_errors(pytester: pytest.Pytester) -> dict[str, str]:
    """What is told about each file of the project, none of which can be collected."""
    result = pytester.runpytest()
    result.assert_outcomes(errors=len([*pytester.path.glob("test_*.py")]))
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert "Traceback" not in result.stdout.str()
    told = result.stdout.str().partition("= short test summary info =")[0]
    _, *parts = re.split(r"^_+ ERROR collecting (\S+) _+$", told, flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def test_outputs_and_recordings_hold_no_tests(pytester: pytest.Pytester) -> None:
    """Nothing is collected from what runs leave and replay, and everything from folders that only have such names."""
    (pytester.path / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib\n")
    for name in (
        "test-output/killed/lifecycle.jsonl",
        "test-output/some-run/run.json",
        "test-output/some-run/case/lifecycle.jsonl",
        "cassettes/suite/case/metadata.json",
        "cassettes/suite/case/request-1.json",
    ):
        (pytester.path / name).parent.mkdir(parents=True, exist_ok=True)
        (pytester.path / name).write_text("{}")
    for folder in (
        "test-output/killed",
        "test-output/some-run",
        "test-output/some-run/case",
        "cassettes/suite/case",
        "cassettes",
        "cassettes/metadata",
        "test-output",
        "test-output/mine",
        "mine/run",
    ):
        (pytester.path / folder).mkdir(parents=True, exist_ok=True)
        (pytester.path / folder / "test_it.py").write_text("def test_it(): ...")
    assert {name.partition("/test_it")[0] for name in collected(pytester)} == {
        "cassettes",
        "cassettes/metadata",
        "mine/run",
        "test-output",
        "test-output/mine",
    }


def test_each_case_has_the_node_id_of_path_suite_and_case(pytester: pytest.Pytester) -> None:
    """Suites and tests of a file are collected in the order in which they are written."""
    pytester.makepyfile(
        test_it="""
        from roadtest import Case, describe_eval

        def test_before(): ...

        describe_eval("file search", data=[Case("find todos", "x"), Case("find all", "y")],
                      task=str, scorers=[lambda output: True])

        def test_between(): ...

        describe_eval("other", data=[Case("one", "x")], task=str, scorers=[lambda output: True], trials=2)
        """
    )
    assert collected(pytester) == [
        "test_it.py::test_before",
        "test_it.py::file search::find todos",
        "test_it.py::file search::find all",
        "test_it.py::test_between",
        "test_it.py::other::one[trial-1]",
        "test_it.py::other::one[trial-2]",
    ]


def test_a_node_id_selects_its_case(pytester: pytest.Pytester) -> None:
    """A case can be run by its node id, and all trials of it without their number."""
    pytester.makepyfile(
        test_it="""
        from roadtest import Case, describe_eval
        describe_eval("a suite", data=[Case("one", "x"), Case("two", "y")], task=str,
                      scorers=[lambda output: True], trials=2)
        """
    )
    pytester.runpytest("test_it.py::a suite::two[trial-2]").assert_outcomes(passed=1)
    pytester.runpytest("test_it.py::a suite::two").assert_outcomes(passed=2)
    pytester.runpytest("test_it.py::a suite").assert_outcomes(passed=4)


def test_data_comes_in_many_forms(pytester: pytest.Pytester) -> None:
    """A callable, a generator, an async callable and files of three kinds all give cases."""
    rows = [
        {"name": "one", "input": "x"},
        {"name": "two", "input": "y", "tags": ["slow"], "metadata": {"a": 1}},
    ]
    pytester.makefile(".json", cases=json.dumps(rows))
    pytester.makefile(".jsonl", cases="\n".join(map(json.dumps, rows)) + "\n")
    pytester.makefile(".yaml", cases="- {name: one, input: x}\n- name: two\n  input: y\n")
    pytester.makepyfile(
        test_it="""
        import asyncio
        from pathlib import Path
        from roadtest import Case, describe_eval

        async def later():
            await asyncio.sleep(0)
            return [Case("one", "x"), Case("two", "y")]

        forms = {
            "callable": lambda: [Case("one", "x"), Case("two", "y")],
            "generator": (Case(name, text) for name, text in [("one", "x"), ("two", "y")]),
            "async callable": later,
            "json": "cases.json",
            "jsonl": "cases.jsonl",
            "yaml": "cases.yaml",
            "path": Path("cases.json"),
        }
        for form, data in forms.items():
            describe_eval(form, data=data, task=str.upper, scorers=[lambda output: output in "XY"])
        """
    )
    assert collected(pytester) == [
        f"test_it.py::{form}::{case}"
        for form in ("callable", "generator", "async callable", "json", "jsonl", "yaml", "path")
        for case in ("one", "two")
    ]
    pytester.runpytest().assert_outcomes(passed=14)


def test_lazy_data_is_not_evaluated_for_other_files(pytester: pytest.Pytester) -> None:
    """Data given as a callable is made when its suite is collected, and only then."""
    pytester.makepyfile(
        test_a="""
        from roadtest import describe_eval
        def never(): raise RuntimeError("evaluated")
        describe_eval("suite", data=never, task=str, scorers=[lambda output: True])
        """,
        test_b="def test_b(): ...",
    )
    pytester.runpytest("test_b.py").assert_outcomes(passed=1)
    pytester.runpytest("test_a.py").assert_outcomes(errors=1)


ERRORS = {
    "duplicate": ('data=[Case("a", 1), Case("a", 2)]', "Two cases are called 'a'."),
    "same folder": ('data=[Case("a b", 1), Case("a-b", 2)]', "'a b' and 'a-b' would share the folder 'a-b'"),
    "empty": ("data=[]", "has no cases, so that it would prove nothing"),
    "not a case": ('data=["text"]', "Case 0 is 'text', not a Case."),
    "bad name": ('data=[Case("a::b", 1)]', "cannot be part of a node id"),
    "no name": ('data=[Case("", 1)]', "Case 0 has no name"),
    "threshold": ("threshold=1.5", "threshold=1.5 is not from 0 to 1"),
    "no scorers": ("scorers=[]", "scores nothing, so that every case would pass"),
    "unknown parameter": (
        "scorers=[lambda trajectry: True]",
        "asks for 'trajectry', which is neither known nor a pytest fixture. Did you mean 'trajectory'?",
    ),
    "unknown parameter of a task": (
        "task=lambda input, nothing: input",
        "asks for 'nothing', which is neither known nor a pytest fixture",
    ),
    "trials": ("trials=0", "A case is tried at least once, not 0 times."),
    "pass_if": ("pass_if='most'", "pass_if='most' is no rule"),
    "impossible pass_if": ("trials=2, pass_if=3", "pass_if=3 asks for more passes than there are trials (2)"),
    "no such option": (
        'task=ClaudeCode(), variants={"a": {"modl": "x"}}',
        "ClaudeCode has no option 'modl'. Did you mean 'model'?",
    ),
    "prompt": (
        'task=ClaudeCode(), data=[Case("a", 3)]',
        "The input of the case 'a' is 3; a prompt is a text.",
    ),
    "tag": ('tags=["two words"]', "The tag 'two words' cannot be a pytest marker."),
    "file": ('data="nowhere.json"', "cannot be read: No such file"),
    "kind of file": ('data="cases.csv"', "is no fixture file"),
    "routing": ("routing_only=True", "routing_only=True needs ClaudeCode(...)"),
}


def test_what_cannot_be_is_a_collection_error(pytester: pytest.Pytester) -> None:
    """A suite that cannot be run as it is written stops the session with words about what to change."""
    suite = """
        from roadtest import Case, ClaudeCode, describe_eval
        describe_eval("suite", **{{**dict(data=[Case("one", "x")], task=str, scorers=[lambda output: True]),
                                   **dict({arguments})}})
    """
    files = {f"test_{what.replace(' ', '_')}": told for what, told in ERRORS.items()}
    pytester.makepyfile(**{name: suite.format(arguments=arguments) for name, (arguments, _) in files.items()})
    told = collection_errors(pytester)
    for name, (_, message) in files.items():
        assert message in told[f"{name}.py"].replace("\n", " ")


def test_two_suites_of_one_name_are_an_error(pytester: pytest.Pytester) -> None:
    """Names of suites are unique in a file."""
    suite = 'describe_eval("same", data=[Case("one", "x")], task=str, scorers=[lambda output: True])\n'
    pytester.makepyfile(test_it="from roadtest import Case, describe_eval\n" + suite * 2)
    assert "Two suites of this file are called 'same'." in collection_errors(pytester)["test_it.py"]


def test_a_suite_that_nobody_would_see_is_an_error(pytester: pytest.Pytester) -> None:
    """``describe_eval`` inside a function is refused, because pytest would never collect it."""
    pytester.makepyfile(
        test_it="""
        from roadtest import Case, describe_eval
        def helper():
            describe_eval("lost", data=[Case("one", "x")], task=str, scorers=[lambda output: True])
        helper()
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["*describe_eval('lost') is called inside helper, where pytest would never see it*"]
    )


FILES = {
    "no_input.json": ('[{"name": "a"}]', "case 0: Object missing required field `input`"),
    "number.json": (
        '[{"name": "a", "input": 1}, {"name": 3, "input": 1}]',
        "case 1: Expected `str`, got `int` (field name)",
    ),
    "tag.json": ('[{"name": "a", "input": "x", "tags": [1]}]', "(field tags.0)"),
    "unknown.json": ('[{"name": "a", "input": "x", "nmae": 1}]', "contains unknown field `nmae`"),
    "object.json": ('{"name": "a"}', "holds an object, not a list of cases"),
    "torn.json": ("[", "is not valid JSON"),
    "list.jsonl": ('{"name": "a", "input": "x"}\n[]\n', "line 2 is a list, not an object"),
    "torn.yaml": ("- name: [", "is not valid YAML"),
    "expected.json": (
        '[{"name": "a", "input": 1, "expected": [{"tool": "A", "arg": 1}]}]',
        "there is no field 'arg'",
    ),
}


def test_errors_in_a_file_name_file_index_and_field(pytester: pytest.Pytester) -> None:
    """A mistake in a fixture file is told with the file, the case and the field it is in."""
    for number, (name, (content, _)) in enumerate(FILES.items()):
        (pytester.path / name).write_text(content)
        (pytester.path / f"test_{number}.py").write_text(
            "from roadtest import describe_eval\n"
            f"describe_eval('suite', data='{name}', task=str, scorers=[lambda output: True])\n"
        )
    told = collection_errors(pytester)
    for number, (name, (_, message)) in enumerate(FILES.items()):
        assert name in told[f"test_{number}.py"]
        assert message in told[f"test_{number}.py"]


def test_tags_are_markers(pytester: pytest.Pytester) -> None:
    """Tags of suites and cases select with -m, also under --strict-markers, with no word in the ini file."""
    pytester.makepyfile(
        test_it="""
        from roadtest import Case, describe_eval
        describe_eval("suite", data=[Case("one", "x", tags=["slow"]), Case("two", "y")], tags=["nightly"],
                      task=str, scorers=[lambda output: True])
        """
    )
    assert collected(pytester, "--strict-markers", "-m", "nightly") == [
        "test_it.py::suite::one",
        "test_it.py::suite::two",
    ]
    assert collected(pytester, "--strict-markers", "-m", "slow") == ["test_it.py::suite::one"]


def test_marks_of_pytest_apply(pytester: pytest.Pytester) -> None:
    """Marks of the module, the suite and the case skip a case or expect it to fail, and skipped tasks never run."""
    pytester.makepyfile(
        test_it="""
        import pytest
        from roadtest import Case, describe_eval

        def task(text):
            assert text != "skipped", "it ran"
            return text

        good = [lambda output: output == "good"]
        skipped = pytest.mark.skipif(True, reason="not today")
        describe_eval("cases", data=[Case("a", "bad", marks=[pytest.mark.xfail(reason="known")]),
                                     Case("b", "good", marks=[pytest.mark.xfail(reason="known", strict=True)]),
                                     Case("c", "skipped", marks=[skipped]), Case("d", "good")],
                      task=task, scorers=good)
        describe_eval("suite", data=[Case("a", "skipped")], task=task, scorers=good, marks=[skipped])
        describe_eval("not run", data=[Case("a", "skipped")], task=task, scorers=good,
                      marks=[pytest.mark.xfail(run=False)])
        """
    )
    pytester.runpytest().assert_outcomes(passed=1, skipped=2, xfailed=2, failed=1)


def test_skip_if_skips_the_suite(pytester: pytest.Pytester) -> None:
    """``skip_if`` takes a bool, a reason or a callable, and says why in the summary."""
    pytester.makepyfile(
        test_it="""
        from roadtest import Case, describe_eval
        for name, skip_if in {"bool": True, "reason": "no docker", "callable": lambda: "later"}.items():
            describe_eval(name, data=[Case("one", "x")], task=str, scorers=[lambda output: True], skip_if=skip_if)
        """
    )
    result = pytester.runpytest("-rs")
    result.assert_outcomes(skipped=3)
    for reason in ("skip_if is true", "no docker", "later"):
        result.stdout.fnmatch_lines([f"SKIPPED * {reason}"])


def test_tasks_and_scorers_ask_for_fixtures(pytester: pytest.Pytester) -> None:
    """A pytest fixture, of any scope, reaches a task or a scorer that names it."""
    pytester.makeconftest(
        """
        import pytest

        @pytest.fixture
        def greeting(request):
            return f"hello from {request.node.name}"

        @pytest.fixture(scope="session")
        def shared():
            return object()
        """
    )
    pytester.makepyfile(
        test_it="""
        import asyncio
        from roadtest import Case, describe_eval

        seen = set()

        async def task(prompt, greeting, tmp_path):
            await asyncio.sleep(0)
            (tmp_path / "said").write_text(greeting)
            return greeting

        async def said(output, tmp_path, shared, optional="default"):
            seen.add(id(shared))
            return (tmp_path / "said").read_text() == output and len(seen) == 1 and optional == "default"

        describe_eval("suite", data=[Case("one", "x"), Case("two", "y")], task=task,
                      scorers=[said, lambda output, case: output == f"hello from {case.name}"])
        """
    )
    pytester.runpytest().assert_outcomes(passed=2)


def test_a_test_file_without_evals_loads_nothing(pytester: pytest.Pytester) -> None:
    """A session without evals imports none of the machinery and writes nothing."""
    pytester.makepyfile(
        test_it="""
        import sys
        def test_it():
            assert "roadtest.plugin.session" not in sys.modules
        """
    )
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(passed=1)
    assert not (pytester.path / "test-output").exists()


def test_collecting_writes_nothing(pytester: pytest.Pytester) -> None:
    """``--collect-only`` shows suites and cases, and neither runs nor writes anything."""
    pytester.makepyfile(
        test_it="""
        from roadtest import Case, describe_eval
        def task(text): raise RuntimeError
        describe_eval("suite", data=[Case("one", "x")], task=task, scorers=[lambda output: True])
        """
    )
    result = pytester.runpytest("--collect-only")
    result.stdout.fnmatch_lines(["*<SuiteCollector suite>", "*<EvalItem one>"])
    assert not (pytester.path / "test-output").exists()
