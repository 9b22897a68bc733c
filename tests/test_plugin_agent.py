"""The ``agent`` fixture, custom tasks and ``run_agent``, on the real Claude Code."""

from __future__ import annotations

from pathlib import Path

import pytest

import roadtest
from roadtest import script, testing
from roadtest.cassette import shelf
from roadtest.installation import Claude
from roadtest.record import find_run, read_record
from roadtest.upkeep import Claims


def test_a_test_talks_to_an_agent(pytester: pytest.Pytester) -> None:
    """A test runs an agent, goes on talking to it in the same workspace, and sees each prompt's own calls."""
    pytester.makepyfile(
        test_it="""
        import pytest
        from roadtest import call, script

        pytestmark = pytest.mark.agent(permission_mode="bypassPermissions", model="claude-haiku-4-5")

        @pytest.mark.agent(timeout=60)
        def test_two_turns(agent):
            model = script.Script(
                script.call("Bash", command="echo one > note.txt"), script.say("Written."),
                script.call("Bash", command="cat note.txt"), script.say("It says one."),
            )
            run = agent.run("Write a note", script=model)
            assert run.trajectory == [call("Bash", command="echo one > note.txt")]
            assert run.output == "Written."
            assert run.model == "claude-haiku-4-5"
            later = run.resume("What does it say?")
            assert later.trajectory == [call("Bash", command="cat note.txt")]
            assert later.trajectory[0].output["stdout"] == "one"
            assert later.session_id == run.session_id
            assert (later.workspace / "note.txt").read_text() == "one\\n"

        def test_difference(agent):
            run = agent.run("Go", script=script.Script(script.call("Bash", command="ls"), script.say("Done.")))
            assert run.trajectory == [call("Grep", pattern="TODO")]
        """
    )
    result = pytester.runpytest("-vv")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*the trajectory is not as expected", "missing *Grep(pattern='TODO')*"])
    two, one = read_record(find_run("", pytester.path / "test-output")).cases
    assert (two.verdict, one.verdict) == ("passed", "failed")
    assert [run.output for run in two.runs] == ["Written.", "It says one."]
    assert two.node_id == "test_it.py::test_two_turns"
    assert not Path(str(two.runs[0].workspace)).exists()


def test_a_run_that_proves_nothing_is_an_error_of_the_test(pytester: pytest.Pytester) -> None:
    """An invalid run ends a test as an error, in the terminal and in JUnit XML, unless the test asked for it."""
    pytester.makepyfile(
        test_it="""
        from roadtest import script

        short = script.Script(script.call("Bash", command="true"))

        def test_invalid(agent):
            agent.run("Go", script=short, permission_mode="bypassPermissions")

        def test_allowed(agent):
            run = agent.run("Go", script=short, permission_mode="bypassPermissions", allow_invalid=True)
            assert "the script ended" in run.invalid
        """
    )
    result = pytester.runpytest("--junitxml=junit.xml")
    result.assert_outcomes(passed=1, errors=1)
    assert result.ret == 1
    xml = (pytester.path / "junit.xml").read_text()
    assert 'errors="1" failures="0"' in xml
    verdicts = [case.verdict for case in read_record(find_run("", pytester.path / "test-output")).cases]
    assert verdicts == ["invalid", "passed"]


def test_an_unknown_option_of_an_agent_is_named(pytester: pytest.Pytester) -> None:
    """A misspelt option fails the test with the names that there are."""
    pytester.makepyfile(test_it="def test_it(agent): agent.run('Go', alowed_tools=['Read'])")
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*ClaudeCode has no option 'alowed_tools'*"])


def test_a_custom_task_starts_its_own_claude(pytester: pytest.Pytester, claude: Claude) -> None:
    """A task that starts Claude Code itself, in the environment it is given, has its calls captured."""
    pytester.makepyfile(
        test_it=f"""
        import subprocess
        from roadtest import Case, call, describe_eval, scorers, script
        from roadtest.cassette.scripted import ScriptSession
        from roadtest.cassette.server import shared

        CLAUDE = {str(claude.path)!r}

        def own_process(prompt, workspace, env):
            model = script.Script(script.call("Bash", command="echo hello"), script.say("Said."))
            with shared().mount(ScriptSession(model, {{}})) as mount:
                done = subprocess.run(
                    [CLAUDE, "-p", prompt, "--dangerously-skip-permissions"],
                    env={{**env, "ANTHROPIC_BASE_URL": mount.base_url, "IS_SANDBOX": "1"}},
                    cwd=workspace, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                )
            return done.stdout.strip()

        describe_eval("own", data=[Case("one", "Say hello", expected=[call("Bash", command="echo hello")])],
                      task=own_process, scorers=[scorers.trajectory_match(), lambda output: output == "Said."])

        def asks_nobody(prompt, env):
            done = subprocess.run([CLAUDE, "-p", prompt], env=env, capture_output=True, text=True,
                                  stdin=subprocess.DEVNULL)
            return done.stdout

        describe_eval("no model", data=[Case("one", "Say hello")], task=asks_nobody,
                      scorers=[lambda output: True])
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*There is no cassette at*no-model*"])


def test_an_agent_runs_outside_of_pytest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``run_agent`` runs Claude Code from any program and records it; its calls can be read, its cassette is no orphan."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a-key-for-the-upstream")
    cassette = Path("cassettes/by-hand")
    model = script.Script(script.call("Bash", command="ls"), script.say("Nothing here."))
    with testing.upstream(model) as api:
        monkeypatch.setenv("ROADTEST_UPSTREAM", api.url)
        run = roadtest.run_agent(
            "Look around",
            allowed_tools=["Bash"],
            max_turns=3,
            test_id="outside",
            cassette=cassette,
            cassettes="record",
        )
    assert run.output == "Nothing here."
    assert Claims().orphans(shelf.find(cassette)) == []
    assert [call.name for call in roadtest.get_tool_calls("outside")] == ["Bash"]
