"""The same scripted case N times, beside Claude Code's own ``claude plugin eval`` against a canned model."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

from bench import bare, project
from bench.environment import user_python
from bench.measure import Rounds, Took, command, interleave
from bench.question import Question, Setup, compare
from bench.replayed import BARE, bare_runs
from bench.results import Figure, Target
from roadtest.installation import find_claude

PEER = "`claude plugin eval`"
JOBS = (1, 2)
CASE = {
    "prompt.md": f"---\nmax_turns: 10\nallowed_tools: [Read]\n---\n\n{project.PROMPT}\n",
    "graders/reads.md": "---\ntype: tool_used\ntool: Read\nweight: 1\n---\n",
    "graders/says.md": "---\ntype: regex\npattern: one TODO\nweight: 1\n---\n",
}


def measure(setup: Setup) -> tuple[list[Figure], list[str]]:
    runs = 4 if setup.quick else 16
    folder = project.lay_out(setup.folder)
    project.write_suite(setup.folder, cases=1, scripted=True)
    plugin = _lay_out_plugin(setup.folder / "plugin")
    figures: list[Figure] = []
    notes: list[str] = []
    with bare.canned_model(project.TURNS, setup.folder) as model:
        for jobs in JOBS:
            contenders = {
                "roadtest": partial(_trials, setup.folder, runs, jobs),
                PEER: partial(_plugin_eval, plugin, model.url, runs, jobs),
                BARE: partial(bare_runs, folder, model.url, runs, jobs),
            }
            took = interleave(contenders, setup.rounds, warm_up=False)
            case, targets = f"{runs} runs, {jobs} in flight", {PEER: Target("ratio", 0.80), BARE: None}
            rounds = Rounds.of(took, "wall")
            figures += compare(rounds, "roadtest", targets, case=case, unit="s")
            share = rounds.ratio(BARE, PEER).median
            notes.append(f"{case}: bare `claude -p` takes {share:.2f}x of {PEER}.")
    return figures, notes


def _trials(folder: Path, runs: int, jobs: int) -> Took:
    argv = [user_python(), "-m", "pytest", "-q", f"--trials={runs}", f"--agent-jobs={jobs}"]
    return command(argv, env=project.roadtest_environment(), cwd=folder)


def _lay_out_plugin(folder: Path) -> Path:
    manifest = {"name": "bench-plugin", "version": "1.0.0", "description": "A plugin to measure with."}
    files = {f"evals/todos/{name}": content for name, content in CASE.items()}
    for name, content in {".claude-plugin/plugin.json": json.dumps(manifest), **files}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return folder


def _plugin_eval(plugin: Path, model: str, runs: int, jobs: int) -> Took:
    argv = [find_claude().path, "plugin", "eval", plugin, "--runs", runs, "-j", jobs, "--ablation", "none"]
    out = plugin.with_name("plugin-results")
    quiet = ["--trust-plugin", "--no-publish", "--output-dir", out]
    env = bare.environment(plugin.with_name("plugin-home"), model)
    return command([*argv, *quiet], env=env, cwd=plugin)


QUESTION = Question("peer", "How fast are repeated runs beside `claude plugin eval`?", measure, rounds=5)
