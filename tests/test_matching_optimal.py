"""Verdicts and scores are those of the best pairing there is, as trying every pairing shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import combinations, permutations, product
from random import Random
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from roadtest.calls import ToolCall
from roadtest.matching import ExpectedCall, Rules, call, first_fit, match
from roadtest.matching.arguments import ArgsRules
from roadtest.matching.relation import FEW, Relation, Table
from roadtest.matching.solve import longest_common_subsequence, maximum_matching
from roadtest.matching.values import KeyMode, agrees
from tests.calls_made import made

ARGS = st.dictionaries(
    st.sampled_from("pq"),
    st.sampled_from([1, True, 2, 2.0, None, "x", [1], {"a": 1}, {"a": 1, "b": 2}]),
    max_size=2,
)
OPERATORS = st.sampled_from([{"$any": True}, {"$contains": "x"}, {"$regex": "^x"}])
WANTED_ARGS = ARGS | st.dictionaries(st.sampled_from("pq"), OPERATORS, max_size=2)
TOOLS = st.sampled_from(["R", "W"])
ACTUAL = st.lists(st.builds(lambda tool, args: made(tool, **args), TOOLS, ARGS), max_size=4)
EXPECTED = st.lists(st.builds(call, TOOLS | st.just("R|W"), WANTED_ARGS) | TOOLS, max_size=4)
MODES = ["strict", "in_order", "unordered", "subset", "superset"]
ARGS_MODES = ["exact", "ignore", "subset", "superset"]


def table(actual: Sequence[ToolCall], expected: Sequence[Any], args: str) -> list[list[bool]]:
    """Each pair, decided by itself."""
    decide = Rules.build(mode="superset", args=args)
    return [[bool(decide.select([one], [want])) for one in actual] for want in expected]


@cache
def assignments(rows: int, columns: int) -> list[list[tuple[int, int]]]:
    """Every way to pair some of the rows with some of the columns."""
    return [
        list(zip(chosen, partners, strict=True))
        for size in range(min(rows, columns) + 1)
        for chosen in combinations(range(rows), size)
        for partners in permutations(range(columns), size)
    ]


def best(accepted: list[list[bool]], columns: int, *, ordered: bool) -> int:
    return max(
        len(pairs)
        for pairs in assignments(len(accepted), columns)
        if all(accepted[i][j] for i, j in pairs)
        and (not ordered or [j for _, j in pairs] == sorted(j for _, j in pairs))
    )


@settings(max_examples=300, deadline=None)
@example(actual=[made("R", p=1), made("R")], expected=[call("R"), call("R", p=1)])
@given(ACTUAL, EXPECTED)
def test_no_assignment_is_better(actual: list[ToolCall], expected: list[Any]) -> None:
    """In each mode the number of pairs is the largest of all assignments, and the verdict follows from it."""
    for mode, args in product(MODES, ARGS_MODES):
        accepted = table(actual, expected, args)
        most = best(accepted, len(actual), ordered=mode in ("strict", "in_order"))
        found = match(actual, expected, mode=mode, args=args)
        assert len(found.pairs) == most, (mode, args)
        assert found.passed == passes(mode, accepted, len(actual), most), (mode, args)


def passes(mode: str, accepted: list[list[bool]], columns: int, most: int) -> bool:
    """The verdict by the words of the modes."""
    if mode == "strict":
        return len(accepted) == columns and all(accepted[i][i] for i in range(columns))
    if mode == "unordered":
        return most == len(accepted) == columns
    return most == columns if mode == "subset" else most == len(accepted)


FEW_ARGS: list[dict[str, Any]] = [
    {},
    {"p": "x"},
    {"p": "x", "q": 1},
    {"p": "x", "q": True},
    {"q": 1.0, "p": "x"},
    {"p": "y", "q": {"a": 1}},
    {"p": "y", "q": {"a": 1, "b": [2]}},
    {"p": ["x"]},
]
"""So few that long lists have equal calls, calls within each other, and such that only Python takes for equal."""
FEW_WANTED = [
    *("R", "W", "R|W", call("[RW]"), call("R|W", p={"$contains": "x"}), call("R", q={"$any": True})),
    call("R", p="x").with_status("failed"),
    *(call(tool, args) for tool in ("R", "W", "R|W") for args in FEW_ARGS),
]
LONGER_ACTUAL = st.lists(
    st.builds(ToolCall, name=TOOLS, args=st.sampled_from(FEW_ARGS), status=st.sampled_from(["ok", "failed"])),
    min_size=1,
    max_size=9,
)
OVERRIDES = st.sampled_from([None, None, {"R": "ignore"}, {"R": "exact", "W": ["p"]}])


def wanted_like(actual: Sequence[ToolCall], random: Random) -> list[Any]:
    """Calls such as might have been expected of these: said in fewer words or more, perhaps one wrong or missing."""
    forms: list[Callable[[ToolCall], Any]] = [
        lambda one: one,
        lambda one: call(one.name, {**random.choice(FEW_ARGS), **one.args}),
        lambda one: call(one.name, {key: one.args[key] for key in list(one.args)[:1]}),
        lambda one: one.name,
    ]
    forms = random.choice([forms[:1], forms[:2], forms[::2], forms])
    wanted = [random.choice(forms)(one) for one in actual]
    if random.random() < 0.5:
        wanted[random.randrange(len(wanted))] = random.choice(FEW_WANTED)
    if random.random() < 0.6:
        random.shuffle(wanted)
    return wanted[: random.choice([None, None, -1])]


@settings(max_examples=400, deadline=None)
@example([made("R", p="y"), made("R")], [call("R", p="x"), call("R", p="y")], None, Random(0), 1)
@example([made("W"), made("R", p="y")], [call("R", p="x"), "W"], {"R": "ignore"}, Random(0), 0)
@example([made("W"), made("R", p=1)], [call("R", p=True), call("W")], None, Random(0), first_fit.FEW)
@given(
    LONGER_ACTUAL,
    st.none() | st.lists(st.sampled_from(FEW_WANTED), max_size=9),
    OVERRIDES,
    st.randoms(use_true_random=False),
    st.sampled_from([0, 1, first_fit.FEW]),
)
def test_the_verdict_is_that_of_the_best_pairing(
    actual: list[ToolCall], far: list[Any] | None, overrides: Any, random: Random, few: int
) -> None:
    """The verdict that is found first is the one that the best pairing gives, on lists near a match and far from it."""
    wanted = wanted_like(actual, random) if far is None else far
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(first_fit, "FEW", few)
        for args in ARGS_MODES:
            rules = [Rules.build(mode=mode, args=args, overrides=overrides) for mode in MODES]
            expected = rules[0].match(actual, wanted).expected
            accepted = masks_of(actual, expected, rules[0].args)
            in_order = longest_common_subsequence(accepted, len(actual))
            in_any_order = maximum_matching(accepted, len(expected), len(actual))
            for rule in rules:
                found = rule.match(actual, wanted)
                best = in_order if rule.mode in ("strict", "in_order") else in_any_order
                assert found.passed == (len(best) == found.required), (rule.mode, args)
                pairs = (
                    [(row.expected, row.actual) for row in found.rows if row.kind == "match"] if found else []
                )
                assert len(pairs) == found.required * found.passed, (rule.mode, args)
                assert are_pairs(pairs, accepted), (rule.mode, args)


def masks_of(actual: Sequence[ToolCall], expected: Sequence[ExpectedCall], rules: ArgsRules) -> list[int]:
    """Each pair of calls compared deeply, with nothing looked up or taken for granted."""

    def accepts(one: ExpectedCall, other: ToolCall) -> bool:
        return (
            one.tool.accepts(other.name)
            and (one.args is None or rules.for_tool(other.name).accepts(other.args, one.args))
            and (not one.statuses or other.status in one.statuses)
        )

    return [sum(accepts(one, other) << j for j, other in enumerate(actual)) for one in expected]


def are_pairs(pairs: Sequence[tuple[Any, Any]], accepted: Sequence[int]) -> bool:
    """Whether the calls of each pair fit, and no call is in two."""
    once = len({i for i, _ in pairs}) == len({j for _, j in pairs}) == len(pairs)
    return once and all(accepted[i] >> j & 1 for i, j in pairs)


@settings(max_examples=200, deadline=None)
@given(ACTUAL, EXPECTED, st.sampled_from(MODES), st.sampled_from(ARGS_MODES))
def test_the_score_follows_from_what_is_reported(
    actual: list[ToolCall], expected: list[Any], mode: str, args: str
) -> None:
    """Every call is reported once, the score can be computed from the report, and it is 1 exactly for a pass."""
    found = match(actual, expected, mode=mode, args=args)
    assert sorted(row.expected for row in found.rows if row.expected is not None) == list(
        range(len(expected))
    )
    assert sorted(row.actual for row in found.rows if row.actual is not None) == list(range(len(actual)))
    data = found.to_data()
    assert found.score == (data["counts"].get("match", 0) / data["required"] if data["required"] else 1.0)
    assert (found.score == 1.0) == found.passed == (not found.faults)


@settings(max_examples=200, deadline=None)
@given(ACTUAL, EXPECTED, st.sampled_from(ARGS_MODES), st.sampled_from([0, FEW]))
def test_the_index_finds_what_comparing_each_with_each_finds(
    actual: list[ToolCall], expected: list[Any], args: str, few: int
) -> None:
    """Looking calls up by their arguments misses none and adds none, be they few or many."""
    rules = Rules.build(args=args)
    wanted = [
        one if isinstance(one, ExpectedCall) else ExpectedCall.from_json({"tool": one}) for one in expected
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("roadtest.matching.relation.FEW", few)
        found = Table(Relation(rules.args, lambda *_: True), wanted, actual)
        masks = [found[i] for i in range(len(wanted))]
    assert [[bool(mask >> j & 1) for j in range(len(actual))] for mask in masks] == table(
        actual, wanted, args
    )


MASKS = st.integers(0, 5).flatmap(
    lambda width: st.tuples(st.lists(st.integers(0, 2**width - 1), max_size=5), st.just(width))
)


@settings(max_examples=300, deadline=None)
@given(ARGS, ARGS, st.sampled_from(["exact", "subset", "superset"]))
def test_the_quick_comparison_is_the_deep_one(actual: Any, expected: Any, mode: KeyMode) -> None:
    """Where arguments are compared by Python's own equality, the outcome is that of comparing them deeply."""
    assert match([made("R", **actual)], [call("R", expected)], args=mode).passed == agrees(
        actual, expected, mode
    )


