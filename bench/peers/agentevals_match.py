"""Times AgentEvals' trajectory evaluator: a job per line on stdin, a result per line on stdout."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from agentevals.trajectory.match import create_trajectory_match_evaluator  # type: ignore[import-untyped]


def main() -> None:
    for line in sys.stdin:
        job = json.loads(line)
        evaluator = create_trajectory_match_evaluator(
            trajectory_match_mode=job["mode"], tool_args_match_mode="superset"
        )
        actual, expected = _messages(job["actual"]), _messages(job["expected"])
        started = time.perf_counter()
        for _ in range(job["times"]):
            result = evaluator(outputs=actual, reference_outputs=expected)
        seconds = (time.perf_counter() - started) / job["times"]
        print(json.dumps({"seconds": seconds, "matches": bool(result["score"])}), flush=True)


def _messages(calls: list[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Do it."}]
    for number, (name, arguments) in enumerate(calls):
        call = {
            "id": str(number),
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": str(number), "content": "ok"})
    return messages


if __name__ == "__main__":
    main()
