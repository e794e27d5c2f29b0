"""Family ``join``: two sides of one source, joined or grouped over windows."""

from __future__ import annotations

from flinkish import CoGroupFunction
from tests.conformance.families.windowing import assigner_of, configured
from tests.conformance.family import Family


class WindowJoinFamily(Family):
    name = "join"

    def covers(self, case):
        return case.kind in ("windowJoin", "coGroup")

    def build(self, case):
        return lambda stream: _job(stream, case.data)


def _job(stream, data):
    first = stream.filter(lambda element: element[0] == "a")
    second = stream.filter(lambda element: element[0] == "b")
    joins = data["function"]["kind"] == "windowJoin"
    pair = first.join(second) if joins else first.coGroup(second)
    keyed = pair.where(lambda element: element[1]).equalTo(lambda element: element[1])
    windowed = configured(keyed.window(assigner_of(data["assigner"])), data)
    if joins:
        return windowed.apply(lambda one, two: (one[1], one[2], two[2]))
    return windowed.apply(BothSides())


class BothSides(CoGroupFunction):
    def coGroup(self, first, second, out):
        one, two = list(first), list(second)
        out.collect(([*one, *two][0][1], [e[2] for e in one], [e[2] for e in two]))
