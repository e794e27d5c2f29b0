"""Ride/fare enrichment: the start of a taxi ride and its fare, whichever of them comes first.

``python -m examples.rides_and_fares --rides 12``
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from typing import NamedTuple

from flinkish import (
    Collector,
    DataStream,
    Duration,
    KeyedCoProcessFunction,
    OpenContext,
    OutputTag,
    StreamExecutionEnvironment,
    ValueState,
    ValueStateDescriptor,
    WatermarkStrategy,
)

WAIT = Duration.ofMinutes(10)
"""How long a ride waits for its fare, and a fare for its ride, in event time."""


class Ride(NamedTuple):
    """A ride that has begun, at a time in ms."""

    ride: int
    driver: str
    at: int


class Fare(NamedTuple):
    """What was paid for a ride, at a time in ms."""

    ride: int
    amount: float
    at: int


class RideAndFare(NamedTuple):
    """Both of them."""

    ride: Ride
    fare: Fare

    def __str__(self) -> str:
        return f"ride {self.ride.ride}: {self.ride.driver} was paid {self.fare.amount:.2f}"


class Streams(NamedTuple):
    """What the job gives."""

    enriched: DataStream[RideAndFare]
    unmatched_rides: DataStream[Ride]
    unmatched_fares: DataStream[Fare]


UNMATCHED_RIDES = OutputTag[Ride]("unmatched rides")
UNMATCHED_FARES = OutputTag[Fare]("unmatched fares")


def build(rides: DataStream[Ride], fares: DataStream[Fare]) -> Streams:
    """The job, from both streams to the pairs, and to what found no partner in time."""
    timed_rides = rides.assignTimestampsAndWatermarks(
        WatermarkStrategy[Ride]
        .forBoundedOutOfOrderness(Duration.ofMinutes(1))
        .withTimestampAssigner(lambda ride, timestamp: ride.at)
    )
    timed_fares = fares.assignTimestampsAndWatermarks(
        WatermarkStrategy[Fare]
        .forBoundedOutOfOrderness(Duration.ofMinutes(1))
        .withTimestampAssigner(lambda fare, timestamp: fare.at)
    )
    enriched = (
        timed_rides.keyBy(lambda ride: ride.ride)
        .connect(timed_fares.keyBy(lambda fare: fare.ride))
        .process(Enrichment())
        .name("enrichment")
    )
    return Streams(
        enriched,
        enriched.getSideOutput(UNMATCHED_RIDES),
        enriched.getSideOutput(UNMATCHED_FARES),
    )


class Enrichment(KeyedCoProcessFunction[int, Ride, Fare, RideAndFare]):
    """Keeps what comes first until the other comes, or its timer."""

    ride: ValueState[Ride]
    fare: ValueState[Fare]

    def open(self, openContext: OpenContext) -> None:
        context = self.getRuntimeContext()
        self.ride = context.getState(ValueStateDescriptor[Ride]("saved ride"))
        self.fare = context.getState(ValueStateDescriptor[Fare]("saved fare"))

    def processElement1(
        self,
        value: Ride,
        ctx: KeyedCoProcessFunction.Context[int],
        out: Collector[RideAndFare],
    ) -> None:
        fare = self.fare.value()
        if fare is None:
            self.ride.update(value)
            ctx.timerService().registerEventTimeTimer(value.at + WAIT.toMillis())
        else:
            self.fare.clear()
            ctx.timerService().deleteEventTimeTimer(fare.at + WAIT.toMillis())
            out.collect(RideAndFare(value, fare))

    def processElement2(
        self,
        value: Fare,
        ctx: KeyedCoProcessFunction.Context[int],
        out: Collector[RideAndFare],
    ) -> None:
        ride = self.ride.value()
        if ride is None:
            self.fare.update(value)
            ctx.timerService().registerEventTimeTimer(value.at + WAIT.toMillis())
        else:
            self.ride.clear()
            ctx.timerService().deleteEventTimeTimer(ride.at + WAIT.toMillis())
            out.collect(RideAndFare(ride, value))

    def onTimer(
        self,
        timestamp: int,
        ctx: KeyedCoProcessFunction.OnTimerContext[int],
        out: Collector[RideAndFare],
    ) -> None:
        ride, fare = self.ride.value(), self.fare.value()
        if ride is not None:
            ctx.output(UNMATCHED_RIDES, ride)
            self.ride.clear()
        if fare is not None:
            ctx.output(UNMATCHED_FARES, fare)
            self.fare.clear()


def taxis(count: int, seed: int = 5) -> tuple[list[Ride], list[Fare]]:
    """Rides and fares, the same ones for a seed; every fifth of them lost its partner."""
    chance = random.Random(seed)
    rides, fares = [], []
    for number in range(1, count + 1):
        began = number * 120_000
        paid = began + chance.randrange(-60_000, 300_000)
        if number % 10 != 5:
            rides.append(Ride(number, chance.choice(["Ada", "Bob", "Cy"]), began))
        if number % 10 != 0:
            fares.append(Fare(number, round(chance.uniform(6, 60), 2), paid))
    return rides, sorted(fares, key=lambda fare: fare.at)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print made-up rides with their fares, and what is missing."""
    parser = argparse.ArgumentParser(prog="python -m examples.rides_and_fares")
    parser.add_argument("--rides", type=int, default=12, help="%(default)s")
    options = parser.parse_args(arguments)
    rides, fares = taxis(options.rides)

    env = StreamExecutionEnvironment.getExecutionEnvironment()
    streams = build(env.fromCollection(rides), env.fromCollection(fares))
    streams.enriched.print()
    streams.unmatched_rides.map(lambda ride: f"no fare for ride {ride.ride}").print()
    streams.unmatched_fares.map(lambda fare: f"no ride for a fare of {fare.amount:.2f}").print()
    env.execute("Rides and Fares")


if __name__ == "__main__":
    main()
