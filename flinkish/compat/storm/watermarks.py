"""Watermarks that lag behind several streams, computed once an interval."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flinkish.api.arguments import instance, length_from_zero, positive, positive_length
from flinkish.api.errors import IllegalArgumentError
from flinkish.api.eventtime.clock import RelativeClock
from flinkish.api.eventtime.watermarks import (
    TimestampAssignerLike,
    WatermarkGenerator,
    WatermarkOutput,
    WatermarkStrategy,
    assigner_call,
)
from flinkish.api.stored_names import stored_as
from flinkish.api.streams.data_stream import DataStream, SingleOutputStreamOperator
from flinkish.api.time.durations import TimeLike
from flinkish.api.time.elements import Watermark
from flinkish.api.type_variables import T

Tagged = tuple[int, T]
"""An element after the number of the stream it came from."""


@stored_as("storm.LagWatermarks")
class LagWatermarks(WatermarkGenerator[Tagged[Any]]):
    """The lowest of the streams' latest timestamps, minus ``lag``, computed once an ``interval``
    (Storm: ``WaterMarkEventGenerator``).

    Until each of the ``streams`` has sent something there is no watermark. At
    ``t = lowest - lag`` it emits ``Watermark(t - 1)``: an element at t is not late yet. Elements
    are pairs of the number of their stream, from 0, and the element itself.
    """

    def __init__(
        self, streams: int, lag: TimeLike, interval: TimeLike, clock: RelativeClock
    ) -> None:
        self.streams = positive("LagWatermarks: streams", streams)
        self.lag = length_from_zero("LagWatermarks: lag", lag)
        self.interval = positive_length("LagWatermarks: interval", interval)
        fix = "Pass that of the context: context.getInputActivityClock()."
        self.clock = instance("LagWatermarks: clock", clock, RelativeClock, fix)
        self.latest: dict[int, int] = {}
        self.due = clock.relativeTimeMillis() + self.interval
        self.emitted: int | None = None

    def onEvent(self, event: Tagged[Any], eventTimestamp: int, output: WatermarkOutput) -> None:
        stream = event[0]
        self.latest[stream] = max(self.latest.get(stream, eventTimestamp), eventTimestamp)

    def onPeriodicEmit(self, output: WatermarkOutput) -> None:
        now = self.clock.relativeTimeMillis()
        if now < self.due:
            return
        self.due += ((now - self.due) // self.interval + 1) * self.interval
        watermark = self._watermark()
        if watermark is not None:
            self.emitted = watermark
            output.emitWatermark(Watermark(watermark))

    def nextPeriodicEmit(self) -> int | None:
        watermark = self._watermark()
        risen = watermark is not None and (self.emitted is None or watermark > self.emitted)
        return self.due if risen else None

    def _watermark(self) -> int | None:
        if len(self.latest) < self.streams:
            return None
        return min(self.latest.values()) - self.lag - 1


def unionWithLag(
    *streams: DataStream[T],
    lag: TimeLike,
    watermarkInterval: TimeLike = 1_000,
    timestampAssigner: TimestampAssignerLike[T] | None = None,
) -> SingleOutputStreamOperator[T]:
    """``streams`` as one, with one watermark over all of them: that of ``LagWatermarks``.

    It is computed every ``watermarkInterval`` of processing time. Without a ``timestampAssigner``
    elements keep their timestamps. The streams' own watermarks end here.

    Raises IllegalArgumentError without streams, for a negative lag, and for an interval of 0.

    >>> from flinkish.testing import StreamTestHarness
    >>> harness = StreamTestHarness(lambda fast, slow: unionWithLag(fast, slow, lag=5))
    >>> harness.processElement1("a", 100)
    >>> harness.setProcessingTime(1_000)
    >>> harness.processElement2("b", 90)
    >>> harness.setProcessingTime(2_000)
    >>> harness.getOutput()[-1]
    Watermark(timestamp=84)
    """
    if not streams:
        raise IllegalArgumentError("unionWithLag: pass at least one stream.")
    for stream in streams:
        instance("unionWithLag", stream, DataStream, "Pass streams, and the lag by its name.")
    count, millis = len(streams), length_from_zero("unionWithLag: lag", lag)
    interval = positive_length("unionWithLag: watermarkInterval", watermarkInterval)
    strategy: WatermarkStrategy[Tagged[T]] = WatermarkStrategy.forGenerator(
        lambda context: LagWatermarks(count, millis, interval, context.getInputActivityClock())
    )
    if timestampAssigner is not None:
        strategy = strategy.withTimestampAssigner(_of_element(timestampAssigner))
    tagged = [stream.map(_tag(number)).name("Tag") for number, stream in enumerate(streams)]
    union = tagged[0].union(*tagged[1:]) if count > 1 else tagged[0]
    timed = union.assignTimestampsAndWatermarks(strategy)
    return timed.map(lambda pair: pair[1]).name("Untag")


def _tag(number: int) -> Callable[[T], Tagged[T]]:
    return lambda element: (number, element)


def _of_element(assigner: TimestampAssignerLike[T]) -> Callable[[Tagged[T], int], int]:
    extract = assigner_call("unionWithLag", assigner)
    return lambda pair, timestamp: extract(pair[1], timestamp)
