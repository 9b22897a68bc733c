"""Scorers of how the agent went about it: skills, delegation, repetition."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence

from roadtest.calls import SPAWNING_TOOLS, ToolCall
from roadtest.errors import UsageError
from roadtest.matching.values import canonical
from roadtest.results import Run, Score
from roadtest.scorers.base import Scorer, named, require_calls, verdict
from roadtest.scorers.words import how_often, listed, so_often
from roadtest.trajectory import Trajectory

LONGEST_CYCLE = 8


def skill_used(name: str) -> Scorer:
    """The model calls this skill, and it loads."""

    @named("skill_used")
    def score(trajectory: Trajectory, run: Run | None = None) -> Score:
        require_calls(run)
        uses = [one for one in trajectory if _skill(one) and one.status != "failed"]
        found = [one for one in uses if _is_named(_skill(one), name)]
        others = sorted({_skill(one) for one in uses})
        reason = f"the skill {name} was used {so_often(len(found))}"
        if not found:
            reason += f"; the skills used are {', '.join(others)}" if others else "; no skill was used"
        return verdict(bool(found), reason)

    return score


def skill_not_used(name: str | None = None) -> Scorer:
    """The model does not even try this skill; without a name, no skill at all."""

    @named("skill_not_used")
    def score(trajectory: Trajectory, run: Run | None = None) -> Score:
        require_calls(run)
        tried = [one for one in trajectory if _skill(one) and (name is None or _is_named(_skill(one), name))]
        what = "no skill" if name is None else f"the skill {name}"
        if not tried:
            return verdict(True, f"{what} was used" if name is None else f"{what} was not used")
        return verdict(False, f"skills were used that must not be: {listed(tried)}")

    return score


def _skill(one: ToolCall) -> str:
    """The skill that a call asks for; the argument has had other names in older versions of Claude Code."""
    if one.name != "Skill":
        return ""
    values = (one.args.get(key) for key in ("skill", "command", "name"))
    return next((value.lstrip("/") for value in values if isinstance(value, str) and value), "?")


def _is_named(skill: str, name: str) -> bool:
    """A skill of a plugin is called ``plugin:skill``, and may be asked for by either."""
    return skill == name or skill.rpartition(":")[2] == name


def delegated_to(agent: str, *, at_least: int = 1) -> Scorer:
    """The model hands work to this subagent, which starts."""

    @named("delegated_to")
    def score(trajectory: Trajectory, run: Run | None = None) -> Score:
        require_calls(run)
        spawns = [one for one in trajectory if one.name in SPAWNING_TOOLS and one.status != "failed"]
        names = [str(one.args.get("subagent_type", "general-purpose")) for one in spawns]
        count = sum(_is_named(name, agent) for name in names)
        reason = f"work was delegated to {agent} {so_often(count)}, expected {how_often(at_least, None)}"
        if count < at_least:
            reason += f"; it was delegated to {', '.join(names) or 'nobody'}"
        return verdict(count >= at_least, reason, delegated=names)

    return score


def no_loops(limit: int = 3) -> Scorer:
    """No agent repeats itself: the same call, or the same few calls, this many times in a row."""
    if limit < 2:  # noqa: PLR2004 - one time is no repetition
        raise UsageError(f"a loop has at least 2 rounds, not {limit}.")

    @named("no_loops")
    def score(trajectory: Trajectory, run: Run | None = None) -> Score:
        require_calls(run)
        lanes: dict[str | None, list[ToolCall]] = defaultdict(list)
        for one in trajectory:
            lanes[one.agent_id or one.agent].append(one)
        rounds, cycle = max(
            (_longest_loop(lane) for lane in lanes.values()), key=lambda loop: loop[0], default=(0, [])
        )
        if rounds < limit:
            return verdict(True, f"nothing was repeated {limit} times in a row", rounds=rounds)
        return verdict(False, f"repeated {rounds} times in a row: {listed(cycle)}", rounds=rounds)

    return score


def _longest_loop(lane: Sequence[ToolCall]) -> tuple[int, list[ToolCall]]:
    """The most rounds in a row of the same one to ``LONGEST_CYCLE`` calls, and these calls."""
    keys: list[Hashable] = [(one.name, canonical(one.args)) for one in lane]
    best, cycle = (1, list(lane[:1])) if lane else (0, [])
    for period in range(1, min(LONGEST_CYCLE, len(keys) // 2) + 1):
        same = 0
        for index in range(period, len(keys)):
            same = same + 1 if keys[index] == keys[index - period] else 0
            if same // period + 1 > best:
                best, cycle = same // period + 1, list(lane[index - period + 1 : index + 1])
    return best, cycle
