"""Stand-ins for what a keyed process function is given besides its element and its states."""

from __future__ import annotations

from typing import Any

from flinkish.api.functions.aggregations import FieldAggregator
from flinkish.runtime.columns.tracing.emissions import Emitting
from flinkish.runtime.columns.tracing.symbolic_elements import column_of
from flinkish.runtime.columns.tracing.symbols import Symbol, symbolic, taken_apart
from flinkish.runtime.columns.tracing.trace import Trace
from flinkish.runtime.columns.tracing.unsupported import CannotTell, Unsupported


class AggregationStandIn:
    """Stands for the aggregations ``sum``, ``min`` and ``max`` of a field."""

    def __init__(self, trace: Trace, aggregator: FieldAggregator[Any]) -> None:
        self._trace = trace
        self._aggregator = aggregator

    def reduce(self, so_far: Any, element: Any) -> Any:
        """``so_far`` with its field aggregated with that of ``element``."""
        aggregator, trace = self._aggregator, self._trace
        if trace.exploring:
            raise CannotTell
        shape, fields = taken_apart(trace, so_far)
        number = column_of(shape, aggregator.field)
        parts = [Symbol(trace, field) for field in fields]
        of_element, added_fields = taken_apart(trace, element)
        if of_element != shape:
            raise Unsupported("aggregates elements of different shapes")
        field = added_fields[number]
        before: Any = parts[number]
        added: Any = Symbol(trace, field)
        numbers = {fields[number].kind, field.kind} <= {"int", "float"}
        if not numbers or aggregator.method not in ("sum", "min", "max"):
            raise Unsupported("is an aggregation that is not the sum or an extreme of numbers")
        if aggregator.method == "sum":
            parts[number] = before + added
        elif aggregator.method == "max":
            parts[number] = before if before > added else added
        else:
            parts[number] = before if added > before else added
        return symbolic(trace, shape, parts)


class ContextStandIn:
    """Stands for the context of the function."""

    def __init__(
        self, trace: Trace, out: Emitting, timestamp: Symbol, watermark: Symbol, key: Symbol
    ) -> None:
        self._trace = trace
        self._out = out
        self._timestamp = timestamp
        self._watermark = watermark
        self._key = key
        self.timers: list[Any] = []

    def timestamp(self) -> Symbol:
        return self._trace.noted(self._timestamp._traced_expression)  # some elements have none

    def getCurrentKey(self) -> Symbol:
        return self._key

    def timerService(self) -> _TimerService:
        return _TimerService(self._trace, self._watermark, self.timers)

    def output(self, outputTag: Any, value: Any) -> None:
        self._out.output(outputTag, value)

    def __getattr__(self, attribute: str) -> Any:
        raise self._trace.unsupported(f"uses {attribute} of its context")


class _TimerService:
    """Stands for the timer service."""

    def __init__(self, trace: Trace, watermark: Symbol, timers: list[Any]) -> None:
        self._trace = trace
        self._watermark = watermark
        self._timers = timers

    def currentWatermark(self) -> Symbol:
        return self._watermark

    def registerEventTimeTimer(self, time: Any) -> None:
        if self._trace.expression(time).kind not in ("int", "unknown"):
            raise self._trace.unsupported("registers a timer at a time that is not an integer")
        self._timers.append(time)

    def __getattr__(self, attribute: str) -> Any:
        raise self._trace.unsupported(f"uses {attribute} of its timer service")
