"""Jobs on Spark give what the harness gives.

The engine's rules are tested with thousands of generated jobs in tests/runtime/test_micro_batches.py,
without Spark; here they run once on Spark, two in each job, with its shuffle and its state store.
"""

from __future__ import annotations

import os
import random

import pytest

import flinkish as fl
from tests.runtime.test_micro_batches import (
    BUILDS,
    LATE,
    STRATEGIES,
    assigned,
    by_key,
    on_harness,
)

CASES = [
    (1, 1, {"tumbling, late": "punctuated", "count windows": "bounded"}),
    (8, 3, {"sliding": "bounded", "process": "punctuated"}),
    (3, 2, {"sessions": "punctuated", "two stages": "bounded"}),
]


def elements(seed, count=60):
    chosen = random.Random(seed)
    return [
        (f"k{chosen.randrange(3)}", chosen.randrange(30), i + chosen.randrange(-12, 3))
        for i in range(count)
    ]


@pytest.mark.slow("runs three batches of two pipelines")
@pytest.mark.parametrize(("groups", "partitions", "pipelines"), CASES)
def test_results_are_those_of_the_harness(env, groups, partitions, pipelines):
    a_batch = 25
    env.setParallelism(partitions).setMaxParallelism(groups)
    env.getConfig().setElementsPerBatch(a_batch)
    seen = {(name, late): [] for name in pipelines for late in (False, True)}

    def note(into):
        return lambda values, batch: into.extend(values)

    builds = {name: assigned(BUILDS[name], STRATEGIES[way]) for name, way in pipelines.items()}
    for name, build in builds.items():
        result = build(env.fromCollection(elements(name)))
        result.forEachBatch(note(seen[name, False]))
        result.getSideOutput(LATE).forEachBatch(note(seen[name, True]))
    env.execute()

    for name, build in builds.items():
        data = elements(name)
        batches = [[data[i : i + a_batch]] for i in range(0, len(data), a_batch)]
        harness = on_harness(
            lambda stream, build=build: [built := build(stream), built.getSideOutput(LATE)],
            batches,
        )
        for late in (False, True):
            expected = values_of(harness.getOutput(int(late)))
            assert in_order(seen[name, late]) == in_order(expected), name


def values_of(output):
    return [r.value for r in output if isinstance(r, fl.StreamRecord)]


def in_order(values):
    return by_key([(value, None) for value in values])


def test_a_collection_comes_in_order(env):
    data = list(range(30_000))
    assert list(env.fromCollection(data).executeAndCollect()) == data


def test_collections_and_sequences_are_read_in_parallel_and_in_order(env):
    def task(number):
        from pyspark import TaskContext

        return number, TaskContext.get().partitionId()

    for source in (env.fromCollection(list(range(60_000))), env.fromSequence(0, 59_999)):
        found = list(source.map(task).executeAndCollect())
        assert [number for number, _ in found] == list(range(60_000))
        tasks = [task for _, task in found]
        assert min(tasks.count(task) for task in set(tasks)) >= 20_000
        assert len(set(tasks)) == min(2, os.cpu_count() or 1)


@pytest.mark.parametrize("elements", [25_000, 70_000])
def test_batches_of_a_collection_have_the_elements_that_were_said(env, elements):
    """Each batch is in several files."""
    env.getConfig().setElementsPerBatch(25_000)
    sizes = []
    numbers = env.fromCollection(list(range(elements)))
    numbers.forEachBatch(lambda values, batch: sizes.append((values[0], len(values))))
    env.execute()
    starts = range(0, elements, 25_000)
    assert sizes == [(start, min(25_000, elements - start)) for start in starts]


def test_a_sequence_and_a_generator(env):
    assert sorted(env.fromSequence(-5, 25_000).executeAndCollect()) == list(range(-5, 25_001))
    source = fl.DataGeneratorSource(lambda n: n * n, count=5)
    assert sorted(env.fromSource(source).executeAndCollect()) == [0, 1, 4, 9, 16]


def test_an_empty_collection_ends(env):
    keyed = env.fromCollection([]).keyBy(lambda e: e).sum(0)
    assert list(keyed.executeAndCollect()) == []


def test_a_limit_stops_the_job(env):
    assert env.fromSequence(1, 5_000_000).map(lambda n: n + 1).executeAndCollect(3) == [2, 3, 4]


def test_several_sinks_and_branches_are_one_query(env, spark):
    calls = spark.sparkContext.accumulator(0)

    def counted(n):
        calls.add(1)
        return n

    evens, odds = [], []
    stream = env.fromCollection(list(range(10))).map(counted)
    stream.filter(lambda n: n % 2 == 0).forEachBatch(lambda values, _: evens.extend(values))
    stream.filter(lambda n: n % 2 == 1).forEachBatch(lambda values, _: odds.extend(values))
    env.execute()
    assert (sorted(evens), sorted(odds)) == ([0, 2, 4, 6, 8], [1, 3, 5, 7, 9])
    assert calls.value == 10


def test_a_union_of_sources_waits_for_the_slower_watermark(env):
    assigned_ = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(
        lambda e, t: e[1]
    )
    fast = env.fromElements(("a", 1), ("a", 100)).assignTimestampsAndWatermarks(assigned_)
    slow = env.fromElements(("a", 2), ("a", 3)).assignTimestampsAndWatermarks(assigned_)
    sums = (
        fast.union(slow)
        .keyBy(lambda e: e[0])
        .window(fl.TumblingEventTimeWindows.of(10))
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
    )
    assert list(sums.executeAndCollect()) == [("a", 6), ("a", 100)]


def test_stateless_chains_before_and_after_a_keyed_operator(env):
    result = (
        env.fromElements("to be or", "not to be")
        .flatMap(str.split)
        .map(lambda word: (word, 1))
        .keyBy(lambda pair: pair[0])
        .sum(1)
        .filter(lambda pair: pair[1] > 1)
        .map(lambda pair: pair[0])
    )
    assert sorted(result.executeAndCollect()) == ["be", "to"]
