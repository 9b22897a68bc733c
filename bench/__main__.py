"""``python -m bench [NAME...]``: measure, print, keep in bench/results.json, and bring the page of the docs up to date."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from bench import capture_hook, cassettes, matching, peer, plugin, replayed, startup, workspaces
from bench.environment import machine
from bench.page import PAGE, render, render_page
from bench.question import Question, Setup
from bench.results import Answer, load, save

QUESTIONS: dict[str, Question] = {
    module.QUESTION.name: module.QUESTION
    for module in (replayed, peer, capture_hook, matching, plugin, cassettes, workspaces, startup)
}
QUICK_ROUNDS = 2


def main() -> None:
    options = _parse()
    answers = load()
    for name in options.names or ([] if options.render else QUESTIONS):
        question = QUESTIONS[name]
        print(f"{question.text}", file=sys.stderr)
        answer = ask(question, rounds=options.rounds, quick=options.quick)
        print(f"\n## {question.text}\n\n{render(answer)}\n", flush=True)
        if not options.quick:
            answers[name] = answer
            save(answers)
            PAGE.write_text(render_page(PAGE.read_text(), answers))
    if options.render:
        PAGE.write_text(render_page(PAGE.read_text(), answers))


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench", description="How fast roadtest is, beside its peers."
    )
    parser.add_argument(
        "names", nargs="*", choices=[*QUESTIONS, []], metavar="NAME", help=", ".join(QUESTIONS)
    )
    parser.add_argument("--rounds", type=int, help="how often each thing is measured (default: by question)")
    parser.add_argument(
        "--quick", action="store_true", help="small and only to see that it works; nothing is kept"
    )
    parser.add_argument("--render", action="store_true", help="make the page anew from the results there are")
    return parser.parse_args()


def ask(question: Question, *, rounds: int | None, quick: bool) -> Answer:
    rounds = rounds or (QUICK_ROUNDS if quick else question.rounds)
    with tempfile.TemporaryDirectory(prefix="roadtest-bench-") as folder:
        figures, notes = question.measure(Setup(rounds, Path(folder), quick))
    return Answer(question=question.text, rounds=rounds, figures=figures, notes=notes, machine=machine())


if __name__ == "__main__":
    main()
