"""A secret that the agent meets, wherever, is in no file that stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from roadtest import script, testing
from tests.commands import roadtest

LETTERS = "Q7rT2mX9kL4pZ8wV3nB6cY1jH5gF0dS"
TOKEN = "deploy-me/" + "with+care=" + '"quoted"'
SECRETS = {
    "DEPLOY_TOKEN": TOKEN,
    "anthropic-key": "sk-" + "ant-api03-" + LETTERS,
    "github-token": "gh" + "p_" + LETTERS,
    "aws-access-key": "AK" + "IA" + "QWERTYUIOP123456",
    "private-key": "-----BEGIN PRIVATE " + f"KEY-----\n{LETTERS * 2}\n-----END PRIVATE " + "KEY-----",
}
EVALS = """
from roadtest import Case, ClaudeCode, Workspace, describe_eval, scorers

describe_eval(
    "deployment",
    data=[Case("careful", input="Deploy it")],
    task=ClaudeCode(
        workspace=Workspace.copy("template"), permission_mode="bypassPermissions", pass_env=["DEPLOY_TOKEN"], timeout=60
    ),
    scorers=[scorers.trajectory_match(expected=[{"tool": "Bash"}, {"tool": "Read"}])],
)
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    env_file = pytester.mkdir("template") / ".env"
    env_file.write_text(f"KEY={SECRETS['aws-access-key']}\n{SECRETS['private-key']}\n")
    pytester.makepyfile(test_deployment=EVALS)
    monkeypatch.setenv("DEPLOY_TOKEN", TOKEN)
    return pytester


def kept(project: Path) -> dict[Path, str]:
    """Every file under cassettes/ and test-output/."""
    paths = [
        path
        for folder in ("cassettes", "test-output")
        for path in (project / folder).rglob("*")
        if path.is_file()
    ]
    return {path: path.read_text() for path in paths}


def test_no_secret_stays_on_disk(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted in the environment, in a file that the agent reads and in the model's answer, none is kept."""
    model = script.Script(
        [
            script.think(f"I know {SECRETS['github-token']}."),
            script.call("Bash", command='echo "$DEPLOY_TOKEN" | tee sent'),
        ],
        script.call("Read", file_path="{{workspace}}/.env"),
        script.say(f"Deployed with {SECRETS['anthropic-key']} and {TOKEN}."),
    )
    with testing.upstream(model, piece=5) as api, monkeypatch.context() as upstream:
        upstream.setenv("ROADTEST_UPSTREAM", api.url)
        upstream.setenv("ANTHROPIC_API_KEY", SECRETS["anthropic-key"])
        project.runpytest("--cassettes=record", "--eval-report=report.html").assert_outcomes(passed=1)
    project.runpytest().assert_outcomes(passed=1)

    files = kept(project.path)
    names = {path.name for path in files}
    assert {"metadata.json", "response-3.json", "run.json", "tool-calls.jsonl"} <= names
    for secret in SECRETS.values():
        parts = [part for part in (secret, *secret.split("\n")) if len(part) > 20]
        forms = [
            form for part in parts for form in (part, part.replace('"', '\\"'), part.replace('"', '\\\\"'))
        ]
        assert [str(path) for path, text in files.items() for form in forms if form in text] == []
    text = "".join(files.values())
    for name in SECRETS:
        assert f"{{{{redacted:{name}}}}}" in text

    checked = roadtest("cassettes", "check", cwd=project.path)
    assert checked.returncode == 0, checked.stdout
