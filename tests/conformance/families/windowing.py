"""Assigners, triggers and evictors as the cases name them."""

from __future__ import annotations

from typing import Any

import pytest

import flinkish
from flinkish import (
    CountEvictor,
    CountTrigger,
    DeltaEvictor,
    DeltaTrigger,
    EventTimeTrigger,
    GlobalWindows,
    MergingWindowAssigner,
    ProcessingTimeoutTrigger,
    PurgingTrigger,
    TimeEvictor,
    TimeWindow,
    Trigger,
    TriggerResult,
    ValueStateDescriptor,
)


def assigner_of(spec: dict[str, Any]) -> Any:
    match spec:
        case {"kind": "CappedSessionWindows"}:
            return CappedSessionWindows(spec["gap"], spec["cap"])
        case {"kind": "GlobalWindows", "endOfStream": True}:
            return GlobalWindows.createWithEndOfStreamTrigger()
        case {"kind": "GlobalWindows"}:
            return GlobalWindows.create()
        case {"kind": kind, "gapExpr": "value"}:
            return getattr(flinkish, kind).withDynamicGap(lambda element: element[1])
        case {"kind": kind, "gap": gap}:
            return getattr(flinkish, kind).withGap(gap)
        case {"kind": kind, "size": size, "slide": slide}:
            return getattr(flinkish, kind).of(size, slide, spec.get("offset", 0))
        case {"kind": kind, "size": size}:
            return getattr(flinkish, kind).of(size, spec.get("offset", 0))
    raise ValueError(spec)


def trigger_of(spec: dict[str, Any]) -> Any:
    match spec:
        case {"kind": "EarlyLateTrigger"}:
            return EarlyLateTrigger(spec["early"], spec["lateCount"])
        case {"kind": "PurgingTrigger", "of": nested}:
            return PurgingTrigger.of(trigger_of(nested))
        case {"kind": "ProcessingTimeoutTrigger", "of": nested}:
            reset, clear = spec["resetTimerOnNewRecord"], spec["shouldClearOnTimeout"]
            return ProcessingTimeoutTrigger.of(trigger_of(nested), spec["timeout"], reset, clear)
        case {"kind": "CountTrigger"}:
            return CountTrigger.of(spec["n"])
        case {"kind": "DeltaTrigger"}:
            return DeltaTrigger.of(spec["threshold"], distance)
        case {"kind": kind, "interval": interval}:
            return getattr(flinkish, kind).of(interval)
        case {"kind": kind}:
            return getattr(flinkish, kind).create()
    raise ValueError(spec)


def evictor_of(spec: dict[str, Any]) -> Any:
    after = spec["doEvictAfter"]
    match spec["kind"]:
        case "CountEvictor":
            return CountEvictor.of(spec["n"], after)
        case "TimeEvictor":
            return TimeEvictor.of(spec["size"], after)
        case "DeltaEvictor":
            return DeltaEvictor.of(spec["threshold"], distance, after)
    raise ValueError(spec)


def configured(windowed: Any, data: dict[str, Any]) -> Any:
    """A windowed stream with the settings of a case."""
    if data.get("trigger"):
        windowed = windowed.trigger(trigger_of(data["trigger"]))
    if data.get("evictor"):
        windowed = windowed.evictor(evictor_of(data["evictor"]))
    lateness = data.get("allowedLateness")
    if lateness is None:
        return windowed
    by_watermark = "EventTime" in data["assigner"]["kind"] or data["assigner"].get("cap")
    if lateness <= 0 or by_watermark:
        return windowed.allowedLateness(lateness)
    with pytest.warns(UserWarning, match="allowedLateness has no effect"):
        return windowed.allowedLateness(lateness)


def distance(old: Any, new: Any) -> float:
    return abs(old[1] - new[1])


class CappedSessionWindows(MergingWindowAssigner):
    """Sessions that grow no longer than a cap."""

    def __init__(self, gap, cap):
        self._gap = gap
        self._cap = cap

    def assignWindows(self, element, timestamp, context):
        return [TimeWindow(timestamp, timestamp + self._gap)]

    def mergeWindows(self, windows, callback):
        covers = []
        for window in sorted(windows):
            if covers and self._fits(covers[-1][0], window):
                cover, parts = covers[-1]
                covers[-1] = (cover.cover(window), [*parts, window])
            else:
                covers.append((window, [window]))
        for cover, parts in covers:
            if len(parts) > 1:
                callback.merge(parts, cover)

    def _fits(self, cover, window):
        joint = cover.cover(window)
        return window.start <= cover.end and joint.end - joint.start <= self._cap

    def getDefaultTrigger(self):
        return EventTimeTrigger.create()

    def isEventTime(self):
        return True


class EarlyLateTrigger(Trigger):
    """Fires every now and then before the watermark, and for every so many late elements after."""

    NEXT = ValueStateDescriptor("next")
    LATE = ValueStateDescriptor("late")

    def __init__(self, early, lateCount):
        self._early = early
        self._late_count = lateCount

    def onElement(self, element, timestamp, window, ctx):
        if window.maxTimestamp() <= ctx.getCurrentWatermark():
            return self._count_late(ctx.getPartitionedState(self.LATE))
        ctx.registerEventTimeTimer(window.maxTimestamp())
        following = ctx.getPartitionedState(self.NEXT)
        if following.value() is None:
            self._wait(following, ctx.getCurrentProcessingTime(), ctx)
        return TriggerResult.CONTINUE

    def _count_late(self, late):
        count = (late.value() or 0) + 1
        if count < self._late_count:
            late.update(count)
            return TriggerResult.CONTINUE
        late.clear()
        return TriggerResult.FIRE

    def _wait(self, following, now, ctx):
        following.update(now + self._early)
        ctx.registerProcessingTimeTimer(now + self._early)

    def onProcessingTime(self, time, window, ctx):
        following = ctx.getPartitionedState(self.NEXT)
        if following.value() != time:
            return TriggerResult.CONTINUE
        self._wait(following, time, ctx)
        return TriggerResult.FIRE

    def onEventTime(self, time, window, ctx):
        if time != window.maxTimestamp():
            return TriggerResult.CONTINUE
        self._stop(ctx)
        return TriggerResult.FIRE_AND_PURGE

    def _stop(self, ctx):
        following = ctx.getPartitionedState(self.NEXT)
        if following.value() is not None:
            ctx.deleteProcessingTimeTimer(following.value())
            following.clear()

    def clear(self, window, ctx):
        ctx.deleteEventTimeTimer(window.maxTimestamp())
        self._stop(ctx)
        ctx.getPartitionedState(self.LATE).clear()
