"""AgentEvals and OpenEvals as scorers: their evaluators judge, we convert the trajectory and read the result."""

from __future__ import annotations

import importlib
import inspect
import warnings
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, get_args

from roadtest.errors import MissingExtra, UsageError
from roadtest.matching import Rules
from roadtest.results import Run, Score
from roadtest.scorers.base import named, require_calls
from roadtest.scorers.messages import reference_messages, texts_of_turns, to_messages
from roadtest.trajectory import Trajectory

Evaluator = Callable[..., Any]
Judged = Literal["trajectory", "output"]


def agentevals_match(
    *,
    trajectory_match_mode: str = "strict",
    tool_args_match_mode: str = "exact",
    tool_args_match_overrides: Mapping[str, Any] | None = None,
    agent: str | None = None,
) -> Callable[..., Score | Awaitable[Score]]:
    """The evaluator of AgentEvals' ``create_trajectory_match_evaluator``, with its own meaning of the modes.

    It differs from ``trajectory_match`` in places, see the explanation of matching. ``agent`` restricts it to the calls of
    ``main`` or of one subagent.
    """
    create = _create_trajectory_match_evaluator()
    overrides = None if tool_args_match_overrides is None else dict(tool_args_match_overrides)
    try:
        evaluator = create(
            trajectory_match_mode=trajectory_match_mode,
            tool_args_match_mode=tool_args_match_mode,
            tool_args_match_overrides=overrides,
        )
    except ValueError as problem:
        raise UsageError(f"AgentEvals: {problem}") from None
    return named("agentevals_match")(agentevals(evaluator, agent=agent))


def _create_trajectory_match_evaluator() -> Callable[..., Evaluator]:
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # of its dependencies, about each other; a suite under -W error would not start
        try:
            match = importlib.import_module("agentevals.trajectory.match")  # takes over a second, hence late
        except ModuleNotFoundError as problem:
            raise MissingExtra("scorers.agentevals_match", "agentevals") from problem
    create: Callable[..., Evaluator] = match.create_trajectory_match_evaluator
    return create


def agentevals(
    evaluator: Evaluator, *, judges: Judged = "trajectory", agent: str | None = None
) -> Callable[..., Score | Awaitable[Score]]:
    """Any evaluator of AgentEvals or OpenEvals, sync or async.

    Args:
        evaluator: a callable that takes ``outputs`` and, as it likes, ``inputs`` and ``reference_outputs``.
        judges: what it gets as ``outputs``: the ``trajectory`` as messages, or the ``output`` as text. The reference is the
            case's ``expected``, as messages or as it is.
        agent: only the calls of ``main`` or of this subagent.
    """
    if not callable(evaluator):
        raise UsageError(f"an evaluator is a callable, not {evaluator!r}.")
    if judges not in get_args(Judged):
        raise UsageError(f"an evaluator judges 'trajectory' or 'output', not {judges!r}.")
    scope = Rules.build(mode="superset", agent=agent)

    @named(getattr(evaluator, "__name__", "agentevals"))
    def score(input: Any, output: str, expected: Any, trajectory: Trajectory, run: Run | None = None) -> Any:  # noqa: A002
        given: dict[str, Any] = {"inputs": input, "outputs": output, "reference_outputs": expected}
        if judges == "trajectory":
            require_calls(run)
            said = texts_of_turns(run.messages) if run is not None else {}
            given["outputs"] = to_messages(
                scope.in_scope(tuple(trajectory)), prompt=input, answer=output, said=said
            )
            if expected is not None:
                given["reference_outputs"] = reference_messages(expected, prompt=input, answer=output)
        result = evaluator(**_accepted(evaluator, given))
        return _later(result) if inspect.isawaitable(result) else _to_score(result)

    return score


def _accepted(evaluator: Evaluator, given: dict[str, Any]) -> dict[str, Any]:
    """What the evaluator can take of it; a reference that there is not is left out."""
    parameters = inspect.signature(evaluator).parameters
    takes_all = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    return {
        name: value
        for name, value in given.items()
        if (takes_all or name in parameters) and (name != "reference_outputs" or value is not None)
    }


async def _later(result: Awaitable[Any]) -> Score:
    return _to_score(await result)


def _to_score(result: Any) -> Score:
    """Read an evaluator's result; of several the lowest counts, as each of them has to be good enough."""
    results = result if isinstance(result, list) else [result]
    if not results or not all(isinstance(one, Mapping) and "score" in one for one in results):
        raise UsageError(f"the evaluator returned {result!r}, which is not a result of AgentEvals.")
    values = [_value(one) for one in results]
    reason = "\n".join(_reason(one) for one in results)
    return Score(min(values), reason, {"results": [dict(one) for one in results]})


def _value(result: Mapping[str, Any]) -> float:
    score = result["score"]
    if not isinstance(score, bool | int | float) or not 0 <= score <= 1:
        raise UsageError(
            f"the evaluator {result.get('key')!r} gave the score {score!r}, which is not from 0 to 1."
        )
    return float(score)


def _reason(result: Mapping[str, Any]) -> str:
    said = f"{result.get('key') or 'score'}: {result['score']}"
    return f"{said}, {result['comment']}" if result.get("comment") else said
