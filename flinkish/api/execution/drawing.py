"""Draws a job graph as inline SVG: a box for each vertex, in columns by the number of shuffles before it.

The web page and the notebook show the same drawing. It has no styles of its own but the classes that
``STYLE`` is for, and takes its colours from where it stands, so that it fits dark and light.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape as html_escape

STYLE = """
.flinkish-graph text{font:12px system-ui,sans-serif;fill:currentColor}
.flinkish-graph .title{font-weight:600}
.flinkish-graph .small{font-size:11px;opacity:.75}
.flinkish-graph .box{fill:transparent;stroke:currentColor;stroke-opacity:.45;stroke-width:1.5}
.flinkish-graph .edge{fill:none;stroke:currentColor;stroke-opacity:.45;stroke-width:1.5}
"""
"""The style of a drawing that stands alone."""

_NOT_IN_XML = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")

WIDTH = 232
"""Of a box."""

_GAP_X = 112
_GAP_Y = 26
_LINE = 17
_PADDING = 11
_CHARACTERS = 29
_LINES = 4


@dataclass(frozen=True)
class Box:
    """A vertex: what it is called, the column it is in, and lines to show below, each with a name by
    which a page finds it again."""

    id: str
    title: Sequence[str]
    column: int
    lines: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Arrow:
    """An edge from one box to another, with lines of text in its middle."""

    source: str
    target: str
    label: str
    count: str = ""


def drawing(boxes: Sequence[Box], arrows: Sequence[Arrow], label: str) -> str:
    """The SVG of a graph; ``label`` says to a screen reader what it is."""
    columns = _ordered(boxes, arrows)
    heights = {box.id: _height(box) for box in boxes}
    total = max((sum(heights[b.id] + _GAP_Y for b in column) for column in columns), default=0)
    places: dict[str, tuple[float, float]] = {}
    for number, column in enumerate(columns):
        y = (total - sum(heights[box.id] + _GAP_Y for box in column)) / 2 + _GAP_Y / 2
        for box in column:
            places[box.id] = (number * (WIDTH + _GAP_X) + 2, y)
            y += heights[box.id] + _GAP_Y
    width = len(columns) * (WIDTH + _GAP_X) - _GAP_X + 4
    parts = [
        f'<svg class="flinkish-graph" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width}'
        f' {total:.0f}" width="{width}" height="{total:.0f}" role="group"'
        f' aria-label="{_escaped(label)}">'
    ]
    for number, arrow in enumerate(arrows):
        parts.append(_arrow(number, arrow, places, heights))
    parts += [_box(box, *places[box.id], heights[box.id]) for box in boxes]
    return "".join([*parts, "</svg>"])


def _escaped(text: str) -> str:
    """``text`` in XML, which has no control characters."""
    return _NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", html_escape(text))


def _ordered(boxes: Sequence[Box], arrows: Sequence[Arrow]) -> list[list[Box]]:
    """The boxes of each column, ordered so that few edges cross: by the mean place of what they read."""
    numbers = sorted({box.column for box in boxes})
    columns = [[box for box in boxes if box.column == number] for number in numbers]
    for forward in (True, False, True):
        place = {box.id: n / len(column) for column in columns for n, box in enumerate(column)}
        for column in columns:
            near = {
                box.id: [
                    place[arrow.source if forward else arrow.target]
                    for arrow in arrows
                    if (arrow.target if forward else arrow.source) == box.id
                ]
                for box in column
            }
            column.sort(
                key=lambda box: (
                    sum(near[box.id]) / len(near[box.id]) if near[box.id] else place[box.id]
                )
            )
            place.update({box.id: n / len(column) for n, box in enumerate(column)})
    return columns


def _title(box: Box) -> list[str]:
    lines = [
        part if len(part) <= _CHARACTERS else f"{part[: _CHARACTERS - 1]}…" for part in box.title
    ]
    return lines if len(lines) <= _LINES else [*lines[: _LINES - 1], f"… {len(lines)} operators"]


def _height(box: Box) -> int:
    return (len(_title(box)) + len(box.lines)) * _LINE + 2 * _PADDING


def _box(box: Box, x: float, y: float, height: int) -> str:
    name = " -> ".join(box.title)
    parts = [
        f'<g class="vertex" data-vertex="{_escaped(box.id)}" aria-label="{_escaped(name)}">'
        f"<title>{_escaped(name)}</title>"
        f'<rect class="box" x="{x:.0f}" y="{y:.0f}" width="{WIDTH}" height="{height}" rx="6"/>'
    ]
    baseline = y + _PADDING + _LINE - 5
    for line in _title(box):
        parts.append(
            f'<text class="title" x="{x + 12:.0f}" y="{baseline:.0f}">{_escaped(line)}</text>'
        )
        baseline += _LINE
    for field, line in box.lines:
        parts.append(
            f'<text class="small" data-field="{_escaped(field)}" x="{x + 12:.0f}"'
            f' y="{baseline:.0f}">{_escaped(line)}</text>'
        )
        baseline += _LINE
    return "".join([*parts, "</g>"])


def _arrow(
    number: int, arrow: Arrow, places: dict[str, tuple[float, float]], heights: dict[str, int]
) -> str:
    (x1, y1), (x2, y2) = places[arrow.source], places[arrow.target]
    x1, y1, y2 = x1 + WIDTH, y1 + heights[arrow.source] / 2, y2 + heights[arrow.target] / 2
    x2 -= 7
    bend = min(_GAP_X, x2 - x1) / 2
    # The labels of edges into one box stand where those still lie apart
    x, y = x1 + _GAP_X / 2 - 3, y1 + (y2 - y1) * (0.5 if x2 - x1 < 2 * _GAP_X else 0.1)
    return (
        f'<g class="link" data-edge="{number}"><path class="edge" d="M{x1:.0f},{y1:.0f}'
        f' C{x1 + bend:.0f},{y1:.0f} {x2 - bend:.0f},{y2:.0f} {x2:.0f},{y2:.0f}"/>'
        f'<path class="head" fill="currentColor" fill-opacity=".6"'
        f' d="M{x2:.0f},{y2 - 4:.0f} l7,4 l-7,4 z"/>'
        f'<text class="small" text-anchor="middle" x="{x:.0f}" y="{y - 6:.0f}">'
        f"{_escaped(arrow.label)}</text>"
        f'<text class="small" data-field="records" text-anchor="middle" x="{x:.0f}" y="{y + 14:.0f}">'
        f"{_escaped(arrow.count)}</text></g>"
    )
