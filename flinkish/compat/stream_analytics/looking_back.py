"""Looks back at earlier events of a partition, in the order of their timestamps: LAG, LAST, ISFIRST and others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from flinkish.api.errors import InvalidProgramError
from flinkish.api.functions.functions import Collector
from flinkish.api.functions.process import (
    KeyedProcessContext,
    KeyedProcessFunction,
    KeyedTimerContext,
    TimerService,
)
from flinkish.api.functions.runtime_context import OpenContext
from flinkish.api.functions.state import MapStateDescriptor
from flinkish.api.streams.data_stream import DataStream
from flinkish.compat.stream_analytics.values import Environment, Evaluate

Kept = Sequence[tuple[int, Any]]
"""The times and values of the events that are remembered."""


@dataclass(frozen=True)
class Over:
    """The OVER of an analytic function."""

    name: str
    """The name of the function's value in the environment."""
    partition: Evaluate
    partitionText: str
    when: Callable[[Environment], bool] | None


@dataclass(frozen=True)
class Analytic:
    """A call of an analytic function."""

    over: Over
    value: Evaluate
    """Computes what is remembered of an event."""
    result: Callable[[Kept, bool, Environment], Any]
    """Computes the value from what is remembered, whether the event counts, and the event."""
    duration: int | None
    """The time (ms) to look back."""
    keep: int | None
    """The number of events to look back, None for all."""
    before: bool
    """Whether it looks at the events before this one only."""

    @staticmethod
    def isFirst(over: Over, interval: int) -> Analytic:
        """1 for the first event to count in its interval of so many ms."""
        return Analytic(
            over,
            value=lambda rows: -(-rows["@"] // interval) * interval,
            result=lambda kept, counts, rows: int(counts),
            duration=None,
            keep=1,
            before=True,
        )

    @staticmethod
    def earlier(
        over: Over, value: Evaluate, default: Evaluate, duration: int, offset: int, before: bool
    ) -> Analytic:
        """The value of the event that is ``offset`` events back, among those ``before`` this one or up to it."""

        def result(kept: Kept, counts: bool, rows: Environment) -> Any:
            return kept[-offset][1] if len(kept) >= offset else default(rows)

        return Analytic(over, value, result, duration, keep=offset, before=before)

    def until(self, entry: tuple[int, Any]) -> int:
        """The time (ms) after which an event is no longer looked back at: for an interval, its end."""
        time, value = entry
        return int(value) if self.duration is None else time + self.duration


class AnalyticFunction(KeyedProcessFunction[Any, Environment, Environment]):
    """Adds the values of analytic functions to events, in the order of their timestamps."""

    def __init__(self, calls: Sequence[Analytic]) -> None:
        self._calls = tuple(calls)

    def open(self, openContext: OpenContext) -> None:
        context = self.getRuntimeContext()
        self._waiting = context.getMapState(MapStateDescriptor[int, list[Environment]]("waiting"))
        self._kept = context.getMapState(
            MapStateDescriptor[tuple[int, Any], list[tuple[int, Any]]]("kept")
        )
        self._expiring = context.getMapState(
            MapStateDescriptor[int, list[tuple[int, Any]]]("expiring")
        )

    def processElement(
        self, value: Environment, ctx: KeyedProcessContext[Any], out: Collector[Environment]
    ) -> None:
        time = value["@"]
        self._waiting.put(time, [*(self._waiting.get(time) or ()), value])
        ctx.timerService().registerEventTimeTimer(time)

    def onTimer(
        self, timestamp: int, ctx: KeyedTimerContext[Any], out: Collector[Environment]
    ) -> None:
        for rows in self._waiting.get(timestamp) or ():
            found = {
                call.over.name: self._value(i, call, rows, ctx.timerService())
                for i, call in enumerate(self._calls)
            }
            out.collect({**rows, **found})
        self._waiting.remove(timestamp)
        for key in self._expiring.get(timestamp) or ():
            self._forget(key, timestamp)
        self._expiring.remove(timestamp)

    def _forget(self, key: tuple[int, Any], time: int) -> None:
        call = self._calls[key[0]]
        kept = [entry for entry in self._kept.get(key) or () if call.until(entry) > time]
        if kept:
            self._kept.put(key, kept)
        else:
            self._kept.remove(key)

    def _value(self, number: int, call: Analytic, rows: Environment, timers: TimerService) -> Any:
        time = rows["@"]
        key = (number, call.over.partition(rows))
        before = self._kept.get(key) or []
        kept = before
        if call.duration is not None:
            kept = [entry for entry in before if call.until(entry) > time]
        counts = call.over.when is None or call.over.when(rows)
        value = call.value(rows) if counts else None
        if call.duration is None:  # ISFIRST
            counts = counts and not (kept and kept[-1][1] == value)
        result = call.result(kept, counts, rows) if call.before else None
        if counts:
            kept = [*kept, (time, value)]
            if call.keep is not None:
                kept = kept[-call.keep :]
            until = call.until(kept[-1])
            self._expiring.put(until, [*(self._expiring.get(until) or ()), key])
            timers.registerEventTimeTimer(until)
        if kept != before:
            self._kept.put(key, kept)
        return result if call.before else call.result(kept, counts, rows)


def entered(stream: DataStream[Any], source: str) -> DataStream[Environment]:
    """The events of a stream as environments."""
    moment = f"@{source}"

    def enter(event: Any, ctx: Any, out: Any) -> None:
        time = ctx.timestamp()
        if time is None:
            raise InvalidProgramError(
                "the event has no timestamp. Call timestampBy or byArrivalTime on the stream first."
            )
        out.collect({source: event, moment: time, "@": time})

    return stream.process(enter)
