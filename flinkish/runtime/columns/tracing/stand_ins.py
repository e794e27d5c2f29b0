"""Stand-ins for what traced functions are given besides elements and states."""

from __future__ import annotations

from typing import Any

from flinkish.api.functions.aggregations import (
    ComparableAggregator,
    FieldAggregator,
    SumAggregator,
)
from flinkish.api.time.elements import Watermark
from flinkish.api.windowing.windows import Window
from flinkish.runtime.columns.tracing.emissions import Emitting
from flinkish.runtime.columns.tracing.expressions import NUMBERS
from flinkish.runtime.columns.tracing.record_classes import Record
from flinkish.runtime.columns.tracing.symbolic_elements import column_of
from flinkish.runtime.columns.tracing.symbolic_values import symbolic, taken_apart
from flinkish.runtime.columns.tracing.symbols import Symbol
from flinkish.runtime.columns.tracing.trace import Trace
from flinkish.runtime.columns.tracing.unsupported import CannotTell, Unsupported
from flinkish.runtime.columns.tracing.value_shapes import structure


class StandIn:
    """Stands for an object that is given to a function. What it does not have is unsupported."""

    _kind = "context"
    """What messages call the object."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    def __getattr__(self, attribute: str) -> Any:
        raise self._trace.unsupported(f"uses {attribute} of its {self._kind}")


class ElementContextStandIn(StandIn):
    """Stands for the context of a process function."""

    def __init__(
        self, trace: Trace, out: Emitting, timestamp: Symbol, watermark: Symbol, clock: Symbol
    ) -> None:
        super().__init__(trace)
        self._out = out
        self._timestamp = timestamp
        self._watermark = watermark
        self._clock = clock

    def timestamp(self) -> Symbol:
        return self._trace.noted(self._timestamp._traced_expression)  # some elements have none

    def timerService(self) -> TimerServiceStandIn:
        return TimerServiceStandIn(self._trace, self._watermark, self._clock)

    def output(self, outputTag: Any, value: Any) -> None:
        self._out.output(outputTag, value)


class KeyedContextStandIn(ElementContextStandIn):
    """Stands for the context of a keyed process function."""

    def __init__(
        self,
        trace: Trace,
        out: Emitting,
        timestamp: Symbol,
        watermark: Symbol,
        clock: Symbol,
        key: Symbol,
    ) -> None:
        super().__init__(trace, out, timestamp, watermark, clock)
        self._key = key
        self.timers: list[tuple[int, Any]] = []
        """The calls that register and delete timers: the index of each in ``TIMER_CALLS``, and its
        argument."""

    def getCurrentKey(self) -> Symbol:
        return self._key

    def timerService(self) -> TimerServiceStandIn:
        return KeyedTimerServiceStandIn(self._trace, self._watermark, self._clock, self.timers)


class TimerServiceStandIn(StandIn):
    """Stands for the timer service."""

    _kind = "timer service"

    def __init__(self, trace: Trace, watermark: Symbol, clock: Symbol) -> None:
        super().__init__(trace)
        self._watermark = watermark
        self._clock = clock

    def currentWatermark(self) -> Symbol:
        return self._watermark

    def currentProcessingTime(self) -> Symbol:
        return self._clock


TIMER_CALLS = (
    "registerEventTimeTimer",
    "deleteEventTimeTimer",
    "registerProcessingTimeTimer",
    "deleteProcessingTimeTimer",
)
"""The methods of a timer service that register and delete timers: by time domain, and each that
deletes behind the one that registers."""


class KeyedTimerServiceStandIn(TimerServiceStandIn):
    """Stands for the timer service of a keyed function."""

    def __init__(
        self, trace: Trace, watermark: Symbol, clock: Symbol, timers: list[tuple[int, Any]]
    ) -> None:
        super().__init__(trace, watermark, clock)
        self._timers = timers

    def registerEventTimeTimer(self, time: Any) -> None:
        self._note(0, time)

    def deleteEventTimeTimer(self, time: Any) -> None:
        self._note(1, time)

    def registerProcessingTimeTimer(self, time: Any) -> None:
        self._note(2, time)

    def deleteProcessingTimeTimer(self, time: Any) -> None:
        self._note(3, time)

    def _note(self, call: int, time: Any) -> None:
        if self._trace.expression(time).kind not in ("int", "unknown"):
            raise self._trace.unsupported("has a timer at a time that is not an integer")
        self._timers.append((call, time))


class WindowContextStandIn(StandIn):
    """Stands for the context of a window function."""

    def __init__(self, trace: Trace, window: Record | Window) -> None:
        super().__init__(trace)
        self._window = window

    def window(self) -> Record | Window:
        return self._window


class PairContextStandIn(StandIn):
    """Stands for the context of a function of pairs."""

    def __init__(self, trace: Trace, left: Symbol, right: Symbol) -> None:
        super().__init__(trace)
        self._left = left
        self._right = right

    def getLeftTimestamp(self) -> Symbol:
        return self._left

    def getRightTimestamp(self) -> Symbol:
        return self._right

    def getTimestamp(self) -> Any:
        return self._trace.callable_of(max)(self._left, self._right)


class OutputStandIn(StandIn):
    """Stands for the output of a watermark generator."""

    _kind = "output"

    def __init__(self, trace: Trace) -> None:
        super().__init__(trace)
        self.emitted: list[Any] = []

    def emitWatermark(self, watermark: Any) -> None:
        shape, parts = taken_apart(self._trace, watermark)
        if shape != _WATERMARK:
            raise self._trace.unsupported("emits something that is not a Watermark")
        self.emitted.append(Symbol(self._trace, parts[0]))


_WATERMARK = structure(Watermark(0), [])


class AggregationStandIn:
    """Stands for the aggregations ``sum``, ``min``, ``max``, ``minBy`` and ``maxBy`` of a field."""

    def __init__(self, trace: Trace, aggregator: FieldAggregator[Any]) -> None:
        self._trace = trace
        self._aggregator = aggregator

    def reduce(self, so_far: Any, element: Any) -> Any:
        """``so_far`` with its field aggregated with that of ``element``, or the better of both."""
        aggregator, trace = self._aggregator, self._trace
        if trace.exploring:
            raise CannotTell
        shape, fields = taken_apart(trace, so_far, lists=True)
        of_element, added_fields = taken_apart(trace, element, lists=True)
        if of_element != shape:
            raise Unsupported("aggregates elements of different shapes")
        number = column_of(shape, aggregator.field)
        kinds = {fields[number].kind, added_fields[number].kind}
        parts: list[Any] = [Symbol(trace, field) for field in fields]
        before: Any = parts[number]
        added: Any = Symbol(trace, added_fields[number])
        if type(aggregator) is SumAggregator:
            if not kinds <= {"int", "float"}:
                raise Unsupported("sums up a field that is not an int or a float")
            parts[number] = before + added
            return symbolic(trace, shape, parts)
        if type(aggregator) is not ComparableAggregator:
            raise Unsupported(f"is an aggregation of its own, {type(aggregator).__name__}")
        if not (kinds <= set(NUMBERS) or kinds == {"str"}):
            raise Unsupported("compares a field that is not a number or text")
        if aggregator._by and not aggregator._first:
            better = not (before > added if aggregator._highest else before < added)
        else:
            better = bool(added > before if aggregator._highest else added < before)
        if aggregator._by:
            return element if better else so_far
        parts[number] = added if better else before
        return symbolic(trace, shape, parts)
