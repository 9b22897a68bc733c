"""The JavaScript engine inside Claude Code, told to optimise only what has run for long.

Most runs are little more than the start of Claude Code, and there optimising takes longer than what it could save. The
variables belong to Bun, which promises nothing about them and does not start with one that it does not know: where they are
refused, the engine is left alone.
"""

from __future__ import annotations

import threading

_THRESHOLD = "20000"
"""What a function's count has to reach before it is optimised: a call is 15, a turn of a loop 1. The default is 1,000."""
_VARIABLES = {
    "BUN_JSC_thresholdForOptimizeAfterWarmUp": _THRESHOLD,
    "BUN_JSC_thresholdForOptimizeAfterLongWarmUp": _THRESHOLD,
    "BUN_JSC_thresholdForOptimizeSoon": _THRESHOLD,
}
_refused = threading.Event()


def engine_variables() -> dict[str, str]:
    """What to add to the environment of Claude Code; nothing once it has refused."""
    return {} if _refused.is_set() else dict(_VARIABLES)


def engine_refused(stderr: str) -> bool:
    """Whether Claude Code did not start because of the variables; none are given to a run that starts afterwards."""
    if "invalid JSC environment variable" not in stderr:
        return False
    _refused.set()
    return True
