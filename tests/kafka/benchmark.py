"""Small messages of JSON from a topic, through windows, to another topic: flinkish beside Spark's own query, and beside
Flink in Java with Flink's own connector.

    python -m tests.kafka.benchmark [--messages 1000000] [--rounds 2] [--jobs read,pass] [--driver]

All sides are warm, run in turn on one broker, and read all messages. *read* parses them and keeps none; *windows*
sums in tumbling windows of ten seconds by user, and writes the sums to a topic; *windows_once* does so exactly once, which
Spark's connector cannot; *pass* adds one to each amount, and writes all to a topic. flinkish and Spark read them in one
batch, Flink has a checkpoint each second. The seconds are those of a whole job, from the call to its end; each time a job
with a thousand messages runs as well, which tells what a start takes. That all have read as many and have the same results is
checked. ``--driver``: the processor time and the memory of the driver's Python for *pass*, exactly once, with as many
messages and with four times as many.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from flinkish import (
    AggregateFunction,
    Collector,
    DataStream,
    DeliveryGuarantee,
    Duration,
    JsonDeserializationSchema,
    JsonSerializationSchema,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
    OffsetsInitializer,
    ProcessWindowFunction,
    Row,
    StreamExecutionEnvironment,
    TimeWindow,
    TumblingEventTimeWindows,
    WatermarkStrategy,
)
from tests.benchmarks.flink import MissingError
from tests.kafka.broker import KafkaBroker
from tests.kafka.flink import FlinkKafka
from tests.kafka.topics import Topics
from tests.maven import CONNECTOR

SCHEMA = "user string, amount long"
USERS = 1_000
WINDOW_SECONDS = 10
BEGIN = 1_700_000_000_000
PARTITIONS = 2
FEW = 1_000
"""With so many messages a job is little more than its start."""


SPARK, FLINKISH, FLINK = "Spark", "flinkish", "Flink"

JOBS = {
    "read": (FLINKISH, SPARK, FLINK),
    "windows": (FLINKISH, SPARK, FLINK),
    "windows_once": (FLINKISH, FLINK),
    "pass": (FLINKISH, SPARK, FLINK),
}
"""The jobs, and who runs them."""


class Bench:
    """The sides, on a topic of messages."""

    def __init__(
        self,
        servers: str,
        spark: SparkSession,
        flink: FlinkKafka | None,
        topic: str,
        messages: int,
    ) -> None:
        self._servers = servers
        self._spark = spark
        self._flink = flink
        self._topic = topic
        self._messages = messages
        self._topics = Topics(servers)
        self._outputs = 0

    def fill(self) -> None:
        """Write the messages, whose timestamps rise by a millisecond; and behind them one, by which the windows
        of all others end."""
        self._topics.create(self._topic, PARTITIONS)
        for partition in range(PARTITIONS):
            self._topics.send(self._topic, partition, self._values(partition))

    def _values(self, partition: int) -> Iterator[tuple[bytes, int]]:
        yield from map(message, range(partition, self._messages, PARTITIONS))
        yield b'{"user":"last","amount":0}', BEGIN + self._messages + 3_600_000

    # ------------------------------------------------------------------ read

    def read_by_flinkish(self) -> int:
        """The number of messages that a job without state reads."""
        kept = self._stream().filter(lambda row: row.amount < 0 or row.user == "")
        environment = kept.getExecutionEnvironment()
        kept.forEachBatch(lambda values, _: None)
        client = environment.executeAsync("read")
        client.getJobExecutionResult()
        return max(operator.numRecordsIn for operator in client.getMetrics().values())

    def read_by_spark(self) -> int:
        """The same by a query of Spark's, which stays in its JVM."""
        kept = self._rows().where("amount < 0 or user = ''")
        query = self._run(kept.writeStream.foreachBatch(lambda frame, _: frame.count()))
        return sum(progress["numInputRows"] for progress in query.recentProgress)

    # ------------------------------------------------------------------ windows

    def windows_once_by_flinkish(self) -> str:
        """The same, exactly once."""
        return self.windows_by_flinkish(DeliveryGuarantee.EXACTLY_ONCE)

    def windows_by_flinkish(
        self, guarantee: DeliveryGuarantee = DeliveryGuarantee.AT_LEAST_ONCE
    ) -> str:
        """Sums by an aggregate over windows, to the topic that it returns."""
        output = self._output()
        sums = sums_by_user(self._stream())
        sums.sinkTo(sink_of(self._servers, output, guarantee))
        sums.getExecutionEnvironment().execute("windows")
        return output

    def windows_by_spark(self) -> str:
        """Spark's own aggregation over windows, to the topic that it returns."""
        output = self._output()
        window = F.window("timestamp", f"{WINDOW_SECONDS} seconds")
        sums = (
            self._rows()
            .withWatermark("timestamp", "0 seconds")
            .groupBy(window, "user")
            .agg(F.sum("amount").alias("amount"))
            .select("user", "amount", F.unix_millis("window.end").alias("end"))
            .select(F.to_json(F.struct("user", "amount", "end")).alias("value"))
        )
        writer = sums.writeStream.format("kafka").option("topic", output)
        self._run(writer.option("kafka.bootstrap.servers", self._servers))
        return output

    # ------------------------------------------------------------------ pass

    def pass_by_flinkish(
        self, guarantee: DeliveryGuarantee = DeliveryGuarantee.AT_LEAST_ONCE
    ) -> str:
        """Each message with a higher amount, to the topic that it returns."""
        output = self._output()
        raised = self._stream().map(lambda row: Row(user=row.user, amount=row.amount + 1))
        raised.sinkTo(sink_of(self._servers, output, guarantee))
        raised.getExecutionEnvironment().execute("pass")
        return output

    def pass_by_spark(self) -> str:
        """The same by a query of Spark's."""
        output = self._output()
        raised = F.struct("user", (F.col("amount") + 1).alias("amount"))
        rows = self._rows().select(F.to_json(raised).alias("value"))
        writer = rows.writeStream.format("kafka").option("topic", output)
        self._run(writer.option("kafka.bootstrap.servers", self._servers))
        return output

    # ------------------------------------------------------------------ all

    def run(self, job: str, side: str) -> Any:
        """Run a job, and tell what it has read, or the topic of its results."""
        if side != FLINK:
            return getattr(self, f"{job}_by_{side.lower()}")()
        assert self._flink is not None
        output = self._output()
        read = self._flink.run(job, self._topic, output)
        return read if job == "read" else output

    def _stream(self) -> DataStream[Row]:
        environment = StreamExecutionEnvironment.getExecutionEnvironment(self._spark)
        environment.setParallelism(2).getConfig().setElementsPerBatch(self._messages * 2)
        return sales(environment, self._servers, self._topic)

    def _rows(self) -> DataFrame:
        messages = (
            self._spark.readStream.format("kafka")
            .option("kafka.bootstrap.servers", self._servers)
            .option("subscribe", self._topic)
            .option("startingOffsets", "earliest")
            .load()
        )
        value = F.from_json(F.col("value").cast("string"), SCHEMA).alias("value")
        return messages.select("timestamp", value).select("timestamp", "value.*")

    def _run(self, writer: Any) -> StreamingQuery:
        with tempfile.TemporaryDirectory() as checkpoint:
            query: StreamingQuery = (
                writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
            )
            query.awaitTermination()
            return query

    def _output(self) -> str:
        self._outputs += 1
        name = f"{self._topic}-sums-{self._outputs}"
        self._topics.create(name, 1)
        return name

    def results(self, job: str, found: Any) -> Any:
        """Return the results of a job, to be compared: for most they are on a topic."""
        if job == "read":
            return found
        if job == "pass":
            return Counter(message.value() for message in self._topics.read(found))
        values = [json.loads(message.value()) for message in self._topics.read(found)]
        return {(v["user"], v["end"]): v["amount"] for v in values if v["user"] != "last"}


