"""The contexts and timer services of process functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

from flinkish.api.errors import IllegalArgumentError, IllegalStateError
from flinkish.api.functions.process import KeyedTimerContext, TimeDomain, TimerService
from flinkish.api.output_tag import OutputTag
from flinkish.runtime.operators.base import StreamOperator
from flinkish.runtime.operators.timers import InternalTimerService, timer_timestamp
from flinkish.runtime.records.records import NO_TIMESTAMP
from flinkish.runtime.state.backend import KeyedStateBackend


class SimpleTimerService(TimerService):
    """The timers of the current key (Flink: the class of this name)."""

    __slots__ = ("_backend", "_latest", "_timers")

    def __init__(self, timers: InternalTimerService, backend: KeyedStateBackend) -> None:
        self._timers = timers
        self._backend = backend
        self._latest = timers.latest

    def currentProcessingTime(self) -> int:
        return self._timers.currentProcessingTime()

    def currentWatermark(self) -> int:
        return self._timers.currentWatermark()

    def registerProcessingTimeTimer(self, time: int) -> None:
        timestamp = timer_timestamp(time)
        if not self._timers.inputEnded:
            self._timers.registerProcessingTimeTimer(None, timestamp)

    def registerEventTimeTimer(self, time: int) -> None:
        # An int, as 5.0 == 5, but 5.0 is refused
        if type(time) is int and self._latest.get(self._backend.currentKey) == time:
            return
        timestamp = timer_timestamp(time)
        if not self._timers.inputEnded:
            self._timers.registerEventTimeTimer(None, timestamp)

    def deleteProcessingTimeTimer(self, time: int) -> None:
        self._timers.deleteProcessingTimeTimer(None, timer_timestamp(time))

    def deleteEventTimeTimer(self, time: int) -> None:
        self._timers.deleteEventTimeTimer(None, timer_timestamp(time))


@dataclass(eq=False, repr=False, slots=True)
class ClockService(TimerService):
    """A timer service that has the current times but no timers; ``fix`` says how to get them."""

    _operator: StreamOperator
    _fix: str

    def currentProcessingTime(self) -> int:
        return self._operator.clock.getCurrentProcessingTime()

    def currentWatermark(self) -> int:
        return self._operator.currentWatermark

    def _refuse(self, time: int) -> NoReturn:
        raise IllegalStateError(f"{self._operator.name}: there are no timers here. {self._fix}")

    registerProcessingTimeTimer = registerEventTimeTimer = _refuse
    deleteProcessingTimeTimer = deleteEventTimeTimer = _refuse


@dataclass(eq=False, repr=False, slots=True)
class ElementContext:
    """The base of contexts; one object serves all elements and timers. The operator sets
    ``elementTimestamp`` (NO_TIMESTAMP: none) before it calls a function."""

    operator: StreamOperator
    elementTimestamp: int = NO_TIMESTAMP

    def timestamp(self) -> int | None:
        timestamp = self.elementTimestamp
        return None if timestamp == NO_TIMESTAMP else timestamp

    def output(self, outputTag: OutputTag[Any], value: Any) -> None:
        if not isinstance(outputTag, OutputTag):
            raise IllegalArgumentError(
                f"{self.operator.name}: ctx.output needs an OutputTag, not {outputTag!r}. Write"
                " ctx.output(tag, value)."
            )
        self.operator.output.collectSide(outputTag.id, value, self.elementTimestamp)


class OperatorProcessContext(ElementContext, KeyedTimerContext[Any]):
    """The context of process functions, for timers with their ``domain``."""

    __slots__ = ("_backend", "_timer_service", "domain")

    def __init__(self, operator: StreamOperator, timerService: TimerService) -> None:
        super().__init__(operator)
        self._backend = operator.backend
        self._timer_service = timerService
        self.domain: TimeDomain | None = None

    def timerService(self) -> TimerService:
        return self._timer_service

    def getCurrentKey(self) -> Any:
        return self._backend.currentKey

    def timeDomain(self) -> TimeDomain:
        if self.domain is None:
            raise IllegalStateError(
                f"{self.operator.name}: timeDomain() is available only in onTimer."
            )
        return self.domain
