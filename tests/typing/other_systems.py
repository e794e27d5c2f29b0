"""The types that a type checker infers for the words of other systems. Nothing here is run."""

from __future__ import annotations

from typing import NamedTuple, assert_type

from flinkish import (
    AggregateFunction,
    ArrivalTimeStrategy,
    DataStream,
    DeadLetter,
    OutputTag,
    SingleOutputStreamOperator,
    WatermarkStrategy,
)
from flinkish.compat import atlas
from flinkish.compat.atlas import withIdleAdvance
from flinkish.compat.stream_analytics import SlidingWindow, SnapshotWindow, timestampBy


class Reading(NamedTuple):
    device: str
    at: int


class Count(AggregateFunction[Reading, int, str]):
    def createAccumulator(self) -> int:
        return 0

    def add(self, value: Reading, accumulator: int) -> int:
        return accumulator + 1

    def getResult(self, accumulator: int) -> str:
        return str(accumulator)


def at(reading: Reading, timestamp: int) -> int:
    return reading.at


def atlas_stages(readings: DataStream[Reading]) -> None:
    timed = atlas.source(readings, at)
    assert_type(timed, SingleOutputStreamOperator[Reading])
    stage = atlas.tumblingWindow(
        timed,
        interval=atlas.Interval(5, "minute"),
        pipeline=lambda windows: windows.aggregate(Count()),
    )
    assert_type(stage.results, SingleOutputStreamOperator[str])
    assert_type(stage.deadLetterQueue, DataStream[DeadLetter[Reading]])
    by_device = atlas.hoppingWindow(
        timed,
        interval=atlas.Interval(5, "minute"),
        hopSize=atlas.Interval(1, "minute"),
        groupBy=lambda reading: reading.device,
        pipeline=lambda windows: windows.reduce(max),
        allowedLateness=atlas.Interval(1, "second"),
    )
    assert_type(by_device.results, SingleOutputStreamOperator[Reading])
    atlas.tumblingWindow(  # type: ignore[call-overload]
        timed,
        interval=atlas.Interval(5, "minute"),
        pipeline=lambda windows: windows.aggregate(Count()),
        idleTimeout=5,  # pyright: ignore[reportArgumentType]
    )
    atlas.Interval(5, "fortnight")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]


def stream_analytics(readings: DataStream[Reading]) -> None:
    dead = OutputTag[DeadLetter[Reading]]("dead")
    ordered = timestampBy(readings, at, over=lambda reading: reading.device, deadLetters=dead)
    assert_type(ordered, SingleOutputStreamOperator[Reading])
    assert_type(ordered.getSideOutput(dead), DataStream[DeadLetter[Reading]])
    counts = ordered.keyBy(lambda reading: reading.device).window(SlidingWindow("s", 5))
    assert_type(counts.aggregate(Count()), SingleOutputStreamOperator[str])
    assert_type(
        ordered.windowAll(SnapshotWindow()).reduce(max), SingleOutputStreamOperator[Reading]
    )


def strategies(readings: DataStream[Reading]) -> None:
    by_arrival = ArrivalTimeStrategy[Reading](timestampAssigner=at, substreamKey="device")
    assert_type(
        readings.assignTimestampsAndWatermarks(by_arrival), SingleOutputStreamOperator[Reading]
    )
    idle = withIdleAdvance(WatermarkStrategy[Reading].forMonotonousTimestamps(), 1_000, every=500)
    assert_type(idle, WatermarkStrategy[Reading])


def stream_analytics_by_field(readings: DataStream[Reading]) -> None:
    timed = timestampBy(readings, "at", arrivalTime="at", inputPartition="device", over=0)
    assert_type(timed, SingleOutputStreamOperator[Reading])
