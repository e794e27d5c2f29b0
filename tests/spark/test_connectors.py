"""Sources and sinks on Spark, each with real files, sockets or tables."""

from __future__ import annotations

import datetime
import json
import socket
import threading
from dataclasses import dataclass

import pytest

import flinkish as fl
from flinkish.api.errors import FlinkishError, IllegalArgumentError
from flinkish.api.types.row import Row
from tests.spark.waiting import wait_for
from tests.watched import drop


def lines_of(directory):
    files = sorted(directory.glob("batch=*/part-*"))
    return [line for file in files for line in file.read_text().splitlines()]


def environment(spark):
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment(spark)
    return env.setParallelism(2).setMaxParallelism(4)


AT = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)


@pytest.fixture(scope="module")
def read(spark, tmp_path_factory):
    """The output of bounded sources, in one job: each way of reading is a branch of it."""
    env = environment(spark)
    made = tmp_path_factory.mktemp("sources")
    texts, csv, ages = made / "texts", made / "csv", made / "ages"
    for directory in (texts, csv, ages):
        directory.mkdir()
    (texts / "a.txt").write_text("one\ntwo\n")
    (texts / "b.txt").write_text("three\n")
    (csv / "a.csv").write_text("origin,delay\nJFK,7\nLGA,\n")
    (made / "a.json").write_text('{"origin": "JFK", "delay": 7}\n')
    spark.createDataFrame([("JFK", AT)], "origin string, at timestamp").write.parquet(
        str(made / "parquet")
    )
    for age, number in enumerate((2, 1, 3)):
        drop(ages, f"{number}.txt", f"{number}\n", changed=1_000_000 + age)
    rows = [(i, datetime.datetime.fromtimestamp(i, datetime.UTC)) for i in range(5000)]
    frame = spark.createDataFrame(rows, "n long, at timestamp").repartition(1)
    thousands = (
        env.fromDataFrame(frame, timestamp="at")
        .assignTimestampsAndWatermarks(fl.WatermarkStrategy.forMonotonousTimestamps())
        .keyBy(lambda row: 0)
        .window(fl.TumblingEventTimeWindows.of(fl.Time.seconds(1000)))
        .process(
            lambda key, context, elements, out: out.collect(
                (context.window().getStart(), len(list(elements)))
            )
        )
    )
    sources = {
        "CSV": fl.FileSource.forCsv(str(csv), "origin string, delay int", header="true"),
        "JSON": fl.FileSource.forJson(str(made / "a.json"), "origin string, delay int"),
        "Parquet": fl.FileSource.forParquet(str(made / "parquet"), "origin string, at timestamp"),
        "oldest first": fl.FileSource.forLines(str(ages)).withFilesPerBatch(1),
    }
    streams = {
        "directory": env.readTextFile(str(texts)),
        "file": env.readTextFile(str(texts / "a.txt")),
        "DataFrame": thousands,
        **{name: env.fromSource(source, None, name) for name, source in sources.items()},
    }
    batches = {name: [] for name in streams}
    for name, stream in streams.items():
        stream.forEachBatch(lambda values, batch, into=batches[name]: into.append(values))
    env.execute()
    return batches


def values_of(batches):
    return [value for batch in batches for value in batch]


def test_lines_of_text(read):
    assert sorted(values_of(read["directory"])) == ["one", "three", "two"]
    assert sorted(values_of(read["file"])) == ["one", "two"]


def test_csv_as_rows(read):
    rows = values_of(read["CSV"])
    assert rows == [Row(origin="JFK", delay=7), Row(origin="LGA", delay=None)]
    assert rows[0].origin == "JFK"


def test_json_and_parquet_as_rows(read):
    assert values_of(read["JSON"]) == [("JFK", 7)]
    [row] = values_of(read["Parquet"])
    assert row.at == AT


def test_files_come_oldest_first(read):
    assert read["oldest first"] == [["2"], ["1"], ["3"]]


def test_a_static_dataframe_keeps_its_order_and_takes_timestamps(read):
    assert sorted(values_of(read["DataFrame"])) == [(start * 1_000_000, 1000) for start in range(5)]


