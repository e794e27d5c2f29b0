"""Interval joins: of two sides of one source, and of two inputs with separate watermarks."""

from __future__ import annotations

from flinkish import OutputTag, ProcessJoinFunction
from tests.conformance.families.two_inputs import TwoInputFamily
from tests.conformance.family import Family

LEFT, RIGHT, LATE = OutputTag("left"), OutputTag("right"), OutputTag("late")


class IntervalJoinFamily(Family):
    name = "join"

    def covers(self, case):
        return case.kind == "intervalJoin"

    def build(self, case):
        return lambda stream: joined(
            stream.filter(lambda element: element[0] == "a").keyBy(1),
            stream.filter(lambda element: element[0] == "b").keyBy(1),
            case.data["function"],
            Pair(keyAt=1),
            LATE,
            LATE,
        )

    def sides(self, case):
        return {"late": LATE}


class TwoInputIntervalJoinFamily(TwoInputFamily):
    def covers(self, case):
        return case.kind == "intervalJoin"

    def build(self, case):
        return lambda left, right: joined(
            left.keyBy(0), right.keyBy(0), case.data["function"], Pair(keyAt=0), LEFT, RIGHT
        )

    def sides(self, case):
        return {"left": LEFT, "right": RIGHT}


def joined(left, right, settings, function, leftLate, rightLate):
    """The interval join that a case describes."""
    join = left.intervalJoin(right).between(settings["lower"], settings["upper"])
    if settings.get("lowerBoundExclusive"):
        join = join.lowerBoundExclusive()
    if settings.get("upperBoundExclusive"):
        join = join.upperBoundExclusive()
    return (
        join.sideOutputLeftLateData(leftLate).sideOutputRightLateData(rightLate).process(function)
    )


class Pair(ProcessJoinFunction):
    def __init__(self, keyAt):
        self.at = keyAt

    def processElement(self, left, right, ctx, out):
        key, value = left[self.at], left[self.at + 1]
        times = [ctx.getLeftTimestamp(), ctx.getRightTimestamp()]
        if self.at == 0:
            times.append(ctx.getTimestamp())
        out.collect((key, value, right[self.at + 1], *times))
