"""Partitionings change nothing: an operator without keys sees all elements in their order."""

from __future__ import annotations

import pytest

import flinkish as fl
from tests.runtime.micro_batches import MicroBatches

PARTITIONINGS = {
    "rebalance": lambda stream: stream.rebalance(),
    "rescale": lambda stream: stream.rescale(),
    "shuffle": lambda stream: stream.shuffle(),
    "global": lambda stream: stream.global_(),
    "forward": lambda stream: stream.forward(),
    "broadcast": lambda stream: stream.broadcast(),
    "custom": lambda stream: stream.partitionCustom(lambda key, tasks: key % tasks, abs),
    "all of them": lambda stream: stream.rebalance().broadcast().global_().shuffle().forward(),
}

BATCHES = [[[(n, n) for n in range(5)], [(n, n) for n in range(5, 9)]], [[(9, 9)]]]


class ByNumber(fl.Partitioner):
    def partition(self, key, numPartitions):
        raise AssertionError("nobody asks")


def build(partitioned):
    def streams(source):
        doubled = partitioned(source).map(lambda n: 2 * n)
        sums = partitioned(doubled).keyBy(lambda n: n % 3).reduce(lambda a, b: a + b)
        return [doubled, partitioned(sums).map(lambda n: -n)]

    return streams


@pytest.mark.parametrize("partitioned", PARTITIONINGS.values(), ids=PARTITIONINGS)
def test_results_are_those_without(partitioned):
    plain = MicroBatches(build(lambda stream: stream), 4, parallelism=2).run(BATCHES)
    assert MicroBatches(build(partitioned), 4, parallelism=2).run(BATCHES) == plain
    assert [result.value for result in plain[0]] == [2 * n for n in range(10)]


def test_a_partitioner_is_taken_and_not_asked():
    stream = MicroBatches(lambda s: s.partitionCustom(ByNumber(), abs).map(abs), 4)
    assert [result.value for result in stream.run([[[(1, None)]]])[0]] == [1]


def test_what_is_no_partitioner_is_refused():
    numbers = fl.StreamExecutionEnvironment().fromElements(1)
    with pytest.raises(fl.InvalidProgramError, match="a Partitioner or f"):
        numbers.partitionCustom(3, abs)