class Endless:
    """A job of sources that do not end: what they gave until now, each in a branch of it."""

    def __init__(self, spark, directory):
        self.server = socket.create_server(("127.0.0.1", 0))
        self.done = threading.Event()
        threading.Thread(target=self.serve, daemon=True).start()
        env = environment(spark)
        self.seen = {}
        self.note("numbers", env.fromSource(self.generated(lambda n: n * 2, 1000)))
        self.note("words", self.words(env))
        self.note("windows", self.windows(env))
        (directory / "a.json").write_text('{"n": 1}\n{"n": 2}\n')
        frame = spark.readStream.schema("n long").json(str(directory))
        self.note("sums", env.fromDataFrame(frame).keyBy("n").sum("n"))
        self.client = env.executeAsync("endless")

    def note(self, name, stream):
        into = self.seen[name] = []
        stream.forEachBatch(lambda values, _: into.extend(values))

    @staticmethod
    def generated(function, perSecond):
        return fl.DataGeneratorSource(function, elementsPerSecond=perSecond)

    def words(self, env):
        return env.socketTextStream("127.0.0.1", self.server.getsockname()[1]).flatMap(str.split)

    def windows(self, env):
        strategy = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(
            lambda e, t: e[1]
        )
        bounded = env.fromElements(("bounded", 5)).assignTimestampsAndWatermarks(strategy)
        endless = env.fromSource(self.generated(lambda n: ("endless", n), 100), strategy)
        return (
            bounded.union(endless)
            .keyBy(lambda e: e[0])
            .window(fl.TumblingEventTimeWindows.of(10))
            .reduce(lambda a, b: (a[0], max(a[1], b[1])))
        )

    def serve(self):
        connection, _ = self.server.accept()
        connection.sendall(b"to be\nor not\n")
        self.done.wait()
        connection.close()

    def close(self):
        self.done.set()
        self.client.cancel()
        self.server.close()


@pytest.fixture(scope="module")
def endless(spark, tmp_path_factory):
    job = Endless(spark, tmp_path_factory.mktemp("streamed"))
    yield job
    job.close()
    assert job.client.getJobStatus() is fl.JobStatus.CANCELED


def test_a_streaming_dataframe(endless):
    wait_for(lambda: len(endless.seen["sums"]) == 2)
    assert sorted(row.n for row in endless.seen["sums"]) == [1, 2]


def test_a_socket(endless):
    wait_for(lambda: len(endless.seen["words"]) == 4)
    assert endless.seen["words"] == ["to", "be", "or", "not"]


def test_an_endless_generator(endless):
    wait_for(lambda: len(endless.seen["numbers"]) > 100)
    assert sorted(endless.seen["numbers"])[:5] == [0, 2, 4, 6, 8]


def test_a_bounded_source_beside_an_endless_one_ends_and_lets_the_watermark_go(endless):
    seen = endless.seen["windows"]
    wait_for(lambda: ("bounded", 5) in seen and ("endless", 9) in seen)


def test_a_watched_directory(env, tmp_path):
    (tmp_path / "in").mkdir()
    drop(tmp_path / "in", "1.txt", "one\n")
    seen = []
    source = fl.FileSource.forLines(str(tmp_path / "in")).monitorContinuously()
    env.fromSource(source).forEachBatch(lambda values, _: seen.extend(values))
    client = env.executeAsync("watching")
    wait_for(lambda: seen == ["one"])
    drop(tmp_path / "in", "2.txt", "two\n")
    wait_for(lambda: seen == ["one", "two"])
    with (tmp_path / "in" / "3.txt").open("w") as file:
        drop(tmp_path / "in", "4.txt", "four\n")
        # The directory was listed meanwhile
        wait_for(lambda: seen == ["one", "two", "four"])
        file.write("three\n")
    wait_for(lambda: seen == ["one", "two", "four", "three"])
    assert client.getJobStatus() is fl.JobStatus.RUNNING
    with pytest.raises(TimeoutError, match="'watching' still runs"):
        client.getJobExecutionResult(timeout=0.1)
    client.cancel()


