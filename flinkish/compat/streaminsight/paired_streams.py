"""What functions of two streams of events share: which events they take, and what an end edge ends."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

from flinkish.api.arguments import instance
from flinkish.api.errors import InvalidProgramError
from flinkish.api.functions.functions import Collector
from flinkish.api.functions.process import KeyedProcessContext, TimerService
from flinkish.api.functions.runtime_context import OpenContext
from flinkish.api.functions.state import ValueStateDescriptor
from flinkish.api.functions.two_input import KeyedCoProcessFunction
from flinkish.api.streams.data_stream import DataStream, SingleOutputStreamOperator
from flinkish.api.streams.keyed_stream import KeyedStream
from flinkish.api.streams.windowed_stream import with_null_keys
from flinkish.compat.streaminsight.events import EdgeEvent, EdgeType, TemporalEvent
from flinkish.runtime.metrics import LATE_RECORDS_DROPPED


class PairedStreamsFunction(KeyedCoProcessFunction[Any, Any, Any, Any]):
    """Numbers the events of the left stream (0) and the right one (1), and drops those that are late."""

    def open(self, openContext: OpenContext) -> None:
        context = self.getRuntimeContext()
        self.number = context.getState(ValueStateDescriptor("number", default=0))
        self.late = context.getMetricGroup().counter(LATE_RECORDS_DROPPED)

    @abstractmethod
    def known(self, side: int) -> Iterable[tuple[int, TemporalEvent[Any]]]:
        """The events of a stream that are kept, after their numbers."""

    @abstractmethod
    def keep(self, side: int, number: int, event: TemporalEvent[Any], timers: TimerService) -> None:
        """Keep an event, or its end in its place."""

    def begun(
        self, side: int, number: int, event: TemporalEvent[Any], timers: TimerService
    ) -> None:
        """Called when an event has been kept that is no end edge."""

    def processElement1(
        self, value: TemporalEvent[Any], ctx: KeyedProcessContext[Any], out: Collector[Any]
    ) -> None:
        self._take(0, value, ctx.timerService())

    def processElement2(
        self, value: TemporalEvent[Any], ctx: KeyedProcessContext[Any], out: Collector[Any]
    ) -> None:
        self._take(1, value, ctx.timerService())

    def _take(self, side: int, event: TemporalEvent[Any], timers: TimerService) -> None:
        if event.syncTime <= timers.currentWatermark():
            self.late.inc()
        elif isinstance(event, EdgeEvent) and event.edgeType is EdgeType.End:
            for number, begun in self.known(side):
                same = begun.startTime == event.startTime and begun.payload == event.payload
                if same and begun.endTime is None:
                    self.keep(side, number, event, timers)
                    return
        else:
            number = self.number.value() or 0
            self.number.update(number + 1)
            self.keep(side, number, event, timers)
            self.begun(side, number, event, timers)


def check_streams(method: str, left: DataStream[Any], right: DataStream[Any]) -> None:
    """Raise InvalidProgramError unless both are streams: before what follows them is looked at."""
    for stream in (left, right):
        instance(method, stream, DataStream, "Pass the two streams of events first.")


def connected(
    method: str,
    left: DataStream[Any],
    right: DataStream[Any],
    function: PairedStreamsFunction,
    name: str,
) -> SingleOutputStreamOperator[TemporalEvent[Any]]:
    """The events that ``function`` makes of two streams, both keyed or both not."""
    if isinstance(left, KeyedStream) != isinstance(right, KeyedStream):
        raise InvalidProgramError(
            f"{method}: one stream is keyed and the other is not. Call keyBy on both or on none."
        )
    return with_null_keys(left).connect(with_null_keys(right)).process(function).name(name)
