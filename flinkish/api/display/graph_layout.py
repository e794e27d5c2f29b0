"""The layout of a drawn job graph: the positions of its boxes, edges and labels.

The library graphlay lays them out where it is installed (with the extras ``web`` and ``notebook``):
few edges cross, and none runs behind a box that it does not connect. Otherwise boxes are placed in
columns by the number of shuffles before them. docs/decisions/0024-a-library-lays-out-graphs.md
explains the choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

GAP = 112.0
"""The distance between columns in pixels, with room for a label."""

_BELOW = 30.0
"""The distance between boxes of a column."""

_MARGIN = 4.0

Point = tuple[float, float]


@dataclass(frozen=True)
class BoxSize:
    """A box to place: its size, and the column it belongs to."""

    width: float
    height: float
    column: int


@dataclass(frozen=True)
class LabelledEdge:
    """An edge to place, from and to the box at an index, and the size of its label."""

    source: int
    target: int
    width: float
    height: float


@dataclass(frozen=True)
class GraphLayout:
    """The positions of all parts."""

    width: float
    height: float
    boxes: Sequence[Point]
    """The upper left corners."""
    edges: Sequence[Sequence[Point]]
    """The points that each edge runs through, from the right side of its source to the left of its target."""
    labels: Sequence[Point]
    """The middles."""


def laid_out(boxes: Sequence[BoxSize], edges: Sequence[LabelledEdge]) -> GraphLayout:
    """A layout from left to right in which no box lies on another."""
    try:
        import graphlay
    except ImportError:
        return in_columns(boxes, edges)
    graph = {
        "nodes": [{"size": {"width": box.width, "height": box.height}} for box in boxes],
        "edges": [
            {
                "source": edge.source,
                "target": edge.target,
                "label_size": {"width": edge.width, "height": edge.height},
            }
            for edge in edges
        ],
    }
    placed = graphlay.layout(graph, preset="layered", options=_OPTIONS)
    return _shifted(
        boxes,
        edges,
        [_point(node["center"]) for node in placed.nodes],
        [[_point(point) for point in edge["points"]] for edge in placed.edges],
        [_point(edge["label_anchor"]) for edge in placed.edges],
    )


_OPTIONS: dict[str, Any] = {
    "direction": "leftright",
    "routing": {"style": "diagonal", "bundle_parallel": False, "port_sides": "facing_only"},
    "labels": {"placement": "gap_centre"},
    "spacing": {"layer_gap": GAP, "node_gap": _BELOW, "edge_label_margin": 4},
}


def _point(point: dict[str, float]) -> Point:
    return point["x"], point["y"]


def in_columns(boxes: Sequence[BoxSize], edges: Sequence[LabelledEdge]) -> GraphLayout:
    """The layout without a library: edges are straight, even behind boxes."""
    middles: dict[int, Point] = {}
    x = 0.0
    for column in _ordered(boxes, edges):
        wide = max(boxes[index].width for index in column)
        y = -sum(boxes[index].height + _BELOW for index in column) / 2
        for index in column:
            middles[index] = (x + wide / 2, y + boxes[index].height / 2)
            y += boxes[index].height + _BELOW
        x += wide + GAP
    paths, labels = [], []
    for edge in edges:
        (x1, y1), (x2, y2) = middles[edge.source], middles[edge.target]
        x1, x2 = x1 + boxes[edge.source].width / 2, x2 - boxes[edge.target].width / 2
        paths.append([(x1, y1), (x2, y2)])
        # In the first gap, where the labels of long edges into one box do not overlap yet
        part = min(0.5, GAP / 2 / max(x2 - x1, 1.0))
        labels.append((x1 + GAP / 2, y1 + (y2 - y1) * part))
    return _shifted(boxes, edges, [middles[n] for n in range(len(boxes))], paths, labels)


def _ordered(boxes: Sequence[BoxSize], edges: Sequence[LabelledEdge]) -> list[list[int]]:
    """The boxes of each column, ordered so that few edges cross: by the mean place of what they read."""
    columns = [
        [index for index, box in enumerate(boxes) if box.column == column]
        for column in sorted({box.column for box in boxes})
    ]
    for forward in (True, False, True):
        place = {index: n / len(column) for column in columns for n, index in enumerate(column)}
        for column in columns:
            near = {
                index: [
                    place[edge.source if forward else edge.target]
                    for edge in edges
                    if (edge.target if forward else edge.source) == index
                ]
                for index in column
            }
            mean = {i: sum(at) / len(at) if at else place[i] for i, at in near.items()}
            column.sort(key=mean.__getitem__)
            place.update({index: n / len(column) for n, index in enumerate(column)})
    return columns


def _shifted(
    boxes: Sequence[BoxSize],
    edges: Sequence[LabelledEdge],
    middles: Sequence[Point],
    paths: Sequence[Sequence[Point]],
    labels: Sequence[Point],
) -> GraphLayout:
    """The layout moved to the upper left corner, and large enough for all its parts."""
    extents = [(x, y, b.width / 2, b.height / 2) for (x, y), b in zip(middles, boxes)]
    extents += [(x, y, e.width / 2, e.height / 2) for (x, y), e in zip(labels, edges)]
    extents += [(x, y, 0.0, 0.0) for path in paths for x, y in path]
    left = min((x - w for x, _, w, _ in extents), default=0.0) - _MARGIN
    top = min((y - h for _, y, _, h in extents), default=0.0) - _MARGIN
    return GraphLayout(
        max((x + w for x, _, w, _ in extents), default=0.0) + _MARGIN - left,
        max((y + h for _, y, _, h in extents), default=0.0) + _MARGIN - top,
        [(x - b.width / 2 - left, y - b.height / 2 - top) for (x, y), b in zip(middles, boxes)],
        [[(x - left, y - top) for x, y in path] for path in paths],
        [(x - left, y - top) for x, y in labels],
    )
