"""The positions of the boxes and edges of a drawn graph, with the library and without it."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish.api.display.graph_layout import BoxSize, LabelledEdge, in_columns, laid_out

WIDTH = 232.0


@pytest.fixture(params=["graphlay", "columns"], scope="module")
def layout(request):
    if request.param == "columns":
        return in_columns
    pytest.importorskip("graphlay", reason="graphlay is not installed")
    return laid_out


@st.composite
def graphs(draw):
    """Boxes of any height, each of which reads some that stand before it."""
    boxes, edges = [], []
    for number in range(draw(st.integers(1, 14))):
        read = draw(st.lists(st.integers(0, number - 1), max_size=3)) if number else []
        column = 1 + max((boxes[source].column for source in read), default=-1)
        boxes.append(BoxSize(WIDTH, draw(st.integers(40, 140)), column))
        edges += [LabelledEdge(source, number, 60.0, 34.0) for source in read]
    return boxes, edges


@given(graphs())
def test_boxes_stand_apart_and_all_has_room(layout, graph):
    boxes, edges = graph
    placed = layout(boxes, edges)
    assert (len(placed.boxes), len(placed.edges), len(placed.labels)) == (
        len(boxes),
        len(edges),
        len(edges),
    )
    areas = [(x, y, x + b.width, y + b.height) for (x, y), b in zip(placed.boxes, boxes)]
    for number, (x1, y1, x2, y2) in enumerate(areas):
        assert min(x1, y1) >= 0
        assert x2 <= placed.width
        assert y2 <= placed.height
        for left, top, right, bottom in areas[:number]:
            assert x2 <= left or right <= x1 or y2 <= top or bottom <= y1
    for edge, points, (x, y) in zip(edges, placed.edges, placed.labels):
        assert on_outline(points[0], areas[edge.source])
        assert on_outline(points[-1], areas[edge.target])
        assert edge.width / 2 <= x <= placed.width - edge.width / 2
        assert edge.height / 2 <= y <= placed.height - edge.height / 2


def on_outline(point, area):
    (x, y), (left, top, right, bottom) = point, area
    inside = left - 0.1 <= x <= right + 0.1 and top - 0.1 <= y <= bottom + 0.1
    return inside and min(abs(x - left), abs(x - right), abs(y - top), abs(y - bottom)) < 0.1


def test_a_long_edge_runs_around_what_is_between():
    pytest.importorskip("graphlay", reason="graphlay is not installed")
    boxes = [BoxSize(WIDTH, 90, column) for column in range(3)]
    edges = [LabelledEdge(source, target, 60, 34) for source, target in ((0, 1), (1, 2), (0, 2))]
    placed = laid_out(boxes, edges)
    (x, y), around = placed.boxes[1], placed.edges[2]
    assert len(around) > 2
    assert all(not (x < px < x + WIDTH and y < py < y + 90) for px, py in around)


def test_the_same_graph_is_always_laid_out_the_same(layout):
    boxes = [BoxSize(WIDTH, 90, column) for column in (0, 0, 1, 1, 2)]
    edges = [LabelledEdge(s, t, 60, 34) for s, t in ((0, 3), (1, 2), (2, 4), (3, 4), (0, 4))]
    assert layout(boxes, edges) == layout(boxes, edges)


def test_without_the_library_boxes_stand_in_columns(monkeypatch):
    monkeypatch.setitem(sys.modules, "graphlay", None)
    boxes = [BoxSize(WIDTH, 90, column) for column in (0, 0, 1)]
    edges = [LabelledEdge(0, 2, 60, 34), LabelledEdge(1, 2, 60, 34)]
    placed = laid_out(boxes, edges)
    assert [x for x, _ in placed.boxes] == [4.0, 4.0, 4.0 + WIDTH + 112]
    assert placed.boxes[2][1] == pytest.approx((placed.boxes[0][1] + placed.boxes[1][1]) / 2)