def message(number: int) -> tuple[bytes, int]:
    """A message with its timestamp, which is that many milliseconds after the first one's."""
    return b'{"user":"u%d","amount":%d}' % (number % USERS, number % 97), BEGIN + number


def sales(environment: StreamExecutionEnvironment, servers: str, topic: str) -> DataStream[Row]:
    """The messages that a topic has now."""
    source = (
        KafkaSource.builder()
        .setBootstrapServers(servers)
        .setTopics(topic)
        .setBounded(OffsetsInitializer.latest())
        .setValueOnlyDeserializer(JsonDeserializationSchema(SCHEMA))
        .build()
    )
    return environment.fromSource(source, WatermarkStrategy.forMonotonousTimestamps(), "sales")


def sums_by_user(stream: DataStream[Row]) -> DataStream[Any]:
    """The amounts of each user in windows."""
    windows = TumblingEventTimeWindows.of(Duration.ofSeconds(WINDOW_SECONDS))
    return stream.keyBy("user").window(windows).aggregate(Total(), WithEnd())


def sink_of(servers: str, topic: str, guarantee: DeliveryGuarantee) -> KafkaSink[Any]:
    """Writes JSON to a topic."""
    schema = KafkaRecordSerializationSchema.builder().setTopic(topic)
    schema = schema.setValueSerializationSchema(JsonSerializationSchema())
    sink = KafkaSink.builder().setBootstrapServers(servers)
    sink = sink.setRecordSerializer(schema.build()).setDeliveryGuarantee(guarantee)
    return sink.setTransactionalIdPrefix(topic).build()


class Total(AggregateFunction[Row, int, int]):
    """The sum of the amounts."""

    def createAccumulator(self) -> int:
        return 0

    def add(self, value: Row, accumulator: int) -> int:
        return accumulator + value.amount

    def getResult(self, accumulator: int) -> int:
        return accumulator

    def merge(self, a: int, b: int) -> int:
        return a + b


class WithEnd(ProcessWindowFunction[int, Any, str, TimeWindow]):
    """Adds the user and the end of the window to a sum."""

    def process(self, key: str, context: Any, elements: Iterable[int], out: Collector[Any]) -> None:
        for total in elements:
            out.collect({"user": key, "amount": total, "end": context.window().getEnd()})


