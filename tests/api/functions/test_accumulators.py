"""Accumulators: what functions add up over all tasks and batches of a job."""

from __future__ import annotations

import math

import pytest

import flinkish as fl
from flinkish import FlinkishError, IllegalStateError

ADDED = [
    (fl.LongCounter, (3, 4), 7, 0),
    (fl.IntCounter, (3, -4), -1, 0),
    (fl.DoubleCounter, (0.5, 2), 2.5, 0.0),
    (fl.LongMaximum, (3, 9, 4), 9, -(2**63)),
    (fl.IntMaximum, (-3, -9), -3, -(2**31)),
    (fl.DoubleMaximum, (0.5, -1), 0.5, -math.inf),
    (fl.LongMinimum, (3, 9, 4), 3, 2**63 - 1),
    (fl.IntMinimum, (3, 9), 3, 2**31 - 1),
    (fl.DoubleMinimum, (0.5, -1), -1, math.inf),
    (fl.AverageAccumulator, (1, 2, 6), 3.0, 0.0),
    (fl.ListAccumulator, ("a", "b"), ["a", "b"], []),
]


@pytest.mark.parametrize(("kind", "values", "total", "empty"), ADDED)
def test_what_is_added_in_parts_is_merged(kind, values, total, empty):
    whole, first, second = kind(), kind(), kind()
    assert whole.getLocalValue() == empty
    for value in values:
        whole.add(value)
    for part, some in ((first, values[:1]), (second, values[1:])):
        for value in some:
            part.add(value)
    first.merge(second)
    assert first.getLocalValue() == whole.getLocalValue() == total
    whole.resetLocal()
    assert whole.getLocalValue() == empty


class Counting(fl.RichMapFunction[int, int]):
    """Counts its elements, as a port from Java does."""

    def __init__(self) -> None:
        self.elements = fl.IntCounter()
        self.seen = fl.ListAccumulator[int]()

    def open(self, openContext: fl.OpenContext) -> None:
        self.getRuntimeContext().addAccumulator("elements", self.elements)
        self.getRuntimeContext().addAccumulator("seen", self.seen)

    def map(self, value: int) -> int:
        self.elements.add(1)
        self.seen.add(value)
        return value


def test_the_result_of_a_job_has_what_all_tasks_added(environment, recwarn):
    environment.getConfig().setElementsPerBatch(5)
    counted = environment.fromData(*range(12)).map(Counting())
    counted.keyBy(lambda n: n % 3).map(Counting()).sinkTo(fl.DiscardingSink())
    result = environment.execute()
    assert result.getAccumulatorResult("elements") == 24
    assert sorted(result.getAccumulatorResult("seen")) == sorted([*range(12), *range(12)])
    assert set(result.getAllAccumulatorResults()) == {"elements", "seen"}
    assert result.getAccumulatorResult("nothing") is None
    assert not [w for w in recwarn if issubclass(w.category, fl.ChangedAttributeWarning)]


class Registers(fl.RichMapFunction[int, int]):
    def __init__(self, *accumulators):
        self.accumulators = accumulators

    def open(self, openContext):
        for accumulator in self.accumulators:
            self.getRuntimeContext().addAccumulator("n", accumulator)

    def map(self, value):
        return value


def local():
    return fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()


@pytest.mark.parametrize(
    ("accumulators", "said"),
    [
        ((fl.LongCounter(), fl.LongCounter()), "has an accumulator 'n' already"),
        ((7,), "Pass one, such as LongCounter"),
    ],
)
def test_what_cannot_be_registered_is_refused(accumulators, said):
    env = local()
    env.fromData(1).map(Registers(*accumulators)).sinkTo(fl.DiscardingSink())
    with pytest.raises(FlinkishError, match=said):
        env.execute()


def test_two_kinds_under_one_name_are_refused():
    env = local()
    stream = env.fromData(1).map(Registers(fl.LongCounter())).map(Registers(fl.LongMaximum()))
    stream.sinkTo(fl.DiscardingSink())
    with pytest.raises(
        IllegalStateError, match="'n' is a LongCounter in one function and a LongMaximum"
    ):
        env.execute().getAccumulatorResult("n")
