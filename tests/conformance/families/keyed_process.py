"""Family ``keyedProcess``: state, timers in both domains, and state that expires."""

from __future__ import annotations

from flinkish import (
    KeyedProcessFunction,
    ListStateDescriptor,
    MapStateDescriptor,
    StateTtlConfig,
    StateVisibility,
    TimeDomain,
    UpdateType,
    ValueStateDescriptor,
)
from tests.conformance.family import Family


class KeyedProcessFamily(Family):
    name = "keyedProcess"

    def build(self, case):
        match case.kind:
            case "ttl":
                function = Expiring(case.data["function"])
            case "both":
                function = BothDomains()
            case _:
                function = Timers()
        return lambda stream: stream.keyBy(lambda element: element[0]).process(function)


class Timers(KeyedProcessFunction):
    """No kind: event-time timers."""

    def open(self, openContext):
        self.seen = self.getRuntimeContext().getListState(ListStateDescriptor("seen"))

    def processElement(self, value, ctx, out):
        number, timestamp, timers = value[1], ctx.timestamp(), ctx.timerService()
        self.seen.add(number)
        if number % 3 == 0:
            timers.registerEventTimeTimer(timestamp + number)
        if number % 5 == 0:
            timers.deleteEventTimeTimer(timestamp)
        watermark = timers.currentWatermark()
        out.collect(("el", ctx.getCurrentKey(), number, timestamp, watermark))

    def onTimer(self, timestamp, ctx, out):
        seen, watermark = list(self.seen.get()), ctx.timerService().currentWatermark()
        out.collect(("timer", ctx.getCurrentKey(), timestamp, seen, watermark))
        if len(seen) > 5:
            self.seen.clear()


class BothDomains(KeyedProcessFunction):
    """Kind ``both``: timers in both domains, and timers that register timers."""

    def open(self, openContext):
        context = self.getRuntimeContext()
        self.seen = context.getListState(ListStateDescriptor("seen"))
        self.chained = context.getState(ValueStateDescriptor("chained", default=0))

    def processElement(self, value, ctx, out):
        number, timestamp, timers = value[1], ctx.timestamp(), ctx.timerService()
        now = timers.currentProcessingTime()
        self.seen.add(number)
        if timestamp is not None and number % 3 == 0:
            timers.registerEventTimeTimer(timestamp + number)
        if number % 4 == 0:
            timers.registerProcessingTimeTimer(now + abs(number))
        if timestamp is not None and number % 5 == 0:
            timers.deleteEventTimeTimer(timestamp)
        if number % 7 == 0:
            timers.deleteProcessingTimeTimer(now + abs(number) // 7 * 4)
        out.collect(("el", *value, timestamp, timers.currentWatermark(), now))

    def onTimer(self, timestamp, ctx, out):
        seen, timers = list(self.seen.get()), ctx.timerService()
        event = ctx.timeDomain() is TimeDomain.EVENT_TIME
        domain = "event" if event else "processing"
        clocks = (timers.currentWatermark(), timers.currentProcessingTime())
        out.collect(("timer", domain, ctx.getCurrentKey(), timestamp, seen, *clocks))
        if len(seen) % 2 == 1 and self.chained.value() < 4:
            self.chained.update(self.chained.value() + 1)
            if event:
                timers.registerEventTimeTimer(timestamp + 1)
            else:
                timers.registerProcessingTimeTimer(timestamp + 1)
        if len(seen) > 5:
            self.seen.clear()
            self.chained.clear()


class Expiring(KeyedProcessFunction):
    """Kind ``ttl``: a value, a list and a map that expire."""

    def __init__(self, settings):
        self.config = (
            StateTtlConfig.newBuilder(settings["ttl"])
            .setUpdateType(UpdateType[settings["update"]])
            .setStateVisibility(StateVisibility[settings["visibility"]])
            .disableCleanupInBackground()
            .build()
        )

    def open(self, openContext):
        context = self.getRuntimeContext()
        self.sum = context.getState(self.expiring(ValueStateDescriptor("sum")))
        self.list = context.getListState(self.expiring(ListStateDescriptor("list")))
        self.map = context.getMapState(self.expiring(MapStateDescriptor("map")))

    def expiring(self, descriptor):
        descriptor.enableTimeToLive(self.config)
        return descriptor

    def processElement(self, value, ctx, out):
        number = value[1]
        total = listed = entries = None
        if number % 2 == 0:
            total = self.sum.value()
            if number % 4 == 0:
                self.sum.update((total or 0) + number)
        if number % 3 == 0:
            listed = list(self.list.get())
        else:
            self.list.add(number)
        slot = number % 5
        before = self.map.get(slot)
        if slot == 4:
            entries = sorted(self.map.entries())
        else:
            self.map.put(slot, number)
        out.collect((*value, total, listed, before, entries))
