"""The job: the takings of each shop every five seconds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from flinkish import (
    AggregateFunction,
    Collector,
    DeliveryGuarantee,
    Duration,
    JsonDeserializationSchema,
    JsonSerializationSchema,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
    OffsetsInitializer,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
    TimeWindow,
    TumblingEventTimeWindows,
    WatermarkStrategy,
)

WINDOW = Duration.ofSeconds(5)


@dataclass
class Sale:
    """What somebody bought; its time is the timestamp of its record."""

    shop: str
    item: str
    cents: int


@dataclass
class Taking:
    """What a shop took in a window that ended at ``until`` (ms)."""

    shop: str
    until: int
    sales: int
    cents: int


class Sum(AggregateFunction[Sale, tuple[int, int], tuple[int, int]]):
    """How many sales, and their cents."""

    def createAccumulator(self) -> tuple[int, int]:
        return (0, 0)

    def add(self, value: Sale, accumulator: tuple[int, int]) -> tuple[int, int]:
        return (accumulator[0] + 1, accumulator[1] + value.cents)

    def getResult(self, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator

    def merge(self, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        return (a[0] + b[0], a[1] + b[1])


class WithShop(ProcessWindowFunction[tuple[int, int], Taking, str, TimeWindow]):
    """Adds the shop and the time to a sum."""

    def process(
        self,
        key: str,
        context: ProcessWindowFunction.Context[TimeWindow],
        elements: Iterable[tuple[int, int]],
        out: Collector[Taking],
    ) -> None:
        for sales, cents in elements:
            out.collect(Taking(key, context.window().getEnd(), sales, cents))


def define(environment: StreamExecutionEnvironment, servers: str, sales: str, takings: str) -> None:
    """Read the topic ``sales``, and write to the topic ``takings``."""
    source: KafkaSource[Sale] = (
        KafkaSource.builder()
        .setBootstrapServers(servers)
        .setTopics(sales)
        .setGroupId("takings")
        .setStartingOffsets(OffsetsInitializer.earliest())
        .setValueOnlyDeserializer(JsonDeserializationSchema(Sale))
        .build()
    )
    sink: KafkaSink[Taking] = (
        KafkaSink.builder()
        .setBootstrapServers(servers)
        .setRecordSerializer(
            KafkaRecordSerializationSchema.builder()
            .setTopic(takings)
            .setValueSerializationSchema(JsonSerializationSchema())
            .build()
        )
        .setDeliveryGuarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .setTransactionalIdPrefix(takings)
        .build()
    )
    strategy = WatermarkStrategy[Sale].forMonotonousTimestamps()
    stream = environment.fromSource(source, strategy, "Sales")
    windows = stream.keyBy(lambda sale: sale.shop).window(TumblingEventTimeWindows.of(WINDOW))
    windows.aggregate(Sum(), WithShop()).sinkTo(sink)
