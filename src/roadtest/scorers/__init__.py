"""Ready-made scorers. Each is a factory: call it with what you expect, hand the result to ``describe_eval``."""

from roadtest.scorers import fuzzy
from roadtest.scorers.agent_evals import agentevals, agentevals_match
from roadtest.scorers.combining import all_of, any_of, combine
from roadtest.scorers.conduct import delegated_to, no_loops, skill_not_used, skill_used
from roadtest.scorers.limits import max_calls, max_cost, max_duration, max_turns
from roadtest.scorers.outputs import completed, output_contains, output_json, output_matches
from roadtest.scorers.trajectories import (
    calls,
    never_calls,
    prefers,
    tools_in_order,
    tools_used,
    trajectory_match,
)
from roadtest.scorers.workspaces import command_succeeds, file_contains, only_changes

__all__ = [
    "agentevals",
    "agentevals_match",
    "all_of",
    "any_of",
    "calls",
    "combine",
    "command_succeeds",
    "completed",
    "delegated_to",
    "file_contains",
    "fuzzy",
    "max_calls",
    "max_cost",
    "max_duration",
    "max_turns",
    "never_calls",
    "no_loops",
    "only_changes",
    "output_contains",
    "output_json",
    "output_matches",
    "prefers",
    "skill_not_used",
    "skill_used",
    "tools_in_order",
    "tools_used",
    "trajectory_match",
]
