from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roadtest.cassette.volatile import Volatile
from roadtest.errors import UsageError

SAME = [
    ("It is Sun Nov 15 21:31:54 UTC 2026.", "It is Mon Jan 2 03:04:05 UTC 2031."),
    ("at 2026-11-15T21:31:54.123Z", "at 2026-11-16 08:00"),
    ("Date:   Sun Nov 15 21:31:54 2026 +0000", "Date:   Mon Jan 1 00:00:00 2024 +0100"),
    ("started 21:31", "started 9:05 PM"),
    ("epoch 1763242314", "epoch 1863242314.5"),
    ("3 passed in 0.12s", "3 passed in 1m4s"),
    ("took 12 ms, 3 seconds ago", "took 9 ms, 1 minute ago"),
    ("<duration_ms>246</duration_ms>", "<duration_ms>7</duration_ms>"),
    ("real\t0m0.003s", "real\t0m1.250s"),
    ("total 8\n-rw-r--r-- 1 me us 12 Nov 15 21:31 a", "total 12\n-rw-r--r-- 2 you them 9999 Jan  1  2020 a"),
    ("4.0K\tsrc", "12M\tsrc"),
    ("pid 4711", "pid 12"),
    ("PID: 4711 done\n[1] 4711", "PID: 12 done\n[1] 99"),
    ("id 123e4567-e89b-12d3-a456-426614174000", "id 00000000-e89b-12d3-a456-426614174999"),
    ("commit 1f2e3d4c", "commit abcdef12"),
    ("[main 1234567] fix", "[main abc1234] fix"),
    ("agentId: a27fbcac0fb5b219c", "agentId: {{agent-1}}"),
    ("at 0x7f406d18f380", "at 0x7f7bc1178950"),
    ("wrote /tmp/abc.txt", "wrote /tmp/xyz.log"),
    ("wrote {{tmp}}/tmp.AbCdEfGhIj/x", "wrote {{tmp}}/tmp.0123456789/x"),
    ("on http://localhost:40001/x", "on http://localhost:51/x"),
    ("listening on port 8080", "listening on port 9999"),
]

DIFFERENT = [
    ("3 passed in 0.12s", "2 passed in 0.12s"),
    ("a.py:12:34: error", "a.py:13:34: error"),
    ("hello", "hallo"),
    ("1234567 rows", "7654321 rows"),
    ("-rw-r--r-- 1 me us 12 Nov 15 21:31 a", "-rwxr-xr-x 1 me us 12 Nov 15 21:31 a"),
    ("-rw-r--r-- 1 me us 12 Nov 15 21:31 a", "-rw-r--r-- 1 me us 12 Nov 15 21:31 b"),
    ("total 8 files", "total 9 files"),
    ("120 bytes", "121 bytes"),
    ("feedface", "deadbeef"),
    ("commit 1f2e3d4c by me", "commit 1f2e3d4c by you"),
    ("wrote /tmp/abc/one", "wrote /tmp/abc/two"),
    ("one\ntwo", "one\ntwo\nthree"),
    ("", "x"),
]


@pytest.mark.parametrize(("recorded", "live"), SAME)
def test_volatile_tokens_do_not_count(recorded: str, live: str) -> None:
    """Texts that differ in volatile tokens only are the same, either way round."""
    assert Volatile().pairs(recorded, live)
    assert Volatile().pairs(live, recorded)


@pytest.mark.parametrize(("recorded", "live"), DIFFERENT)
def test_anything_else_counts(recorded: str, live: str) -> None:
    """A count, a name, a line, a mode or a plain number that differs is a difference."""
    assert Volatile().pairs(recorded, live) is None
    assert Volatile().pairs(live, recorded) is None


@given(st.text())
def test_a_text_is_the_same_as_itself(text: str) -> None:
    """No token of a text differs from itself, and masking does not depend on when it is done."""
    assert Volatile().pairs(text, text) == []
    assert Volatile().mask(text) == Volatile().mask(text)


@given(st.text(alphabet="ab12:-/ \n.tmp"), st.text(alphabet="ab12:-/ \n.tmp"))
def test_being_the_same_works_both_ways(one: str, other: str) -> None:
    """If one text is the other but for volatile tokens, so is the other the one."""
    assert (Volatile().pairs(one, other) is None) == (Volatile().pairs(other, one) is None)


@given(st.lists(st.sampled_from([pair for pair in SAME if "\n" not in pair[0]]), max_size=5))
def test_lines_are_judged_one_by_one(lines: list[tuple[str, str]]) -> None:
    """Texts made of lines that are the same are the same."""
    recorded, live = ("\n".join(line[side] for line in lines) for side in (0, 1))
    assert Volatile().pairs(recorded, live) is not None


def test_the_users_patterns_come_first() -> None:
    """A pattern of the user's own covers what no class knows, and wins where both apply."""
    volatile = Volatile([r"ORD-\w+", r"build \d+ of 2026-\d\d-\d\d"])
    pairs = volatile.pairs("ORD-a1 build 7 of 2026-01-02", "ORD-b22 build 8 of 2026-03-04")
    assert [(pair.kind, pair.recorded, pair.live) for pair in pairs or []] == [
        ("volatile", "ORD-a1", "ORD-b22"),
        ("volatile", "build 7 of 2026-01-02", "build 8 of 2026-03-04"),
    ]


def test_a_bad_pattern_is_the_users_mistake() -> None:
    """A pattern that is no regular expression is named."""
    with pytest.raises(UsageError, match="not a regular expression"):
        Volatile(["("])
