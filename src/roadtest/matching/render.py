"""A comparison as text, from its data: the two lists of calls side by side, each fault with its cause below it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import zip_longest
from operator import itemgetter
from typing import Any

from roadtest.matching.folding import LEFT_OUT, fold, told
from roadtest.matching.result import FAULTS

MOST_FAULTS = 40
MOST_CELL_LINES = 3

LABELS = {
    "match": "",
    "wrong_args": "wrong args",
    "out_of_order": "out of order",
    "missing": "missing",
    "unexpected": "unexpected",
    "extra": "(extra)",
    "unmade": "(not made)",
}
_COLORS = {
    "wrong_args": "33",
    "out_of_order": "35",
    "missing": "31",
    "unexpected": "31",
    "extra": "2",
    "unmade": "2",
}
_LABEL_WIDTH = max(map(len, LABELS.values()))
_INDENT = " " * (_LABEL_WIDTH + 2)

Data = Mapping[str, Any]


def summary(data: Data) -> str:
    """One line: the verdict, the faults by kind, and where the score comes from."""
    verdict = "passed" if data["passed"] else "failed"
    counts = data["counts"]
    faults = [f"{counts[kind]} {_fault(kind)}" for kind in FAULTS if kind in counts]
    whole = {"superset": "expected ", "in_order": "expected ", "subset": "made "}.get(data["mode"], "")
    score = f"{data['pairs']} of {data['required']} {whole}calls match, score {data['score']:.2f}"
    return f"{data['mode']} match {verdict}: {', '.join([*faults, score])}"


def _fault(kind: str) -> str:
    return "with wrong arguments" if kind == "wrong_args" else LABELS[kind]


def render(data: Data, *, width: int = 100, color: bool = False) -> str:
    return "\n".join([summary(data), *table_lines(data, width=width, color=color)])


def table_lines(data: Data, *, width: int, color: bool) -> Iterator[str]:
    """The calls side by side; long stretches without a fault, and faults beyond what anyone reads, are counted."""
    faults = sum(data["counts"].get(kind, 0) for kind in FAULTS)
    rows = list(fold(data["rows"], itemgetter("kind"), faults, MOST_FAULTS))
    if rows:
        yield from _Table(rows, width, color).lines()


class _Table:
    def __init__(self, rows: list[Data], width: int, color: bool) -> None:
        self._rows = rows
        self._width = width
        self._color = color
        places = [row[side]["index"] + 1 for row in rows for side in ("expected", "actual") if side in row]
        digits = len(str(max(places, default=1)))
        self._number = f"{{:>{digits}}} "
        room = max(width - len(_INDENT) - 2 * (digits + 1) - 2, 40)
        longest = max(len(_call(row, "expected")) for row in rows)
        self._left = min(max(longest, len("expected")), room // 2)
        self._right = room - self._left

    def lines(self) -> Iterator[str]:
        gap = self._number.format("")
        yield self._paint(f"{_INDENT}{gap}{'expected':<{self._left}}  {gap}actual", "2")
        for row in self._rows:
            yield from self._row(row)

    def _row(self, row: Data) -> Iterator[str]:
        if row["kind"] == LEFT_OUT:
            yield f"{_INDENT}{self._paint(told(row), '2')}"
            return
        label = self._paint(f"{LABELS[row['kind']]:<{_LABEL_WIDTH}}", _COLORS.get(row["kind"]))
        numbers = [self._place(row, side) for side in ("expected", "actual")]
        cells = _cell(_call(row, "expected"), self._left), _cell(_call(row, "actual"), self._right)
        for mine, theirs in zip_longest(*cells, fillvalue=""):
            yield f"{label}  {numbers[0]}{mine:<{self._left}}  {numbers[1]}{theirs}".rstrip()
            label, numbers = " " * _LABEL_WIDTH, [self._number.format("")] * 2
        yield from self._causes(row)

    def _place(self, row: Data, side: str) -> str:
        return self._number.format(row[side]["index"] + 1 if side in row else "")

    def _causes(self, row: Data) -> Iterator[str]:
        for one in row.get("differences", ()):
            path = f"{_INDENT}  {one['path']}: "
            yield f"{path}expected {self._paint(one['expected'], '32')}"
            yield f"{' ' * len(path)}actual   {self._paint(one['actual'], '31')}"
        if "inside" in row:
            yield f"{_INDENT}  inside:"
            inner = render(row["inside"], width=self._width - len(_INDENT) - 4, color=self._color)
            yield from (f"{_INDENT}    {line}" for line in inner.splitlines())

    def _paint(self, text: str, code: str | None) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._color and code and text.strip() else text


def _call(row: Data, side: str) -> str:
    if side not in row:
        return ""
    text, status = str(row[side]["call"]).replace("\n", "\\n"), row[side].get("status", "ok")
    return text if status == "ok" else f"{text} [{status}]"


def _cell(text: str, width: int) -> list[str]:
    """The text in lines of this width, a few at most."""
    lines = [text[:width]]
    rest = text[width:]
    while rest and len(lines) < MOST_CELL_LINES:
        lines.append("  " + rest[: width - 2])
        rest = rest[width - 2 :]
    if rest:
        lines[-1] = lines[-1][: width - 1] + "…"
    return lines