def flink_or_none(servers: str, log: Path) -> FlinkKafka | None:
    """Flink, if it is available on this machine; else what is missing is said."""
    try:
        return FlinkKafka(servers, log)
    except MissingError as error:
        print(f"without Flink: {error}", flush=True)
        return None


class Taken(NamedTuple):
    """The seconds of a side's whole job, with ``FEW`` messages and with all."""

    few: float
    all: float

    @property
    def beyond(self) -> float | None:
        """The seconds for the messages, beyond the start of the job; None if the run with few was the
        slower one."""
        return self.all - self.few if self.all > self.few else None


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    """The seconds that ``run`` took, and what it returned."""
    began = time.monotonic()
    found = run()
    return time.monotonic() - began, found


def compare(
    job: str, benches: Sequence[Bench], sides: Sequence[str], messages: int, rounds: int
) -> str:
    """Run a job on all sides in turn, each time with few messages as well; a line of the table."""
    few, many = benches
    for side in sides:
        few.run(job, side)
    taken: dict[str, list[Taken]] = {side: [] for side in sides}
    results = []
    for turn in range(rounds):
        for side in sides[:: -1 if turn % 2 else 1]:
            start, _ = timed(partial(few.run, job, side))
            whole, found = timed(partial(many.run, job, side))
            taken[side].append(Taken(start, whole))
            results.append(many.results(job, found))
    assert all(found == results[0] for found in results), f"{job}: the sides differ"
    medians = {side: Taken(*map(median, zip(*found))) for side, found in taken.items()}
    own = medians[FLINKISH]
    cells = [job]
    for side in (FLINKISH, SPARK, FLINK):
        took = medians.get(side)
        cells.append(f"{took.all:.1f} ({took.few:.1f})" if took else "-")
    cells.append(f"{(messages - FEW) / own.beyond:,.0f}" if own.beyond else "-")
    for side in (SPARK, FLINK):
        took = medians.get(side)
        known = took and took.beyond and own.beyond
        beyond = f"{took.beyond / own.beyond:.2f}" if known else "-"
        cells.append(f"{beyond} ({took.all / own.all:.2f})" if took else "-")
    return f"| {' | '.join(cells)} |"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the jobs on all sides, and print tables."""
    parser = argparse.ArgumentParser(prog="python -m tests.kafka.benchmark")
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument(
        "--jobs", default=",".join(JOBS), help="names between commas; none if empty"
    )
    parser.add_argument("--driver", action="store_true", help="measure the driver as well")
    options = parser.parse_args(arguments)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with ExitStack() as at_end:
        directory = Path(at_end.enter_context(tempfile.TemporaryDirectory()))
        broker = KafkaBroker(directory / "broker")
        at_end.callback(broker.close)
        broker.start()
        servers = broker.bootstrapServers
        jobs = [job for job in options.jobs.split(",") if job]
        flink = flink_or_none(servers, directory / "flink.log") if jobs else None
        if flink is not None:
            at_end.callback(flink.close)
        spark = (
            SparkSession.builder.master("local[2]")
            .config("spark.jars", ",".join(map(str, CONNECTOR.directory().iterdir())))
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .getOrCreate()
        )
        at_end.callback(spark.stop)
        spark.sparkContext.setLogLevel("ERROR")
        benches = [
            Bench(servers, spark, flink, topic, count)
            for topic, count in (("warm-up", FEW), ("sales", options.messages))
        ]
        for each in benches:
            each.fill()
        print(f"{options.messages:,} messages, {PARTITIONS} partitions, {options.rounds} rounds")
        print(
            f"seconds of whole jobs, in brackets with {FEW:,} messages; messages a second and ratios beyond"
            " that, in brackets ratios of whole jobs"
        )
        print("| job | flinkish | Spark | Flink | messages/s | to Spark | to Flink |")
        print("|---|---|---|---|---|---|---|", flush=True)
        for job in jobs:
            sides = [side for side in JOBS[job] if side != FLINK or flink is not None]
            print(compare(job, benches, sides, options.messages, options.rounds), flush=True)
        if options.driver:
            larger = Bench(servers, spark, flink, "larger", options.messages * 4)
            larger.fill()
            measure_driver({options.messages: benches[1], options.messages * 4: larger})


def measure_driver(benches: Mapping[int, Bench]) -> None:
    """The driver's share of a job that writes all that it reads, with different numbers of messages."""
    print("\n| messages | driver's Python, CPU s | its memory MB |\n|---|---|---|")
    for count, bench in benches.items():
        before = time.process_time()
        bench.pass_by_flinkish(DeliveryGuarantee.EXACTLY_ONCE)
        cpu = time.process_time() - before
        print(f"| {count:,} | {cpu:.2f} | {resident_megabytes():.0f} |", flush=True)


def resident_megabytes() -> float:
    """Return the memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


if __name__ == "__main__":
    main()
