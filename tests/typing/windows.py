"""What a type checker infers for windows and process functions; ``make lint`` checks it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_type

from flinkish import (
    AggregateFunction,
    Collector,
    EventTimeSessionWindows,
    KeyedProcessFunction,
    KeyedStream,
    OutputTag,
    ProcessFunction,
    ProcessWindowFunction,
    SingleOutputStreamOperator,
    Time,
    TimeWindow,
    TumblingEventTimeWindows,
    WindowContext,
    WindowedStream,
)
from flinkish.api.process_functions import KeyedProcessContext, ProcessContext

Flight = tuple[str, float]
"""An origin and a delay."""

HOUR = TumblingEventTimeWindows.of(Time.hours(1))


class Mean(AggregateFunction[Flight, tuple[float, int], float]):
    def createAccumulator(self) -> tuple[float, int]:
        return (0.0, 0)

    def add(self, value: Flight, accumulator: tuple[float, int]) -> tuple[float, int]:
        return (accumulator[0] + value[1], accumulator[1] + 1)

    def getResult(self, accumulator: tuple[float, int]) -> float:
        return accumulator[0] / accumulator[1]


class WithWindow(ProcessWindowFunction[float, tuple[str, int, float], str, TimeWindow]):
    def process(
        self,
        key: str,
        context: WindowContext[TimeWindow],
        elements: Iterable[float],
        out: Collector[tuple[str, int, float]],
    ) -> None:
        for mean in elements:
            out.collect((key, context.window().getEnd(), mean))


class Alarm(KeyedProcessFunction[str, Flight, bytes]):
    def processElement(
        self, value: Flight, ctx: KeyedProcessContext[str], out: Collector[bytes]
    ) -> None:
        out.collect(value[0].encode())


class Delays(ProcessFunction[Flight, float]):
    def processElement(self, value: Flight, ctx: ProcessContext, out: Collector[float]) -> None:
        out.collect(value[1])


def count(key: str, window: TimeWindow, flights: Iterable[Flight]) -> Iterator[tuple[str, int]]:
    yield key, len(list(flights))


def a_window_keeps_element_key_and_window(flights: KeyedStream[Flight, str]) -> None:
    assert_type(flights.window(HOUR), WindowedStream[Flight, str, TimeWindow])
    sessions = flights.window(EventTimeSessionWindows.withGap(Time.minutes(10)))
    assert_type(sessions, WindowedStream[Flight, str, TimeWindow])


def settings_keep_the_type(flights: KeyedStream[Flight, str]) -> None:
    late = OutputTag[Flight]("late")
    settled = flights.window(HOUR).allowedLateness(Time.hours(1)).sideOutputLateData(late)
    assert_type(settled, WindowedStream[Flight, str, TimeWindow])


def reduce_keeps_the_type(flights: KeyedStream[Flight, str]) -> None:
    hours = flights.window(HOUR)
    assert_type(hours.reduce(lambda a, b: max(a, b)), SingleOutputStreamOperator[Flight])
    assert_type(hours.maxBy(1), SingleOutputStreamOperator[Flight])


def aggregate_takes_the_type_of_the_result(flights: KeyedStream[Flight, str]) -> None:
    hours = flights.window(HOUR)
    assert_type(hours.aggregate(Mean()), SingleOutputStreamOperator[float])
    assert_type(
        hours.aggregate(Mean(), WithWindow()), SingleOutputStreamOperator[tuple[str, int, float]]
    )


def process_and_apply_take_the_type_of_what_they_emit(flights: KeyedStream[Flight, str]) -> None:
    hours = flights.window(HOUR)
    assert_type(hours.apply(count), SingleOutputStreamOperator[tuple[str, int]])
    assert_type(
        hours.process(lambda key, context, elements: [context.window().getStart()]),
        SingleOutputStreamOperator[int],
    )


def process_functions_have_an_output_type(flights: KeyedStream[Flight, str]) -> None:
    assert_type(flights.process(Alarm()), SingleOutputStreamOperator[bytes])
    assert_type(flights.process(Delays()), SingleOutputStreamOperator[float])
