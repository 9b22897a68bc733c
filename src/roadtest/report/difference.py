"""The difference of two trajectories, from the data that a score keeps of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from roadtest.report.text import Style
from roadtest.results import Score

FAULTS = ("missing", "unexpected", "wrong_args", "out_of_order")
LABELS = {
    "match": "",
    "wrong_args": "wrong args",
    "out_of_order": "out of order",
    "missing": "missing",
    "unexpected": "unexpected",
    "extra": "(extra)",
    "unmade": "(not made)",
}
_LABEL_WIDTH = max(map(len, LABELS.values()))
_CONTEXT = 2
_MOST_ROWS = 60
_MOST_CELL_LINES = 3
_MOST_VALUE = 160


def differences(score: Score) -> Iterator[Mapping[str, Any]]:
    """Every comparison of trajectories among the details of a score: itself, or parts of a combined one."""
    yield from _comparisons(score.details)


def _comparisons(data: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(data, Mapping):
        if isinstance(data.get("rows"), list) and "mode" in data:
            yield data
        else:
            for value in data.values():
                yield from _comparisons(value)
    elif isinstance(data, list):
        for value in data:
            yield from _comparisons(value)


def difference_lines(data: Mapping[str, Any], style: Style) -> list[str]:
    """Expected and actual calls side by side, the faults labelled, long stretches without one left out."""
    rows: Sequence[Mapping[str, Any]] = data["rows"]
    if not rows:
        return []
    room = max(style.width - _LABEL_WIDTH - 4, 40)
    longest = max((len(_side(row, "expected")) for row in rows), default=0)
    left = min(max(longest, len("expected")), room // 2)
    columns = (left, room - left)
    gap = " " * (_LABEL_WIDTH + 2)
    lines = [style.dim(f"{gap}{'expected':<{left}}  actual")]
    for row in _worth_showing(rows):
        lines += [f"{gap}{style.dim(row)}"] if isinstance(row, str) else _row_lines(row, columns, style)
    return lines


def _row_lines(row: Mapping[str, Any], columns: tuple[int, int], style: Style) -> Iterator[str]:
    kind = row["kind"]
    paint = _painter(kind, style)
    label = f"{LABELS.get(kind, kind):<{_LABEL_WIDTH}}"
    cells = (_cell(_side(row, "expected"), columns[0]), _cell(_side(row, "actual"), columns[1]))
    for mine, theirs in zip_longest(*cells, fillvalue=""):
        yield paint(f"{label}  {mine:<{columns[0]}}  {theirs}".rstrip())
        label = " " * _LABEL_WIDTH
    margin = " " * (_LABEL_WIDTH + 4)
    for one in row.get("differences", ()):
        path = f"{margin}{one['path']}: "
        yield f"{path}expected {style.green(_value(one['expected']))}"
        yield f"{' ' * len(path)}actual   {style.red(_value(one['actual']))}"
    if "inside" in row:
        yield f"{margin}inside:"
        inner = Style(style.color, style.width - len(margin) - 2)
        yield from (f"{margin}  {line}" for line in difference_lines(row["inside"], inner))


def _painter(kind: str, style: Style) -> Any:
    if kind in ("missing", "unexpected"):
        return style.red
    if kind in FAULTS:
        return style.yellow
    return str if kind == "match" else style.dim


def _side(row: Mapping[str, Any], side: str) -> str:
    known = row.get(side)
    if not isinstance(known, Mapping):
        return ""
    status = known.get("status", "ok")
    text = str(known.get("call", "")).replace("\n", "\\n")
    return text if status == "ok" else f"{text} [{status}]"


def _cell(text: str, width: int) -> list[str]:
    lines = [text[start : start + width] for start in range(0, len(text), width)] or [""]
    if len(lines) > _MOST_CELL_LINES:
        lines = lines[:_MOST_CELL_LINES]
        lines[-1] = lines[-1][:-1] + "…"
    return lines


def _value(value: Any) -> str:
    text = str(value)
    return text if len(text) <= _MOST_VALUE else f"{text[:_MOST_VALUE]}… ({len(text)} characters)"


def _worth_showing(rows: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any] | str]:
    """The faults with a little around them; whatever lies between is counted."""
    faults = [index for index, row in enumerate(rows) if row["kind"] in FAULTS]
    near = {index + offset for index in faults for offset in range(-_CONTEXT, _CONTEXT + 1)}
    shown = [index for index in range(len(rows)) if not faults or index in near][:_MOST_ROWS]
    following = 0
    for index in shown:
        if index > following:
            yield f"… {index - following} more"
        yield rows[index]
        following = index + 1
    if following < len(rows):
        yield f"… {len(rows) - following} more"
