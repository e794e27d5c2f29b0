"""The job: departures and mean delay of each airport, by the hour and over three hours.

Event time is the scheduled departure, and an event arrives at the actual departure. So every delay
of an aeroplane is the same delay of an event.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from flinkish import (
    AggregateFunction,
    Collector,
    DataStream,
    OutputTag,
    ProcessWindowFunction,
    SingleOutputStreamOperator,
    SlidingEventTimeWindows,
    Time,
    TimeWindow,
    TumblingEventTimeWindows,
    ValueStateDescriptor,
    Watermark,
    WatermarkGenerator,
    WatermarkOutput,
    WatermarkStrategy,
    WindowContext,
)

OUT_OF_ORDERNESS = Time.minutes(30)
"""How long after a later flight a flight still counts as on time."""

ALLOWED_LATENESS = Time.hours(1)
"""How long a result can still be updated after that."""

HOURLY = "Hourly departures"
TREND = "Three-hour trend"


class Flight(NamedTuple):
    """A flight that has left. Times are in ms since the epoch, the delay is in minutes."""

    origin: str
    carrier: str
    number: int
    dest: str
    scheduled: int
    departed: int
    delay: int


TOO_LATE = OutputTag[Flight]("too late")


class Delays(NamedTuple):
    """How many flights left, and their mean delay in minutes."""

    departures: int
    mean_delay: float


class WindowResult(NamedTuple):
    """What is known of an airport and a window; each revision takes the place of the last."""

    origin: str
    start: int
    end: int
    departures: int
    mean_delay: float
    revision: int


class Streams(NamedTuple):
    """What the job gives: two streams of results, and the flights that came too late for them."""

    hourly: SingleOutputStreamOperator[WindowResult]
    trend: SingleOutputStreamOperator[WindowResult]
    too_late: DataStream[Flight]


def flight_of(row: Any) -> Flight:
    """The flight in a row of the arrivals."""
    return Flight(*row)


def airport_delays(flights: DataStream[Flight]) -> Streams:
    """The job, from flights in the order in which they left to the results."""
    by_airport = flights.assignTimestampsAndWatermarks(
        WatermarkStrategy.forGenerator(
            lambda context: EveryFlightWatermarks()
        ).withTimestampAssigner(lambda flight, timestamp: flight.scheduled)
    ).keyBy(lambda flight: flight.origin)

    hourly = (
        by_airport.window(TumblingEventTimeWindows.of(Time.hours(1)))
        .allowedLateness(ALLOWED_LATENESS)
        .sideOutputLateData(TOO_LATE)
        .aggregate(MeanDelay(), WithRevision())
        .name(HOURLY)
        .uid("hourly")
    )
    trend = (
        by_airport.window(SlidingEventTimeWindows.of(Time.hours(3), Time.hours(1)))
        .allowedLateness(ALLOWED_LATENESS)
        .aggregate(MeanDelay(), WithRevision())
        .name(TREND)
        .uid("trend")
    )
    return Streams(hourly, trend, hourly.getSideOutput(TOO_LATE))


class EveryFlightWatermarks(WatermarkGenerator[Flight]):
    """Bounded out-of-orderness that emits with every flight instead of from time to time.

    Results then depend on the order of the flights alone, not on how they are cut into files.
    """

    def __init__(self) -> None:
        self.latest: int | None = None

    def onEvent(self, event: Flight, eventTimestamp: int, output: WatermarkOutput) -> None:
        if self.latest is None or eventTimestamp > self.latest:
            self.latest = eventTimestamp
            output.emitWatermark(Watermark(eventTimestamp - OUT_OF_ORDERNESS.toMillis() - 1))

    def onPeriodicEmit(self, output: WatermarkOutput) -> None:
        """Nothing: all has been said in ``onEvent``."""


class MeanDelay(AggregateFunction[Flight, tuple[int, int], Delays]):
    """Counts flights and adds up their delays, so that no window keeps its flights."""

    def createAccumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: Flight, accumulator: tuple[int, int]) -> tuple[int, int]:
        departures, minutes = accumulator
        return departures + 1, minutes + value.delay

    def getResult(self, accumulator: tuple[int, int]) -> Delays:
        departures, minutes = accumulator
        return Delays(departures, minutes / departures)

    def merge(self, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        return a[0] + b[0], a[1] + b[1]


class WithRevision(ProcessWindowFunction[Delays, WindowResult, str, TimeWindow]):
    """Adds the airport, the window, and how often the window has fired before."""

    FIRINGS = ValueStateDescriptor[int]("firings")

    def process(
        self,
        key: str,
        context: WindowContext[TimeWindow],
        elements: Iterable[Delays],
        out: Collector[WindowResult],
    ) -> None:
        firings = context.windowState().getState(self.FIRINGS)
        revision = firings.value() or 0
        firings.update(revision + 1)
        window = context.window()
        for delays in elements:
            out.collect(
                WindowResult(key, window.getStart(), window.getEnd(), *delays, revision=revision)
            )

    def clear(self, context: WindowContext[TimeWindow]) -> None:
        context.windowState().getState(self.FIRINGS).clear()
