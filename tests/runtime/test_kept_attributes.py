"""Attributes that functions change are state of the key group behind a shuffle."""

from __future__ import annotations

import functools
import threading
import warnings
from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flinkish as fl
from flinkish.compat import storm
from flinkish.runtime.attribute_changes import FunctionAttributes
from flinkish.testing import StreamTestHarness
from tests.runtime.micro_batches import MicroBatches
from tests.savepoint_jobs import PARTS, gone_on, stopped
from tests.streams import feed, values

VALUES = [3, 6, 6, 6]
SUMS = [3, 9, 15, 21]


class Summing(fl.RichMapFunction):
    """A function with all kinds of attributes: a number, an object that open() makes, and one object under two
    names."""

    def open(self, openContext):
        self.sum = 0
        self.lock = threading.Lock()  # which is left unchanged
        self.lists = {"all": []}
        self.last = self.lists["all"]

    def map(self, value):
        with self.lock:
            self.sum += value
        self.lists["all"].append(value)
        assert self.last is self.lists["all"]
        return self.sum if self.sum == sum(self.last) else None


class SummingBolt(storm.BaseWindowedBolt):
    def prepare(self, *_):
        self.sum = 0

    def execute(self, window, collector):
        self.sum += sum(window.get())
        collector.emit(self.sum)


class Part:
    def __init__(self):
        self.sum = 0


class OfParts(fl.MapFunction):
    def __init__(self):
        self.part = Part()

    def map(self, value):
        self.part.sum += value
        return self.part.sum


class InSlots(fl.MapFunction):
    __slots__ = ("sum",)

    def __init__(self):
        self.sum = 0

    def map(self, value):
        self.sum += value
        return self.sum


class Filling(fl.ProcessWindowFunction):
    def __init__(self):
        self.sum = 0

    def process(self, key, context, elements, out):
        self.sum += sum(elements)
        out.collect(self.sum)


def closure():
    total = 0

    def add(value):
        nonlocal total
        total += value
        return total

    return add


def of_partial(seen, value):
    seen.append(value)
    return sum(seen)


def keyed(stream):
    return stream.keyBy(lambda value: 0)


def behind(stream):
    return keyed(stream).reduce(lambda _, value: value)


def by_class():
    class Total:
        sum = 0

    class Static(fl.MapFunction):
        sum = 0

        def map(self, value):
            Static.sum += value
            return Static.sum

    return Static()


JOBS = {
    "a rich map": lambda s: keyed(s).map(Summing()),
    "a function chained behind a keyed operator": lambda s: behind(s).map(Summing()),
    "an object of a class of the user's": lambda s: keyed(s).map(OfParts()),
    "slots": lambda s: behind(s).map(InSlots()),
    "a variable of an enclosing function": lambda s: behind(s).map(closure()),
    "a partial": lambda s: behind(s).map(functools.partial(of_partial, [])),
    "an attribute of the class": lambda s: behind(s).map(by_class()),
    "a window function": lambda s: keyed(s).countWindow(1).process(Filling()),
    "a bolt of Storm": lambda s: storm.setBolt(SummingBolt().withTumblingWindow(storm.Count(1)), s),
}


@pytest.mark.parametrize("keeps", [True, False])
@pytest.mark.parametrize("name", JOBS)
def test_attributes_last_from_batch_to_batch(name, keeps):
    job = MicroBatches(JOBS[name], 1, keepsTasks=keeps)
    results = job.run([[[(value, None)]] for value in VALUES])
    assert [result.value for result in results[0]] == SUMS
    assert job.attributeChanges == []


@pytest.mark.parametrize("name", JOBS)
def test_attributes_are_in_a_snapshot_of_the_harness(name):
    harness, results = None, []
    for value in VALUES:
        harness = (
            StreamTestHarness.restore(JOBS[name], harness.snapshot())
            if harness
            else StreamTestHarness(JOBS[name])
        )
        harness.processElement(value)
        results += values(harness)
    assert results == SUMS


def test_the_harness_warns_of_what_is_not_kept():
    harness = StreamTestHarness(lambda stream: stream.map(OfParts()))
    feed(harness, VALUES)
    with pytest.warns(fl.ChangedAttributeWarning, match="OfParts.part"):
        assert values(harness) == SUMS
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        harness.snapshot()


batches = st.lists(st.lists(st.integers(0, 99), min_size=1, max_size=6), min_size=1, max_size=6)


@given(batches, st.integers(1, 5), st.booleans())
def test_attributes_belong_to_the_key_group(batches, groups, keeps):
    def build(stream):
        return stream.keyBy(lambda value: value).map(GroupCount())

    job = MicroBatches(build, groups, keepsTasks=keeps)
    results = job.run([[[(value, None) for value in batch]] for batch in batches])
    counts = defaultdict(int)
    for result in results[0]:
        group, count = result.value
        counts[group] += 1
        assert count == counts[group]
    assert sum(counts.values()) == sum(map(len, batches))


class GroupCount(fl.RichMapFunction):
    """Names its instance in the task of a key group by the first value that it got."""

    def open(self, openContext):
        self.counts = []

    def map(self, value):
        self.counts.append(value)
        return self.counts[0], len(self.counts)