@dataclass(frozen=True)
class Flight:
    origin: str
    delay: int


ELEMENTS = [("JFK", 7), ("LGA, NY", -1)]


class ByOrigin(fl.BucketAssigner):
    def getBucketId(self, element, context):
        return f"from {element[0]}/{element[1]}"


CSV_OF = {
    "tuples": tuple,
    "dataclasses": lambda e: Flight(*e),
    "rows": lambda e: Row(origin=e[0], delay=e[1]),
}


@pytest.fixture(scope="module")
def written(spark, tmp_path_factory):
    """The directory of the directories into which one job wrote with all sinks."""
    out = tmp_path_factory.mktemp("sinks")
    env = environment(spark)
    pairs = env.fromCollection(ELEMENTS)
    flights = pairs.map(lambda e: Flight(*e))
    schema = "origin string, delay int"
    pairs.map(str).sinkTo(fl.FileSink.forText(f"{out}/text"))
    for name, make in CSV_OF.items():
        pairs.map(make).sinkTo(fl.FileSink.forCsv(f"{out}/csv of {name}"))
    pairs.sinkTo(fl.FileSink.forCsv(f"{out}/csv with a schema", schema, header="true"))
    flights.sinkTo(fl.FileSink.forJson(f"{out}/json"))
    flights.sinkTo(fl.FileSink.forParquet(f"{out}/parquet", schema))
    columns = fl.FileSink.forBulkFormat(f"{out}/columns", fl.ParquetBulkWriters.forRowType(schema))
    lines = fl.FileSink.forRowFormat(f"{out}/lines", fl.SimpleStringEncoder())
    for sink in (columns, lines):
        pairs.sinkTo(sink.withBucketAssigner(ByOrigin()).build())
    env.execute()
    return out


def test_a_text_sink(written):
    assert lines_of(written / "text") == ["('JFK', 7)", "('LGA, NY', -1)"]


@pytest.mark.parametrize("make", CSV_OF)
def test_a_csv_sink(written, make):
    assert lines_of(written / f"csv of {make}") == ["JFK,7", '"LGA, NY",-1']


def test_a_csv_sink_with_a_schema(written):
    assert lines_of(written / "csv with a schema") == ["origin,delay", "JFK,7", '"LGA, NY",-1']


def test_a_json_sink(written):
    first, _ = map(json.loads, lines_of(written / "json"))
    assert first == {"origin": "JFK", "delay": 7}


def test_a_parquet_sink(written, spark):
    read = spark.read.parquet(f"{written}/parquet").select("origin", "delay")
    assert sorted(map(tuple, read.collect())) == ELEMENTS


def test_files_in_buckets(written, spark):
    buckets = sorted((f"from {origin}/{delay}", origin, delay) for origin, delay in ELEMENTS)
    read = spark.read.parquet(f"{written}/columns").select("bucket", "origin", "delay")
    assert sorted(map(tuple, read.collect())) == buckets
    read = spark.read.text(f"{written}/lines").select("bucket", "value")
    expected = sorted((bucket, str(tuple(element))) for bucket, *element in buckets)
    assert sorted(map(tuple, read.collect())) == expected


def test_an_element_that_does_not_fit_the_schema_is_named(env, tmp_path):
    sink = fl.FileSink.forParquet(str(tmp_path), "origin string, delay int")
    env.fromCollection([("JFK", "late")]).sinkTo(sink).name("my table")
    with pytest.raises(
        FlinkishError, match=r"my table: the element .*'late'.* delay 'late' is not"
    ):
        env.execute()


def test_a_sink_without_its_schema_is_refused(tmp_path):
    with pytest.raises(IllegalArgumentError, match="forParquet: '' is no schema"):
        fl.FileSink.forParquet(str(tmp_path), "")
    with pytest.raises(IllegalArgumentError, match="forCsv: '' is no schema"):
        fl.FileSource.forCsv(str(tmp_path), "")


