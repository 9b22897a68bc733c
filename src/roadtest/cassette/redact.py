"""Secrets out of everything that is kept: cassettes, captured calls, run records.

Two kinds are known: the values of environment variables whose names look secret, in the forms in which a program
may print them (escaped for JSON or a URL, in base64, line by line), and keys that can be told by their shape.
Each becomes ``{{redacted:NAME}}``. Redacting twice changes nothing more.

Every pattern starts with something rare and ends where it can only succeed, and none looks around itself. That
keeps the time linear in the text, and a second pass from finding what the first one laid bare.
"""

from __future__ import annotations

import base64
import json
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, quote_plus

import msgspec

T = TypeVar("T")

_SECRET_NAME = re.compile(
    r"TOKEN(?!IZ)|SECRET|PASSW|PASSPHRASE|CREDENTIAL|KEYS?(?=_|$)|(?:^|_)(?:AUTH|PAT|PWD|PASS|BEARER|COOKIE|JWT)(?:_|$)"
)
_HARMLESS_NAME = re.compile(
    r"^(?:OLD)?PWD$|_(?:FILE|PATH|DIR|SOCK|URL|URI|ENDPOINT|NAME|TYPE|TTL|LIMIT|COUNT|LENGTH)$"
)
_HARMLESS_VALUES = frozenset(
    {"disabled", "enabled", "required", "password", "changeme", "localhost", "production"}
)
_SHORTEST = 8
"""Shorter values are too likely to be part of something else."""
_SHORTEST_LINE = 16
_SHORTEST_IN_BASE64 = 12

_REMEMBERED = 100
"""Texts up to this length, such as the names of fields, come again in every line and are looked through once."""

