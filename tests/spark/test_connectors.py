"""Sources and sinks on Spark, each with real files, sockets or tables."""

from __future__ import annotations

import datetime
import json
import socket
import threading
import time
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


def collected(stream):
    return sorted(stream.executeAndCollect())


def test_lines_of_text(env, tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    (tmp_path / "b.txt").write_text("three\n")
    assert collected(env.readTextFile(str(tmp_path))) == ["one", "three", "two"]
    assert collected(env.readTextFile(str(tmp_path / "a.txt"))) == ["one", "two"]


def test_csv_as_rows(env, tmp_path):
    (tmp_path / "a.csv").write_text("origin,delay\nJFK,7\nLGA,\n")
    source = fl.FileSource.forCsv(str(tmp_path), "origin string, delay int", header="true")
    rows = list(env.fromSource(source, None, "CSV").executeAndCollect())
    assert rows == [Row(origin="JFK", delay=7), Row(origin="LGA", delay=None)]
    assert rows[0].origin == "JFK"


def test_json_and_parquet_as_rows(env, spark, tmp_path):
    (tmp_path / "a.json").write_text('{"origin": "JFK", "delay": 7}\n')
    source = fl.FileSource.forJson(str(tmp_path / "a.json"), "origin string, delay int")
    assert collected(env.fromSource(source)) == [("JFK", 7)]
    at = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)
    spark.createDataFrame([("JFK", at)], "origin string, at timestamp").write.parquet(
        str(tmp_path / "p")
    )
    source = fl.FileSource.forParquet(str(tmp_path / "p"), "origin string, at timestamp")
    [row] = env.fromSource(source).executeAndCollect()
    assert row.at == at


def test_files_come_oldest_first(env, tmp_path):
    for number in (2, 1, 3):
        (tmp_path / f"{number}.txt").write_text(f"{number}\n")
        time.sleep(0.02)
    batches = []
    source = fl.FileSource.forLines(str(tmp_path)).withFilesPerBatch(1)
    env.fromSource(source).forEachBatch(lambda values, batch: batches.append(values))
    env.execute()
    assert batches == [["2"], ["1"], ["3"]]


def test_a_static_dataframe_keeps_its_order_and_takes_timestamps(env, spark):
    rows = [(i, datetime.datetime.fromtimestamp(i, datetime.UTC)) for i in range(5000)]
    frame = spark.createDataFrame(rows, "n long, at timestamp").repartition(1)
    stream = env.fromDataFrame(frame, timestamp="at")
    counts = (
        stream.assignTimestampsAndWatermarks(fl.WatermarkStrategy.forMonotonousTimestamps())
        .keyBy(lambda row: 0)
        .window(fl.TumblingEventTimeWindows.of(fl.Time.seconds(1000)))
        .process(
            lambda key, context, elements, out: out.collect(
                (context.window().getStart(), len(list(elements)))
            )
        )
    )
    assert collected(counts) == [(start * 1_000_000, 1000) for start in range(5)]


def test_a_streaming_dataframe(env, spark, tmp_path):
    (tmp_path / "a.json").write_text('{"n": 1}\n{"n": 2}\n')
    frame = spark.readStream.schema("n long").json(str(tmp_path))
    seen = []
    env.fromDataFrame(frame).keyBy("n").sum("n").forEachBatch(lambda values, _: seen.extend(values))
    client = env.executeAsync()
    wait_for(lambda: len(seen) == 2)
    client.cancel()
    assert client.getJobStatus() is fl.JobStatus.CANCELED
    assert sorted(row.n for row in seen) == [1, 2]


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
        # The directory is listed meanwhile
        time.sleep(0.2)
        file.write("three\n")
    wait_for(lambda: seen == ["one", "two", "three"])
    assert client.getJobStatus() is fl.JobStatus.RUNNING
    with pytest.raises(TimeoutError, match="'watching' still runs"):
        client.getJobExecutionResult(timeout=0.1)
    client.cancel()


def test_a_socket(env):
    server = socket.create_server(("127.0.0.1", 0))

    def serve():
        connection, _ = server.accept()
        connection.sendall(b"to be\nor not\n")
        done.wait(30)
        connection.close()

    done = threading.Event()
    threading.Thread(target=serve, daemon=True).start()
    seen = []
    stream = env.socketTextStream("127.0.0.1", server.getsockname()[1])
    stream.flatMap(str.split).forEachBatch(lambda values, _: seen.extend(values))
    client = env.executeAsync()
    wait_for(lambda: len(seen) == 4)
    done.set()
    client.cancel()
    server.close()
    assert seen == ["to", "be", "or", "not"]


