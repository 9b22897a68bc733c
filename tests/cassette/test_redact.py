"""Secrets are taken out of everything that is kept. Every secret here is made up, and put together at run time."""

from __future__ import annotations

import base64
import json
import stat
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roadtest.cassette import sse
from roadtest.cassette.redact import Redactor, looks_secret, redact_jsonl

LETTERS = "aZ3kP9qLm7Xw2Rt5Yb8Nc4Vd6Gh1Jf0SuEoIiTyUrQeWpDlKjHgFzCxBvNm"
PEM = "\n".join(
    ["-----BEGIN RSA " + "PRIVATE KEY-----", *[LETTERS] * 3, "-----END RSA " + "PRIVATE KEY-----"]
)
SHAPED = {
    "anthropic-key": "sk-" + "ant-api03-" + LETTERS,
    "openai-key": "sk-" + "proj-" + LETTERS,
    "github-token": "gh" + "p_" + LETTERS[:36],
    "github-pat": "github" + "_pat_" + LETTERS,
    "aws-access-key": "AK" + "IA" + "ABCDEFGH12345678",
    "slack-token": "xo" + "xb-123456789012-" + LETTERS[:24],
    "private-key": PEM,
    "jwt": "ey" + "JhbGciOiJIUzI1NiJ9.ey" + "JzdWIiOiIxMjM0NTY3ODkwIn0." + LETTERS[:43],
}
VALUE = "p4ss/word+with \"quotes\" & 'ümlaut'"
texts = st.text(max_size=60)
nested = st.recursive(
    texts | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(texts, inner), max_leaves=6
)


@pytest.mark.parametrize("name", SHAPED)
@pytest.mark.parametrize("frame", ["{}", "the key is {}.", 'x="{}"\n', "export A={} B=2"])
def test_keys_are_known_by_their_shape(name: str, frame: str) -> None:
    """A well-known kind of key is replaced wherever it stands, and what is around it stays."""
    redacted = Redactor().redact(frame.format(SHAPED[name]))
    assert redacted == frame.format(f"{{{{redacted:{name}}}}}")
    assert Redactor().find(frame.format(SHAPED[name])) == [name]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Authorization: Bearer " + LETTERS, "Authorization: Bearer {{redacted:bearer-token}}"),
        ("postgres://app:" + "hunter22@db/x", "postgres://app:{{redacted:url-password}}@db/x"),
        (
            "aws_secret_" + "access_key = " + LETTERS[:40],
            "aws_secret_access_key = {{redacted:aws-secret-key}}",
        ),
        (
            "https://hooks.slack.com/services/T0/" + LETTERS,
            "https://hooks.slack.com/services/{{redacted:slack-webhook}}",
        ),
    ],
)
def test_only_the_secret_part_is_replaced(text: str, expected: str) -> None:
    """What says that a secret follows is kept, so that a reader sees what was there."""
    assert Redactor().redact(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "task-management-for-everyone-and-their-friends",
        "The bearer of this letter",
        "http://localhost:8080/path@home",
        "-----BEGIN CERTIFICATE-----\n" + LETTERS,
        "Look for -----BEGIN PRIVATE " + "KEY----- in the files, then report.",
        "{{workspace}}/src/main.py",
        "eyJub3QiOiJhIGp3dCJ9 is only one part",
    ],
)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    """Words, addresses, certificates and placeholders that only resemble a secret are left alone."""
    assert Redactor({"API_TOKEN": VALUE}).redact(text) == text


def test_a_private_key_that_was_cut_off() -> None:
    """A key whose end is missing, or that a tool printed with line numbers, is taken out all the same."""
    lines = PEM.splitlines()[:-1]
    numbered = "\n".join(f"{number:6}→{line}" for number, line in enumerate(lines, 1))
    for text in ("\n".join(lines), numbered, "\\n".join(lines)):
        assert LETTERS[:20] not in Redactor().redact(f"before\n{text}\nafter")
        assert Redactor().redact(f"before\n{text}\nafter").startswith("before")


