"""Jobs have the same results in this process as on Spark."""

from __future__ import annotations

import contextlib
import io
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import flinkish as fl
from tests.branches import results_of
from tests.runtime.formats.parquet_files import damage, write


@dataclass(frozen=True)
class Reading:
    sensor: str
    at: int
    value: float


READINGS = [Reading(f"s{i % 3}", 100 * i, i / 4) for i in range(24)]
BY_TIME = fl.WatermarkStrategy.forBoundedOutOfOrderness(150).withTimestampAssigner(
    lambda reading, _: reading.at
)


class EveryReading(fl.WatermarkGenerator):
    def onEvent(self, event, eventTimestamp, output):
        output.emitWatermark(fl.Watermark(eventTimestamp))

    def onPeriodicEmit(self, output):
        pass


class Latest(fl.KeyedProcessFunction):
    """The value before, and at the end of the second how many there were."""

    def open(self, openContext):
        self.before = self.getRuntimeContext().getState(fl.ValueStateDescriptor("before"))
        self.count = self.getRuntimeContext().getState(fl.ValueStateDescriptor("count"))

    def processElement(self, value, ctx, out):
        out.collect((value.sensor, self.before.value(), value.value))
        self.before.update(value.value)
        self.count.update((self.count.value() or 0) + 1)
        ctx.timerService().registerEventTimeTimer(value.at // 1000 * 1000 + 999)

    def onTimer(self, timestamp, ctx, out):
        out.collect((ctx.getCurrentKey(), timestamp, self.count.value()))


class Rules(fl.KeyedBroadcastProcessFunction):
    DESCRIPTOR = fl.MapStateDescriptor("rules")

    def processElement(self, value, ctx, out):
        out.collect((value.sensor, ctx.getBroadcastState(self.DESCRIPTOR).get("limit")))

    def processBroadcastElement(self, value, ctx, out):
        ctx.getBroadcastState(self.DESCRIPTOR).put("limit", value)


def readings(env):
    return env.fromCollection(READINGS).assignTimestampsAndWatermarks(BY_TIME)


def at(reading, timestamp):
    return reading.at


def punctuated(env):
    strategy = fl.WatermarkStrategy.forGenerator(lambda context: EveryReading())
    strategy = strategy.withTimestampAssigner(at)
    return env.fromCollection(READINGS).assignTimestampsAndWatermarks(strategy)


def windows(env):
    second = fl.TumblingEventTimeWindows.of(fl.Duration.ofSeconds(1))
    return (
        readings(env)
        .keyBy("sensor")
        .window(second)
        .reduce(lambda a, b: Reading(a.sensor, a.at, a.value + b.value))
    )


def sessions(env):
    gap = fl.EventTimeSessionWindows.withGap(fl.Duration.ofMillis(250))
    gapped = punctuated(env).filter(lambda reading: reading.at % 900 > 100)
    return (
        gapped.keyBy(lambda r: r.sensor)
        .window(gap)
        .apply(lambda key, window, values: [(key, window.start, window.end, len(list(values)))])
    )


def join(env):
    second = fl.TumblingEventTimeWindows.of(fl.Duration.ofSeconds(1))
    left, right = readings(env), punctuated(env).map(lambda r: (r.sensor, r.at))
    joined = left.join(right).where("sensor").equalTo(lambda pair: pair[0]).window(second)
    return joined.apply(lambda reading, pair: (reading.at, pair[1]))


def interval_join(env):
    left, right = readings(env).keyBy("sensor"), punctuated(env).keyBy("sensor")
    return (
        left.intervalJoin(right)
        .between(-300, 0)
        .process(lambda a, b, ctx, out: out.collect((a.at, b.at, ctx.getTimestamp())))
    )


def side_outputs(env):
    tag = fl.OutputTag("high")

    def divide(value, ctx, out):
        if value.value > 4:
            ctx.output(tag, value.at)
        else:
            out.collect(value.at)

    divided = readings(env).process(divide)
    return divided.union(divided.getSideOutput(tag).map(lambda at: -at))


def late(env):
    tag = fl.OutputTag("late")
    window = fl.TumblingEventTimeWindows.of(fl.Duration.ofMillis(200))
    unordered = env.fromCollection([*READINGS[12:], *READINGS[:12]])
    timed = unordered.assignTimestampsAndWatermarks(
        fl.WatermarkStrategy.forGenerator(lambda context: EveryReading()).withTimestampAssigner(at)
    )
    counted = timed.keyBy("sensor").window(window).sideOutputLateData(tag)
    counted = counted.apply(lambda key, window, values: [(key, window.start, len(list(values)))])
    return counted.union(counted.getSideOutput(tag))


def broadcast(env):
    rules = env.fromData(7).broadcast(Rules.DESCRIPTOR)
    return readings(env).keyBy("sensor").connect(rules).process(Rules())


def generated(env):
    return (
        env.fromSource(fl.DataGeneratorSource(lambda n: n * n, 50))
        .keyBy(lambda n: n % 3)
        .reduce(lambda a, b: a + b)
    )


JOBS = {
    "elements": lambda env: env.fromData(1, 2, 3).map(lambda n: n + 1),
    "flat map": lambda env: env.fromData("to be", "or not").flatMap(str.split),
    "sequence": lambda env: env.fromSequence(-5, 5).filter(lambda n: n % 2),
    "generator": generated,
    "rolling": lambda env: env.fromCollection([("a", i) for i in range(9)]).keyBy(0).sum(1),
    "empty": lambda env: env.fromCollection([]).keyBy(lambda e: e).reduce(max),
    "process": lambda env: readings(env).keyBy("sensor").process(Latest()),
    "process, punctuated": lambda env: punctuated(env).keyBy("sensor").process(Latest()),
    "windows": windows,
    "sessions": sessions,
    "count windows": lambda env: readings(env).keyBy("sensor").countWindow(3).maxBy("value"),
    "two stages": lambda env: (
        windows(env)
        .windowAll(fl.TumblingEventTimeWindows.of(fl.Duration.ofSeconds(1)))
        .apply(lambda window, values: [sorted(reading.sensor for reading in values)])
    ),
    "join": join,
    "interval join": interval_join,
    "side outputs": side_outputs,
    "late": late,
    "broadcast": broadcast,
    "end of stream": lambda env: (
        readings(env).keyBy("sensor").fullWindowPartition().aggregate(Count())
    ),
}


class Count(fl.AggregateFunction):
    def createAccumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + 1

    def getResult(self, accumulator):
        return accumulator

    def merge(self, a, b):
        return a + b


def local():
    environment = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    return environment.setParallelism(2).setMaxParallelism(4)


# ---------------------------------------------------------------------- what only Spark has


def an_option_of_sparks_writer(env, directory):
    sink = fl.FileSink.forCsv(str(directory / "out"), quoteAll="true")
    env.fromData(("a", 1)).sinkTo(sink)


def an_option_of_sparks_reader(env, directory):
    (directory / "in").mkdir()
    (directory / "in" / "a.csv").write_text("# no row\nx,y\n")
    source = fl.FileSource.forCsv(str(directory / "in"), "a string, b string", comment="#")
    return env.fromSource(source)


def test_what_needs_spark_says_so(tmp_path):
    def refuses(words):
        return pytest.raises(fl.NotSupportedError, match=words)

    with refuses("toDataFrame: a DataFrame is Spark's"):
        local().fromData((1,)).toDataFrame("n int")
    env = local()
    env.fromData(1).forEachBatchDataFrame(lambda df, batch: None)
    with refuses(r"call forEachBatch\(function\)"):
        env.execute()
    env = local()
    with refuses("knows the options header, sep of a FileSink for csv"):
        an_option_of_sparks_writer(env, tmp_path)
        env.execute()
    with refuses("need Spark's own reader"):
        list(an_option_of_sparks_reader(local(), tmp_path).executeAndCollect())


def test_what_needs_spark_on_spark(env, tmp_path):
    assert env.fromData((1,)).toDataFrame("n int").columns == ["n"]
    columns, read = [], []
    env.fromData(READINGS[0]).forEachBatchDataFrame(lambda df, batch: columns.append(df.columns))
    an_option_of_sparks_writer(env, tmp_path)
    an_option_of_sparks_reader(env, tmp_path).forEachBatch(lambda rows, batch: read.extend(rows))
    env.execute()
    assert columns == [["sensor", "at", "value"]]
    written = (tmp_path / "out").glob("batch=*/part-*")
    assert "".join(file.read_text() for file in written) == '"a","1"\n'
    assert read == [fl.Row(a="x", b="y")]


# ---------------------------------------------------------------------- sources, sinks and batches


@dataclass
class Ran:
    """A run of the job: where its files are, what its branches gave, and what it printed."""

    directory: Path
    env: fl.StreamExecutionEnvironment
    filesPerBatch: int = 1
    seen: dict[str, list[Any]] = field(default_factory=dict)
    result: Any = None
    printed: str = ""

    def make(self, name: str) -> Path:
        (self.directory / name).mkdir()
        return self.directory / name

    def see(self, name: str, stream: fl.DataStream[Any]) -> None:
        into = self.seen.setdefault(name, [])
        stream.forEachBatch(lambda values, batch: into.extend(values))

    def lines(self, name: str) -> list[str]:
        files = sorted((self.directory / name).glob("batch=*/part-*"))
        return [line for file in files for line in file.read_text().splitlines()]


def batches(ran):
    into = ran.seen.setdefault("batches", [])
    ran.env.fromCollection(list(range(10))).forEachBatch(lambda *batch: into.append(batch))


def files_of_each_format(ran):
    source = ran.make("rows")
    (source / "a.csv").write_text("x,1,2.5\ny,,3\n")
    schema = "name string, number int, price double"
    rows = ran.env.fromSource(fl.FileSource.forCsv(str(source), schema))
    for make in (
        fl.FileSink.forCsv,
        fl.FileSink.forJson,
        fl.FileSink.forParquet,
        fl.FileSink.forText,
    ):
        rows.sinkTo(make(str(ran.directory / make.__name__)))


def text_files(ran):
    texts = ran.make("texts")
    for number in (2, 1, 3):
        file = texts / f"{number}.txt"
        file.write_text(f"{number}\n")
        os.utime(file, (number, number))
    source = fl.FileSource.forLines(str(texts)).withFilesPerBatch(1)
    ran.see("texts", ran.env.fromSource(source))


def quoted_texts(ran):
    texts = ["plain", 'say "hi"', "a,b", " blank ", ""]
    rows = "".join(json.dumps({"text": text, "number": 1.0}) + "\n" for text in [*texts, None])
    source = ran.make("unquoted")
    (source / "a.json").write_text(rows)
    read = fl.FileSource.forJson(str(source), "text string, number double")
    ran.env.fromSource(read).sinkTo(fl.FileSink.forCsv(str(ran.directory / "quoted")))


def malformed_records(ran):
    source = ran.make("malformed")
    (source / "a.csv").write_text("1\nno\n2\n")
    tag = fl.OutputTag("broken")
    rows = ran.env.fromSource(
        fl.FileSource.forCsv(str(source), "number int").withMalformedRecords(tag)
    )
    ran.see("broken", rows.getSideOutput(tag).map(lambda record: record.text))
    ran.see("good", rows.map(lambda row: row.number))


def printed_and_counted(ran):
    ran.env.fromData("a").print("seen")
    ran.see("texts of numbers", ran.env.fromSequence(1, 10).map(str).name("texts"))


class Total(fl.AggregateFunction):
    def createAccumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + value.amount

    def getResult(self, accumulator):
        return accumulator

    def merge(self, a, b):
        return a + b


COUNT = 1_000


def a_column_that_is_not_used(ran):
    """A damaged element, which fails whoever decodes it."""
    source = ran.make("columns")
    columns = {name: range(COUNT) for name in ("at", "amount", "unused", "more")}
    keys = {"key": [n % 3 for n in range(COUNT)]}
    write(source / "a.parquet", pa.table({**columns, **keys}), row_group_size=300)
    damage(source / "a.parquet", "unused", "more")
    schema = "at bigint, unused bigint, key bigint, amount bigint, more bigint"
    rows = ran.env.fromSource(fl.FileSource.forParquet(str(source), schema), OF_ROWS, "table")
    windows = rows.keyBy("key").window(fl.TumblingEventTimeWindows.of(10_000))
    ran.see("totals of windows", windows.aggregate(Total()))


OF_ROWS = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(
    lambda row, _: row.at
)


class Totals(fl.KeyedProcessFunction):
    """Every hundredth element with the total before it; the minutes that have elements, and the total in the end."""

    def open(self, openContext):
        self.state = self.getRuntimeContext().getState(fl.ValueStateDescriptor("state"))

    def processElement(self, value, ctx, out):
        count, total = self.state.value() or (0, 0)
        self.state.update((count + 1, total + value.number))
        if count % 100 == 0:
            out.collect((ctx.getCurrentKey(), ctx.timestamp(), count, total))
        ctx.timerService().registerEventTimeTimer(value.at // 60_000 * 60_000 + 60_000)

    def onTimer(self, timestamp, ctx, out):
        is_last = timestamp == LAST_MINUTE
        out.collect((ctx.getCurrentKey(), timestamp, *(self.state.value() if is_last else ())))


LAST_MINUTE = 600_000


NUMBERS = {"number": range(12_000), "at": [number * 50 for number in range(12_000)]}
KEYS = [f"k{number * number % 7}" for number in range(12_000)]


def a_keyed_process_function(ran):
    source = ran.make("keyed")
    for part, rows in enumerate((slice(0, 8_000), slice(8_000, 12_000))):
        table = pa.table({"key": KEYS[rows], **{name: c[rows] for name, c in NUMBERS.items()}})
        write(source / f"{part}.parquet", table)
    files = fl.FileSource.forParquet(str(source), "key string, number long, at long")
    rows = ran.env.fromSource(files.withFilesPerBatch(ran.filesPerBatch), OF_ROWS, "table")
    ran.see("totals", rows.keyBy("key").process(Totals()))


ON_BOTH = (quoted_texts, a_column_that_is_not_used, a_keyed_process_function)


@pytest.fixture(scope="module")
def on_spark(spark, tmp_path_factory):
    """All jobs on Spark, as parts of one job: Spark takes seconds to start each."""
    environment = fl.StreamExecutionEnvironment.getExecutionEnvironment(spark)
    environment.setParallelism(2).setMaxParallelism(4)
    # A second batch takes all stages of all jobs as long as the first
    ran = Ran(tmp_path_factory.mktemp("spark"), environment, filesPerBatch=2)
    for build in ON_BOTH:
        build(ran)
    ran.seen.update(results_of(environment, JOBS))
    return ran


@pytest.fixture(scope="module")
def locally(tmp_path_factory):
    """The parts that read and write files; tests/spark has most of them on Spark."""
    environment = local()
    environment.getConfig().setElementsPerBatch(4)
    ran = Ran(tmp_path_factory.mktemp("local"), environment)
    for build in (
        *ON_BOTH,
        batches,
        files_of_each_format,
        text_files,
        malformed_records,
        printed_and_counted,
    ):
        build(ran)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        ran.result = environment.execute("both ways")
    ran.printed = out.getvalue()
    return ran


@pytest.fixture(params=["local", "spark"])
def either(request):
    return request.getfixturevalue("locally" if request.param == "local" else "on_spark")


@pytest.mark.parametrize("job", JOBS)
def test_results_are_the_same_in_the_same_order(on_spark, job):
    found = on_spark.seen[job]
    assert list(JOBS[job](local()).executeAndCollect()) == found
    assert bool(found) is (job != "empty")


def test_batches_have_the_same_elements_and_ids(locally):
    assert locally.seen["batches"] == [([0, 1, 2, 3], 0), ([4, 5, 6, 7], 1), ([8, 9], 2)]
    assert locally.result.jobName == "both ways"


def test_files_of_each_format_are_read_and_written(locally):
    assert locally.lines("forCsv") == ["x,1,2.5", "y,,3.0"]
    assert [json.loads(line) for line in locally.lines("forJson")] == [
        {"name": "x", "number": 1, "price": 2.5},
        {"name": "y", "number": None, "price": 3.0},
    ]
    assert locally.lines("forText")[0] == "Row(name='x', number=1, price=2.5)"
    [file] = (locally.directory / "forParquet").glob("batch=*/part-*")
    table = pq.read_table(file)
    assert table.column("number").to_pylist() == [1, None]
    assert table.column("price").to_pylist() == [2.5, 3.0]


def test_text_files_come_oldest_first(locally):
    assert locally.seen["texts"] == ["1", "2", "3"]


def test_texts_are_quoted_alike_in_csv(either):
    """By RFC 4180: a quotation mark is doubled."""
    assert either.lines("quoted") == [
        "plain,1.0",
        '"say ""hi""",1.0',
        '"a,b",1.0',
        '" blank ",1.0',
        '"",1.0',
        ",1.0",
    ]


def test_malformed_records_leave_by_their_side_output(locally):
    assert locally.seen["good"] == [1, 2]
    assert locally.seen["broken"] == ["no"]


def test_print(locally):
    assert "seen> a\n" in locally.printed


def test_metrics(locally):
    assert locally.result.getMetrics()["texts"].numRecordsIn == 10


def test_a_column_of_parquet_that_is_not_used_is_not_decoded(either):
    expected = [sum(range(key, COUNT, 3)) for key in range(3)]
    assert sorted(either.seen["totals of windows"]) == sorted(expected)


def test_a_keyed_process_function_runs_over_columns(either):
    expected, states = set(), {}
    for key, number, at in zip(KEYS, *NUMBERS.values()):
        seen, total = states.get(key, (0, 0))
        if seen % 100 == 0:
            expected.add((key, at, seen, total))
        states[key] = seen + 1, total + number
        if at < LAST_MINUTE - 60_000:
            expected.add((key, at // 60_000 * 60_000 + 60_000))
    expected |= {(key, LAST_MINUTE, *state) for key, state in states.items()}
    assert sorted(either.seen["totals"]) == sorted(expected)


# ---------------------------------------------------------------------- in this process; tests/spark has them on Spark


def test_an_error_names_operator_and_element():
    env = local()
    env.fromData(1, 0).map(lambda n: 1 / n).name("divide").print()
    with pytest.raises(fl.UserFunctionError, match=r"divide.*0"):
        env.execute()


def test_a_limit_stops_a_job_without_end():
    numbers = local().fromSource(fl.DataGeneratorSource(lambda n: n))
    assert numbers.executeAndCollect(3) == [0, 1, 2]


def test_processing_time_timers_fire_without_input():
    class Alarm(fl.KeyedProcessFunction):
        def processElement(self, value, ctx, out):
            if value == 0:
                now = ctx.timerService().currentProcessingTime()
                ctx.timerService().registerProcessingTimeTimer(now + 50)

        def onTimer(self, timestamp, ctx, out):
            out.collect("alarm")

    numbers = local().fromSource(fl.DataGeneratorSource(lambda n: n, elementsPerSecond=1))
    assert numbers.keyBy(lambda n: n).process(Alarm()).executeAndCollect(1) == ["alarm"]