@settings(max_examples=300, deadline=None)
@given(MASKS)
def test_the_longest_common_subsequence_is_longest(problem: tuple[list[int], int]) -> None:
    """The bit-parallel algorithm finds as many pairs in order as any assignment has."""
    masks, width = problem
    pairs = longest_common_subsequence(masks, width)
    assert all(masks[i] >> j & 1 for i, j in pairs)
    assert pairs == sorted(pairs)
    assert [j for _, j in pairs] == sorted({j for _, j in pairs})
    assert len(pairs) == best(
        [[bool(mask >> j & 1) for j in range(width)] for mask in masks], width, ordered=True
    )


@settings(max_examples=300, deadline=None)
@given(MASKS)
def test_the_maximum_matching_is_maximum(problem: tuple[list[int], int]) -> None:
    """Hopcroft and Karp find as many pairs as any assignment has."""
    masks, width = problem
    pairs = maximum_matching(masks, len(masks), width)
    assert all(masks[i] >> j & 1 for i, j in pairs)
    assert len({i for i, _ in pairs}) == len({j for _, j in pairs}) == len(pairs)
    assert len(pairs) == best(
        [[bool(mask >> j & 1) for j in range(width)] for mask in masks], width, ordered=False
    )


@pytest.mark.parametrize("size", [10, 300])
def test_a_chain_of_swaps_is_followed_to_its_end(size: int) -> None:
    """Where each call but the last accepts two, and the greedy choice is always wrong, all are paired."""
    masks = [0b11 << index for index in range(size - 1)]
    masks = [*masks, 1]
    assert len(maximum_matching(masks, size, size)) == size


