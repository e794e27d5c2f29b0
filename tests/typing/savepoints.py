"""The types that a type checker infers for savepoints that are read and written; ``make lint`` checks them. Nothing
here is run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, assert_type

from pyspark.sql import DataFrame, SparkSession

from flinkish import (
    BroadcastStateBootstrapFunction,
    Collector,
    DataStream,
    Duration,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    KeyedOperatorTransformation,
    KeyedStateBootstrapFunction,
    KeyedStateReaderFunction,
    ListStateDescriptor,
    MapStateDescriptor,
    OneInputOperatorTransformation,
    OpenContext,
    OperatorIdentifier,
    OperatorTransformation,
    Row,
    SavepointReader,
    SavepointWriter,
    StateBootstrapFunction,
    StateBootstrapTransformation,
    TimeWindow,
    TumblingEventTimeWindows,
    Types,
    ValueStateDescriptor,
    WindowedOperatorTransformation,
    WindowReaderFunction,
    WindowSavepointReader,
)

Price = tuple[str, int]
TOTAL = ValueStateDescriptor("total", int)
RULES = MapStateDescriptor("rules", str, int)


class MakeTotals(KeyedStateBootstrapFunction[str, Price]):
    def open(self, openContext: OpenContext) -> None:
        self.total = self.getRuntimeContext().getState(TOTAL)

    def processElement(self, value: Price, ctx: KeyedStateBootstrapFunction.Context) -> None:
        self.total.update((self.total.value() or 0) + value[1])
        ctx.timerService().registerEventTimeTimer(value[1])


class MakeList(StateBootstrapFunction[Price]):
    def initializeState(self, context: FunctionInitializationContext) -> None:
        store = context.getOperatorStateStore()
        self.kept = store.getListState(ListStateDescriptor("kept", int))

    def processElement(self, value: Price, ctx: StateBootstrapFunction.Context) -> None:
        self.kept.add(value[1] + ctx.currentProcessingTime())

    def snapshotState(self, context: FunctionSnapshotContext) -> None: ...


class MakeRules(BroadcastStateBootstrapFunction[Price]):
    def processElement(self, value: Price, ctx: BroadcastStateBootstrapFunction.Context) -> None:
        ctx.getBroadcastState(RULES).put(*value)


class ReadTotals(KeyedStateReaderFunction[str, Price]):
    def open(self, openContext: OpenContext) -> None:
        self.total = self.getRuntimeContext().getState(TOTAL)

    def readKey(
        self, key: str, ctx: KeyedStateReaderFunction.Context, out: Collector[Price]
    ) -> None:
        assert_type(ctx.registeredEventTimeTimers(), set[int])
        out.collect((key, self.total.value() or 0))


class ReadWindows(WindowReaderFunction[int, Price, str, TimeWindow]):
    def readWindow(
        self,
        key: str,
        context: WindowReaderFunction.Context,
        elements: Iterable[int],
        out: Collector[Price],
    ) -> Iterator[Price]:
        yield key, sum(elements)


def larger(a: Price, b: Price) -> Price:
    return max(a, b)


def written(spark: SparkSession, prices: DataStream[Price], table: DataFrame) -> None:
    data = OperatorTransformation.bootstrapWith(prices)
    assert_type(data, OneInputOperatorTransformation[Price])
    keyed = data.assignTimestamps(lambda price, at: price[1]).keyBy(lambda price: price[0])
    assert_type(keyed, KeyedOperatorTransformation[Price])
    assert_type(keyed.transform(MakeTotals()), StateBootstrapTransformation)
    hours = keyed.window(TumblingEventTimeWindows.of(Duration.ofHours(1)))
    assert_type(hours, WindowedOperatorTransformation[Price])
    largest = hours.allowedLateness(5).reduce(larger)
    writer = SavepointWriter.newSavepoint(spark, 128)
    assert_type(
        writer.withOperator(OperatorIdentifier.forUid("largest"), largest)
        .withOperator("list", data.transform(MakeList()))
        .withOperator("rules", data.transform(MakeRules())),
        SavepointWriter,
    )
    assert_type(OperatorTransformation.bootstrapWith(table), OneInputOperatorTransformation[Row])
    writer.withConfiguration("parallelism.default", 4).write("directory")
    existing = SavepointWriter.fromExistingSavepoint(spark, "directory")
    existing.removeOperator("rules").changeOperatorIdentifier("list", "numbers").write("other")


def read(spark: SparkSession) -> None:
    tables = SavepointReader.read(spark, "directory")
    assert_type(tables, SavepointReader[DataFrame])
    assert_type(tables.readKeyedState("totals", TOTAL, Types.STRING()), DataFrame)
    rows = SavepointReader.read("directory")
    assert_type(rows, SavepointReader[Iterable[Any]])
    assert_type(rows.readKeyedState("totals", ReadTotals()), Iterable[Any])
    assert_type(rows.readTimers(OperatorIdentifier.forUidHash("totals")), Iterable[Any])
    assert_type(rows.readWindowState("largest", larger, ReadWindows()), Iterable[Any])
    windows = rows.window(TumblingEventTimeWindows.of(Duration.ofHours(1)))
    assert_type(windows, WindowSavepointReader[Iterable[Any]])
    assert_type(windows.evictor().process("listed"), Iterable[Any])
    assert_type(rows.readListState("list", ListStateDescriptor("kept", int)), Iterable[Any])
    assert_type(rows.readUnionState("list", "union"), Iterable[Any])
    assert_type(rows.readBroadcastState("rules", RULES), Iterable[Any])
    for row in rows.readTimers("totals"):
        assert isinstance(row, Row)
