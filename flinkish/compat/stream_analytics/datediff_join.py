"""Joins of two streams by the boundaries of time between their events (DATEDIFF)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from flinkish.api.functions.functions import Collector
from flinkish.api.functions.process import KeyedProcessContext, KeyedTimerContext
from flinkish.api.functions.runtime_context import OpenContext
from flinkish.api.functions.state import MapStateDescriptor
from flinkish.api.functions.two_input import KeyedCoProcessFunction
from flinkish.compat.stream_analytics.dates import MILLISECONDS
from flinkish.compat.stream_analytics.values import Environment

_DAY = 86_400_000
SIZES = {**MILLISECONDS, "week": 7 * _DAY}
WEEK_SHIFT = 4 * _DAY
"""The epoch is a Thursday, and weeks begin on Sundays."""


@dataclass(frozen=True)
class TimeBounds:
    """``DATEDIFF(unit, left, right) BETWEEN low AND high``, counted in boundaries of the unit."""

    source: str
    """The source on the left that the time is counted from."""
    size: int
    shift: int
    low: int
    high: int

    @staticmethod
    def of(source: str, unit: str, low: int, high: int) -> TimeBounds:
        return TimeBounds(source, SIZES[unit], WEEK_SHIFT if unit == "week" else 0, low, high)

    def number(self, time: int) -> int:
        """The number of the unit that a time in ms is in."""
        return (time + self.shift) // self.size

    def contains(self, left: int, right: int) -> bool:
        """Whether two events are that far apart."""
        return self.low <= self.number(right) - self.number(left) <= self.high

    def last_right(self, left: int) -> int:
        """The last time (ms) of an event on the right that goes with one on the left."""
        return (self.number(left) + self.high + 1) * self.size - self.shift - 1

    def unmatched(self, left: int) -> int:
        """``System.Timestamp()`` of an event on the left without a partner, in ms."""
        return left + max(self.high, 0) * self.size

    def last_left(self, right: int) -> int:
        """The last time (ms) of an event on the left that goes with one on the right."""
        return (self.number(right) - self.low + 1) * self.size - self.shift - 1


@dataclass(eq=False)
class DateDiffJoin(KeyedCoProcessFunction[Any, Environment, Environment, Environment]):
    """Pairs the events of two streams whose times are within the bounds; an event is kept until the watermark
    says that none can go with it any more."""

    _bounds: TimeBounds
    _condition: Callable[[Environment], bool]
    _right_name: str
    _outer: bool
    _slack: int
    """By how much the time of an event on the left may be behind that of the row it is in, in ms."""

    def open(self, openContext: OpenContext) -> None:
        context = self.getRuntimeContext()
        self._left = context.getMapState(
            MapStateDescriptor[int, list[tuple[Environment, bool]]]("left")
        )
        self._right = context.getMapState(MapStateDescriptor[int, list[Environment]]("right"))

    def processElement1(
        self, value: Environment, ctx: KeyedProcessContext[Any], out: Collector[Environment]
    ) -> None:
        matched = False
        for _, events in self._right.entries():
            for event in events:
                matched |= self._pair(value, event, out)
        time = value[f"@{self._bounds.source}"]
        until = value["@"] if time is None else max(self._bounds.last_right(time), value["@"])
        self._left.put(until, [*(self._left.get(until) or ()), (value, matched)])
        ctx.timerService().registerEventTimeTimer(until)

    def processElement2(
        self, value: Environment, ctx: KeyedProcessContext[Any], out: Collector[Environment]
    ) -> None:
        for until, events in list(self._left.entries()):
            now = [(event, self._pair(event, value, out) or matched) for event, matched in events]
            if [matched for _, matched in now] != [matched for _, matched in events]:
                self._left.put(until, now)
        time = value["@"]
        until = max(self._bounds.last_left(time) + self._slack, time)
        self._right.put(until, [*(self._right.get(until) or ()), value])
        ctx.timerService().registerEventTimeTimer(until)

    def onTimer(
        self, timestamp: int, ctx: KeyedTimerContext[Any], out: Collector[Environment]
    ) -> None:
        for event, matched in self._left.get(timestamp) or ():
            if self._outer and not matched:
                left = event[f"@{self._bounds.source}"]
                time = event["@"] if left is None else self._bounds.unmatched(left)
                nothing = {self._right_name: None, f"@{self._right_name}": None}
                out.collect({**event, **nothing, "@": max(time, event["@"])})
        self._left.remove(timestamp)
        self._right.remove(timestamp)

    def _pair(self, left: Environment, right: Environment, out: Collector[Environment]) -> bool:
        time = left[f"@{self._bounds.source}"]
        if time is None or not self._bounds.contains(time, right[f"@{self._right_name}"]):
            return False
        rows = {**left, **right, "@": max(left["@"], right["@"])}
        if not self._condition(rows):
            return False
        out.collect(rows)
        return True
