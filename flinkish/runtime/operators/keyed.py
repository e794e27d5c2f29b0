"""Base classes of operators on keyed streams, without and with timers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any

from flinkish.api.functions.runtime_context import RuntimeContext
from flinkish.api.time.elements import MAX_TIMESTAMP
from flinkish.runtime.operators.base import OperatorContext, StreamingRuntimeContext, StreamOperator
from flinkish.runtime.operators.contexts import ElementContext
from flinkish.runtime.operators.output import TimestampedCollector
from flinkish.runtime.operators.timers import InternalTimerService, Triggerable
from flinkish.runtime.records.copies import ATOMS, copied
from flinkish.runtime.records.records import Records
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.records.user_code import raise_named
from flinkish.runtime.state.backend import Timer
from flinkish.runtime.state.keyed_states import NO_KEY, KeyedStates


class KeyedOperator(StreamOperator):
    """An operator on a keyed stream: its functions are called with the key of each record as
    current key, and may have keyed state. It must be the first base: ``KeyedOperator, StreamMap``
    is the keyed form of ``StreamMap``."""

    @cached_property
    def states(self) -> KeyedStates:
        return KeyedStates(self.backend, self.clock, sweeps=True)

    def openFunction(self, function: object) -> None:
        self.backend.currentKey = NO_KEY
        super().openFunction(function)

    def initializeFunctions(self, keyGroup: int) -> None:
        self.backend.currentKey = NO_KEY
        super().initializeFunctions(keyGroup)

    def snapshot(self) -> dict[str, Any]:
        self.backend.currentKey = NO_KEY
        return super().snapshot()

    def runtimeContext(self) -> RuntimeContext:
        return StreamingRuntimeContext(self, self.states)

    def advanceProcessingTime(self, now: int) -> None:
        self.states.removeExpired(now)

    def mapped(self, function: Callable[[Any], Any], records: Records) -> list[Any]:
        backend, values = self.backend, records.values
        results: list[Any] = []
        append = results.append
        with self.userCodeOf(lambda: values[len(results)]):
            for key, value in zip(keys_of(records), values):
                backend.currentKey = key
                append(function(value))
        return results

    def emitted(self, function: Callable[[Any], Any], records: Records) -> list[Any]:
        backend, values, atoms = self.backend, records.values, ATOMS
        results: list[Any] = []
        append = results.append
        with self.userCodeOf(lambda: values[len(results)]):
            for key, value in zip(keys_of(records), values):
                backend.currentKey = key
                result = function(value)
                kind = type(result)
                if kind is tuple:
                    # As in Output.collect: a call of immutable() would double the time
                    for part in result:
                        if type(part) not in atoms:
                            result = copied(result)
                            break
                elif kind not in atoms:
                    result = copied(result)
                append(result)
        return results

    def collectElements(self, function: Callable[[Any, Any], Any], records: Records) -> None:
        backend, collector = self.backend, self.collector
        value = None
        with self.userCodeOf(lambda: value):
            for key, value, timestamp in keyed_elements(records):
                backend.currentKey = key
                collector.timestamp = timestamp
                returned = function(value, collector)
                if returned is not None:
                    collector.collectReturned(returned, tuples=True)
        self.output.flush()

    def processElements(
        self,
        function: Callable[[Any, Any, Any], Any],
        context: ElementContext,
        collector: TimestampedCollector,
        records: Records,
    ) -> None:
        backend = self.backend
        value = None
        with self.userCodeOf(lambda: value):
            for key, value, timestamp in keyed_elements(records):
                backend.currentKey = key
                context.elementTimestamp = collector.timestamp = timestamp
                returned = function(value, context, collector)
                if returned is not None:
                    collector.collectReturned(returned)
        self.output.flush()


class TimerOperator(KeyedOperator, Triggerable):
    """A keyed operator with timers. Subclasses set ``timer`` first thing in their callbacks, so
    that an error can name it."""

    timers: InternalTimerService

    def __init__(self, context: OperatorContext) -> None:
        super().__init__(context)
        self.timers = InternalTimerService(context.backend, context.clock, self, context.batch)
        self.timer: Timer | None = None

    def restore(self, snapshot: dict[str, Any] | None) -> None:
        super().restore(snapshot)
        self.timers.initializeWatermark(self.currentWatermark)

    def advanceWatermark(self, timestamp: int) -> None:
        """Fire the timers that the watermark has reached, then emit the watermark."""
        self.currentWatermark = timestamp
        self._fire(self.timers.advanceWatermark, timestamp)
        self.output.emitWatermark(timestamp)

    def skipToWatermark(self, timestamp: int) -> None:
        self.currentWatermark = timestamp
        self.timers.initializeWatermark(timestamp)

    def advanceProcessingTime(self, now: int) -> None:
        self._fire(self.timers.advanceProcessingTime, now)
        self.output.flush()
        super().advanceProcessingTime(now)

    def endInput(self) -> None:
        self._fire(self.timers.advanceProcessingTime, MAX_TIMESTAMP)
        self.output.flush()

    def _fire(self, advance: Callable[[int], None], time: int) -> None:
        # As userCode, without its cost for every watermark
        try:
            advance(time)
        except BaseException as error:
            raise_named(self.name, error, lambda: self.timer)


def keys_of(records: Records) -> Any:
    assert records.keys is not None, "records without keys reached a keyed operator"
    return records.keys


def keyed_elements(records: Records) -> Iterator[tuple[Any, Any, int]]:
    """(key, value, timestamp) of every record. Immutable rows are created one at a time."""
    values: Iterable[Any] = records.values
    if isinstance(values, RowColumns) and records.immutable and records.plain:
        values = values.passing()
    return zip(keys_of(records), values, records.timestamps.tolist())