def test_two_sinks_on_one_directory_are_refused(env, tmp_path):
    numbers = env.fromElements(1, 2)
    numbers.sinkTo(fl.FileSink.forText(str(tmp_path)))
    numbers.map(str).sinkTo(fl.FileSink.forText(f"file://{tmp_path}/"))
    with pytest.raises(fl.InvalidProgramError, match="two FileSinks write to"):
        env.execute()


def test_the_output_of_another_run_is_not_mixed_with(env, tmp_path):
    (tmp_path / "batch=3").mkdir()
    env.fromElements(1, 2).sinkTo(fl.FileSink.forText(str(tmp_path)))
    with pytest.raises(fl.InvalidProgramError, match="holds the output of another run"):
        env.execute()


def test_print_shows_each_element(env, capfd):
    env.fromElements(1, 2).print("numbers")
    env.fromElements(3).printToErr()
    env.execute()
    shown = capfd.readouterr()
    assert shown.out.splitlines()[-2:] == ["numbers> 1", "numbers> 2"]
    assert "3" in shown.err.splitlines()


def test_on_with_spark_sql(env, spark, tmp_path, caplog):
    counts = env.fromElements("a", "b", "a").map(lambda w: (w, 1)).keyBy(lambda p: p[0]).sum(1)
    minutes = counts.windowAll(fl.TumblingEventTimeWindows.of(60_000)).reduce(max)
    assert minutes.toDataFrame("word string, count long").isStreaming
    assert caplog.messages == []
    ticks = env.fromDataFrame(spark.readStream.format("rate").load(), "timestamp")
    minutes = ticks.windowAll(fl.TumblingEventTimeWindows.of(60_000)).reduce(max).name("minutes")
    assert minutes.map(lambda row: (row.value,)).toDataFrame("n long").isStreaming
    (message,) = caplog.messages
    assert message.startswith("toDataFrame: the end of Source: DataFrame Source does not reach a")
    assert "trigger(availableNow=True), leaves out the windows of minutes that are open" in message
    frame = counts.toDataFrame("word string, count long")
    assert frame.isStreaming
    query = (
        frame.filter("count > 1")
        .writeStream.format("memory")
        .queryName("counts")
        .option("checkpointLocation", str(tmp_path))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination(60)
    assert list(map(tuple, spark.table("counts").collect())) == [("a", 2)]


@dataclass
class Delay:
    origin: str
    delay: int


def makes_code(session):
    names = ("spark.sql.codegen.wholeStage", "spark.sql.codegen.factoryMode")
    return [session.conf.get(name) for name in names] == ["true", "FALLBACK"]


def test_batches_as_data_frames(env, tmp_path):
    """Written by Spark, with an id each; another sink beside it gets its own elements."""
    target, batches, texts = str(tmp_path / "table"), [], []

    def write(df, batchId):
        batches.append((batchId, df.columns))
        assert makes_code(df.sparkSession), "a user's own queries are compiled as ever"
        df.write.mode("append").parquet(target)

    env.getConfig().setElementsPerBatch(2)
    delays = env.fromCollection([Delay("JFK", 7), Delay("LGA", 3), Delay("EWR", 1)])
    delays.forEachBatchDataFrame(write)
    delays.map(lambda delay: delay.origin).forEachBatch(lambda values, _: texts.extend(values))
    env.execute()
    session = env._sparkSession
    assert sorted(session.read.parquet(target).collect()) == [("EWR", 1), ("JFK", 7), ("LGA", 3)]
    assert [columns for _, columns in batches] == [["origin", "delay"]] * len(batches)
    assert len({number for number, _ in batches}) == len(batches) >= 2
    assert sorted(texts) == ["EWR", "JFK", "LGA"]


def test_an_error_in_a_function_of_data_frames_names_the_batch(env):
    def fail(df, batchId):
        raise ValueError("no table")

    env.fromData(Delay("JFK", 7)).forEachBatchDataFrame(fail)
    with pytest.raises(fl.UserFunctionError, match="no table in function of batch 0"):
        env.execute()


def test_data_frames_need_columns(env):
    with pytest.raises(IllegalArgumentError, match="is no schema"):
        env.fromData(1).forEachBatchDataFrame(print, "")
