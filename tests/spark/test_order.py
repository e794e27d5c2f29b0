"""With parallelism 1 the output of a keyed operator is in the order of its input, as in Flink."""

from __future__ import annotations

import random

import pytest

import flinkish as fl
from flinkish.api.errors import IncompatibleCheckpointError
from flinkish.spark.checkpoint.plan import CheckpointPlan
from flinkish.spark.checkpoint.storage import CheckpointStorage
from flinkish.testing import StreamTestHarness

PARTITIONS = "spark.sql.shuffle.partitions"


def elements(count=40):
    chosen = random.Random(7)
    return [tuple(chosen.randrange(6) for _ in range(3)) for _ in range(count)]


def two_in_a_row(stream):
    return stream.keyBy(lambda x: x[0]).max(1).keyBy(lambda x: x[2]).max(1)


def of_parallelism_1(stream):
    first = stream.keyBy(lambda x: x[0]).max(1).setParallelism(1)
    return first.keyBy(lambda x: x[2]).max(1).setParallelism(1)


def on_harness(build):
    harness = StreamTestHarness(build)
    for element in elements():
        harness.processElement(element)
    return [record.value for record in harness.getOutput()]


@pytest.fixture
def one_partition(spark):
    before = spark.conf.get(PARTITIONS, None)
    spark.conf.set(PARTITIONS, "1")
    yield
    if before is None:
        spark.conf.unset(PARTITIONS)
    else:
        spark.conf.set(PARTITIONS, before)


class MostTasks(fl.RichMapFunction):
    def map(self, value):
        info = self.getRuntimeContext().getTaskInfo()
        tasks = (info.getNumberOfParallelSubtasks(), info.getMaxNumberOfParallelSubtasks())
        return (value, *tasks)


@pytest.mark.parametrize(
    "most",
    [None, pytest.param(128, marks=pytest.mark.rotating("the same with key groups that are set"))],
)
def test_parallelism_1_keeps_the_order_whatever_the_keys(spark, most, tmp_path):
    """A checkpoint goes on in the parts that it has. Before the order was kept, those were all key groups."""
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment(spark).setParallelism(1)
    if most is not None:
        env.setMaxParallelism(most)
    env.enableCheckpointing(str(tmp_path)).getConfig().setElementsPerBatch(25)
    results = list(
        two_in_a_row(env.fromCollection(elements())).map(MostTasks()).executeAndCollect()
    )
    assert [value for value, *_ in results] == on_harness(two_in_a_row)
    assert {tuple(tasks) for _, *tasks in results} == {(1, most or 4)}
    plan = CheckpointPlan(CheckpointStorage(spark, str(tmp_path)))
    assert (plan.noted("parallelism"), plan.noted("maxParallelism"), plan.noted("keyGroups")) == (
        1,
        most or 4,
        1,
    )


def test_a_session_of_one_partition_counts_too(one_partition, spark):
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment(spark)
    results = two_in_a_row(env.fromCollection(elements())).executeAndCollect(100)
    assert results == on_harness(two_in_a_row)


def test_an_operator_of_parallelism_1_keeps_the_order_in_a_job_with_more(env, tmp_path):
    """Also in the files of a sink: all its results are in one file of the batch."""
    results = of_parallelism_1(env.fromCollection(elements()))
    results.map(str).sinkTo(fl.FileSink.forText(str(tmp_path / "out")))
    assert results.executeAndCollect(100) == on_harness(two_in_a_row)
    (file,) = [f for f in (tmp_path / "out").rglob("part-*") if f.stat().st_size]
    assert file.read_text().splitlines() == [str(e) for e in on_harness(two_in_a_row)]


def test_the_key_groups_of_an_operator_stay_what_they_were(env, tmp_path):
    def run(build):
        highest = env.fromCollection(elements()).keyBy(lambda x: x[0]).max(1)
        build(highest).forEachBatch(lambda values, batch: None)
        env.enableCheckpointing(str(tmp_path)).execute()

    run(lambda highest: highest)
    with pytest.raises(
        IncompatibleCheckpointError, match=r"would keep it as .* setParallelism\(1\)"
    ):
        run(lambda highest: highest.setParallelism(1))


LIMITS = fl.MapStateDescriptor("limits", fl.Types.STRING(), fl.Types.INT())


class Limited(fl.KeyedBroadcastProcessFunction):
    def processElement(self, value, ctx, out):
        out.collect((value, ctx.getBroadcastState(LIMITS).get(value[0])))

    def processBroadcastElement(self, value, ctx, out):
        ctx.getBroadcastState(LIMITS).put(*value)


class LimitedWithoutKey(fl.BroadcastProcessFunction):
    processElement = Limited.processElement
    processBroadcastElement = Limited.processBroadcastElement


class RulesFirst(fl.RichCoFlatMapFunction):
    """Reads a plain broadcast stream as its first input."""

    def flatMap1(self, value, out):
        out.collect(("rule", value))

    def flatMap2(self, value, out):
        out.collect(("element", value))


def test_of_two_collections_in_one_batch_the_broadcast_one_is_read_first(env):
    values = [(f"k{n % 3}", n) for n in range(9)]
    limits = {"k0": 10, "k1": 11, "k2": 12}
    elements, rules = env.fromCollection(values), env.fromCollection(list(limits.items()))
    seen = {"keyed": [], "plain": [], "first": []}

    def note(name, stream):
        stream.forEachBatch(lambda results, batch: seen[name].extend(results))

    keyed = elements.keyBy(lambda value: value[0])
    note("keyed", keyed.connect(rules.broadcast(LIMITS)).process(Limited()))
    note("plain", elements.connect(rules.broadcast(LIMITS)).process(LimitedWithoutKey()))
    note("first", rules.broadcast().connect(elements).flatMap(RulesFirst()))
    env.execute()
    expected = [(value, limits[value[0]]) for value in values]
    assert sorted(seen["keyed"]) == sorted(expected)
    assert seen["plain"] == expected
    assert [kind for kind, _ in seen["first"]] == ["rule"] * 3 + ["element"] * 9
