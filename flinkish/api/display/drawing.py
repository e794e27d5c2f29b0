"""Draws a job graph as inline SVG: a box for each vertex, and an edge for each shuffle and sink.

The web page and the notebook show the same drawing in the same ``STYLE``. It inherits the colours of the page around
it, so that it fits dark and light themes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape as html_escape

from flinkish.api.display.graph_layout import BoxSize, LabelledEdge, Point, laid_out

STYLE = """
.flinkish-graph { display: block; max-width: none; }
.flinkish-graph text { font: 12px system-ui, sans-serif; fill: var(--text, currentColor); }
.flinkish-graph .title { font-weight: 600; }
.flinkish-graph .small { font-size: 11px; fill: var(--quiet, currentColor); }
.flinkish-graph .link .small { paint-order: stroke; stroke: var(--card, transparent); stroke-width: 5px; stroke-linejoin: round; }
.flinkish-graph .box { fill: var(--card, transparent); stroke: var(--line, #8886); stroke-width: 1.5; }
.flinkish-graph .edge { fill: none; stroke: var(--quiet, currentColor); stroke-opacity: .55; stroke-width: 1.5; }
.flinkish-graph .head { fill: var(--quiet, currentColor); }
.flinkish-graph .meter { fill: var(--quiet, #888); fill-opacity: .18; }
.flinkish-graph .busy { fill: var(--accent, #2f7ed8); }
.flinkish-graph .half .busy { fill: var(--busy-half, #d98a1f); }
.flinkish-graph .full .busy { fill: var(--busy, #d9534f); }
"""
"""The style of drawings. The variables are those of the page; elsewhere the default colours after them apply."""

_NOT_IN_XML = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")

WIDTH = 232
"""The width of a box in pixels."""

_LINE = 17
_PADDING = 11
_CHARACTERS = 29
_LINES = 4
_METER = 5
_METER_WIDTH = WIDTH - 24
_HALF, _FULL = 0.35, 0.7
_LABEL_HEIGHT = 34
_CHARACTER_WIDTH = 6.4
_HEAD = 7


@dataclass(frozen=True)
class Box:
    """A vertex: its name, its column, the lines to show below it, each with a name by which a page finds it, and how
    busy it is, from 0 to 1, if that is known. ``hint``: lines to show under the pointer."""

    id: str
    title: Sequence[str]
    column: int
    lines: Sequence[tuple[str, str]] = ()
    share: float | None = None
    hint: Sequence[str] = ()


@dataclass(frozen=True)
class Arrow:
    """An edge from one box to another, with lines of text in its middle."""

    source: str
    target: str
    label: str
    count: str = ""


def drawing(boxes: Sequence[Box], arrows: Sequence[Arrow], label: str) -> str:
    """The SVG of a graph; ``label`` says to a screen reader what it is."""
    index = {box.id: number for number, box in enumerate(boxes)}
    layout = laid_out(
        [BoxSize(WIDTH, _height(box), box.column) for box in boxes],
        [
            LabelledEdge(
                index[arrow.source],
                index[arrow.target],
                _CHARACTER_WIDTH * max(len(arrow.label), len(arrow.count), 8),
                _LABEL_HEIGHT,
            )
            for arrow in arrows
        ],
    )
    parts = [
        '<svg class="flinkish-graph" xmlns="http://www.w3.org/2000/svg" viewBox="0 0'
        f' {layout.width:.0f} {layout.height:.0f}" width="{layout.width:.0f}"'
        f' height="{layout.height:.0f}" role="group" aria-label="{_escaped(label)}">'
    ]
    parts += [
        _arrow(number, arrow, points, middle)
        for number, (arrow, points, middle) in enumerate(zip(arrows, layout.edges, layout.labels))
    ]
    parts += [_box(box, x, y) for box, (x, y) in zip(boxes, layout.boxes)]
    return "".join([*parts, "</svg>"])


def _escaped(text: str) -> str:
    """``text`` in XML, which has no control characters."""
    return _NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", html_escape(text))


def _title(box: Box) -> list[str]:
    lines = [
        part if len(part) <= _CHARACTERS else f"{part[: _CHARACTERS - 1]}…" for part in box.title
    ]
    return lines if len(lines) <= _LINES else [*lines[: _LINES - 1], f"… {len(lines)} operators"]


def _height(box: Box) -> int:
    meter = 0 if box.share is None else _METER
    return (len(_title(box)) + len(box.lines)) * _LINE + 2 * _PADDING + meter


def _load(share: float | None) -> str:
    """The CSS class of a box for its load."""
    if share is None or share < _HALF:
        return "calm"
    return "half" if share < _FULL else "full"


def _box(box: Box, x: float, y: float) -> str:
    name, height = " -> ".join(box.title), _height(box)
    hint = "\n".join((name, *box.hint))
    parts = [
        f'<g class="vertex {_load(box.share)}" data-vertex="{_escaped(box.id)}"'
        f' aria-label="{_escaped(name)}"><title>{_escaped(hint)}</title>'
        f'<rect class="box" x="{x:.0f}" y="{y:.0f}" width="{WIDTH}" height="{height}" rx="7"/>'
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
    if box.share is not None:
        place = f'x="{x + 12:.0f}" y="{y + height - 12:.0f}" height="{_METER}" rx="2.5"'
        parts.append(
            f'<rect class="meter" {place} width="{_METER_WIDTH}"/>'
            f'<rect class="busy" data-field="share" {place} width="{_METER_WIDTH * box.share:.0f}"/>'
        )
    return "".join([*parts, "</g>"])


def _arrow(number: int, arrow: Arrow, points: Sequence[Point], middle: Point) -> str:
    *before, (end_x, end_y) = points
    curve = _curve([*before, (end_x - _HEAD, end_y)])
    x, y = middle
    return (
        f'<g class="link" data-edge="{number}"><path class="edge" d="{curve}"/>'
        f'<path class="head" fill-opacity=".6"'
        f' d="M{end_x - _HEAD:.0f},{end_y - 4:.0f} l7,4 l-7,4 z"/>'
        f'<text class="small" text-anchor="middle" x="{x:.0f}" y="{y - 6:.0f}">'
        f"{_escaped(arrow.label)}</text>"
        f'<text class="small" data-field="records" text-anchor="middle" x="{x:.0f}" y="{y + 14:.0f}">'
        f"{_escaped(arrow.count)}</text></g>"
    )


def _curve(points: Sequence[Point]) -> str:
    """A path through ``points`` that is level at each of them."""
    (x1, y1), *others = points
    parts = [f"M{x1:.0f},{y1:.0f}"]
    for x2, y2 in others:
        bend = (x2 - x1) / 2
        parts.append(f"C{x1 + bend:.0f},{y1:.0f} {x2 - bend:.0f},{y2:.0f} {x2:.0f},{y2:.0f}")
        x1, y1 = x2, y2
    return " ".join(parts)
