"""SavepointReader and SavepointWriter on Spark: state is made of a DataFrame, read as DataFrames, and gone on
from on either engine."""

from __future__ import annotations

import pytest

import flinkish as fl

PRICES = [("a", 10), ("b", 20), ("c", 30)]
TOTAL = fl.ValueStateDescriptor("total", fl.Types.LONG())
EACH = fl.MapStateDescriptor("each", fl.Types.STRING(), fl.Types.LONG())
UNTYPED = fl.ListStateDescriptor("untyped")


class Bootstrap(fl.KeyedStateBootstrapFunction):
    def open(self, openContext):
        context = self.getRuntimeContext()
        self.total = context.getState(TOTAL)
        self.each = context.getMapState(EACH)
        self.untyped = context.getListState(UNTYPED)

    def processElement(self, value, ctx):
        self.total.update((self.total.value() or 0) + value.price)
        self.each.put(value.name, value.price)
        self.untyped.add(value.price)
        ctx.timerService().registerEventTimeTimer(100 + value.price)


class Totals(fl.KeyedProcessFunction):
    def open(self, openContext):
        self.total = self.getRuntimeContext().getState(TOTAL)

    def processElement(self, value, ctx, out):
        self.total.update((self.total.value() or 0) + value[1])
        out.collect((value[0], self.total.value()))

    def onTimer(self, timestamp, ctx, out):
        out.collect(("timer", timestamp, ctx.getCurrentKey(), self.total.value()))


class Read(fl.KeyedStateReaderFunction):
    def open(self, openContext):
        self.total = self.getRuntimeContext().getState(TOTAL)

    def readKey(self, key, ctx, out):
        out.collect((key, self.total.value(), sorted(ctx.registeredEventTimeTimers())))


class MakeRules(fl.BroadcastStateBootstrapFunction):
    RULES = fl.MapStateDescriptor("rules", fl.Types.STRING(), fl.Types.LONG())

    def processElement(self, value, ctx):
        ctx.getBroadcastState(self.RULES).put(value.name, value.price)


def larger(a, b):
    return a if a.price >= b.price else b


@pytest.fixture(scope="module")
def savepoint(spark, tmp_path_factory):
    """Written by Spark, of one DataFrame."""
    directory = f"{tmp_path_factory.mktemp('state')}/savepoint"
    table = spark.createDataFrame([*PRICES, ("a", 1)], "name string, price bigint")
    data = fl.OperatorTransformation.bootstrapWith(table)
    timed = data.assignTimestamps(lambda row, at: row.price).keyBy(lambda row: row.name)
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment(spark).setParallelism(2)
    writer = fl.SavepointWriter.newSavepoint(env, 8)
    writer.withOperator("totals", data.keyBy(lambda row: row.name).transform(Bootstrap()))
    writer.withOperator("largest", timed.window(fl.TumblingEventTimeWindows.of(100)).reduce(larger))
    writer.withOperator("rules", data.transform(MakeRules())).write(directory)
    return directory


def test_dataframes_have_typed_columns(savepoint, spark):
    reader = fl.SavepointReader.read(spark, savepoint)
    totals = reader.readKeyedState("totals", TOTAL, keyType=str)
    assert totals.dtypes == [("key", "string"), ("value", "bigint")]
    each = reader.readKeyedState("totals", EACH, keyType=str)
    assert each.dtypes == [("key", "string"), ("value", "map<string,bigint>")]
    untyped = reader.readKeyedState("totals", UNTYPED)
    assert untyped.dtypes == [("key", "string"), ("value", "string")]
    timers = reader.readTimers("totals", str)
    windows = reader.readWindowState("largest", larger, None, str)
    rules = reader.readBroadcastState("rules", MakeRules.RULES)
    assert {tuple(row) for row in totals.collect()} == {("a", 11), ("b", 20), ("c", 30)}
    assert {row.key: row.value for row in each.collect()} == {
        n: {n: 1 if n == "a" else p} for n, p in PRICES
    }
    assert ("c", "[30]") in {tuple(row) for row in untyped.collect()}
    assert {(row.key, row.timestamp) for row in timers.collect()} == {
        ("a", 110), ("a", 101), ("b", 120), ("c", 130)
    }  # fmt: skip
    assert {(row.key, row.start, row.end, row.value) for row in windows.collect()} == {
        (name, 0, 100, str(fl.Row(name=name, price=price))) for name, price in PRICES
    }
    assert dict(map(tuple, rules.collect()))["b"] == 20


def test_a_reader_function_gives_columns_of_its_type(savepoint, spark):
    reader = fl.SavepointReader.read(spark, savepoint)
    read = reader.readKeyedState("totals", Read(), outputType=tuple[str, int, list[int]])
    assert read.dtypes == [("f0", "string"), ("f1", "bigint"), ("f2", "array<bigint>")]
    assert sorted(map(tuple, read.collect())) == [
        ("a", 11, [101, 110]), ("b", 20, [120]), ("c", 30, [130])
    ]  # fmt: skip
    with pytest.raises(fl.IllegalArgumentError, match="no operator 'nobody'"):
        reader.readTimers("nobody")


def run_totals(env):
    env.getConfig().setElementsPerBatch(5)
    stream = env.fromCollection([("a", 1), ("d", 4)]).keyBy(lambda value: value[0])
    return sorted(stream.process(Totals()).uid("totals").executeAndCollect(), key=repr)


EXPECTED = sorted(
    [("a", 12), ("d", 4)]
    + [("timer", 101, "a", 12), ("timer", 110, "a", 12)]
    + [("timer", 120, "b", 20), ("timer", 130, "c", 30)],
    key=repr,
)


@pytest.mark.recovery
@pytest.mark.slow("two savepoints, and a job from one")
def test_jobs_on_either_engine_begin_from_what_spark_has_changed(savepoint, spark, tmp_path):
    changed = fl.SavepointWriter.fromExistingSavepoint(spark, savepoint)
    changed.changeOperatorIdentifier("largest", "most").removeOperator("rules")
    changed.write(f"{tmp_path}/changed")
    local = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    local.setParallelism(3).setSavepoint(f"{tmp_path}/changed", True)
    assert run_totals(local) == EXPECTED
    on_spark = fl.StreamExecutionEnvironment.getExecutionEnvironment(spark).setParallelism(2)
    on_spark.setSavepoint(f"{tmp_path}/changed", True)
    assert run_totals(on_spark) == EXPECTED
    reader = fl.SavepointReader.read(f"{tmp_path}/changed")
    assert {(row.key, row.value.price) for row in reader.readWindowState("most", larger)} == set(
        PRICES
    )


class Fails(Bootstrap):
    def processElement(self, value, ctx):
        raise ValueError("no price")


def test_an_error_in_a_worker_is_that_of_the_function(spark, tmp_path):
    table = spark.createDataFrame(PRICES, "name string, price bigint")
    made = fl.OperatorTransformation.bootstrapWith(table).keyBy(lambda row: row.name)
    writer = fl.SavepointWriter.newSavepoint(spark).withOperator("u", made.transform(Fails()))
    with pytest.raises(fl.UserFunctionError, match="no price"):
        writer.write(f"{tmp_path}/s")
