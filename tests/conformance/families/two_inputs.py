"""Family ``two``: two inputs, each with separate watermarks."""

from __future__ import annotations

import json

from flinkish import (
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    ListStateDescriptor,
    MapStateDescriptor,
    TimeDomain,
    ValueStateDescriptor,
)
from tests.conformance.family import MAX, Family

RULES = MapStateDescriptor("rules")
SUM = ValueStateDescriptor("sum")


class TwoInputFamily(Family):
    name = "two"

    def covers(self, case):
        return case.kind in ("coProcess", "broadcast")

    def build(self, case):
        if case.kind == "coProcess":
            return lambda one, two: one.keyBy(0).connect(two.keyBy(0)).process(Meeting())
        return lambda one, rules: one.keyBy(0).connect(rules.broadcast(RULES)).process(Rules())

    def step(self, harness, item, number):
        if item[0] == "p":
            harness.setProcessingTime(item[1])
            return
        first = item[1] == 1
        if item[0] == "w":
            (harness.processWatermark1 if first else harness.processWatermark2)(item[2])
        else:
            process = harness.processElement1 if first else harness.processElement2
            process((item[2], item[3]), item[4])

    def end(self, harness):
        harness.processWatermark1(MAX)
        harness.processWatermark2(MAX)


class Meeting(KeyedCoProcessFunction):
    """Kind ``coProcess``."""

    def open(self, openContext):
        self.seen = self.getRuntimeContext().getListState(ListStateDescriptor("seen"))

    def processElement1(self, value, ctx, out):
        self.seen.add(value[1])
        ctx.timerService().registerEventTimeTimer(ctx.timestamp() + abs(value[1]))
        out.collect((1, *value, ctx.timestamp(), ctx.timerService().currentWatermark()))

    def processElement2(self, value, ctx, out):
        timers = ctx.timerService()
        out.collect((2, *value, list(self.seen.get()), timers.currentWatermark()))
        if value[1] % 3 == 0:
            timers.registerProcessingTimeTimer(timers.currentProcessingTime() + abs(value[1]))
        if value[1] % 7 == 0:
            timers.deleteEventTimeTimer(ctx.timestamp())

    def onTimer(self, timestamp, ctx, out):
        event = ctx.timeDomain() is TimeDomain.EVENT_TIME
        domain = "event" if event else "processing"
        watermark = ctx.timerService().currentWatermark()
        seen = list(self.seen.get())
        out.collect(("timer", domain, ctx.getCurrentKey(), timestamp, seen, watermark))
        if event:
            self.seen.clear()


class Rules(KeyedBroadcastProcessFunction):
    """Kind ``broadcast``."""

    def open(self, openContext):
        self.sum = self.getRuntimeContext().getState(SUM)

    def processElement(self, value, ctx, out):
        total = (self.sum.value() or 0) + value[1]
        self.sum.update(total)
        for name, threshold in sorted(ctx.getBroadcastState(RULES).immutableEntries()):
            if total >= threshold:
                out.collect(("match", ctx.getCurrentKey(), name, total, ctx.currentWatermark()))
        if value[1] % 3 == 0:
            ctx.timerService().registerEventTimeTimer(ctx.timestamp() + abs(value[1]))

    def processBroadcastElement(self, value, ctx, out):
        name, threshold = value
        rules = ctx.getBroadcastState(RULES)
        if threshold < 0:
            rules.remove(name)
        else:
            rules.put(name, threshold)
        if threshold % 5 == 0:
            sums = []
            ctx.applyToKeyedState(SUM, lambda key, state: sums.append([key, state.value()]))
            text = lambda pair: json.dumps(pair, separators=(",", ":"))  # noqa: E731
            out.collect(("sums", sorted(sums, key=text)))

    def onTimer(self, timestamp, ctx, out):
        out.collect(("timer", ctx.getCurrentKey(), timestamp, self.sum.value()))
        self.sum.clear()
