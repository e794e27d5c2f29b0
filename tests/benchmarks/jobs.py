"""The jobs of the benchmark: each described once, for flinkish and, where Spark has the thing, for Spark.

Their twins for Flink are methods of java/Jobs.java and java/Nexmark.java with the job's name. Results are tuples of
numbers and texts that do not depend on the order in which elements of different files are read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from examples.nexmark.events import IN_ORDER
from examples.nexmark.queries import QUERIES, Streams
from flinkish import (
    AggregateFunction,
    ArrivalTimeStrategy,
    AsyncDataStream,
    Collector,
    CountTrigger,
    DataStream,
    EventTimeSessionWindows,
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    OpenContext,
    ProcessWindowFunction,
    Row,
    SlidingEventTimeWindows,
    Time,
    TimeEvictor,
    TimeWindow,
    TumblingEventTimeWindows,
    ValueState,
    ValueStateDescriptor,
    Watermark,
    WatermarkGenerator,
    WatermarkOutput,
    WatermarkStrategy,
    WindowContext,
)
from flinkish.cep import CEP, AfterMatchSkipStrategy, Pattern
from tests.benchmarks.inputs import END, LATE_ARRIVAL, LATENESS, RULES

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

MINUTE = 60_000
LAST = 2**62
FIRED_AFTER = 5
UNDER_WAY = 100
SHORTEST_GAP = 500
"""The gap of sessions after an element is this and its value, in ms."""
ABOUT = 100
"""A rule is about the values with its remainder by this."""
KNOWN = -1
"""The key of the number of rules, among the rules."""
RULE_STATE = MapStateDescriptor[int, int]("rules")
SMALL, LARGE = 50, 950
"""Bounds of 1,000 values: a twentieth is below the first, and a twentieth from the second on."""

BOUNDED: Any = WatermarkStrategy.forBoundedOutOfOrderness(LATENESS).withTimestampAssigner(
    lambda row, timestamp: row.at
)


class StreamReader(Protocol):
    """Reads an input by name, for flinkish."""

    def __call__(
        self, name: str, strategy: Any = BOUNDED, split: str | None = None
    ) -> DataStream[Row]: ...


class FrameReader(Protocol):
    """Reads an input by name, for Spark: with a column ``time``, on which there is a watermark."""

    def __call__(self, name: str) -> DataFrame: ...


@dataclass(frozen=True)
class Job:
    """A job. ``results`` is the schema of what it gives."""

    name: str
    title: str
    inputs: tuple[str, ...]
    results: str
    flinkish: Callable[[StreamReader], DataStream[Any]]
    spark: Callable[[FrameReader], DataFrame] | None = None
    group: str = "table"
    """``table``, ``more`` and ``nexmark`` are measured by elements, ``smallest`` by batches with hardly any."""
    format: str = "csv"
    """The format of the files that the job reads and writes. Flink in Java has no other than CSV
    here."""
    updates: int = 0
    """The number of key columns of a result, where later results replace earlier ones. Only the
    last, with the highest values, are compared: where the watermark is when an element comes late
    depends on the side."""


# ---------------------------------------------------------------- windows


class SumAndCount(AggregateFunction[Row, tuple[int, int], tuple[int, int]]):
    """The sum and the number of values."""

    def createAccumulator(self) -> tuple[int, int]:
        return (0, 0)

    def add(self, value: Row, accumulator: tuple[int, int]) -> tuple[int, int]:
        return (accumulator[0] + value.value, accumulator[1] + 1)

    def getResult(self, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator

    def merge(self, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        return (a[0] + b[0], a[1] + b[1])


def tumbling(read: StreamReader) -> DataStream[Any]:
    return _tumbling(read("events"))


def three_operators(read: StreamReader) -> DataStream[Any]:
    """Sums by their number of elements, and the same again."""
    windows = TumblingEventTimeWindows.of(Time.minutes(1))
    return (
        tumbling(read)
        .keyBy(lambda result: result[1])
        .window(windows)
        .reduce(lambda a, b: (a[0] + b[0], a[1]))
        .keyBy(lambda result: result[1])
        .window(windows)
        .reduce(lambda a, b: (a[0] + b[0], a[1]))
    )


def many_keys(read: StreamReader) -> DataStream[Any]:
    return _tumbling(read("many-keys"))


def _tumbling(stream: DataStream[Row]) -> DataStream[Any]:
    return (
        stream.keyBy(lambda row: row.key)
        .window(TumblingEventTimeWindows.of(Time.minutes(1)))
        .aggregate(SumAndCount())
    )


def tumbling_sum(read: StreamReader) -> DataStream[Any]:
    return (
        read("events")
        .keyBy(lambda row: row.key)
        .window(TumblingEventTimeWindows.of(Time.minutes(1)))
        .sum("value")
        .map(lambda row: (row.key, row.value))
    )


def all_elements(read: StreamReader) -> DataStream[Any]:
    return (
        read("events")
        .keyBy(lambda row: row.key)
        .window(TumblingEventTimeWindows.of(Time.minutes(1)))
        .process(Summary())
    )


class Summary(ProcessWindowFunction[Row, tuple[str, int, int, int, int], str, TimeWindow]):
    """Number, sum and range of the values of a window, from all its elements."""

    def process(
        self,
        key: str,
        context: WindowContext[TimeWindow],
        elements: Iterable[Row],
        out: Collector[tuple[str, int, int, int, int]],
    ) -> None:
        values = [element.value for element in elements]
        out.collect(
            (key, context.window().end, len(values), sum(values), max(values) - min(values))
        )


def sliding(read: StreamReader) -> DataStream[Any]:
    return (
        read("events")
        .keyBy(lambda row: row.key)
        .window(SlidingEventTimeWindows.of(Time.minutes(1), Time.seconds(15)))
        .aggregate(SumAndCount())
    )


def sessions(read: StreamReader) -> DataStream[Any]:
    return (
        read("sessions")
        .keyBy(lambda row: row.key)
        .window(EventTimeSessionWindows.withGap(Time.seconds(1)))
        .aggregate(SumAndCount())
    )


def spark_windows(
    name: str, window: Callable[[Any], Column], results: Callable[[Any], list[Column]]
) -> Callable[[FrameReader], DataFrame]:
    """Spark's own aggregation of an input by key and window."""

    def twin(read: FrameReader) -> DataFrame:
        from pyspark.sql import functions as F

        groups = read(name).groupBy(window(F).alias("window"), "key")
        sums = groups.agg(F.sum("value").alias("sum"), F.count("value").alias("count"))
        # The window of the elements that end the input stays open. A filter by key would keep them
        # from the watermark, as Spark moves it into the source.
        return sums.select(*results(F))

    return twin