@pytest.mark.parametrize(
    "form",
    [
        VALUE,
        json.dumps(VALUE)[1:-1],
        json.dumps(VALUE, ensure_ascii=False)[1:-1],
        quote(VALUE),
        quote(VALUE, safe=""),
    ],
)
def test_values_of_secret_variables_in_any_form(form: str) -> None:
    """The value of a secret variable is found as it is and as JSON or a URL carry it."""
    assert Redactor({"DB_PASSWORD": VALUE}).redact(f"<{form}>") == "<{{redacted:DB_PASSWORD}}>"


@given(st.binary(max_size=9), st.binary(max_size=9), st.booleans())
def test_values_inside_base64(before: bytes, after: bytes, urlsafe: bool) -> None:
    """A secret value is found inside base64 wherever in the encoded text it stands."""
    encode = base64.urlsafe_b64encode if urlsafe else base64.b64encode
    encoded = encode(before + VALUE.encode() + after).decode()
    assert "{{redacted:DB_PASSWORD}}" in Redactor({"DB_PASSWORD": VALUE}).redact(encoded)


def test_a_secret_of_several_lines_is_found_line_by_line() -> None:
    """A variable that holds a whole key file is found when a tool prints it with line numbers."""
    redactor = Redactor({"SIGNING_KEY": f"{LETTERS}\n{LETTERS[::-1]}\n"})
    assert redactor.redact(f"  1→{LETTERS}\n  2→{LETTERS[::-1]}") == (
        "  1→{{redacted:SIGNING_KEY}}\n  2→{{redacted:SIGNING_KEY}}"
    )


def test_a_value_of_a_known_shape_goes_by_that_name() -> None:
    """Where the variable is set and where it is not, the same key becomes the same placeholder."""
    key = SHAPED["github-token"]
    for environ in ({}, {"GITHUB_TOKEN": key}):
        assert Redactor(environ).redact(f"It is {key}.") == "It is {{redacted:github-token}}."
    encoded = base64.b64encode(f"user:{key}".encode()).decode()
    assert "{{redacted:github-token}}" in Redactor({"GITHUB_TOKEN": key}).redact(encoded)


def test_a_value_with_more_than_a_token_is_replaced_whole() -> None:
    """The tail of a secret does not remain because its head looks like another kind of secret."""
    value = LETTERS + "!and-the-rest"
    assert Redactor({"MY_TOKEN": value}).redact(f"Bearer {value}") == "Bearer {{redacted:MY_TOKEN}}"


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("ANTHROPIC_API_KEY", "a-dummy-key", True),
        ("GITHUB_TOKEN", "abcdefgh", True),
        ("npm_config_authtoken", "abcdefgh", True),
        ("DB_PWD", "hunter2hunter2", True),
        ("AWS_SESSION_TOKEN", "abcdefgh", True),
        ("PWD", "/home/someone/project", False),
        ("GOOGLE_CREDENTIALS_FILE", "/etc/key.json", False),
        ("SSH_AUTH_SOCK", "/tmp/ssh-1/agent.1", False),
        ("TOKENIZERS_PARALLELISM", "something", False),
        ("MAX_TOKENS", "4096", False),
        ("DB_PASSWORD", "password", False),
        ("KEYBOARD_LAYOUT", "de_DE.UTF-8", False),
        ("PATH", "/usr/bin:/bin", False),
    ],
)
def test_which_variables_are_secret(name: str, value: str, secret: bool) -> None:
    """Names that speak of keys, tokens and passwords are secret; paths, counts and trivial values are not."""
    assert looks_secret(name, value) is secret


@given(
    nested, st.lists(st.sampled_from([*SHAPED.values(), VALUE, "}}", "{{", "Bearer ", "://a:"]), max_size=4)
)
def test_redacting_twice_changes_nothing_more(value: Any, planted: list[str]) -> None:
    """Redaction is idempotent, and nothing that it leaves is found again."""
    redactor = Redactor({"API_TOKEN": VALUE, "OTHER_SECRET": "redacted:x"})
    once = redactor.redact([value, "".join(planted), "-".join(planted)])
    assert redactor.redact(once) == once
    assert redactor.find(once) == []


@given(nested)
def test_values_without_secrets_stay_equal(value: Any) -> None:
    """A value that holds no secret comes back equal."""
    redactor = Redactor({"API_TOKEN": VALUE})
    assert redactor.redact(value) == value or redactor.find(value)


