"""Jobs on Spark give what the harness gives.

The engine's rules are tested with thousands of generated jobs in tests/runtime/test_micro_batches.py,
without Spark; here they run once on Spark, all in one job, with its shuffle and its state store.
"""

from __future__ import annotations

import os
import random

import pytest

import flinkish as fl
from tests.branches import results_of
from tests.runtime.test_micro_batches import (
    BUILDS,
    LATE,
    STRATEGIES,
    assigned,
    by_key,
    on_harness,
)

PIPELINES = {
    "tumbling, late": "punctuated",
    "count windows": "bounded",
    "sliding": "bounded",
    "process": "punctuated",
    "sessions": "punctuated",
    "two stages": "bounded",
}


def elements(seed, count=60):
    chosen = random.Random(seed)
    return [
        (f"k{chosen.randrange(3)}", chosen.randrange(30), i + chosen.randrange(-12, 3))
        for i in range(count)
    ]


@pytest.mark.parametrize(
    ("groups", "partitions"),
    [
        (3, 2),
        pytest.param(1, 1, marks=pytest.mark.rotating("another spread of the keys over tasks")),
        pytest.param(8, 3, marks=pytest.mark.rotating("another spread of the keys over tasks")),
    ],
)
def test_results_are_those_of_the_harness(env, groups, partitions):
    a_batch = 30
    env.setParallelism(partitions).setMaxParallelism(groups)
    env.getConfig().setElementsPerBatch(a_batch)
    builds = {name: assigned(BUILDS[name], STRATEGIES[way]) for name, way in PIPELINES.items()}
    branches = {}
    for name, build in builds.items():
        result = build(env.fromCollection(elements(name)))
        branches[name] = lambda env, result=result: result
        branches[f"late of {name}"] = lambda env, result=result: result.getSideOutput(LATE)
    seen = results_of(env, branches)

    for name, build in builds.items():
        data = elements(name)
        batches = [[data[i : i + a_batch]] for i in range(0, len(data), a_batch)]
        harness = on_harness(
            lambda stream, build=build: [built := build(stream), built.getSideOutput(LATE)],
            batches,
        )
        for output, branch in enumerate((name, f"late of {name}")):
            expected = values_of(harness.getOutput(output))
            assert in_order(seen[branch]) == in_order(expected), branch


def values_of(output):
    return [r.value for r in output if isinstance(r, fl.StreamRecord)]


def in_order(values):
    return by_key([(value, None) for value in values])


# ---------------------------------------------------------------------- branches of one job


def in_task(number):
    from pyspark import TaskContext

    return number, TaskContext.get().partitionId()


def union_of_sources(env):
    assigned_ = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(
        lambda e, t: e[1]
    )
    fast = env.fromElements(("a", 1), ("a", 100)).assignTimestampsAndWatermarks(assigned_)
    slow = env.fromElements(("a", 2), ("a", 3)).assignTimestampsAndWatermarks(assigned_)
    return (
        fast.union(slow)
        .keyBy(lambda e: e[0])
        .window(fl.TumblingEventTimeWindows.of(10))
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
    )


def words(env):
    return (
        env.fromElements("to be or", "not to be")
        .flatMap(str.split)
        .map(lambda word: (word, 1))
        .keyBy(lambda pair: pair[0])
        .sum(1)
        .filter(lambda pair: pair[1] > 1)
        .map(lambda pair: pair[0])
    )


BRANCHES = {
    "collection": lambda env: env.fromCollection(list(range(60_000))).map(in_task),
    "sequence": lambda env: env.fromSequence(0, 59_999).map(in_task),
    "from below zero": lambda env: env.fromSequence(-5, 25_000),
    "generator": lambda env: env.fromSource(fl.DataGeneratorSource(lambda n: n * n, count=5)),
    "union": union_of_sources,
    "words": words,
}


@pytest.fixture(scope="module")
def calls(spark):
    return spark.sparkContext.accumulator(0)


@pytest.fixture(scope="module")
def found(spark, calls):
    """The output of the branches, in one job."""
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment(spark)
    env.setParallelism(2).setMaxParallelism(4)

    def counted(n):
        calls.add(1)
        return n

    numbers = env.fromCollection(list(range(10))).map(counted)
    evens = numbers.filter(lambda n: n % 2 == 0)
    odds = numbers.filter(lambda n: n % 2 == 1)
    return results_of(env, {**BRANCHES, "evens": lambda env: evens, "odds": lambda env: odds})


@pytest.mark.parametrize("source", ["collection", "sequence"])
def test_collections_and_sequences_are_read_in_parallel_and_in_order(found, source):
    assert [number for number, _ in found[source]] == list(range(60_000))
    tasks = [task for _, task in found[source]]
    assert min(tasks.count(task) for task in set(tasks)) >= 20_000
    assert len(set(tasks)) == min(2, os.cpu_count() or 1)


def test_a_sequence_and_a_generator(found):
    assert sorted(found["from below zero"]) == list(range(-5, 25_001))
    assert sorted(found["generator"]) == [0, 1, 4, 9, 16]


def test_several_sinks_and_branches_are_one_query(found, calls):
    assert (sorted(found["evens"]), sorted(found["odds"])) == ([0, 2, 4, 6, 8], [1, 3, 5, 7, 9])
    assert calls.value == 10


def test_a_union_of_sources_waits_for_the_slower_watermark(found):
    assert found["union"] == [("a", 6), ("a", 100)]


def test_stateless_chains_before_and_after_a_keyed_operator(found):
    assert sorted(found["words"]) == ["be", "to"]


# ---------------------------------------------------------------------- jobs of their own


def test_batches_of_a_collection_have_the_elements_that_were_said(env):
    """Each batch is in several files."""
    env.getConfig().setElementsPerBatch(25_000)
    sizes = {25_000: [], 70_000: []}
    for elements, into in sizes.items():
        env.fromCollection(list(range(elements))).forEachBatch(
            lambda values, batch, into=into: into.append((values[0], len(values)))
        )
    env.execute()
    for elements, found in sizes.items():
        starts = range(0, elements, 25_000)
        assert found == [(start, min(25_000, elements - start)) for start in starts]


def test_an_empty_collection_ends(env):
    keyed = env.fromCollection([]).keyBy(lambda e: e).sum(0)
    assert list(keyed.executeAndCollect()) == []


def test_a_limit_stops_the_job(env):
    assert env.fromSequence(1, 5_000_000).map(lambda n: n + 1).executeAndCollect(3) == [2, 3, 4]