def _minutes(functions: Any) -> Any:
    return functions.window("time", "1 minute")


# ---------------------------------------------------------------- state, timers, rows, joins


def keyed_process(read: StreamReader) -> DataStream[Any]:
    return read("events").keyBy(lambda row: row.key).process(Totals())


def patterns(read: StreamReader) -> DataStream[Any]:
    """A small, then a middle, then a large value of a key, the first of each, within ten seconds."""
    steps: Pattern[Row, Row] = (
        Pattern[Row, Row]
        .begin("small", AfterMatchSkipStrategy.skipPastLastEvent())
        .where(lambda row: row.value < SMALL)
        .followedBy("middle")
        .where(lambda row: SMALL * 2 <= row.value < SMALL * 3)
        .followedBy("large")
        .where(lambda row: row.value >= LARGE)
        .within(Time.seconds(10))
    )
    keyed = read("events").keyBy(lambda row: row.key)
    # Files are read side by side, so only the comparator says which of two events of one time comes first
    return CEP.pattern(keyed, steps, lambda one, two: one.value - two.value).select(
        lambda match: (match["small"][0].key, match["small"][0].at, match["large"][0].at)
    )


class Totals(KeyedProcessFunction[str, Row, tuple[str, int, int]]):
    """Emits for each minute in which a key has elements the time of its first one, and at the end
    its total."""

    state: ValueState[tuple[int, int]]

    def open(self, openContext: OpenContext) -> None:
        descriptor = ValueStateDescriptor[tuple[int, int]]("first and total")
        self.state = self.getRuntimeContext().getState(descriptor)

    def processElement(
        self,
        value: Row,
        ctx: KeyedProcessFunction.Context[str],
        out: Collector[tuple[str, int, int]],
    ) -> None:
        state = self.state.value()
        if state is None:
            self.state.update((value.at, value.value))
            ctx.timerService().registerEventTimeTimer(LAST)
        else:
            self.state.update((min(state[0], value.at), state[1] + value.value))
        ctx.timerService().registerEventTimeTimer(value.at - value.at % MINUTE + MINUTE)

    def onTimer(
        self,
        timestamp: int,
        ctx: KeyedProcessFunction.OnTimerContext[str],
        out: Collector[tuple[str, int, int]],
    ) -> None:
        state = self.state.value()
        assert state is not None
        out.collect((ctx.getCurrentKey(), timestamp, state[timestamp == LAST]))