def test_secrets_are_found_at_any_depth_and_in_keys() -> None:
    """Lists, objects and keys are searched, and two secret keys stay two keys."""
    redactor = Redactor({"A_TOKEN": "aaaaaaaaaa"})
    value = {"aaaaaaaaaa": [{"x": "-aaaaaaaaaa-"}], quote("aaaaaaaaaa") + "!": 1, "n": [None, 2, True]}
    assert redactor.redact(value) == {
        "{{redacted:A_TOKEN}}": [{"x": "-{{redacted:A_TOKEN}}-"}],
        "{{redacted:A_TOKEN}}!": 1,
        "n": [None, 2, True],
    }
    both = redactor.redact({"bbbbbbbbbb": 1, "aaaaaaaaaa": 2, "cc": 3})
    assert len(both) == 3
    assert (
        len(
            Redactor({"A_TOKEN": "aaaaaaaaaa", "X": "y"}).redact({"aaaaaaaaaa": 1, "{{redacted:A_TOKEN}}": 2})
        )
        == 2
    )


def test_a_secret_split_over_deltas_is_found() -> None:
    """A key that the model spelt one character a delta is found, because the message is redacted once it is whole."""
    key = SHAPED["anthropic-key"]
    message = {"id": "m", "content": [{"type": "text", "text": ""}], "stop_reason": "end_turn", "usage": {}}
    events = list(sse.encode(message))
    deltas = [
        sse.event(
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": letter}}
        )
        for letter in f"The key is {key}."
    ]
    accumulator = sse.Accumulator()
    for piece in [*events[:2], *deltas, *events[3:]]:
        accumulator.feed(piece)
    assert all(key not in piece.decode() for piece in deltas)
    assert (
        Redactor().redact(accumulator.message)["content"][0]["text"]
        == "The key is {{redacted:anthropic-key}}."
    )


@pytest.mark.parametrize(
    "piece",
    [
        "x",
        "eyJ",
        "sk-" + "ant-",
        "-----BEGIN PRIVATE " + "KEY-----",
        "-----BEGIN PRIVATE " + "KEY-----\n" + "A" * 39 + "\n",
        "://a:",
        "Bearer ",
        "xo" + "xb-",
        "A" * 63 + "\n",
        VALUE[:-1],
    ],
)
def test_big_hostile_texts_take_linear_time(piece: str) -> None:
    """Megabytes of anything, also of what every pattern begins with, are searched in one go."""
    text = piece * (4_000_000 // len(piece))
    assert Redactor({"API_TOKEN": VALUE}).redact(text) is not None


def test_captured_calls_are_redacted_in_place(tmp_path: Path) -> None:
    """A file of JSON lines loses its secrets and nothing else: other lines, a torn last line and the mode stay."""
    path = tmp_path / "tool-calls.jsonl"
    clean = b'{"tool_name": "Read",   "n": 1}\n'
    secret = msgspec.json.encode({"tool_output": f"TOKEN={VALUE}"}) + b"\n"
    torn = b'{"tool_output": "' + SHAPED["slack-token"].encode() + b"\xff"
    path.write_bytes(clean + secret + torn)
    path.chmod(0o640)

    assert redact_jsonl(path, Redactor({"A_SECRET": VALUE}))
    lines = path.read_bytes().splitlines(keepends=True)
    assert lines[0] == clean
    assert msgspec.json.decode(lines[1]) == {"tool_output": "TOKEN={{redacted:A_SECRET}}"}
    assert lines[2] == b'{"tool_output": "{{redacted:slack-token}}\xff'
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert list(tmp_path.iterdir()) == [path]
    assert not redact_jsonl(path, Redactor({"A_SECRET": VALUE}))


def test_odd_values_do_no_harm() -> None:
    """Values that are no valid Unicode, or that look like placeholders, are taken as they are or left out."""
    redactor = Redactor({"A_TOKEN": "\udcff\udcfe\udcff\udcfe\udcff\udcfe", "B_TOKEN": "{{workspace}}"})
    assert redactor.redact("in {{workspace}}") == "in {{workspace}}"