_PLACEHOLDER = r"\{\{redacted:[\w.-]+\}\}"
_WORD = r"[A-Za-z0-9_-]"
_PEM_LABEL = r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_SHAPES = {
    # name: (one of these is in any match, the pattern; its one group is the secret)
    "anthropic-key": (["sk-ant-"], rf"(sk-ant-{_WORD}{{16,}})"),
    "openai-key": (["sk-"], rf"(sk-(?:(?:proj|svcacct|admin)-{_WORD}{{20,}}|[A-Za-z0-9]{{32,}}))"),
    "github-token": (["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], r"(gh[pousr]_[A-Za-z0-9]{30,})"),
    "github-pat": (["github_pat_"], r"(github_pat_\w{36,})"),
    "aws-access-key": (["AKIA", "ASIA"], r"(A[KS]IA[A-Z0-9]{16})"),
    "aws-secret-key": (
        ["aws_secret_access_key", "AWS_SECRET_ACCESS_KEY", "SecretAccessKey"],
        r"""(?:aws_secret_access_key|AWS_SECRET_ACCESS_KEY|SecretAccessKey)[\s\\"':=]{1,8}([A-Za-z0-9/+]{40})""",
    ),
    "slack-token": (["xox", "xapp-"], r"((?:xox[abeoprs]|xapp-\d)-[A-Za-z0-9-]{10,})"),
    "slack-webhook": (["hooks.slack.com"], r"hooks\.slack\.com/services/([A-Za-z0-9/]{20,})"),
    "private-key": (
        ["PRIVATE KEY"],
        # Up to its end, or, if it was cut off, as far as lines of key material follow each other closely.
        (
            rf"(-----BEGIN {_PEM_LABEL}(?:(?:[^-]|-(?!----)){{0,20000}}-----END {_PEM_LABEL}"
            r"|(?:[\s\S]{0,24}?[A-Za-z0-9+/=]{40,})+))"
        ),
    ),
    "jwt": (["eyJ"], rf"(eyJ{_WORD}{{10,600}}+\.eyJ{_WORD}{{10,}}(?:\.{_WORD}*)?)"),
    "bearer-token": (["earer"], r"[Bb]earer[ \t]{1,4}([A-Za-z0-9._~+/=-]{20,})"),
    "url-password": (["://"], r"""://[^\s/:@{}"'<>\\]{1,256}:([^\s/@{}"'<>\\]{3,256})@"""),
}


class Redactor:
    """Takes secrets out of JSON values; built from the environments whose secrets must not be kept."""

    def __init__(self, *environs: Mapping[str, str]) -> None:
        self._forms = _forms_of(item for environ in environs for item in environ.items())

    def redact(self, value: T) -> T:
        """The value with every secret in its strings replaced, at any depth, in keys too."""
        return self._walk(value, [])  # type: ignore[no-any-return]

    def find(self, value: Any) -> list[str]:
        """The names of the secrets in a text or JSON value, each once."""
        found: list[str] = []
        self._walk(value, found)
        return list(dict.fromkeys(found))

    def _walk(self, value: Any, found: list[str]) -> Any:
        if isinstance(value, str):
            return _without_shapes(self._without_forms(value, found), found)
        if isinstance(value, dict):
            return _unique_keys(
                (self._walk(key, found), self._walk(item, found)) for key, item in value.items()
            )
        if isinstance(value, list):
            return [self._walk(item, found) for item in value]
        return value

    def _without_forms(self, text: str, found: list[str]) -> str:
        # Nearly every text holds no secret; plain search tells so many times faster than a pattern would.
        present = [form for form in self._forms if form in text]
        if not present:
            return text

        def replacement(match: re.Match[str]) -> str:
            name = self._forms.get(match[0])
            return _replaced(match, 0, name, found) if name else match[0]

        return re.sub("|".join([_PLACEHOLDER, *map(re.escape, present)]), replacement, text)


def _without_shapes(text: str, found: list[str]) -> str:
    present = _signs_in(text) if len(text) > _REMEMBERED else _signs_in_short(text)
    if not present:
        return text

    def replacement(match: re.Match[str]) -> str:
        return (
            _replaced(match, match.lastindex, present[match.lastindex - 1], found)
            if match.lastindex
            else match[0]
        )

    return re.sub("|".join([_PLACEHOLDER, *(_SHAPES[name][1] for name in present)]), replacement, text)


def _signs_in(text: str) -> list[str]:
    return [name for name, (signs, _) in _SHAPES.items() if any(sign in text for sign in signs)]


_signs_in_short = lru_cache(maxsize=4096)(_signs_in)


def _replaced(match: re.Match[str], group: int, name: str, found: list[str]) -> str:
    """What matched, with the secret part of it replaced."""
    found.append(name)
    start, end = (position - match.start() for position in match.span(group))
    return f"{match[0][:start]}{{{{redacted:{name}}}}}{match[0][end:]}"


def redact_jsonl(path: Path, redactor: Redactor) -> bool:
    """Take the secrets out of a file of JSON lines; whole or not at all. True if there were any.

    Lines without a secret stay as they are, byte for byte; so does the torn last line of a writer that was killed.
    """
    changed = False
    with path.open("rb") as source, tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as copy:
        try:
            for line in source:
                redacted = _redacted_line(line, redactor)
                changed = changed or redacted != line
                copy.write(redacted)
            copy.flush()
            os.fchmod(copy.fileno(), os.fstat(source.fileno()).st_mode & 0o777)
            if changed:
                Path(copy.name).replace(path)
        finally:
            Path(copy.name).unlink(missing_ok=True)
    return changed


def _redacted_line(line: bytes, redactor: Redactor) -> bytes:
    try:
        value = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        text = line.decode("utf-8", "surrogateescape")
        return redactor.redact(text).encode("utf-8", "surrogateescape")
    redacted = redactor.redact(value)
    return line if redacted == value else msgspec.json.encode(redacted) + b"\n"


def looks_secret(name: str, value: str) -> bool:
    """Whether this environment variable holds something that must not be kept."""
    name = name.upper()
    return (
        len(value) >= _SHORTEST
        and value.lower() not in _HARMLESS_VALUES
        and "{{" not in value
        and _SECRET_NAME.search(name) is not None
        and _HARMLESS_NAME.search(name) is None
    )


def _forms_of(variables: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Every form of every secret value, with the variable's name; the longest first, so that no rest remains."""
    forms: dict[str, str] = {}
    for name, value in variables:
        if looks_secret(name, value):
            for form in _forms(value):
                forms.setdefault(form, _shape_of(value) or re.sub(r"[^\w.-]", "_", name))
    return dict(sorted(forms.items(), key=lambda item: -len(item[0])))


def _shape_of(value: str) -> str:
    """The name of the shape that all of this value has: a machine without the variable then finds it by that name too."""
    found: list[str] = []
    return found[0] if _without_shapes(value, found) == f"{{{{redacted:{''.join(found)}}}}}" else ""


def _forms(value: str) -> Iterator[str]:
    yield value
    yield from (line.strip() for line in value.splitlines() if len(line.strip()) >= _SHORTEST_LINE)
    yield from (json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1])
    yield from (
        plus(value, safe=safe, errors="surrogateescape") for plus in (quote, quote_plus) for safe in ("", "/")
    )
    yield from _in_base64(value.encode("utf-8", "surrogateescape"))


def _in_base64(data: bytes) -> Iterator[str]:
    """What base64 makes of the data wherever in a longer text it stands, without the digits shared with neighbours."""
    if len(data) < _SHORTEST_IN_BASE64:
        return
    for offset in range(3):
        shifted = bytes(offset) + data
        whole = slice(-(-offset * 8 // 6), len(shifted) * 8 // 6)
        yield base64.b64encode(shifted).decode()[whole]
        yield base64.urlsafe_b64encode(shifted).decode()[whole]


def _unique_keys(items: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """A dictionary that loses no item when two secret keys become the same placeholder."""
    result: dict[Any, Any] = {}
    for key, item in items:
        unique, number = key, 2
        while unique in result:
            unique, number = f"{key}#{number}", number + 1
        result[unique] = item
    return result
