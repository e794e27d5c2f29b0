"""A job from topic to topic, exactly once, that others kill: ``python -m tests.kafka.hit_job``.

Its argument is a ``Run`` as JSON. It prints ``started``, and runs until its standard input has a line with the
directory of a savepoint, which it then writes; or until it is killed.
"""

from __future__ import annotations

import json
import select
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from pyspark.sql import SparkSession

from flinkish import (
    Collector,
    DeliveryGuarantee,
    Duration,
    FlinkishError,
    JobClient,
    JobStatus,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
    KeyedProcessFunction,
    OpenContext,
    RestartStrategies,
    SimpleStringSchema,
    StreamExecutionEnvironment,
    TumblingEventTimeWindows,
    ValueStateDescriptor,
    WatermarkStrategy,
)

WINDOW = 1_000
QUIET = 500


@dataclass(frozen=True)
class Run:
    """The job on one checkpoint."""

    servers: str
    topic: str
    results: str
    checkpoint: str
    parallelism: int
    savepoint: str = ""

    @property
    def json(self) -> str:
        """These settings as an argument of the program."""
        return json.dumps(asdict(self))


class Elements(KeyedProcessFunction[Any, Any, str]):
    """Numbers the elements of each key, and says again with a timer that each has been there."""

    def open(self, openContext: OpenContext) -> None:
        context = self.getRuntimeContext()
        self.count = context.getState(ValueStateDescriptor("count"))

    def processElement(self, value: Any, ctx: Any, out: Collector[str]) -> None:
        key, number = value
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        ctx.timerService().registerEventTimeTimer(ctx.timestamp() + QUIET)
        out.collect(f"{key}|element|{count}|{number}")

    def onTimer(self, timestamp: int, ctx: Any, out: Collector[str]) -> None:
        out.collect(f"{ctx.getCurrentKey()}|timer|{timestamp - QUIET}")


class KeyOfText(SimpleStringSchema):
    """Encodes the text before the first bar."""

    def serialize(self, element: str) -> bytes:
        return element.partition("|")[0].encode()


def _parsed(text: str) -> tuple[str, int]:
    key, number = text.split(",")
    return key, int(number)


def _key(pair: tuple[str, int]) -> str:
    return pair[0]


def _contents(key: str, context: Any, elements: Iterable[Any], out: Collector[str]) -> None:
    numbers = sorted(number for _, number in elements)
    out.collect(f"{key}|window|{context.window().getStart()}|{numbers}")


def start(run: Run) -> JobClient:
    """The job, running."""
    env = StreamExecutionEnvironment.getExecutionEnvironment().setParallelism(run.parallelism)
    env.setMaxParallelism(8)
    env.enableCheckpointing(run.checkpoint)
    env.setRestartStrategy(RestartStrategies.fixedDelayRestart(1_000, 100))
    env.getConfig().setElementsPerBatch(500)
    source = KafkaSource.builder().setBootstrapServers(run.servers).setTopics(run.topic)
    texts = env.fromSource(
        source.setValueOnlyDeserializer(SimpleStringSchema()).build(),
        WatermarkStrategy.forMonotonousTimestamps(),
        "texts",
    ).uid("texts")
    keyed = texts.map(_parsed).keyBy(_key)
    windows = keyed.window(TumblingEventTimeWindows.of(Duration.ofMillis(WINDOW)))
    schema = KafkaRecordSerializationSchema.builder().setTopic(run.results)
    schema = schema.setKeySerializationSchema(KeyOfText())
    sink = (
        KafkaSink.builder()
        .setBootstrapServers(run.servers)
        .setRecordSerializer(schema.setValueSerializationSchema(SimpleStringSchema()).build())
        .setDeliveryGuarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .setTransactionalIdPrefix(run.results)
        .build()
    )
    found = windows.process(_contents).uid("windows")
    found.union(keyed.process(Elements()).uid("elements")).sinkTo(sink).uid("results")
    if run.savepoint:
        env.setSavepoint(run.savepoint)
    return env.executeAsync("hit")


def main(run: Run) -> None:
    """Run the job until a line tells where to write a savepoint."""
    spark = SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false")
    spark.config("spark.driver.host", "127.0.0.1").config("spark.driver.memory", "1g").getOrCreate()
    client = start(run)
    print("started", flush=True)
    while client.getJobStatus() is JobStatus.RUNNING:
        if select.select([sys.stdin], [], [], 0.2)[0]:
            try:
                client.stopWithSavepoint(sys.stdin.readline().strip())
            except FlinkishError as error:
                print(error, file=sys.stderr, flush=True)
                sys.exit(2)
            print("stopped", flush=True)
            return
    client.getJobExecutionResult()


if __name__ == "__main__":
    main(Run(**json.loads(sys.argv[1])))
