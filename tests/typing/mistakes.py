"""Mistakes that mypy and pyright find before a job runs, and what they must not take for one.

An expected error is pinned by the comments that allow it: without the error, both checkers
complain about the comment.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, assert_type

from flinkish import (
    Collector,
    DataStream,
    KeyedProcessFunction,
    ListStateDescriptor,
    MapFunction,
    MapStateDescriptor,
    OutputTag,
    SingleOutputStreamOperator,
    StreamExecutionEnvironment,
    TimestampAssigner,
    ValueStateDescriptor,
    WatermarkStrategy,
)

env = StreamExecutionEnvironment.getExecutionEnvironment()


@dataclass(frozen=True)
class Reading:
    sensor: str
    at: int


@dataclass(frozen=True)
class Precise(Reading):
    digits: int


class ByReading(TimestampAssigner[Reading]):
    def extractTimestamp(self, element: Reading, recordTimestamp: int) -> int:
        return element.at


class Sensor(MapFunction[Reading, str]):
    def map(self, value: Reading) -> str:
        return value.sensor


class Newest(KeyedProcessFunction[str, tuple[str, int], tuple[str, int]]):
    def processElement(
        self,
        value: tuple[str, int],
        ctx: KeyedProcessFunction.Context[str],
        out: Collector[tuple[str, int]],
    ) -> None:
        out.collect((ctx.getCurrentKey(), value[1]))


def scores(pairs: DataStream[tuple[str, int]]) -> SingleOutputStreamOperator[int]:
    return pairs.map(lambda pair: pair[1])


# ---------------------------------------------------------------------- a stream of a kin type


def elements_given_as_literals() -> None:
    pairs: DataStream[tuple[str, int]] = env.fromData(("ada", 1), ("bob", 2))
    assert_type(scores(pairs), SingleOutputStreamOperator[int])
    scores(env.fromData(("ada", 1), ("bob", 2)))
    scores(env.fromElements(("ada", 1), ("bob", 2)))
    scores(env.fromCollection([("ada", 1), ("bob", 2)]))
    env.fromData(("ada", 1), ("bob", 2)).keyBy(lambda pair: pair[0]).process(Newest())
    mixed: DataStream[int | str] = env.fromData(1, "two")
    mixed.map(str)


def a_stream_of_a_subclass(precise: DataStream[Precise], readings: DataStream[Reading]) -> None:
    more_general: DataStream[Reading] = precise
    precise.map(Sensor())
    more_specific: DataStream[Precise] = readings  # type: ignore[assignment] # pyright: ignore[reportAssignmentType]
    assert_type(more_general.map(Sensor()), SingleOutputStreamOperator[str])
    more_specific.print()


def union_of_related_types(precise: DataStream[Precise], readings: DataStream[Reading]) -> None:
    both: DataStream[Reading] = readings.union(precise)
    assert_type(both.map(lambda reading: reading.at), SingleOutputStreamOperator[int])
    either: DataStream[Reading] = precise.union(readings, precise)
    assert_type(either.map(lambda reading: reading.at), SingleOutputStreamOperator[int])
    only: DataStream[Precise] = precise.union(readings)  # type: ignore[arg-type] # pyright: ignore[reportAssignmentType]
    only.print()


# ---------------------------------------------------------------------- a strategy and its stream


def an_assigner_is_checked_against_the_stream(readings: DataStream[Reading]) -> None:
    for_readings = WatermarkStrategy.forBoundedOutOfOrderness(5).withTimestampAssigner(ByReading())
    assert_type(for_readings, WatermarkStrategy[Reading])
    readings.assignTimestampsAndWatermarks(for_readings)
    readings.assignTimestampsAndWatermarks(
        WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(lambda r, t: r.at)
    )
    readings.assignTimestampsAndWatermarks(
        WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(lambda r, t: r.nope)  # type: ignore[attr-defined] # pyright: ignore[reportAttributeAccessIssue, reportUnknownLambdaType, reportUnknownMemberType]
    )
    readings.assignTimestampsAndWatermarks(
        WatermarkStrategy.forMonotonousTimestamps()
        .withIdleness(5)
        .withTimestampAssigner(lambda r, t: r.nope)  # type: ignore[attr-defined] # pyright: ignore[reportAttributeAccessIssue, reportUnknownLambdaType, reportUnknownMemberType]
    )
    readings.assignTimestampsAndWatermarks(
        WatermarkStrategy[Reading]
        .forMonotonousTimestamps()
        .withTimestampAssigner(lambda r, t: r.nope)  # type: ignore[attr-defined] # pyright: ignore[reportAttributeAccessIssue, reportUnknownLambdaType, reportUnknownMemberType]
        .withIdleness(5)
    )


def an_assigner_of_other_elements(readings: DataStream[Reading], words: DataStream[str]) -> None:
    for_readings = WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(ByReading())
    words.assignTimestampsAndWatermarks(for_readings)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
    words.assignTimestampsAndWatermarks(
        WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(ByReading())  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
    )
    for_any: WatermarkStrategy = WatermarkStrategy.noWatermarks()
    readings.assignTimestampsAndWatermarks(for_any)
    words.assignTimestampsAndWatermarks(for_any)


def a_strategy_for_the_elements_of_a_base_class(precise: DataStream[Precise]) -> None:
    for_readings = WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(ByReading())
    precise.assignTimestampsAndWatermarks(for_readings)


def a_strategy_of_which_nothing_is_said(readings: DataStream[Reading]) -> None:
    # Nothing says of what elements, so there is nothing to check: write WatermarkStrategy[Reading].
    unknown = WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(lambda r, t: r.at)
    assert_type(unknown, WatermarkStrategy[Any])
    readings.assignTimestampsAndWatermarks(unknown)


# ---------------------------------------------------------------------- a name without a type


def what_is_given_no_type_is_any() -> None:
    assert_type(ValueStateDescriptor("x"), ValueStateDescriptor[Any])
    assert_type(ListStateDescriptor("x"), ListStateDescriptor[Any])
    assert_type(MapStateDescriptor("x"), MapStateDescriptor[Any, Any])
    assert_type(OutputTag("x"), OutputTag[Any])
    value = ValueStateDescriptor("x")
    assert_type(value, ValueStateDescriptor[Any])
    assert_type(ValueStateDescriptor("x", int), ValueStateDescriptor[int])
    assert_type(ValueStateDescriptor("x", int, 0), ValueStateDescriptor[int])
    assert_type(ListStateDescriptor("x", str), ListStateDescriptor[str])
    assert_type(MapStateDescriptor("x", str, int), MapStateDescriptor[str, int])
