"""Tokens that may differ between two runs of the same thing: times, durations, sizes in listings, ids, temporary names.

Two texts are the same *but for volatile tokens* when they have the same lines, everything between the tokens of a line is
equal, and the tokens at each place are of the same class. No token goes over the end of a line. The pairs of tokens tell
which live value stands for which recorded one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from roadtest.errors import UsageError

_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
_CLOCK = r"(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:[.,]\d+)?)?(?:\s?[AaPp][Mm]\b)?"
_ZONE = r"(?:\s?(?:Z|UTC|[+-]\d\d:?\d\d))?"
_LONG_DATE = (
    rf"\b(?P<long_date>(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,?\s+)?(?:{_MONTH}\s+\d{{1,2}}|\d{{1,2}}\s+{_MONTH})\b"
    rf"(?:,?\s+(?:{_CLOCK}|\d{{4}}\b))?(?:\s+(?:[+-]\d{{4}}\b|[A-Z]{{3,4}}\b))?(?:\s+\d{{4}}\b)?(?:\s[+-]\d{{4}}\b)?)"
)
_UNIT = r"(?:ns|µs|us|ms|s|m|h|min)\b|\s(?:ns|µs|ms|secs?|seconds?|mins?|minutes?|hours?|days?)\b(?: ago)?"
_HEX = r"(?<![A-Za-z0-9])(?:0x[0-9A-Fa-f]{4,16}|[0-9a-f]{7,64})(?![A-Za-z0-9])"

# One group each: the token. What stands before it in the pattern is context and stays.
_CLASSES: tuple[tuple[str, str], ...] = (
    ("id", r"(?P<uuid>\b[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\b)"),
    ("id", r"(?P<agent>\{\{agent-\d+\}\})"),
    ("redacted", r"(?P<redacted>\{\{redacted:[^{}]*\}\})"),
    ("listing", r"^[bcdlps-][rwxsStT-]{9}[.+@]?(?P<listing>\s+\d+\s+\S+\s+\S+\s+[\d.,]+[KMGTP]?)(?=\s)"),
    ("listing", r"^total (?P<total>[\d.]+[KMGT]?)$"),
    ("listing", r"^(?P<usage>[\d.]+[KMGT])(?=\t)"),
    ("date", rf"(?<![\w-])(?P<date>\d{{4}}[-/]\d\d[-/]\d\d(?:[T ]{_CLOCK}{_ZONE})?)"),
    ("date", _LONG_DATE),
    ("date", r"(?<![\w.])(?P<epoch>1[6-9]\d{8}(?:\d{3})?(?:\.\d+)?)(?!\w)"),
    ("time", rf"(?<![\w:.])(?P<time>{_CLOCK})(?![\w:])"),
    ("duration", r"\bduration_ms\W{1,3}(?P<milliseconds>\d+)"),
    ("duration", rf"(?<![\w.])(?P<duration>(?:\d+h)?(?:\d+m)?\d+(?:\.\d+)?(?:{_UNIT}))"),
    ("pid", r"\b(?i:p?pid|process(?: id)?)[ =:#]{1,3}(?P<pid>\d+)\b"),
    ("pid", r"^\[\d+\]\s+(?P<job>\d+)$"),
    ("port", r"(?:\blocalhost|\b127\.0\.0\.1|\b0\.0\.0\.0|\[::1?\]):(?P<port>\d{2,5})\b"),
    ("port", r"\b[Pp]ort[ =:]{1,3}(?P<named_port>\d{2,5})\b"),
    ("temp", r"(?<!\w)(?:/private)?/(?:tmp|var/tmp|var/folders/[\w+]+/[\w+]+/T)/(?P<temp>[\w.+-]*\w)"),
    ("temp", r"(?<=/)(?P<made>tmp\.[A-Za-z0-9]{6,12}|tmp[a-z0-9_]{8})(?![\w])"),
    ("id", rf"(?P<hex>{_HEX})"),
)
_PATTERN = re.compile("|".join(pattern for _, pattern in _CLASSES))
_CLASS_OF = {re.search(r"\?P<(\w+)>", pattern)[1]: name for name, pattern in _CLASSES}  # type: ignore[index]

_HINT = re.compile(r"\d|tmp|\{\{redacted:")

FILLABLE = frozenset({"id", "date", "pid", "port", "temp", "volatile"})
"""Classes of tokens that a model copies into a later call; a duration or a size it does not."""


@dataclass(frozen=True)
class Token:
    kind: str
    text: str
    start: int
    end: int
    sure: bool = True
    """False for a run of digits that is an id only if what stands at the same place is one."""


@dataclass(frozen=True)
class Pair:
    kind: str
    recorded: str
    live: str


class Volatile:
    """The known classes of volatile tokens and the patterns that a user added."""

    def __init__(self, patterns: Iterable[str] = (), *, known: bool = True) -> None:
        self._patterns = tuple(patterns)
        self._own = [_compiled(pattern) for pattern in self._patterns]
        self._known = known

    def only_own(self) -> Volatile:
        """The patterns that the user added, and nothing besides."""
        return Volatile(self._patterns, known=False)

    def mask(self, text: str) -> str:
        """The text with each token that is surely volatile replaced by its class."""
        return "\n".join(map(self._mask_line, text.split("\n")))

    def pairs(self, recorded: str, live: str) -> list[Pair] | None:
        """The tokens at the same places, where they differ; None if the texts differ in more than volatile tokens."""
        if recorded == live:
            return []
        ours, theirs = recorded.split("\n"), live.split("\n")
        if len(ours) != len(theirs):
            return None
        found: list[Pair] = []
        for one, other in zip(ours, theirs, strict=True):
            if one != other:
                pairs = self._pairs_in_line(one, other)
                if pairs is None:
                    return None
                found += pairs
        return found

    def _pairs_in_line(self, recorded: str, live: str) -> list[Pair] | None:
        ours, theirs = self._tokens(recorded), self._tokens(live)
        if _skeleton(recorded, ours) != _skeleton(live, theirs):
            ours, theirs = ([token for token in tokens if token.sure] for tokens in (ours, theirs))
            if _skeleton(recorded, ours) != _skeleton(live, theirs):
                return None
        both = list(zip(ours, theirs, strict=True))
        if any(one.text != other.text and not (one.sure or other.sure) for one, other in both):
            return None
        return [Pair(one.kind, one.text, other.text) for one, other in both if one.text != other.text]

    def _mask_line(self, line: str) -> str:
        return "".join(_skeleton(line, [token for token in self._tokens(line) if token.sure]))

    def _tokens(self, line: str) -> list[Token]:
        """The volatile tokens of a line, in order, none overlapping; a user's pattern wins over a known class."""
        own = [
            Token("volatile", found[0], *found.span())
            for pattern in self._own
            for found in pattern.finditer(line)
            if found[0]
        ]
        # Most lines of source code or prose hold nothing volatile, and plain search says so much faster.
        known = list(_known(line)) if self._known and _HINT.search(line) else []
        if not own:
            return known
        own.sort(key=lambda token: (token.start, -token.end))
        return sorted(_apart(own, known), key=lambda token: token.start)


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as problem:
        raise UsageError(
            f"volatile holds {pattern!r}, which is not a regular expression: {problem}.",
            hint="escape what is meant literally with re.escape",
        ) from None


