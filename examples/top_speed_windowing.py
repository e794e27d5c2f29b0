"""TopSpeedWindowing: each car's top speed in the last ten seconds, every fifty metres.

``python -m examples.top_speed_windowing --cars 2 --seconds 60``
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from flinkish import (
    DataStream,
    DeltaTrigger,
    Duration,
    GlobalWindows,
    StreamExecutionEnvironment,
    TimeEvictor,
    WatermarkStrategy,
)


class CarEvent(NamedTuple):
    """What a car says of itself once a second."""

    car: int
    speed: int
    """In km/h."""
    distance: float
    """In metres, since it started."""
    timestamp: int
    """In ms."""

    def __str__(self) -> str:
        return (
            f"car {self.car}: {self.speed:3} km/h at {self.distance:6.1f} m,"
            f" after {self.timestamp // 1000} s"
        )


def build(
    cars: DataStream[CarEvent], eviction_seconds: int = 10, trigger_metres: float = 50
) -> DataStream[CarEvent]:
    """The job: the fastest event of the last seconds, each time a car has gone some way."""
    return (
        cars.assignTimestampsAndWatermarks(
            WatermarkStrategy[CarEvent]
            .forMonotonousTimestamps()
            .withTimestampAssigner(lambda event, timestamp: event.timestamp)
        )
        .keyBy(lambda event: event.car)
        .window(GlobalWindows.create())
        .evictor(TimeEvictor.of(Duration.ofSeconds(eviction_seconds)))
        .trigger(DeltaTrigger.of(trigger_metres, lambda old, new: new.distance - old.distance))
        .maxBy("speed")
    )


def drive(cars: int, seconds: int, seed: int = 7) -> Iterator[CarEvent]:
    """Cars that go faster or slower by 5 km/h every second, the same ones for a seed."""
    chance = random.Random(seed)
    speeds, distances = [50] * cars, [0.0] * cars
    for second in range(seconds):
        for car in range(cars):
            change = 5 if chance.random() < 0.5 else -5
            speeds[car] = min(max(speeds[car] + change, 0), 100)
            distances[car] += speeds[car] / 3.6
            yield CarEvent(car, speeds[car], distances[car], second * 1000)


def event_of(line: str) -> CarEvent:
    """The event in a line such as ``0,55,15.3,1000``."""
    car, speed, distance, timestamp = line.split(",")
    return CarEvent(int(car), int(speed), float(distance), int(timestamp))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print top speeds of cars from a file, or of made-up ones."""
    parser = argparse.ArgumentParser(prog="python -m examples.top_speed_windowing")
    parser.add_argument("--input", help="a file of lines car,speed,distance,timestamp")
    parser.add_argument("--cars", type=int, default=2, help="%(default)s")
    parser.add_argument("--seconds", type=int, default=60, help="%(default)s")
    options = parser.parse_args(arguments)

    env = StreamExecutionEnvironment.getExecutionEnvironment()
    if options.input:
        cars = env.readTextFile(options.input).map(event_of)
    else:
        cars = env.fromCollection(list(drive(options.cars, options.seconds)))
    build(cars).print()
    env.execute("CarTopSpeedWindowingExample")


if __name__ == "__main__":
    main()
