"""Building windows: functions as classes or callables, and wrong use refused with the fix."""

from __future__ import annotations

import pytest

from flinkish import (
    AggregateFunction,
    AllWindowFunction,
    CountEvictor,
    CountTrigger,
    DeltaTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    OutputTag,
    ProcessingTimeoutTrigger,
    ProcessingTimeTrigger,
    ProcessWindowFunction,
    PurgingTrigger,
    StreamExecutionEnvironment,
    Time,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowFunction,
)
from flinkish.api.errors import FlinkishError, IllegalArgumentError, InvalidProgramError
from flinkish.api.functions.functions import RichAggregateFunction, RichReduceFunction
from flinkish.testing import StreamTestHarness

TEN = TumblingEventTimeWindows.of(10)


class Total(AggregateFunction):
    def createAccumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + value[1]

    def getResult(self, accumulator):
        return accumulator or None


def keyed():
    stream = StreamExecutionEnvironment().fromElements(("a", 1))
    return stream.keyBy(lambda element: element[0])


def results(build, elements=(("a", 1, 1), ("b", 2, 2), ("a", 3, 3))):
    harness = StreamTestHarness(build)
    for key, value, timestamp in elements:
        harness.processElement((key, value), timestamp)
    harness.processWatermark(100)
    return [element.value for element in harness.getOutput()[:-1]]


def windowed(stream):
    return stream.keyBy(lambda element: element[0]).window(TEN)


class Apply(WindowFunction):
    def apply(self, key, window, elements, out):
        out.collect((key, window.end, len(list(elements))))


class Process(ProcessWindowFunction):
    def process(self, key, context, elements, out):
        out.collect((key, context.window().end, len(list(elements))))