class Moving(fl.KeyedProcessFunction):
    """Its timers change what its method for elements only reads."""

    def __init__(self):
        self.offset = 0

    def processElement(self, value, ctx, out):
        out.collect(value + self.offset)

    def onTimer(self, timestamp, ctx, out):
        self.offset += 1000


class Arming(Moving):
    def processElement(self, value, ctx, out):
        ctx.timerService().registerEventTimeTimer(value)
        out.collect(value + self.offset)


@pytest.mark.parametrize("columns", [True, False])
@pytest.mark.parametrize("keeps", [True, False])
def test_a_function_over_columns_reads_the_attributes_of_the_key_group(columns, keeps):
    class Adding(fl.RichMapFunction):
        def open(self, openContext):
            self.calls = 0

        def map(self, row):
            return fl.Row(n=row.n + self.calls)

    def build(stream):
        return stream.keyBy(lambda row: row.n % 2).map(Adding()).map(lambda row: row.n)

    job = MicroBatches(build, 2, keepsTasks=keeps, columns=columns)
    results = job.run([[[(fl.Row(n=n), None) for n in range(5)]]] * 2)
    assert sorted(result.value for result in results[0]) == sorted([*range(5), *range(5)])


def test_a_timer_changes_what_elements_read():
    def build(stream):
        timed = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(
            lambda value, _: value
        )
        return stream.assignTimestampsAndWatermarks(timed).keyBy(lambda value: 0).process(Arming())

    results = MicroBatches(build, 1, keepsTasks=True).run([[[(n, None)]] for n in (1, 2, 3)])
    # The watermark is one below the timestamp, at the end of the batch
    assert [result.value for result in results[0]] == [1, 2, 1003]


class Unkept(fl.RichMapFunction):
    """Changes beside a number what no pickle holds."""

    def open(self, openContext):
        self.sum, self.locks = 0, []

    def map(self, value):
        self.sum += value
        self.locks.append(threading.Lock())
        return self.sum, len(self.locks)


def test_what_cannot_be_pickled_is_left_as_open_made_it_with_a_warning():
    job = MicroBatches(lambda stream: keyed(stream).map(Unkept()), 1, keepsTasks=True)
    results = job.run([[[(value, None)] * 2] for value in (3, 6)])
    assert [result.value for result in results[0]] == [(3, 1), (6, 2), (12, 1), (18, 2)]
    assert {(c.owner, c.attribute) for c in job.attributeChanges} == {("Unkept", "locks")}


class Names(fl.MapFunction):
    def __init__(self):
        self.callbacks = {}
        self.sum = 0

    def add(self, value):
        self.sum += value
        return self.sum

    def map(self, value):
        return self.callbacks.setdefault("add", self.add)(value)


def test_a_method_of_the_function_in_an_attribute_stays_one_of_the_function():
    job = MicroBatches(lambda stream: keyed(stream).map(Names()), 1)
    results = job.run([[[(value, None)]] for value in VALUES])
    assert [result.value for result in results[0]] == SUMS


def test_a_value_that_is_as_open_left_it_again_is_not_kept():
    function = OfParts()
    attributes = FunctionAttributes("Map", function, keeps=True)
    function.map(1)
    assert attributes.snapshot() is not None
    function.map(-1)
    assert attributes.snapshot() is None


def test_attributes_of_a_class_that_is_gone_are_refused():
    kept = FunctionAttributes("Map", function := OfParts(), keeps=True)
    function.map(1)
    data = kept.snapshot()
    with pytest.raises(fl.IncompatibleCheckpointError, match=r"'part' of OfParts.*Keep that name"):
        FunctionAttributes("Map", InSlots(), keeps=True).restore(data)


def local(parallelism):
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    env.setParallelism(parallelism).getConfig().setElementsPerBatch(4)
    return env


@pytest.fixture
def savepoint(tmp_path, monkeypatch):
    """The function of a job whose key groups count their elements in an attribute."""
    monkeypatch.setitem(
        PARTS, "counts", lambda numbers: numbers.keyBy(lambda n: n % 8).map(GroupCount())
    )
    first = stopped(local(2), ["counts"], 40, 12, f"{tmp_path}/savepoint")
    assert first
    return f"{tmp_path}/savepoint", first


def test_attributes_go_on_from_a_savepoint(savepoint):
    path, first = savepoint
    counts = defaultdict(list)
    for group, count in [*first, *gone_on(local(2), ["counts"], 40, path)]:
        counts[group].append(count)
    for of_group in counts.values():
        assert of_group == list(range(1, len(of_group) + 1))
    assert sum(map(len, counts.values())) == 40


@pytest.mark.parametrize("parallelism", [1, 3])
def test_attributes_of_other_key_groups_are_refused(savepoint, parallelism):
    path, first = savepoint
    with pytest.raises(fl.IncompatibleCheckpointError, match=r"Map.*attributes.*Keep the parallel"):
        gone_on(local(parallelism), ["counts"], 40, path)
    left = gone_on(local(parallelism), ["counts"], 40, path, allowNonRestoredState=True)
    assert len(left) == 40 - len(first)
    assert left[0][1] == 1
