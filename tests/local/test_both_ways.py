"""Jobs have the same results in this process as on Spark."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import flinkish as fl
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


@pytest.fixture(scope="module")
def on_spark(spark):
    """The results of all jobs on Spark, as parts of one job: Spark takes seconds to start each."""
    environment = fl.StreamExecutionEnvironment.getExecutionEnvironment(spark)
    environment.setParallelism(2).setMaxParallelism(4)
    results = {name: job(environment).collectAsync() for name, job in JOBS.items()}
    environment.executeAsync()
    return {name: list(elements) for name, elements in results.items()}


@pytest.mark.spark
@pytest.mark.xdist_group("one job")
@pytest.mark.parametrize("job", JOBS)
def test_results_are_the_same_in_the_same_order(on_spark, job):
    assert list(JOBS[job](local()).executeAndCollect()) == on_spark[job]
    assert on_spark[job] or job == "empty"


def without_spark(words):
    """The mark of a case that only Spark takes; ``words`` are in the error of local execution."""
    return pytest.mark.never_on(
        "local", reason="Spark's own classes do it", raises=fl.NotSupportedError, match=words
    )


def a_data_frame_of_a_stream(env, directory):
    assert env.fromData((1,)).toDataFrame("n int").columns == ["n"]


def a_function_of_data_frames(env, directory):
    columns = []
    env.fromData(READINGS[0]).forEachBatchDataFrame(lambda df, batch: columns.append(df.columns))
    env.execute()
    assert columns == [["sensor", "at", "value"]]


def an_option_of_sparks_writer(env, directory):
    sink = fl.FileSink.forCsv(str(directory / "out"), quoteAll="true")
    env.fromData(("a", 1)).sinkTo(sink)
    env.execute()
    (written,) = (directory / "out").glob("batch=*/part-*")
    assert written.read_text() == '"a","1"\n'


def an_option_of_sparks_reader(env, directory):
    (directory / "a.csv").write_text("# no row\nx,y\n")
    rows = env.fromSource(fl.FileSource.forCsv(str(directory), "a string, b string", comment="#"))
    assert list(rows.executeAndCollect()) == [fl.Row(a="x", b="y")]


@pytest.mark.parametrize(
    "job",
    [
        pytest.param(job, marks=without_spark(words), id=job.__name__)
        for job, words in (
            (a_data_frame_of_a_stream, "toDataFrame: a DataFrame is Spark's"),
            (a_function_of_data_frames, r"call forEachBatch\(function\)"),
            (an_option_of_sparks_writer, "knows the options header, sep of a FileSink for csv"),
            (an_option_of_sparks_reader, "need Spark's own reader"),
        )
    ],
)
def test_what_needs_spark(environment, job, tmp_path):
    job(environment, tmp_path)


def test_batches_have_the_same_elements_and_ids(environment):
    environment.getConfig().setElementsPerBatch(4)
    seen = []
    environment.fromCollection(list(range(10))).forEachBatch(lambda *batch: seen.append(batch))
    result = environment.execute("batches")
    assert seen == [([0, 1, 2, 3], 0), ([4, 5, 6, 7], 1), ([8, 9], 2)]
    assert result.jobName == "batches"


def test_files_of_each_format_are_read_and_written(environment, tmp_path):
    source = tmp_path / "in"
    source.mkdir()
    (source / "a.csv").write_text("x,1,2.5\ny,,3\n")
    schema = "name string, number int, price double"
    rows = environment.fromSource(fl.FileSource.forCsv(str(source), schema))
    for make in (
        fl.FileSink.forCsv,
        fl.FileSink.forJson,
        fl.FileSink.forParquet,
        fl.FileSink.forText,
    ):
        rows.sinkTo(make(str(tmp_path / make.__name__)))
    environment.execute()

    def lines(name):
        files = sorted((tmp_path / name).glob("batch=*/part-*"))
        return [line for file in files for line in file.read_text().splitlines()]

    assert lines("forCsv") == ["x,1,2.5", "y,,3.0"]
    assert [json.loads(line) for line in lines("forJson")] == [
        {"name": "x", "number": 1, "price": 2.5},
        {"name": "y", "number": None, "price": 3.0},
    ]
    assert lines("forText")[0] == "Row(name='x', number=1, price=2.5)"
    table = pq.read_table(next((tmp_path / "forParquet").glob("batch=*/part-*")))
    assert table.column("number").to_pylist() == [1, None]
    assert table.column("price").to_pylist() == [2.5, 3.0]


def test_text_files_come_oldest_first(environment, tmp_path):
    for number in (2, 1, 3):
        file = tmp_path / f"{number}.txt"
        file.write_text(f"{number}\n")
        os.utime(file, (number, number))
    source = fl.FileSource.forLines(str(tmp_path)).withFilesPerBatch(1)
    assert list(environment.fromSource(source).executeAndCollect()) == ["1", "2", "3"]


def test_texts_are_quoted_alike_in_csv(environment, tmp_path):
    """By RFC 4180: a quotation mark is doubled."""
    texts = ["plain", 'say "hi"', "a,b", " blank ", ""]
    rows = "".join(json.dumps({"text": text, "number": 1.0}) + "\n" for text in [*texts, None])
    source = tmp_path / "in"
    source.mkdir()
    (source / "a.json").write_text(rows)
    read = fl.FileSource.forJson(str(source), "text string, number double")
    environment.fromSource(read).sinkTo(fl.FileSink.forCsv(str(tmp_path / "out")))
    environment.execute()
    files = sorted((tmp_path / "out").glob("batch=*/part-*"))
    assert [line for file in files for line in file.read_text().splitlines()] == [
        "plain,1.0",
        '"say ""hi""",1.0',
        '"a,b",1.0',
        '" blank ",1.0',
        '"",1.0',
        ",1.0",
    ]


