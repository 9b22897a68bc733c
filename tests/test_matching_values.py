"""Arguments are compared deeply, with booleans apart from numbers, plain values and operators alike."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest
from dirty_equals import IsInt, IsStr
from hypothesis import given, settings
from hypothesis import strategies as st

from roadtest.errors import UsageError
from roadtest.matching.values import KeyMode, agrees, canonical, differences, leaves, prepare, within

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.sampled_from([0.0, 1.0, 0.5, math.nan])
    | st.sampled_from("ab")
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3),
    max_leaves=6,
)
MODES: list[KeyMode] = ["exact", "subset", "superset"]


def accepts(expected: Any, actual: Any, mode: KeyMode = "superset") -> bool:
    return agrees(actual, prepare(expected, "here"), mode)


@settings(deadline=None)
@given(JSON)
def test_every_value_agrees_with_itself(value: Any) -> None:
    """A value agrees with itself in every mode."""
    assert all(agrees(value, value, mode) for mode in MODES)


@settings(deadline=None)
@given(JSON, JSON)
def test_exact_is_the_equality_of_canonical_forms(left: Any, right: Any) -> None:
    """Two values agree exactly when their canonical forms are equal, and then hash alike."""
    same = canonical(left) == canonical(right)
    assert agrees(left, right, "exact") == same
    assert not same or hash(canonical(left)) == hash(canonical(right))


@settings(deadline=None)
@given(JSON, JSON)
def test_subset_is_superset_the_other_way_round(left: Any, right: Any) -> None:
    """Actual within expected is expected around actual."""
    assert agrees(left, right, "subset") == agrees(right, left, "superset")


@settings(deadline=None)
@given(JSON, JSON)
def test_exact_is_both_subset_and_superset(left: Any, right: Any) -> None:
    """Values that contain each other are equal."""
    assert agrees(left, right, "exact") == (agrees(left, right, "subset") and agrees(left, right, "superset"))


@settings(deadline=None)
@given(JSON, JSON, st.sampled_from(MODES))
def test_differences_are_empty_exactly_when_values_agree(left: Any, right: Any, mode: KeyMode) -> None:
    """An explanation is there when there is something to explain, and only then."""
    assert (not list(differences(left, right, mode))) == agrees(left, right, mode)


@settings(deadline=None)
@given(JSON, JSON)
def test_scalars_of_the_expected_are_found_in_what_contains_it(actual: Any, expected: Any) -> None:
    """Whatever contains an expected value has each of its scalars at the same place: the index relies on it."""
    if agrees(actual, expected, "superset"):
        assert set(leaves(expected)) <= set(leaves(actual))


@pytest.mark.parametrize(
    ("left", "right"), [(True, 1), (False, 0), (1, "1"), (None, False), ("", None), (0, "")]
)
def test_values_of_different_types_differ(left: Any, right: Any) -> None:
    """A boolean is no number, a number no text, and null only null."""
    assert not agrees(left, right, "exact")
    assert not agrees([{"a": left}], [{"a": right}], "superset")


def test_numbers_are_compared_by_value() -> None:
    """1 and 1.0 are the same number, as in JSON."""
    assert agrees(1, 1.0, "exact")


def test_nested_dicts_follow_the_mode() -> None:
    """A superset may have more keys at every depth, also inside lists."""
    actual = {"edits": [{"old": "a", "new": "b"}], "path": "x"}
    assert accepts({"edits": [{"old": "a"}]}, actual)
    assert not accepts({"edits": [{"old": "a"}]}, actual, "exact")
    assert accepts({"edits": [{"old": "a", "new": "b", "all": True}], "path": "x"}, actual, "subset")


def test_lists_have_the_same_length_in_every_mode() -> None:
    """A list is not a set: an item more is another list."""
    assert not any(agrees([1, 2], [1], mode) or agrees([1], [1, 2], mode) for mode in MODES)


@pytest.mark.parametrize(
    ("expected", "good", "bad"),
    [
        ({"$contains": "TODO"}, "# TODO: x", "# FIXME"),
        ({"$contains": "src"}, ["src", "tests"], ["tests"]),
        ({"$contains": 1}, [2, 1], [2, True]),
        ({"$contains": "1"}, "a1", 1),
        ({"$regex": "TODO|FIXME"}, "a FIXME b", "a XXX b"),
        ({"$regex": "^a$"}, "a", "ba"),
        ({"$glob": "src/*.py"}, "src/deep/a.py", "lib/a.py"),
        ({"$path": "src/a.py"}, "/tmp/w1/src/a.py", "/tmp/w1/src/b.py"),
        ({"$path": "src/a.py"}, "./src/a.py", "lib/src/a.py"),
        ({"$path": "src/a.py"}, "/w/lib/../src/a.py", "/w/mysrc/a.py"),
        ({"$path": "/etc/hosts"}, "/etc/hosts", "/w/etc/hosts"),
        ({"$literal": {"$set": {"a": 1}}}, {"$set": {"a": 1}}, {"$set": {"a": 2}}),
        (re.compile("todo", re.IGNORECASE), "TODO", "FIXME"),
        (Path("src/a.py"), "/w/src/a.py", "/w/a.py"),
        (IsStr(regex="a+"), "aaa", "b"),
        (IsInt, 3, "3"),
        ([{"old": {"$contains": "x"}}], [{"old": "axb", "new": ""}], [{"old": "ab"}]),
    ],
)
def test_operators_decide_by_themselves(expected: Any, good: Any, bad: Any) -> None:
    """Each operator accepts what it describes and refuses the rest, at any depth."""
    assert accepts({"key": expected}, {"key": good})
    assert not accepts({"key": expected}, {"key": bad})


def test_any_wants_the_key_to_be_there() -> None:
    """$any accepts any value, null included, but not none at all."""
    assert accepts({"path": {"$any": True}}, {"path": None})
    assert not accepts({"path": {"$any": True}}, {})


def test_a_path_is_precise_where_the_workspace_is_known() -> None:
    """With a workspace, $path is the file at that place in it, and no other that ends alike."""
    expected = within(prepare(Path("src/a.py"), "here"), ("/w", "/private/w"))
    assert agrees("/w/src/a.py", expected, "exact")
    assert agrees("/private/w/src/a.py", expected, "exact")
    assert agrees("src/a.py", expected, "exact")
    assert not agrees("/w/lib/src/a.py", expected, "exact")


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ({"$regexp": "x"}, r"here\.a: there is no operator '\$regexp'"),
        ({"$regex": "("}, r"here\.a: \$regex '\(' is not a regular expression"),
        ({"$contains": ["x"]}, r"here\.a: \$contains takes a text or another scalar"),
        ({"$glob": 1}, r"here\.a: \$glob takes a text"),
        ({"$any": False}, r"here\.a: \$any is written"),
        ({"$path": ""}, r"here\.a: \$path takes a text"),
        ({"$regex": "x", "b": 1}, r"here\.a: '\$regex' stands beside other keys"),
        ({1: "x"}, r"here\.a: the key 1 is not a text"),
        ([{"b": lambda: True}], r"here\.a\.0\.b: .* can never equal an argument"),
        (object(), r"here\.a: .* can never equal an argument"),
        (re.compile(b"x"), r"here\.a: the expression b'x' is for bytes"),
    ],
)
def test_an_expectation_that_cannot_be_is_refused(expected: Any, message: str) -> None:
    """What can match nothing, or is misspelt, raises at once and names the place."""
    with pytest.raises(UsageError, match=message):
        prepare({"a": expected}, "here")
