"""``env.explain()`` says of each function whether it runs over columns."""

from __future__ import annotations

import time as clock
from datetime import datetime
from operator import attrgetter, itemgetter
from typing import Any

import pytest

from flinkish import (
    AggregateFunction,
    CheckpointedFunction,
    CountEvictor,
    CountTrigger,
    DeltaEvictor,
    DeltaTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    FileSource,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    ProcessWindowFunction,
    PurgingTrigger,
    RichFlatMapFunction,
    StreamExecutionEnvironment,
    TimeEvictor,
    TumblingEventTimeWindows,
    ValueStateDescriptor,
    Watermark,
    WatermarkGenerator,
    WatermarkStrategy,
)


class Sums(AggregateFunction):
    def createAccumulator(self):
        return (0, 0)

    def add(self, value, accumulator):
        return (accumulator[0] + value.x, accumulator[1] + 1)

    def getResult(self, accumulator):
        return accumulator[0] / accumulator[1]

    def merge(self, a, b):
        return (a[0] + b[0], a[1] + b[1])


class Lists(Sums):
    def createAccumulator(self):
        return []


def lines_of(build, traced=True):
    env = StreamExecutionEnvironment()
    if not traced:
        env.getConfig().disableFunctionTracing()
    build(env.fromElements(1)).print()
    return [line.strip() for line in env.explain().splitlines()]


def windowed(stream, aggregate):
    ascending = WatermarkStrategy[Any].forMonotonousTimestamps()
    strategy = ascending.withTimestampAssigner(lambda value, timestamp: value.x * 1000)
    timed = stream.assignTimestampsAndWatermarks(strategy)
    keyed = timed.filter(lambda value: value.x > clock.time()).keyBy(lambda value: value.name)
    return keyed.window(TumblingEventTimeWindows.of(1000)).aggregate(aggregate)


@pytest.mark.parametrize("getter", [attrgetter("x"), itemgetter(0)])
def test_a_getter_assigns_timestamps_over_columns(getter):
    strategy = WatermarkStrategy[Any].forMonotonousTimestamps().withTimestampAssigner(getter)
    lines = lines_of(lambda stream: stream.assignTimestampsAndWatermarks(strategy))
    assert (
        "Timestamps/Watermarks: timestamp assigner over columns, where its elements are columns"
        in lines
    )


def test_each_function_has_a_line():
    lines = lines_of(lambda stream: windowed(stream.map(lambda value: value), Sums()))
    line = clock_line()
    assert "Map: over columns, where its elements are columns" in lines
    assert (
        "Timestamps/Watermarks: timestamp assigner over columns, where its elements are columns"
        in lines
    )
    assert f"Filter: element by element, as it calls clock.time (line {line})" in lines
    assert (
        "TumblingEventTimeWindows: key selector over columns, where its elements are columns"
        in lines
    )
    assert (
        "TumblingEventTimeWindows: aggregation over columns, where its elements are columns"
        in lines
    )


def test_a_watermark_generator_of_ones_own_has_a_line():
    for kind in (Highest, Punctuated):
        strategy = strategy_of(kind)
        lines = lines_of(lambda stream, s=strategy: stream.assignTimestampsAndWatermarks(s))
        assert (
            "Timestamps/Watermarks: watermark generator over columns, where its elements are columns"
            in lines
        )
    lines = lines_of(lambda stream: stream.assignTimestampsAndWatermarks(strategy_of(Resting)))
    (line,) = [line for line in lines if "watermark generator element by element" in line]
    assert "as it uses markIdle of its output (line" in line


class Highest(WatermarkGenerator):
    def __init__(self):
        self.highest = 0

    def onEvent(self, event, eventTimestamp, output):
        if eventTimestamp > self.highest:
            self.highest = eventTimestamp

    def onPeriodicEmit(self, output):
        output.emitWatermark(Watermark(self.highest - 1))


class Resting(Highest):
    def onEvent(self, event, eventTimestamp, output):
        self.highest = eventTimestamp
        output.markIdle()


class Punctuated(Highest):
    def onEvent(self, event, eventTimestamp, output):
        self.highest = eventTimestamp
        output.emitWatermark(Watermark(eventTimestamp))


def strategy_of(generator):
    return WatermarkStrategy.forGenerator(lambda context: generator())


def clock_line():
    return next(number for number, line in enumerate(open(__file__), 1) if "clock.time()" in line)


def test_a_reason_is_given_for_an_aggregate_function():
    lines = lines_of(lambda stream: windowed(stream, Lists()))
    reasons = [line for line in lines if "aggregation element by element" in line]
    assert len(reasons) == 1
    assert "as it returns a list, which can change" in reasons[0]


def test_tracing_can_be_switched_off():
    lines = lines_of(lambda stream: stream.map(lambda value: value), traced=False)
    assert "Map: element by element, as it is not traced (disableFunctionTracing)" in lines


