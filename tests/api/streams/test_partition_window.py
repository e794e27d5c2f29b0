"""Full window partitions: all elements at once, when the input has ended."""

from __future__ import annotations

import pytest

import flinkish as fl
from flinkish.api.errors import InvalidProgramError
from flinkish.testing import StreamTestHarness

ELEMENTS = [("b", 2), ("a", 3), ("b", 1), ("a", 3)]


class Count(fl.MapPartitionFunction):
    def mapPartition(self, values, out):
        out.collect(sum(1 for _ in values))


class Total(fl.AggregateFunction):
    def createAccumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + value[1]

    def getResult(self, accumulator):
        return accumulator


def results(build):
    harness = StreamTestHarness(build)
    for element in ELEMENTS:
        harness.processElement(element)
    assert harness.getOutput() == []
    harness.endInput()
    return [r.value for r in harness.getOutput() if isinstance(r, fl.StreamRecord)]


def whole(stream):
    return stream.fullWindowPartition()


def by_key(stream):
    return stream.keyBy("f0").fullWindowPartition()


def test_a_partition_is_the_whole_stream_or_all_of_a_key():
    assert results(lambda s: whole(s).mapPartition(Count())) == [4]
    assert sorted(results(lambda s: by_key(s).mapPartition(Count()))) == [2, 2]
    assert results(lambda s: whole(s).mapPartition(lambda values: [max(values)])) == [("b", 2)]
    assert results(lambda s: whole(s).mapPartition(lambda values, out: out.collect(1))) == [1]


def test_sorted_by_a_field():
    by_number = results(lambda s: whole(s).sortPartition(1))
    assert by_number == [("b", 1), ("b", 2), ("a", 3), ("a", 3)]
    backwards = results(lambda s: whole(s).sortPartition("f0", fl.Order.DESCENDING))
    assert backwards == [("b", 2), ("b", 1), ("a", 3), ("a", 3)]
    of_b = [e for e in results(lambda s: by_key(s).sortPartition("f1")) if e[0] == "b"]
    assert of_b == [("b", 1), ("b", 2)]


def test_reduced_and_aggregated():
    assert results(lambda s: whole(s).aggregate(Total())) == [9]
    assert sorted(results(lambda s: by_key(s).aggregate(Total()))) == [3, 6]
    total = results(lambda s: by_key(s).reduce(lambda a, b: (a[0], a[1] + b[1])))
    assert sorted(total) == [("a", 6), ("b", 3)]
    assert results(lambda s: whole(s).reduce(max)) == [("b", 2)]


def test_a_sorted_partition_keeps_its_type():
    pairs = fl.StreamExecutionEnvironment().fromElements(*ELEMENTS)
    assert str(pairs.fullWindowPartition().sortPartition(0).getType()) == "Tuple<String, Long>"


@pytest.mark.parametrize("function", [None, 3, fl.MapPartitionFunction, lambda: 1])
def test_what_is_no_function_is_refused(function):
    pairs = fl.StreamExecutionEnvironment().fromElements(*ELEMENTS)
    with pytest.raises(InvalidProgramError, match="MapPartitionFunction"):
        pairs.fullWindowPartition().mapPartition(function)
