"""Family ``watermarks``: ``assignTimestampsAndWatermarks`` alone, in exact order."""

from __future__ import annotations

from flinkish import Watermark, WatermarkGenerator, WatermarkStrategy
from tests.conformance.family import Family


class WatermarksFamily(Family):
    name = "watermarks"

    def build(self, case):
        strategy = strategy_of(case.data["strategy"])
        return lambda stream: stream.assignTimestampsAndWatermarks(strategy)

    def options(self, case):
        return {"autoWatermarkInterval": case.data["interval"]}


def strategy_of(settings):
    """The strategy that a case describes."""
    match settings["kind"]:
        case "forMonotonousTimestamps":
            strategy = WatermarkStrategy.forMonotonousTimestamps()
        case "forBoundedOutOfOrderness":
            strategy = WatermarkStrategy.forBoundedOutOfOrderness(settings["bound"])
        case "noWatermarks":
            strategy = WatermarkStrategy.noWatermarks()
        case "punctuated":
            strategy = WatermarkStrategy.forGenerator(lambda context: Punctuated())
        case "lastThree":
            strategy = WatermarkStrategy.forGenerator(lambda context: LastThree())
    factor = settings.get("timestampFromValue")
    if factor is not None:
        strategy = strategy.withTimestampAssigner(lambda element, old: element[1] * factor)  # type: ignore[index]
    if settings.get("idleness") is not None:
        strategy = strategy.withIdleness(settings["idleness"])
    return strategy


class Punctuated(WatermarkGenerator):
    def onEvent(self, event, eventTimestamp, output):
        if event[1] % 3 == 0:
            output.emitWatermark(Watermark(eventTimestamp))

    def onPeriodicEmit(self, output):
        pass


class LastThree(WatermarkGenerator):
    def __init__(self):
        self.last = []

    def onEvent(self, event, eventTimestamp, output):
        self.last = [*self.last, eventTimestamp][-3:]
        if event[1] == 0:
            output.markIdle()

    def onPeriodicEmit(self, output):
        if len(self.last) == 3:
            output.emitWatermark(Watermark(min(self.last)))