def test_a_keyed_process_function_has_a_line():
    def lines(function):
        return lines_of(lambda stream: stream.keyBy(lambda value: value.name).process(function))

    assert (
        "KeyedProcess: over columns, if its states turn out to hold counts, sums, extremes and last values"
        in lines(Counts())
    )
    (line,) = [line for line in lines(AsksForDomain()) if line.startswith("KeyedProcess: element")]
    assert "element by element, as it uses timeDomain of its context" in line


class Counts(KeyedProcessFunction):
    def open(self, openContext):
        state = self.getRuntimeContext().getState
        self.count, self.limit = state(ValueStateDescriptor("count", default=0)), 7

    def processElement(self, value, ctx, out):
        count = self.count.value() + 1
        self.count.update(count)
        if count > self.limit:
            out.collect((ctx.getCurrentKey(), count))


class AsksForDomain(Counts):
    def processElement(self, value, ctx, out):
        self.count.clear()
        out.collect(ctx.timeDomain())


def test_the_function_of_an_interval_join_has_a_line():
    def joined(function):
        def build(stream):
            keyed = stream.keyBy(lambda value: value.name)
            return keyed.intervalJoin(keyed).between(-1, 1).process(function)

        return [line for line in lines_of(build) if line.startswith("Interval Join: ")]

    def sometimes(left, right, ctx, out):
        if left.x > right.x:
            out.collect(left.x)

    def both(left, right, ctx, out):
        out.collect((left.x, right.x, ctx.getTimestamp()))

    keys = "Interval Join: key selector over columns, where its elements are columns"
    alone = "Interval Join: element by element, as it"
    assert joined(both) == [
        keys,
        keys,
        "Interval Join: over columns, where its elements are columns",
    ]
    assert joined(sometimes) == joined(both)
    assert joined(lambda left, right, ctx, out: left)[2].startswith(f"{alone} returns a value")
    assert joined(lambda left, right, ctx, out: ctx.output("late", left))[2].startswith(
        f"{alone} uses output of its context"
    )


def test_the_function_of_a_window_join_has_a_line_and_the_tags_have_none():
    def joined(function, traced=True, method="join"):
        def build(stream):
            both = getattr(stream, method)(stream.filter(lambda value: value.x > 1))
            return (
                both.where("name").equalTo(lambda value: value.name).window(WINDOW).apply(function)
            )

        lines = lines_of(build, traced)
        assert not any(line.startswith("Map: ") for line in lines)
        return [line for line in lines if line.startswith("TumblingEventTimeWindows: ")]

    WINDOW = TumblingEventTimeWindows.of(1000)
    name = "TumblingEventTimeWindows"
    keys = f"{name}: key selector over columns, where its elements are columns"
    alone = f"{name}: join function element by element, as it"
    assert joined(lambda one, two: (one, two.x)) == [
        keys,
        f"{name}: join function over columns, where its elements are columns",
    ]
    assert joined(lambda one, two: [one])[1].startswith(f"{alone} returns a list, which can change")
    assert joined(lambda one, two, out: None)[1] == f"{alone} may emit no result, or several"
    assert joined(lambda one, two: one, False)[1].startswith(f"{alone} is not traced")
    called = f"{name}: window function window by window, as it is given all elements of a window"
    assert joined(lambda one, two: (), method="coGroup") == [keys, called]