def rows(read: StreamReader) -> DataStream[Any]:
    return (
        read("events", None)
        .map(lambda row: (row.key, row.value * 3 + 1, row.at // 1_000))
        .filter(lambda result: result[1] % 4 == 0)
    )


def spark_rows(read: FrameReader) -> DataFrame:
    changed = read("events").where("key <> 'end'")
    return changed.selectExpr("key", "value * 3 + 1 AS value", "at div 1000 AS second").where(
        "value % 4 = 0"
    )


def interval_join(read: StreamReader) -> DataStream[Any]:
    left = read("left").keyBy(lambda row: row.key)
    right = read("right").keyBy(lambda row: row.key)
    return (
        left.intervalJoin(right)
        .between(Time.seconds(-1), Time.seconds(1))
        .process(lambda one, other, ctx, out: out.collect((one.key, one.value, other.value)))
    )


def spark_interval_join(read: FrameReader) -> DataFrame:
    from pyspark.sql import functions as F

    left, right = read("left").alias("left"), read("right").alias("right")
    near = F.expr(
        "left.key = right.key AND right.time BETWEEN left.time - INTERVAL 1 SECOND"
        " AND left.time + INTERVAL 1 SECOND"
    )
    pairs = left.join(right, near).where(F.col("left.key") != END)
    return pairs.select("left.key", "left.value", F.col("right.value").alias("other"))


# ---------------------------------------------------------------- what users ask about


def late_updates(read: StreamReader) -> DataStream[Any]:
    return (
        read("late")
        .keyBy(lambda row: row.key)
        .window(TumblingEventTimeWindows.of(Time.minutes(1)))
        .allowedLateness(Time.minutes(10))
        .aggregate(SumAndCount(), KeyAndEnd())
    )


class KeyAndEnd(ProcessWindowFunction[tuple[int, int], tuple[str, int, int, int], str, TimeWindow]):
    """A result with its key and the end of its window."""

    def process(
        self,
        key: str,
        context: WindowContext[TimeWindow],
        elements: Iterable[tuple[int, int]],
        out: Collector[tuple[str, int, int, int]],
    ) -> None:
        for total, count in elements:
            out.collect((key, context.window().end, total, count))


def dynamic_sessions(read: StreamReader) -> DataStream[Any]:
    return (
        read("sessions")
        .keyBy(lambda row: row.key)
        .window(EventTimeSessionWindows.withDynamicGap(lambda row: SHORTEST_GAP + row.value))
        .aggregate(SumAndCount())
    )


def count_trigger(read: StreamReader) -> DataStream[Any]:
    """Emit the number of values so far, after every five: their sum would depend on the order of
    files."""
    return (
        read("events")
        .keyBy(lambda row: row.key)
        .window(TumblingEventTimeWindows.of(Time.minutes(1)))
        .trigger(CountTrigger.of(FIRED_AFTER))
        .aggregate(SumAndCount(), KeyAndEnd())
        .map(lambda result: (result[0], result[1], result[3]))
    )


def count_window(read: StreamReader) -> DataStream[Any]:
    """Emit the number of values of each window."""
    return (
        read("events")
        .keyBy(lambda row: row.key)
        .countWindow(FIRED_AFTER)
        .aggregate(SumAndCount())
        .map(lambda sums: (sums[1],))
    )


def sliding_count_window(read: StreamReader) -> DataStream[Any]:
    """Emit the number of values of each window."""
    return (
        read("events")
        .keyBy(lambda row: row.key)
        .countWindow(2 * FIRED_AFTER, FIRED_AFTER)
        .aggregate(SumAndCount())
        .map(lambda sums: (sums[1],))
    )


def evictor(read: StreamReader) -> DataStream[Any]:
    return (
        read("events")
        .keyBy(lambda row: row.key)
        .window(TumblingEventTimeWindows.of(Time.minutes(1)))
        .evictor(TimeEvictor.of(Time.seconds(10)))
        .process(Summary())
    )


def rolling_sum(read: StreamReader) -> DataStream[Any]:
    ones = read("events", None).map(lambda row: (row.key, 1))
    return ones.keyBy(lambda one: one[0]).sum(1)


def rolling_reduce(read: StreamReader) -> DataStream[Any]:
    ones = read("events", None).map(lambda row: (row.key, 1))
    return ones.keyBy(lambda one: one[0]).reduce(lambda a, b: (a[0], a[1] + b[1]))


def flat_map(read: StreamReader) -> DataStream[Any]:
    """Each value in up to two parts, whose sums are then those of windows."""
    parts = read("events").flatMap(
        lambda row: [(row.key, row.value * 10 + part) for part in range(row.value % 3)]
    )
    return (
        parts.keyBy(lambda part: part[0])
        .window(TumblingEventTimeWindows.of(Time.minutes(1)))
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
    )


def async_lookup(read: StreamReader) -> DataStream[Any]:
    """Answers that are there at once, so what is measured is not the service."""
    return AsyncDataStream.unorderedWait(
        read("events", None), looked_up, Time.minutes(1), capacity=UNDER_WAY
    )


async def looked_up(row: Row) -> list[tuple[str, int, int]]:
    """The value, and the price of it."""
    await asyncio.sleep(0)
    return [(row.key, row.value, row.value * 7 % 100)]


def broadcast_rules(read: StreamReader) -> DataStream[Any]:
    rules = read("rules", None).broadcast(RULE_STATE)
    return read("events").keyBy(lambda row: row.key).connect(rules).process(Ruled())


class Ruled(KeyedBroadcastProcessFunction[str, Row, Row, tuple[str, int, int]]):
    """The elements that a rule is about. What comes before all rules have waits for the end of the input."""

    waiting: ListState[Row]

    def open(self, openContext: OpenContext) -> None:
        self.waiting = self.getRuntimeContext().getListState(ListStateDescriptor[Row]("waiting"))

    def processElement(
        self,
        value: Row,
        ctx: KeyedBroadcastProcessFunction.ReadOnlyContext[str],
        out: Collector[tuple[str, int, int]],
    ) -> None:
        rules = ctx.getBroadcastState(RULE_STATE)
        if rules.get(KNOWN) != RULES:
            self.waiting.add(value)
            ctx.timerService().registerEventTimeTimer(LAST)
        elif rules.contains(value.value % ABOUT):
            out.collect((value.key, value.value, value.at))

    def processBroadcastElement(
        self,
        value: Row,
        ctx: KeyedBroadcastProcessFunction.Context[str],
        out: Collector[tuple[str, int, int]],
    ) -> None:
        rules = ctx.getBroadcastState(RULE_STATE)
        rules.put(value.remainder, 1)
        rules.put(KNOWN, (rules.get(KNOWN) or 0) + 1)

    def onTimer(
        self,
        timestamp: int,
        ctx: KeyedBroadcastProcessFunction.OnTimerContext[str],
        out: Collector[tuple[str, int, int]],
    ) -> None:
        rules = ctx.getBroadcastState(RULE_STATE)
        for value in self.waiting.get() or ():
            if rules.contains(value.value % ABOUT):
                out.collect((value.key, value.value, value.at))
        self.waiting.clear()


def keyed_totals(read: StreamReader) -> DataStream[Any]:
    return read("events").keyBy(lambda row: row.key).process(Total())


class Total(KeyedProcessFunction[str, Row, tuple[str, int, int]]):
    """The sum and the number of the values of a key, when there are no more."""

    state: ValueState[tuple[int, int]]

    def open(self, openContext: OpenContext) -> None:
        descriptor = ValueStateDescriptor[tuple[int, int]]("total")
        self.state = self.getRuntimeContext().getState(descriptor)

    def processElement(
        self,
        value: Row,
        ctx: KeyedProcessFunction.Context[str],
        out: Collector[tuple[str, int, int]],
    ) -> None:
        state = self.state.value()
        if state is None:
            self.state.update((value.value, 1))
            ctx.timerService().registerEventTimeTimer(LAST)
        else:
            self.state.update((state[0] + value.value, state[1] + 1))

    def onTimer(
        self,
        timestamp: int,
        ctx: KeyedProcessFunction.OnTimerContext[str],
        out: Collector[tuple[str, int, int]],
    ) -> None:
        state = self.state.value()
        assert state is not None
        out.collect((ctx.getCurrentKey(), *state))


def map_entries(read: StreamReader) -> DataStream[Any]:
    return read("events").keyBy(lambda row: row.key).process(ByDigit())


class ByDigit(KeyedProcessFunction[str, Row, tuple[str, int, int]]):
    """The number of a key's values so far with the same last digit."""

    counts: MapState[int, int]

    def open(self, openContext: OpenContext) -> None:
        descriptor = MapStateDescriptor[int, int]("counts")
        self.counts = self.getRuntimeContext().getMapState(descriptor)

    def processElement(
        self,
        value: Row,
        ctx: KeyedProcessFunction.Context[str],
        out: Collector[tuple[str, int, int]],
    ) -> None:
        digit = value.value % 10
        count = (self.counts.get(digit) or 0) + 1
        self.counts.put(digit, count)
        out.collect((value.key, digit, count))


# ---------------------------------------------------------------- watermarks


class Highest(WatermarkGenerator[Row]):
    """Bounded out-of-orderness, as a user-defined generator."""

    def __init__(self) -> None:
        self.highest = LATENESS

    def onEvent(self, event: Row, eventTimestamp: int, output: WatermarkOutput) -> None:
        self.highest = max(self.highest, eventTimestamp)

    def onPeriodicEmit(self, output: WatermarkOutput) -> None:
        output.emitWatermark(Watermark(self.highest - LATENESS - 1))


def generator(read: StreamReader) -> DataStream[Any]:
    strategy = WatermarkStrategy[Row].forGenerator(lambda context: Highest())
    return _tumbling(read("events", strategy.withTimestampAssigner(lambda row, timestamp: row.at)))


class EachHigher(WatermarkGenerator[Row]):
    """Emits with each element that is later than all before it, as punctuated generators do."""

    def __init__(self) -> None:
        self.highest: int | None = None

    def onEvent(self, event: Row, eventTimestamp: int, output: WatermarkOutput) -> None:
        if self.highest is None or eventTimestamp > self.highest:
            self.highest = eventTimestamp
            output.emitWatermark(Watermark(eventTimestamp - LATENESS - 1))

    def onPeriodicEmit(self, output: WatermarkOutput) -> None:
        """Nothing: all has been said in ``onEvent``."""


def punctuated(read: StreamReader) -> DataStream[Any]:
    strategy = WatermarkStrategy[Row].forGenerator(lambda context: EachHigher())
    return _tumbling(read("events", strategy.withTimestampAssigner(lambda row, timestamp: row.at)))


def splits(read: StreamReader) -> DataStream[Any]:
    return _tumbling(read("arrivals", split="split"))


def arrival_time(read: StreamReader) -> DataStream[Any]:
    strategy = ArrivalTimeStrategy[Row](
        timestampAssigner=lambda row, timestamp: row.at,
        arrivalTime=lambda row, timestamp: row.arrived,
        lateArrivalTolerance=LATE_ARRIVAL,
        outOfOrderTolerance=LATENESS,
    )
    stream = read("arrivals", None).assignTimestampsAndWatermarks(strategy)
    return _tumbling(stream)


# ---------------------------------------------------------------- Nexmark


def nexmark(query: int, inputs: tuple[str, ...], results: str) -> Job:
    def job(read: StreamReader) -> DataStream[Any]:
        streams = {
            kind: read(f"nexmark-{kind}", IN_ORDER) if kind in inputs else None
            for kind in ("person", "auction", "bid")
        }
        answers: Any = QUERIES[query](Streams(*streams.values()))  # type: ignore[arg-type]
        return answers  # type: ignore[no-any-return]

    # A question is one sentence, so that a table can hold it.
    question = (QUERIES[query].__doc__ or "").strip()
    names = tuple(f"nexmark-{kind}" for kind in inputs)
    return Job(f"q{query}", f"Nexmark Q{query}: {question}", names, results, job, group="nexmark")


SUMS = "sum long, count long"
BID = "auction long, bidder long, price long, dateTime long"

JOBS: Mapping[str, Job] = {
    job.name: job
    for job in (
        Job(
            "tumbling",
            "tumbling, AggregateFunction, 1,000 keys",
            ("events",),
            SUMS,
            tumbling,
            spark_windows("events", _minutes, lambda F: [F.col("sum"), F.col("count")]),
        ),
        Job(
            "tumbling_sum",
            'tumbling, `sum("value")`, 1,000 keys',
            ("events",),
            "key string, sum long",
            tumbling_sum,
            spark_windows("events", _minutes, lambda F: [F.col("key"), F.col("sum")]),
        ),
        Job(
            "all_elements",
            "tumbling, ProcessWindowFunction over all elements",
            ("events",),
            "key string, end long, count long, sum long, range long",
            all_elements,
        ),
        Job(
            "sliding",
            "sliding 60 s / 15 s, AggregateFunction",
            ("events",),
            SUMS,
            sliding,
            spark_windows(
                "events",
                lambda F: F.window("time", "1 minute", "15 seconds"),
                lambda F: [F.col("sum"), F.col("count")],
            ),
        ),
        Job(
            "sessions",
            "sessions, gap 1 s, 1,000 keys",
            ("sessions",),
            SUMS,
            sessions,
            spark_windows(
                "sessions",
                lambda F: F.session_window("time", "1 second"),
                lambda F: [F.col("sum"), F.col("count")],
            ),
        ),
        Job(
            "many_keys",
            "tumbling, AggregateFunction, 1 M keys",
            ("many-keys",),
            SUMS,
            many_keys,
            spark_windows("many-keys", _minutes, lambda F: [F.col("sum"), F.col("count")]),
        ),
        Job(
            "keyed_process",
            "KeyedProcessFunction, ValueState and a timer a key, 1,000 keys",
            ("events",),
            "key string, time long, value long",
            keyed_process,
        ),
        Job(
            "patterns",
            "CEP, three steps within 10 s, 1,000 keys",
            ("events",),
            "key string, first long, last long",
            patterns,
        ),
        Job(
            "rows",
            "map and filter on rows, no key",
            ("events",),
            "key string, value long, second long",
            rows,
            spark_rows,
        ),
        Job(
            "interval_join",
            "interval join, 10,000 keys",
            ("left", "right"),
            "key string, left long, right long",
            interval_join,
            spark_interval_join,
        ),
        Job("generator", "tumbling, custom WatermarkGenerator", ("events",), SUMS, generator),
        Job(
            "punctuated",
            "tumbling, punctuated watermarks",
            ("events",),
            SUMS,
            punctuated,
            group="more",
        ),
        Job("splits", "tumbling, source with 8 splits", ("arrivals",), SUMS, splits),
        Job("arrival_time", "tumbling, ArrivalTimeStrategy", ("arrivals",), SUMS, arrival_time),
        Job(
            "keyed_totals",
            "KeyedProcessFunction, a ValueState, results at the end",
            ("events",),
            "key string, sum long, count long",
            keyed_totals,
            group="more",
        ),
        Job(
            "map_entries",
            "KeyedProcessFunction, MapState with ten entries a key",
            ("events",),
            "key string, digit long, count long",
            map_entries,
            group="more",
        ),
        Job(
            "rolling_sum",
            "rolling `sum(1)` on a keyed stream",
            ("events",),
            "key string, sum long",
            rolling_sum,
            group="more",
        ),
        Job(
            "rolling_reduce",
            "rolling `reduce` on a keyed stream",
            ("events",),
            "key string, sum long",
            rolling_reduce,
            group="more",
        ),
        Job(
            "flat_map",
            "flatMap, tumbling, reduce",
            ("events",),
            "key string, sum long",
            flat_map,
            group="more",
        ),
        Job(
            "late_updates",
            "tumbling, 2 % of elements 90 s late, an update for each",
            ("late",),
            "key string, end long, sum long, count long",
            late_updates,
            group="more",
            updates=2,
        ),
        Job(
            "dynamic_sessions",
            "sessions, a gap of 0.5 to 1.5 s by element",
            ("sessions",),
            SUMS,
            dynamic_sessions,
            group="more",
        ),
        Job(
            "count_trigger",
            "tumbling, CountTrigger of 5",
            ("events",),
            "key string, end long, count long",
            count_trigger,
            group="more",
        ),
        Job(
            "count_window",
            "countWindow of 5",
            ("events",),
            "count long",
            count_window,
            group="more",
        ),
        Job(
            "sliding_count_window",
            "countWindow of 10, every 5",
            ("events",),
            "count long",
            sliding_count_window,
            group="more",
        ),
        Job(
            "evictor",
            "tumbling, TimeEvictor of 10 s, ProcessWindowFunction",
            ("events",),
            "key string, end long, count long, sum long, range long",
            evictor,
            group="more",
        ),
        Job(
            "async_lookup",
            "AsyncDataStream.unorderedWait, capacity 100, answers at once",
            ("events",),
            "key string, value long, price long",
            async_lookup,
            group="more",
        ),
        Job(
            "broadcast_rules",
            "KeyedBroadcastProcessFunction, ten rules",
            ("events", "rules"),
            "key string, value long, at long",
            broadcast_rules,
            group="more",
        ),
        *(
            Job(
                f"{format_}_windows",
                f"tumbling, AggregateFunction, {format_} in and out",
                ("events",),
                SUMS,
                tumbling,
                spark_windows("events", _minutes, lambda F: [F.col("sum"), F.col("count")]),
                group="more",
                format=format_,
            )
            for format_ in ("parquet", "json")
        ),
        *(
            Job(
                f"{format_}_rows",
                f"map and filter on rows, {format_} in and out",
                ("events",),
                "key string, value long, second long",
                rows,
                spark_rows,
                group="more",
                format=format_,
            )
            for format_ in ("parquet", "json")
        ),
        Job(
            "smallest_1",
            "smallest batch, 1 keyed operator",
            ("events",),
            SUMS,
            tumbling,
            spark_windows("events", _minutes, lambda F: [F.col("sum"), F.col("count")]),
            group="smallest",
        ),
        Job(
            "smallest_3",
            "smallest batch, 3 keyed operators",
            ("events",),
            SUMS,
            three_operators,
            group="smallest",
        ),
        nexmark(0, ("bid",), BID),
        nexmark(1, ("bid",), BID),
        nexmark(2, ("bid",), "auction long, price long"),
        nexmark(3, ("person", "auction"), "name string, city string, state string, auction long"),
        nexmark(4, ("auction", "bid"), "category long, price long, end long"),
        nexmark(5, ("bid",), "auction long, bids long, end long"),
        nexmark(7, ("bid",), BID),
        nexmark(8, ("person", "auction"), "id long, name string, start long"),
        nexmark(
            9,
            ("auction", "bid"),
            "auction long, category long, bidder long, price long, dateTime long",
        ),
        nexmark(11, ("bid",), "bidder long, bids long, start long, end long"),
    )
}


def chosen(names: Iterable[str]) -> list[Job]:
    """The jobs of those names; ``nexmark`` and ``table`` are all jobs of that group."""
    wanted = list(names)
    known = {*JOBS, *(job.group for job in JOBS.values())}
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise SystemExit(f"There is no job {unknown[0]!r}. Jobs: {', '.join(sorted(known))}.")
    return [job for job in JOBS.values() if not wanted or job.name in wanted or job.group in wanted]
