"""Scorers of what the agent did: which calls, in which order, how often."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from roadtest.errors import UsageError
from roadtest.matching import ExpectedCall, Match, Rules, call
from roadtest.matching.arguments import Override
from roadtest.matching.expected import expected_calls
from roadtest.results import Run, Score
from roadtest.scorers.base import Scorer, named, require_calls, share, verdict
from roadtest.scorers.fuzzy import runs_program
from roadtest.scorers.words import how_often, listed, number_of, so_often
from roadtest.trajectory import Trajectory


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
    asked = how_often(low, high)

    @named("calls")
    def score(trajectory: Trajectory, workspace: Path | None = None, run: Run | None = None) -> Score:
        require_calls(run)
        count = len(rules.select(trajectory, [wanted], workspace=workspace))
        passed = low <= count and (high is None or count <= high)
        reason = f"{wanted} was called {so_often(count)}, expected {asked}"
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
            return verdict(passed=True, reason=f"none of {listed(unwanted)} was called")
        return verdict(
            False,
            f"{number_of(made, 'call')} that must not be made: {listed(made)}",
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
        reason = f"{tool} was used {so_often(liked)}, {over} {so_often(disliked)}"
        if not liked + disliked:
            return verdict(False, f"{reason}: no preference shows")
        return share(liked, liked + disliked, reason, partial=partial, preferred=liked, other=disliked)

    return score


def _program(tool: Any) -> Any:
    """``"Bash grep"`` is a call of Bash whose command runs grep."""
    if isinstance(tool, str) and tool.startswith("Bash "):
        return call("Bash", command=runs_program(tool.removeprefix("Bash ").strip()))
    return tool


def _some(tools: tuple[Any, ...], scorer: str) -> tuple[ExpectedCall, ...]:
    if not tools:
        raise UsageError(
            f"{scorer}() names no tool, so that it would always pass.", hint=f'write {scorer}("Bash")'
        )
    return expected_calls(tools, scorer)
