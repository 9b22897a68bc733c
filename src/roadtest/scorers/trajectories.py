"""Scorers of what the agent did: which calls, in which order, how often."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from roadtest.calls import ToolCall
from roadtest.errors import UsageError
from roadtest.matching import ExpectedCall, Match, Rules, call
from roadtest.matching.arguments import Override
from roadtest.matching.expected import expected_calls
from roadtest.matching.values import canonical
from roadtest.results import Run, Score
from roadtest.scorers.base import Scorer, named, require_calls, share, verdict
from roadtest.scorers.fuzzy import runs_program
from roadtest.trajectory import Trajectory

LONGEST_CYCLE = 8


def trajectory_match(
    *,
    mode: str = "strict",
    args: str = "superset",
    overrides: Mapping[str, Override] | None = None,
    agent: str | None = None,
    expected: Sequence[Any] | None = None,
    partial: bool = False,
) -> Scorer:
    """The calls match the expected ones; see ``Trajectory.matches`` for modes, args and overrides.

    Args:
        mode: ``strict``, ``in_order``, ``unordered``, ``subset`` or ``superset``.
        args: ``superset``, ``subset``, ``exact`` or ``ignore``.
        overrides: another rule for the arguments of some tools.
        agent: look only at the calls of ``main`` or of this subagent.
        expected: the calls to expect; by default those of the case.
        partial: score the share of calls that match, instead of all or nothing.
    """
    rules = Rules.build(mode=mode, args=args, overrides=overrides, agent=agent)
    fixed = None if expected is None else expected_calls(expected)

    @named("trajectory_match")
    def score(
        trajectory: Trajectory, expected: Any = None, workspace: Path | None = None, run: Run | None = None
    ) -> Score:
        require_calls(run)
        wanted = fixed if fixed is not None else _expected_of_case(expected)
        return _score(rules.match(trajectory, wanted, workspace=workspace), partial)

    return score


def _expected_of_case(expected: Any) -> tuple[ExpectedCall, ...]:
    if expected is None:
        raise UsageError(
            "trajectory_match has nothing to compare with: the case has no expected calls.",
            hint="give Case(expected=[...]) or trajectory_match(expected=[...])",
        )
    return expected_calls(expected)


def _score(match: Match, partial: bool) -> Score:
    reason = match.summary if match else str(match)
    return Score(match.score if partial else float(match.passed), reason, match.to_data())


def calls(
    expected: Any,
    *,
    times: int | None = None,
    at_least: int | None = None,
    at_most: int | None = None,
    args: str = "superset",
    agent: str | None = None,
) -> Scorer:
    """The agent makes this call: once or more, or as often as ``times``, ``at_least`` and ``at_most`` say."""
    (wanted,) = expected_calls([expected])
    low, high = _range(times, at_least, at_most)
    rules = Rules.build(mode="superset", args=args, agent=agent)
    asked = _asked(low, high)

    @named("calls")
    def score(trajectory: Trajectory, workspace: Path | None = None, run: Run | None = None) -> Score:
        require_calls(run)
        count = len(rules.select(trajectory, [wanted], workspace=workspace))
        passed = low <= count and (high is None or count <= high)
        reason = f"{wanted} was called {_times(count)}, expected {asked}"
        if not passed and not count:
            reason += f"\n{rules.match(trajectory, [wanted], workspace=workspace)}"
        return verdict(passed, reason, count=count)

    return score


def _range(times: int | None, at_least: int | None, at_most: int | None) -> tuple[int, int | None]:
    if times is not None:
        if at_least is not None or at_most is not None:
            raise UsageError("times says it all: give it alone, or at_least and at_most.")
        at_least = at_most = times
    low = at_least if at_least is not None else int(at_most is None)
    if low < 0 or (at_most is not None and at_most < low):
        raise UsageError(f"no number of calls is at least {low} and at most {at_most}.")
    return low, at_most


def _asked(low: int, high: int | None) -> str:
    if low == high:
        return _times(low)
    return (
        f"at least {_times(low)}"
        if high is None
        else f"{low} to {_times(high)}"
        if low
        else f"at most {_times(high)}"
    )


def _times(count: int) -> str:
    return {0: "never", 1: "once"}.get(count, f"{count} times")


def tools_used(*tools: Any, partial: bool = False) -> Scorer:
    """Each of these tools is used at least once."""
    wanted = _some(tools, "tools_used")
    rules = Rules.build(mode="superset")

    @named("tools_used")
    def score(trajectory: Trajectory, workspace: Path | None = None, run: Run | None = None) -> Score:
        require_calls(run)
        unused = [str(one.tool) for one in wanted if not rules.select(trajectory, [one], workspace=workspace)]
        used = len(wanted) - len(unused)
        reason = f"{used} of {len(wanted)} tools were used" + (f", not {', '.join(unused)}" if unused else "")
        return share(used, len(wanted), reason, partial=partial, unused=unused)

    return score


def tools_in_order(*tools: Any, partial: bool = False) -> Scorer:
    """These tools are used in this order; others may be used in between."""
    wanted = _some(tools, "tools_in_order")
    return named("tools_in_order")(trajectory_match(mode="in_order", expected=wanted, partial=partial))


def never_calls(*tools: Any, args: str = "superset") -> Scorer:
    """None of these calls is made, not even one that is denied or fails.

    Give names of tools, patterns, or ``call("Bash", command=re.compile("rm -rf"))``. To forbid only calls that went
    through, write ``call(...).with_status("ok")``.
    """
    unwanted = _some(tools, "never_calls")
    rules = Rules.build(mode="superset", args=args)

    @named("never_calls")
    def score(trajectory: Trajectory, workspace: Path | None = None, run: Run | None = None) -> Score:
        require_calls(run)
        made = rules.select(trajectory, unwanted, workspace=workspace)
        if not made:
            return verdict(passed=True, reason=f"none of {_listed(unwanted)} was called")
        return verdict(
            False,
            f"{_number(made, 'call')} that must not be made: {_listed(made)}",
            calls=list(map(str, made)),
        )

    return score


def prefers(tool: Any, *, over: Any, partial: bool = False) -> Scorer:
    """This tool is used, and the other is not: ``prefers("Grep", over="Bash grep")``.

    ``over`` may be a tool, a ``call(...)``, or a program run by Bash, written as above. Where neither is used no
    preference shows, and the score is 0.
    """
    (good,), (bad,) = expected_calls([_program(tool)]), expected_calls([_program(over)])
    rules = Rules.build(mode="superset")

    @named("prefers")
    def score(trajectory: Trajectory, workspace: Path | None = None, run: Run | None = None) -> Score:
        require_calls(run)
        liked, disliked = (len(rules.select(trajectory, [one], workspace=workspace)) for one in (good, bad))
        reason = f"{tool} was used {_times(liked)}, {over} {_times(disliked)}"
        if not liked + disliked:
            return verdict(False, f"{reason}: no preference shows")
        return share(liked, liked + disliked, reason, partial=partial, preferred=liked, other=disliked)

    return score


def _program(tool: Any) -> Any:
    """``"Bash grep"`` is a call of Bash whose command runs grep."""
    if isinstance(tool, str) and tool.startswith("Bash "):
        return call("Bash", command=runs_program(tool.removeprefix("Bash ").strip()))
    return tool


def skill_used(name: str) -> Scorer:
    """The model calls this skill, and it loads."""

    @named("skill_used")
    def score(trajectory: Trajectory, run: Run | None = None) -> Score:
        require_calls(run)
        uses = [one for one in trajectory if _skill(one) and one.status != "failed"]
        found = [one for one in uses if _is_named(_skill(one), name)]
        others = sorted({_skill(one) for one in uses})
        reason = f"the skill {name} was used {_times(len(found))}"
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
        return verdict(False, f"skills were used that must not be: {_listed(tried)}")

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
        spawns = [
            one for one in trajectory if call("Agent").tool.accepts(one.name) and one.status != "failed"
        ]
        names = [str(one.args.get("subagent_type", "general-purpose")) for one in spawns]
        count = sum(_is_named(name, agent) for name in names)
        reason = f"work was delegated to {agent} {_times(count)}, expected {_asked(at_least, None)}"
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
        return verdict(False, f"repeated {rounds} times in a row: {_listed(cycle)}", rounds=rounds)

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


def _some(tools: tuple[Any, ...], scorer: str) -> tuple[ExpectedCall, ...]:
    if not tools:
        raise UsageError(
            f"{scorer}() names no tool, so that it would always pass.", hint=f'write {scorer}("Bash")'
        )
    return expected_calls(tools, scorer)


def _number(items: Sequence[Any], noun: str) -> str:
    return f"{len(items)} {noun}{'' if len(items) == 1 else 's'}"


def _listed(items: Iterable[Any], most: int = 5) -> str:
    texts = [str(item) for item in items]
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more
