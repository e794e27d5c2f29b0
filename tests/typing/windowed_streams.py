"""The types that a type checker infers for windows and joins; ``make lint`` checks them. Nothing here is run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_type

from flinkish import (
    AggregateFunction,
    AllWindowedStream,
    Collector,
    CountEvictor,
    CountTrigger,
    DataStream,
    EventTimeSessionWindows,
    GlobalWindow,
    GlobalWindows,
    ListState,
    ListStateDescriptor,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    PurgingTrigger,
    SingleOutputStreamOperator,
    SlidingEventTimeWindows,
    StreamExecutionEnvironment,
    Time,
    TimeWindow,
    TriggerContext,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    ValueState,
    ValueStateDescriptor,
    WindowContext,
    WindowedStream,
    WindowFunction,
)

env = StreamExecutionEnvironment.getExecutionEnvironment()
words: DataStream[str] = env.fromElements("to", "be")
lengths: DataStream[int] = words.map(len)
tumbling = TumblingEventTimeWindows.of(Time.seconds(5))


class Mean(AggregateFunction[int, tuple[int, int], float]):
    def createAccumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value, accumulator[1] + 1

    def getResult(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]


class Label(ProcessWindowFunction[float, str, bool, TimeWindow]):
    def process(
        self,
        key: bool,
        context: WindowContext[TimeWindow],
        elements: Iterable[float],
        out: Collector[str],
    ) -> None:
        for element in elements:
            out.collect(f"{key} {context.window().getEnd()} {element}")


class Sizes(WindowFunction[int, int, bool, TimeWindow]):
    def apply(
        self, key: bool, window: TimeWindow, elements: Iterable[int], out: Collector[int]
    ) -> None:
        out.collect(len(list(elements)))


class Everything(ProcessAllWindowFunction[str, list[str], TimeWindow]):
    def process(
        self, context: WindowContext[TimeWindow], elements: Iterable[str], out: Collector[list[str]]
    ) -> None:
        out.collect(list(elements))


def windows_know_element_key_and_window() -> None:
    windowed = lengths.keyBy(lambda n: n > 1).window(tumbling)
    assert_type(windowed, WindowedStream[int, bool, TimeWindow])
    assert_type(
        lengths.keyBy(lambda n: n > 1).countWindow(3), WindowedStream[int, bool, GlobalWindow]
    )
    assert_type(words.windowAll(tumbling), AllWindowedStream[str, TimeWindow])


def functions_say_what_comes_out() -> None:
    windowed = lengths.keyBy(lambda n: n > 1).window(tumbling)
    assert_type(windowed.reduce(max), SingleOutputStreamOperator[int])
    assert_type(windowed.aggregate(Mean()), SingleOutputStreamOperator[float])
    assert_type(windowed.aggregate(Mean(), Label()), SingleOutputStreamOperator[str])
    assert_type(windowed.apply(Sizes()), SingleOutputStreamOperator[int])
    assert_type(
        windowed.process(lambda key, context, elements: [(key, context.window().end)]),
        SingleOutputStreamOperator[tuple[bool, int]],
    )
    assert_type(
        windowed.apply(lambda key, window, elements: [sum(elements) / 2]),
        SingleOutputStreamOperator[float],
    )
    assert_type(
        words.windowAll(tumbling).process(Everything()), SingleOutputStreamOperator[list[str]]
    )


def triggers_and_evictors_fit_any_element() -> None:
    keyed = words.keyBy(len)
    keyed.window(GlobalWindows.create()).trigger(PurgingTrigger.of(CountTrigger.of(2)))
    keyed.window(TumblingProcessingTimeWindows.of(Time.seconds(1))).evictor(CountEvictor.of(2))
    keyed.window(EventTimeSessionWindows.withDynamicGap(len)).trigger(CountTrigger.of(2))


def state_of_a_trigger_is_that_of_its_descriptor(ctx: TriggerContext) -> None:
    assert_type(ctx.getPartitionedState(ValueStateDescriptor("last", int)), ValueState[int])
    assert_type(ctx.getPartitionedState(ListStateDescriptor("seen", str)), ListState[str])


def joins_know_both_sides() -> None:
    joined = (
        words.join(lengths)
        .where(len)
        .equalTo(lambda n: n)
        .window(SlidingEventTimeWindows.of(Time.seconds(5), Time.seconds(1)))
    )
    assert_type(
        joined.apply(lambda word, n: (word, n)), SingleOutputStreamOperator[tuple[str, int]]
    )
