"""A match for human eyes: the two lists of calls side by side, each fault with its cause below it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, zip_longest

from roadtest.matching.expected import show
from roadtest.matching.result import FAULTS, Kind, Match, Row
from roadtest.matching.values import Difference

CONTEXT = 2
"""Rows without a fault that are shown around one with."""
MOST_FAULTS = 40
MOST_CELL_LINES = 3
MOST_VALUE_CHARACTERS = 160

_LABELS: dict[Kind, str] = {
    "match": "",
    "wrong_args": "wrong args",
    "out_of_order": "out of order",
    "missing": "missing",
    "unexpected": "unexpected",
    "extra": "(extra)",
    "unmade": "(not made)",
}
_COLORS: dict[Kind, str] = {
    "wrong_args": "33",
    "out_of_order": "35",
    "missing": "31",
    "unexpected": "31",
    "extra": "2",
    "unmade": "2",
}
_LABEL_WIDTH = max(map(len, _LABELS.values()))
_INDENT = " " * (_LABEL_WIDTH + 2)


def summary(match: Match) -> str:
    """One line: the verdict, the faults by kind, and where the score comes from."""
    verdict = "passed" if match else "failed"
    counts = match.counts()
    faults = [f"{counts[kind]} {_fault(kind)}" for kind in FAULTS if counts[kind]]
    whole = {"superset": "expected ", "in_order": "expected ", "subset": "made "}.get(match.mode, "")
    score = f"{len(match.pairs)} of {match.required} {whole}calls match, score {match.score:.2f}"
    return f"{match.mode} match {verdict}: {', '.join([*faults, score])}"


def _fault(kind: Kind) -> str:
    return "with wrong arguments" if kind == "wrong_args" else _LABELS[kind]


def render(match: Match, *, width: int = 100, color: bool = False) -> str:
    return "\n".join(_Table(match, width, color).lines())


class _Table:
    def __init__(self, match: Match, width: int, color: bool) -> None:
        self._match = match
        self._color = color
        self._width = width
        digits = len(str(max(len(match.expected), len(match.actual), 1)))
        self._number = f"{{:>{digits}}} "
        room = max(width - len(_INDENT) - 2 * (digits + 1) - 2, 40)
        self._blocks = list(_blocks(match.rows))
        shown = (row.expected for block in self._blocks if not isinstance(block, str) for row in block)
        longest = max((len(str(match.expected[index])) for index in shown if index is not None), default=0)
        self._left = min(max(longest, len("expected")), room // 2)
        self._right = room - self._left

    def lines(self) -> Iterator[str]:
        match = self._match
        yield summary(match)
        if not match.rows:
            return
        gap = " " * len(self._number.format(0))
        yield f"{_INDENT}{gap}{'expected':<{self._left}}  {gap}actual"
        for block in self._blocks:
            if isinstance(block, str):
                yield f"{_INDENT}{block}"
                continue
            for row in block:
                yield from self._row(row)

    def _row(self, row: Row) -> Iterator[str]:
        match = self._match
        left = "" if row.expected is None else str(match.expected[row.expected])
        right = "" if row.actual is None else str(match.actual[row.actual])
        if row.actual is not None and match.actual[row.actual].status != "ok":
            right += f" [{match.actual[row.actual].status}]"
        label = self._paint(f"{_LABELS[row.kind]:<{_LABEL_WIDTH}}", _COLORS.get(row.kind))
        numbers = [
            self._number.format("" if index is None else index + 1) for index in (row.expected, row.actual)
        ]
        for mine, theirs in zip_longest(_cell(left, self._left), _cell(right, self._right), fillvalue=""):
            yield f"{label}  {numbers[0]}{mine:<{self._left}}  {numbers[1]}{theirs}".rstrip()
            label, numbers = " " * _LABEL_WIDTH, [self._number.format("")] * 2
        for difference in row.differences:
            yield from self._difference(difference)
        if row.inside is not None:
            yield f"{_INDENT}  inside:"
            inner = _Table(row.inside, self._width - len(_INDENT) - 4, self._color)
            yield from (f"{_INDENT}    {line}" for line in inner.lines())

    def _difference(self, difference: Difference) -> Iterator[str]:
        expected, actual = excerpts(show(difference.expected), show(difference.actual))
        path = f"{_INDENT}  {difference.path}: "
        yield f"{path}expected {self._paint(expected, '32')}"
        yield f"{' ' * len(path)}actual   {self._paint(actual, '31')}"

    def _paint(self, text: str, code: str | None) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._color and code and text.strip() else text


def excerpts(expected: str, actual: str, limit: int = MOST_VALUE_CHARACTERS) -> tuple[str, str]:
    """Both values cut to a length that a reader takes in, around the place where they part."""
    if len(expected) <= limit and len(actual) <= limit:
        return expected, actual
    pairs = enumerate(zip(expected, actual, strict=False))
    parting = next(
        (place for place, (mine, theirs) in pairs if mine != theirs), min(len(expected), len(actual))
    )
    start = max(0, parting - limit // 4)
    return _cut(expected, start, limit), _cut(actual, start, limit)


def _cut(text: str, start: int, limit: int) -> str:
    if len(text) <= limit:
        return text
    end = start + limit
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''} ({len(text)} characters)"


def _cell(text: str, width: int) -> list[str]:
    """The text in lines of this width, a few at most."""
    text = text.replace("\n", "\\n")
    lines = [text[:width]]
    rest = text[width:]
    while rest and len(lines) < MOST_CELL_LINES:
        lines.append("  " + rest[: width - 2])
        rest = rest[width - 2 :]
    if rest:
        lines[-1] = lines[-1][: width - 1] + "…"
    return lines


def _blocks(rows: Sequence[Row]) -> Iterator[Sequence[Row] | str]:
    """The rows to show; long stretches without a fault, and faults beyond what anyone reads, are counted instead."""
    faults = 0
    groups = [(faulty, list(group)) for faulty, group in groupby(rows, key=lambda row: row.kind in FAULTS)]
    for number, (faulty, group) in enumerate(groups):
        if faulty:
            shown = group[: MOST_FAULTS - faults]
            faults += len(shown)
            yield shown
            if faults == MOST_FAULTS:
                left = sum(row.kind in FAULTS for row in rows) - faults
                if left:
                    yield f"… {left:,} more faults; match.rows has them all"
                return
        else:
            head, tail = CONTEXT * (number > 0), CONTEXT * (number < len(groups) - 1)
            yield from _shortened(group, head, tail)


def _shortened(rows: list[Row], head: int, tail: int) -> Iterable[Sequence[Row] | str]:
    if len(rows) <= head + tail + 1:
        return [rows]
    hidden = rows[head : len(rows) - tail]
    allowed = sum(row.kind != "match" for row in hidden)
    note = f"… {len(hidden) - allowed:,} as expected" + (
        f", {allowed:,} that the mode allows" if allowed else ""
    )
    return [rows[:head], note, rows[len(rows) - tail :]]