class Ends(ProcessWindowFunction):
    def open(self, openContext):
        self.unit = 1000

    def process(self, key, context, elements, out):
        for value in elements:
            out.collect((key, context.window().end // self.unit, value))


class Clearing(Ends):
    def clear(self, context):
        pass


class Remembers(RichFlatMapFunction, CheckpointedFunction):
    def flatMap(self, value, out):
        out.collect(value)

    def snapshotState(self, context):
        pass

    def initializeState(self, context):
        pass


def tumbling(stream):
    return stream.keyBy(lambda value: value.name).window(TumblingEventTimeWindows.of(1000))


def sessions(stream, assigner):
    return stream.keyBy(lambda value: value.name).window(assigner)


def connected(stream):
    return stream.keyBy(lambda v: v.name).connect(stream.keyBy(lambda v: v.name))


@pytest.mark.parametrize(
    ("build", "line"),
    [
        (
            lambda s: s.flatMap(lambda v, out: out.collect(v.x)),
            "Flat Map: over columns, where its elements are columns",
        ),
        (
            lambda s: s.flatMap(lambda v: v.words.partition(" ")),
            "Flat Map: element by element, as it calls the method partition()",
        ),
        (
            lambda s: s.flatMap(Remembers()),
            "Flat Map: element by element, as it is a CheckpointedFunction",
        ),
        (
            lambda s: s.process(lambda v, ctx, out: out.collect(v.x)),
            "Process: over columns, where its elements are columns",
        ),
        (
            lambda s: s.keyBy(lambda v: v.name).sum("x"),
            "Keyed Aggregation: over columns, where its elements are columns",
        ),
        (
            lambda s: s.keyBy(lambda v: v.name).maxBy("x"),
            "Keyed Aggregation: element by element, as it gives the best element so far of each key",
        ),
        (
            lambda s: s.keyBy(lambda v: v.name).reduce(lambda a, b: f"{a}{b}"),
            "Keyed Reduce: element by element, as it",
        ),
        (
            lambda s: tumbling(s).aggregate(Sums(), Ends()),
            "TumblingEventTimeWindows: window function over columns, where its elements are columns",
        ),
        (
            lambda s: tumbling(s).aggregate(Sums(), Clearing()),
            "TumblingEventTimeWindows: window function window by window, as it overrides clear()",
        ),
        (
            lambda s: tumbling(s).process(Ends()),
            "TumblingEventTimeWindows: window function window by window, as it is given all elements",
        ),
        (
            lambda s: (
                tumbling(s)
                .trigger(PurgingTrigger.of(EventTimeTrigger.create()))
                .aggregate(Sums(), Ends())
            ),
            "TumblingEventTimeWindows: window function window by window, as it is called as timers fire",
        ),
        (
            lambda s: (
                s.keyBy("x").countWindow(2).aggregate(Sums(), lambda key, context, sums: list(sums))
            ),
            "GlobalWindows: window function over columns, where its elements are columns",
        ),
        (
            lambda s: tumbling(s).trigger(CountTrigger.of(2)).aggregate(Sums()),
            "TumblingEventTimeWindows: aggregation over columns, where its elements are columns",
        ),
        (
            lambda s: (
                tumbling(s).trigger(DeltaTrigger.of(2, lambda a, b: b.x - a.x)).aggregate(Sums())
            ),
            "TumblingEventTimeWindows: aggregation over columns, where its elements are columns",
        ),
        (
            lambda s: tumbling(s).trigger(DeltaTrigger.of(2, lambda a, b: id(a))).aggregate(Sums()),
            "TumblingEventTimeWindows: aggregation element by element, as it has a trigger that calls",
        ),
        (
            lambda s: tumbling(s).evictor(CountEvictor.of(2)).aggregate(Sums()),
            "TumblingEventTimeWindows: aggregation over columns, where its elements are columns",
        ),
        (
            lambda s: tumbling(s).evictor(CountEvictor.of(2)).allowedLateness(9).aggregate(Sums()),
            "TumblingEventTimeWindows: aggregation element by element, as it has an evictor, and",
        ),
        (
            lambda s: (
                tumbling(s)
                .evictor(DeltaEvictor.of(2, lambda a, b: float(input(a))))
                .aggregate(Sums())
            ),
            "TumblingEventTimeWindows: aggregation element by element, as it has an evictor that",
        ),
        (
            lambda s: (
                sessions(s, EventTimeSessionWindows.withGap(9))
                .evictor(CountEvictor.of(2))
                .aggregate(Sums())
            ),
            "EventTimeSessionWindows: aggregation element by element, as it has a trigger or an",
        ),
        (
            lambda s: s.keyBy(lambda v: v.x).countWindow(9, 3).aggregate(Sums()),
            "GlobalWindows: aggregation over columns, where its elements are columns",
        ),
        (
            lambda s: (
                tumbling(s).trigger(CountTrigger.of(2)).evictor(TimeEvictor.of(2)).aggregate(Sums())
            ),
            "TumblingEventTimeWindows: aggregation element by element, as it has an evictor, which",
        ),
        (
            lambda s: sessions(s, EventTimeSessionWindows.withGap(9)).aggregate(Sums()),
            "EventTimeSessionWindows: aggregation over columns, where its elements are columns",
        ),
        (
            lambda s: sessions(s, EventTimeSessionWindows.withDynamicGap(lambda v: v.x)).aggregate(
                Sums()
            ),
            "DynamicEventTimeSessionWindows: aggregation over columns, where its elements are columns",
        ),
        (
            lambda s: sessions(s, EventTimeSessionWindows.withDynamicGap(hash)).aggregate(Sums()),
            "DynamicEventTimeSessionWindows: aggregation element by element, as it has a gap extractor that",
        ),
        (
            lambda s: connected(s).process(BothSides()),
            "Co-Keyed-Process: input 1 over columns, if its states turn out to hold counts",
        ),
    ],
)
def test_each_kind_of_function_has_a_line(build, line):
    assert any(found.startswith(line) for found in lines_of(build)), "\n".join(lines_of(build))


class BothSides(KeyedCoProcessFunction):
    def processElement1(self, value, ctx, out):
        out.collect(value)

    def processElement2(self, value, ctx, out):
        out.collect(value)


def test_a_parser_that_typical_texts_do_not_suit_runs_over_columns(tmp_path):
    (tmp_path / "input.csv").write_text("2024-03-01\n")
    env = StreamExecutionEnvironment()
    source = FileSource.forCsv(str(tmp_path), "day string")
    rows = env.fromSource(source, WatermarkStrategy.noWatermarks(), "rows")
    rows.map(lambda row: datetime.fromisoformat(row.day).weekday()).print()
    rows.map(lambda row: int(row.day) + 2**63).name("Large").print()
    rows.flatMap(lambda row: [int(row.day)]).name("Flat").print()
    lines = [line.strip() for line in env.explain().splitlines()]
    assert {"Map: over columns", "Large: over columns", "Flat: over columns"} <= {*lines}