def test_an_endless_generator(env):
    seen = []
    source = fl.DataGeneratorSource(lambda n: n * 2, elementsPerSecond=1000)
    env.fromSource(source).forEachBatch(lambda values, _: seen.extend(values))
    client = env.executeAsync()
    wait_for(lambda: len(seen) > 100)
    client.cancel()
    assert sorted(seen)[:5] == [0, 2, 4, 6, 8]


def test_a_bounded_source_beside_an_endless_one_ends_and_lets_the_watermark_go(env):
    strategy = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(
        lambda e, t: e[1]
    )
    bounded = env.fromElements(("bounded", 5)).assignTimestampsAndWatermarks(strategy)
    generated = fl.DataGeneratorSource(lambda n: ("endless", n), elementsPerSecond=100)
    endless = env.fromSource(generated, strategy)
    seen = []
    (
        bounded.union(endless)
        .keyBy(lambda e: e[0])
        .window(fl.TumblingEventTimeWindows.of(10))
        .reduce(lambda a, b: (a[0], max(a[1], b[1])))
        .forEachBatch(lambda values, _: seen.extend(values))
    )
    client = env.executeAsync()
    wait_for(lambda: ("bounded", 5) in seen and ("endless", 9) in seen)
    client.cancel()


@dataclass(frozen=True)
class Flight:
    origin: str
    delay: int


ELEMENTS = [("JFK", 7), ("LGA, NY", -1)]


def test_a_text_sink(env, tmp_path):
    env.fromCollection(ELEMENTS).map(str).sinkTo(fl.FileSink.forText(str(tmp_path)))
    env.execute()
    assert lines_of(tmp_path) == ["('JFK', 7)", "('LGA, NY', -1)"]


@pytest.mark.parametrize(
    "make", [tuple, lambda e: Flight(*e), lambda e: Row(origin=e[0], delay=e[1])]
)
def test_a_csv_sink(env, tmp_path, make):
    env.fromCollection(ELEMENTS).map(make).sinkTo(fl.FileSink.forCsv(str(tmp_path)))
    env.execute()
    assert lines_of(tmp_path) == ["JFK,7", '"LGA, NY",-1']


def test_a_csv_sink_with_a_schema(env, tmp_path):
    sink = fl.FileSink.forCsv(str(tmp_path), "origin string, delay int", header="true")
    env.fromCollection(ELEMENTS).sinkTo(sink)
    env.execute()
    assert lines_of(tmp_path) == ["origin,delay", "JFK,7", '"LGA, NY",-1']


def test_a_json_sink(env, tmp_path):
    env.fromCollection(ELEMENTS).map(lambda e: Flight(*e)).sinkTo(
        fl.FileSink.forJson(str(tmp_path))
    )
    env.execute()
    first, _ = map(json.loads, lines_of(tmp_path))
    assert first == {"origin": "JFK", "delay": 7}


def test_a_parquet_sink(env, spark, tmp_path):
    sink = fl.FileSink.forParquet(str(tmp_path), "origin string, delay int")
    env.fromCollection(ELEMENTS).map(lambda e: Flight(*e)).sinkTo(sink)
    env.execute()
    read = spark.read.parquet(str(tmp_path)).select("origin", "delay")
    assert sorted(map(tuple, read.collect())) == ELEMENTS


class ByOrigin(fl.BucketAssigner):
    def getBucketId(self, element, context):
        return f"from {element[0]}/{element[1]}"


def test_files_in_buckets(env, spark, tmp_path):
    columns = fl.FileSink.forBulkFormat(
        f"{tmp_path}/columns", fl.ParquetBulkWriters.forRowType("origin string, delay int")
    )
    lines = fl.FileSink.forRowFormat(f"{tmp_path}/lines", fl.SimpleStringEncoder())
    for sink in (columns, lines):
        env.fromCollection(ELEMENTS).sinkTo(sink.withBucketAssigner(ByOrigin()).build())
    env.execute()
    buckets = sorted((f"from {origin}/{delay}", origin, delay) for origin, delay in ELEMENTS)
    read = spark.read.parquet(f"{tmp_path}/columns").select("bucket", "origin", "delay")
    assert sorted(map(tuple, read.collect())) == buckets
    read = spark.read.text(f"{tmp_path}/lines").select("bucket", "value")
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


def test_on_with_spark_sql(env, spark, tmp_path):
    counts = env.fromElements("a", "b", "a").map(lambda w: (w, 1)).keyBy(lambda p: p[0]).sum(1)
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