def test_malformed_records_leave_by_their_side_output(environment, tmp_path):
    Path(tmp_path, "a.csv").write_text("1\nno\n2\n")
    tag = fl.OutputTag("broken")
    source = fl.FileSource.forCsv(str(tmp_path), "number int").withMalformedRecords(tag)
    rows = environment.fromSource(source)
    broken = []
    rows.getSideOutput(tag).forEachBatch(lambda values, batch: broken.extend(values))
    good = rows.map(lambda row: row.number).collectAsync()
    environment.executeAsync()
    assert list(good) == [1, 2]
    assert [record.text for record in broken] == ["no"]


def test_print(environment, capsys):
    environment.fromData("a").print("seen")
    environment.execute()
    assert "seen> a\n" in capsys.readouterr().out


def test_an_error_names_operator_and_element(environment):
    environment.fromData(1, 0).map(lambda n: 1 / n).name("divide").print()
    with pytest.raises(fl.UserFunctionError, match=r"divide.*0"):
        environment.execute()


def test_metrics(environment):
    environment.fromSequence(1, 10).map(str).name("texts").print()
    assert environment.execute().getMetrics()["texts"].numRecordsIn == 10


def test_a_limit_stops_a_job_without_end(environment):
    numbers = environment.fromSource(fl.DataGeneratorSource(lambda n: n))
    assert numbers.executeAndCollect(3) == [0, 1, 2]


def test_processing_time_timers_fire_without_input(environment):
    class Alarm(fl.KeyedProcessFunction):
        def processElement(self, value, ctx, out):
            if value == 0:
                now = ctx.timerService().currentProcessingTime()
                ctx.timerService().registerProcessingTimeTimer(now + 50)

        def onTimer(self, timestamp, ctx, out):
            out.collect("alarm")

    numbers = environment.fromSource(fl.DataGeneratorSource(lambda n: n, elementsPerSecond=1))
    assert numbers.keyBy(lambda n: n).process(Alarm()).executeAndCollect(1) == ["alarm"]


class Total(fl.AggregateFunction):
    def createAccumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + value.amount

    def getResult(self, accumulator):
        return accumulator

    def merge(self, a, b):
        return a + b


def test_a_column_of_parquet_that_is_not_used_is_not_decoded(environment, tmp_path):
    count = 1_000
    columns = {name: range(count) for name in ("at", "amount", "unused", "more")}
    keys = {"key": [n % 3 for n in range(count)]}
    write(tmp_path / "a.parquet", pa.table({**columns, **keys}), row_group_size=300)
    damage(tmp_path / "a.parquet", "unused", "more")
    schema = "at bigint, unused bigint, key bigint, amount bigint, more bigint"
    times = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(
        lambda row, _: row.at
    )
    rows = environment.fromSource(fl.FileSource.forParquet(str(tmp_path), schema), times, "table")
    windows = rows.keyBy("key").window(fl.TumblingEventTimeWindows.of(10_000))
    totals = windows.aggregate(Total())
    expected = [sum(range(key, count, 3)) for key in range(3)]
    assert sorted(totals.executeAndCollect()) == sorted(expected)


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


def test_a_keyed_process_function_runs_over_columns(environment, tmp_path):
    count = 12_000
    columns = {"number": range(count), "at": [number * 50 for number in range(count)]}
    keys = [f"k{number * number % 7}" for number in range(count)]
    for part, rows in enumerate((slice(0, 8_000), slice(8_000, count))):
        table = pa.table({"key": keys[rows], **{name: c[rows] for name, c in columns.items()}})
        write(tmp_path / f"{part}.parquet", table)
    times = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(
        lambda row, _: row.at
    )
    source = fl.FileSource.forParquet(str(tmp_path), "key string, number long, at long")
    rows = environment.fromSource(source.withFilesPerBatch(1), times, "table")
    totals = rows.keyBy("key").process(Totals())
    found = sorted(totals.executeAndCollect())
    expected, states = set(), {}
    for key, number, at in zip(keys, *columns.values()):
        seen, total = states.get(key, (0, 0))
        if seen % 100 == 0:
            expected.add((key, at, seen, total))
        states[key] = seen + 1, total + number
        if at < LAST_MINUTE - 60_000:
            expected.add((key, at // 60_000 * 60_000 + 60_000))
    expected |= {(key, LAST_MINUTE, *state) for key, state in states.items()}
    assert found == sorted(expected)