class ProcessAndYield(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield key, context.window().end, len(list(elements))


@pytest.mark.parametrize(
    "build",
    [
        lambda s: windowed(s).apply(Apply()),
        lambda s: windowed(s).apply(lambda k, w, es: [(k, w.end, len(list(es)))]),
        lambda s: windowed(s).apply(lambda k, w, es, out: out.collect((k, w.end, len(list(es))))),
        lambda s: windowed(s).process(Process()),
        lambda s: windowed(s).process(ProcessAndYield()),
        lambda s: windowed(s).process(lambda k, c, es: [(k, c.window().end, len(list(es)))]),
        lambda s: windowed(s).process(
            lambda k, c, es, out: out.collect((k, c.window().end, len(list(es))))
        ),
    ],
)
def test_a_window_function_is_a_class_or_a_callable_that_writes_returns_or_yields(build):
    assert results(build) == [("a", 10, 2), ("b", 10, 1)]


@pytest.mark.parametrize(
    "function",
    [
        lambda key, context, elements: [(key, *elements)],
        lambda key, context, elements, out: out.collect((key, *elements)),
        type(
            "F", (WindowFunction,), {"apply": lambda self, k, w, es, out: out.collect((k, *es))}
        )(),
    ],
)
def test_the_function_after_an_aggregation_gets_the_one_result(function):
    assert results(lambda s: windowed(s).aggregate(Total(), function)) == [("a", 4), ("b", 2)]
    assert results(lambda s: windowed(s).reduce(max, function)) == [
        ("a", ("a", 3)),
        ("b", ("b", 2)),
    ]


def test_a_result_of_none_is_nothing_as_in_flink():
    elements = [("a", 0, 1), ("b", 2, 2)]
    assert results(lambda s: windowed(s).aggregate(Total()), elements) == [2]
    assert results(
        lambda s: windowed(s).aggregate(Total(), lambda key, context, es: [key]), elements
    ) == ["b"]


def test_window_all_sees_all_keys():
    class All(AllWindowFunction):
        def apply(self, window, elements, out):
            out.collect((window.end, [element[1] for element in elements]))

    assert results(lambda s: s.windowAll(TEN).apply(All())) == [(10, [1, 2, 3])]
    assert results(lambda s: s.windowAll(TEN).aggregate(Total())) == [6]
    assert results(lambda s: s.windowAll(TEN).sum(1)) == [("a", 6)]
    assert results(
        lambda s: s.windowAll(TEN).process(lambda context, es: [context.window().start])
    ) == [0]
    assert results(lambda s: s.countWindowAll(2).sum(1)) == [("a", 3)]
    assert results(lambda s: s.countWindowAll(2, 1).sum(1)) == [("a", 1), ("a", 3), ("b", 5)]


def test_fields_are_aggregated_by_position_or_name():
    assert results(lambda s: windowed(s).sum(1)) == [("a", 4), ("b", 2)]
    assert results(lambda s: windowed(s).maxBy(1)) == [("a", 3), ("b", 2)]
    assert results(lambda s: windowed(s.map(lambda e: e)).min(1)) == [("a", 1), ("b", 2)]


def test_the_operator_is_named_and_described_as_in_flink():
    result = keyed().window(TEN).evictor(CountEvictor.of(1)).aggregate(Total(), Process())
    transformation = result.getTransformation()
    assert transformation.name == "TumblingEventTimeWindows"
    assert transformation.description == (
        "Window(TumblingEventTimeWindows(10), EventTimeTrigger, CountEvictor, Total, Process)"
    )


def _delta(old, new):
    return 0.0


class SessionsThatCannotFire(EventTimeSessionWindows):
    def getDefaultTrigger(self):
        return DeltaTrigger.of(1, _delta)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: keyed().window(5), r"window: 5 of type int is not a WindowAssigner"),
        (lambda: keyed().window(TEN).trigger(EventTimeTrigger), r"trigger: .* is not a Trigger"),
        (lambda: keyed().window(TEN).evictor(3), r"evictor: 3 of type int is not an Evictor"),
        (
            lambda: keyed().window(TEN).sideOutputLateData("late"),
            r"'late' of type str is not an OutputTag",
        ),
        (lambda: keyed().window(TEN).allowedLateness(-1), r"-1 ms is negative"),
        (lambda: keyed().window(TEN).reduce(5), r"reduce: 5 .* is not a function"),
        (lambda: keyed().window(TEN).aggregate(max), r"is not an AggregateFunction"),
        (lambda: keyed().window(TEN).process(lambda key: []), r"with 3 or 4 arguments.*context"),
        (lambda: keyed().window(TEN).apply(Apply), r"apply: Apply is a class"),
        (
            lambda: (
                keyed()
                .window(EventTimeSessionWindows.withGap(5))
                .trigger(DeltaTrigger.of(1, _delta))
            ),
            r"EventTimeSessionWindows\(5\) merge, but DeltaTrigger.* does not support merging",
        ),
        (
            lambda: (
                keyed()
                .window(EventTimeSessionWindows.withGap(5))
                .trigger(ProcessingTimeoutTrigger.of(CountTrigger.of(2), Time.seconds(1)))
            ),
            r"does not support merging",
        ),
        (
            lambda: (
                keyed()
                .window(GlobalWindows.create())
                .trigger(PurgingTrigger.of(EventTimeTrigger.create()))
                .sum(1)
            ),
            r"works on a TimeWindow, but GlobalWindows\(\) makes a GlobalWindow.*CountTrigger",
        ),
        (
            lambda: keyed().countWindow(3).trigger(ProcessingTimeTrigger.create()).sum(1),
            r"works on a TimeWindow",
        ),
        (
            lambda: keyed().window(TEN).reduce(type("R", (RichReduceFunction,), {"reduce": max})()),
            r"reduce: R is a RichFunction.*plain ReduceFunction",
        ),
        (
            lambda: (
                keyed()
                .window(TEN)
                .aggregate(
                    type("A", (RichAggregateFunction, Total), {"getResult": Total.getResult})()
                )
            ),
            r"aggregate: A is a RichFunction.*plain AggregateFunction",
        ),
        (
            lambda: keyed().window(EventTimeSessionWindows.withGap(5)).aggregate(Total()),
            r"windows of EventTimeSessionWindows.* merge, but Total has no merge\(a, b\)",
        ),
    ],
)
def test_wrong_use_is_refused_when_the_job_is_built(build, message):
    with pytest.raises((InvalidProgramError, IllegalArgumentError), match=message):
        build()


def test_a_single_value_returned_is_refused_before_it_comes_apart():
    with pytest.raises(FlinkishError, match=r"returned \('a', 2\) of type tuple.*\[result\]"):
        results(lambda s: windowed(s).apply(lambda k, w, es: (k, len(list(es)))))


def test_lateness_of_processing_time_windows_draws_a_warning():
    with pytest.warns(UserWarning, match="no effect on TumblingProcessingTimeWindows") as caught:
        keyed().window(TumblingProcessingTimeWindows.of(10)).allowedLateness(5)
    assert caught[0].filename == __file__


def test_late_elements_go_to_their_side_output_or_are_counted():
    late = OutputTag("late")
    harness = StreamTestHarness(lambda s: windowed(s).sideOutputLateData(late).sum(1))
    counting = StreamTestHarness(lambda s: windowed(s).sum(1))
    for h in (harness, counting):
        h.processWatermark(20)
        h.processElement(("a", 1), 5)
    assert [(record.value, record.timestamp) for record in harness.getSideOutput(late)] == [
        (("a", 1), 5)
    ]
    assert (harness.numLateRecordsDropped(), counting.numLateRecordsDropped()) == (0, 1)