def _known(line: str) -> Iterator[Token]:
    for found in _PATTERN.finditer(line):
        name = found.lastgroup or ""
        token, (start, end) = found[name], found.span(name)
        if name != "hex":
            yield Token(_CLASS_OF[name], token, start, end)
        elif any(char.isdigit() for char in token):  # a word of the letters a to f only is a word
            yield Token("id", token, start, end, sure=any(char.isalpha() for char in token))


def _apart(own: Sequence[Token], known: Iterable[Token]) -> Iterator[Token]:
    end = -1
    kept = []
    for token in own:
        if token.start >= end:
            kept.append(token)
            end = token.end
    yield from kept
    for token in known:
        if all(token.end <= mine.start or token.start >= mine.end for mine in kept):
            yield token


def where_they_differ(one: str, other: str, around: int = 0) -> tuple[str, str]:
    """Both texts without the lines that they begin and end with in common, but for a few around the difference."""
    ours, theirs = one.split("\n"), other.split("\n")
    shorter = min(len(ours), len(theirs))
    head = next((at for at in range(shorter) if ours[at] != theirs[at]), shorter)
    tail = next((at for at in range(shorter - head) if ours[-1 - at] != theirs[-1 - at]), shorter - head)
    head, tail = max(head - around, 0), max(tail - around, 0)
    return "\n".join(ours[head : len(ours) - tail]), "\n".join(theirs[head : len(theirs) - tail])


def _skeleton(text: str, tokens: Iterable[Token]) -> list[str]:
    pieces, position = [], 0
    for token in tokens:
        pieces += [text[position : token.start], f"<{token.kind}>"]
        position = token.end
    return [*pieces, text[position:]]
