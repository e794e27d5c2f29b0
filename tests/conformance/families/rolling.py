"""Families ``windowRolling`` and ``rolling``: aggregations of one field."""

from __future__ import annotations

from flinkish import TumblingEventTimeWindows
from tests.conformance.family import Family


def aggregated(stream, function):
    """``stream``, keyed or windowed, under the aggregation of a case."""
    kind = function["kind"]
    if kind == "reduce":
        return stream.reduce(lambda a, b: (a[0], a[1] + b[1], b[2]))
    if kind.endswith("By"):
        return getattr(stream, kind)(1, function["first"])
    return getattr(stream, kind)(1)


class WindowRollingFamily(Family):
    name = "windowRolling"

    def build(self, case):
        windows = TumblingEventTimeWindows.of(case.data["assigner"]["size"])
        return lambda stream: aggregated(
            stream.keyBy(lambda element: element[0]).window(windows), case.data["function"]
        )

    def element(self, item, number):
        return (*item[1:-1], number)


class RollingFamily(Family):
    name = "rolling"

    def build(self, case):
        function = case.data["function"]
        return lambda stream: aggregated(stream.keyBy(lambda element: element[0]), function)

    def element(self, item, number):
        return (*item[1:-1], number)
