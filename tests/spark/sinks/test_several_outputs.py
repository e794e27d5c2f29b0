"""Sinks, side outputs and branches of a job are one query: computed once, committed together."""

from __future__ import annotations

import pytest

import flinkish as fl
from flinkish.api.errors import UserFunctionError
from tests.spark.test_connectors import lines_of

ODD = fl.OutputTag[int]("odd")


class Split(fl.ProcessFunction):
    """Sends odd numbers to the side, and counts its calls."""

    def __init__(self, calls):
        self.calls = calls

    def processElement(self, value, ctx, out):
        self.calls.add(1)
        if value % 2:
            ctx.output(ODD, value)
        else:
            out.collect(value)


def test_nothing_is_computed_twice(env, spark, tmp_path):
    """Two branches, a side output of each, a keyed operator after a union, six sinks."""
    split_calls, sum_calls = (spark.sparkContext.accumulator(0) for _ in range(2))
    seen = {name: [] for name in ("even", "odd", "sums", "all")}

    def added(a, b):
        sum_calls.add(1)
        return a + b

    def into(name):
        return lambda values, batch: seen[name].extend(values)

    split = env.fromCollection(range(10)).process(Split(split_calls))
    odd = split.getSideOutput(ODD)
    sums = split.union(odd).keyBy(lambda n: n % 2).reduce(added)
    split.forEachBatch(into("even"))
    odd.forEachBatch(into("odd"))
    sums.forEachBatch(into("sums"))
    split.union(odd).map(lambda n: -n).forEachBatch(into("all"))
    odd.sinkTo(fl.FileSink.forText(str(tmp_path / "odd")))
    sums.map(str).sinkTo(fl.FileSink.forText(str(tmp_path / "sums")))
    env.execute()
    assert seen["even"] == [0, 2, 4, 6, 8]
    assert seen["odd"] == [1, 3, 5, 7, 9]
    assert sorted(seen["all"]) == list(range(-9, 1))
    assert sorted(seen["sums"]) == sorted([0, 2, 6, 12, 20, 1, 4, 9, 16, 25])
    assert sorted(map(int, lines_of(tmp_path / "odd"))) == [1, 3, 5, 7, 9]
    assert len(lines_of(tmp_path / "sums")) == 10
    assert (split_calls.value, sum_calls.value) == (10, 8)


@pytest.mark.recovery
def test_a_batch_that_one_sink_fails_comes_again_to_all(env, tmp_path):
    """The sink before the one that fails has the batch already: it gets it again, with its id."""
    env.getConfig().setElementsPerBatch(4)
    env.enableCheckpointing(str(tmp_path / "checkpoints"))
    first, second, failures = [], [], []

    def fail_once(values, batch):
        if batch == 1 and not failures:
            failures.append(batch)
            raise OSError("disk full")
        second.append((batch, values))

    def run():
        sums = env.fromCollection(range(10)).keyBy(lambda n: 0).reduce(lambda a, b: a + b)
        sums.uid("sums").forEachBatch(lambda values, batch: first.append((batch, values))).uid("1")
        sums.map(str).sinkTo(fl.FileSink.forText(str(tmp_path / "files"))).uid("2")
        sums.forEachBatch(fail_once).uid("3")
        env.execute()

    with pytest.raises(UserFunctionError, match="disk full"):
        run()
    run()
    batches = [(0, [0, 1, 3, 6]), (1, [10, 15, 21, 28]), (2, [36, 45])]
    assert second == batches
    assert first == [batches[0], batches[1], *batches[1:]]
    assert sorted(map(int, lines_of(tmp_path / "files"))) == [0, 1, 3, 6, 10, 15, 21, 28, 36, 45]


def test_results_of_two_streams_of_a_job_with_other_sinks(env):
    seen = []
    numbers = env.fromCollection(range(5))
    squares = numbers.map(lambda n: n * n).collectAsync()
    numbers.forEachBatch(lambda values, batch: seen.extend(values))
    assert list(numbers.executeAndCollect()) == [0, 1, 2, 3, 4]
    assert list(squares) == [0, 1, 4, 9, 16]
    assert seen == [0, 1, 2, 3, 4]


def test_results_of_a_job_that_fails_end_in_its_error(env):
    results = env.fromElements(1, 0).map(lambda n: 1 // n).collectAsync()
    env.executeAsync()
    with pytest.raises(UserFunctionError, match="ZeroDivisionError"):
        list(results)