@cache
def long_trajectory(seed: int, calls: int = 10_000) -> list[ToolCall]:
    """Calls such as agents make: 20 tools, most arguments distinct."""
    random = Random(seed)
    return [
        made(
            f"Tool{random.randrange(20)}",
            pattern=f"{seed}-{number}",
            path=f"src/{random.randrange(50)}.py",
            limit=random.randrange(5),
        )
        for number in range(calls)
    ]


@pytest.mark.parametrize("args", ["exact", "subset", "superset"])
@pytest.mark.parametrize("other", [1, 2], ids=["the same calls", "other calls"])
def test_long_trajectories_take_few_comparisons(args: str, other: int) -> None:
    """Of a hundred million pairs of calls only those that may fit are compared, about one for each call."""
    actual, reference = long_trajectory(1), long_trajectory(other)
    expected = [call(one.name, one.args) for one in reference]
    relation = Relation(ArgsRules.build(args), lambda *_: True)
    found = Table(relation, expected, actual)
    masks = [found[i] for i in range(len(expected))]
    assert sum(mask.bit_count() for mask in masks) == (10_000 if other == 1 else 0)
    assert relation.comparisons <= 2 * 10_000


@pytest.mark.parametrize("mode", MODES)
def test_long_trajectories_are_explained(mode: str) -> None:
    """Every one of ten thousand wrong calls is paired with a call of its tool, and each call is in one row."""
    actual, reference = long_trajectory(1), long_trajectory(2)
    found = match(actual, [call(one.name, pattern=one.args["pattern"]) for one in reference], mode=mode)
    assert not found
    assert found.score == 0.0
    assert len(found.wrong_args) > 9_000
    assert {row.actual for row in found.rows} - {None} == set(range(10_000))
    assert len(str(found).splitlines()) < 200
