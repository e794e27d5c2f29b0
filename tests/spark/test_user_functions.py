"""User functions on Spark: what they raise is named, and what they emit is as it was then."""

from __future__ import annotations

import pytest

import flinkish as fl
from flinkish.api.errors import UserFunctionError


class OfItsOwn(BaseException):
    """No Exception."""


def test_a_stop_iteration_loses_no_element(env):
    numbers = env.fromCollection([[2], [3], [4], [6], [8], [10]])
    first_even = numbers.map(lambda x: next(y for y in x if y % 2 == 0)).name("first even")
    with pytest.raises(
        UserFunctionError, match=r"first even: .*StopIteration on the element \[3\]"
    ):
        list(first_even.executeAndCollect())


@pytest.mark.parametrize(
    "kind", [StopIteration, SystemExit, GeneratorExit, KeyboardInterrupt, OfItsOwn]
)
def test_an_exception_of_any_class_in_a_worker_names_operator_and_element(env, kind):
    def function(value):
        if value == 3:
            raise kind("on purpose")
        return value

    stream = env.fromData(1, 2, 3, 4).keyBy(lambda v: 0).map(function).name("after")
    with pytest.raises(UserFunctionError, match=rf"after: .*{kind.__name__}: .* element 3"):
        list(stream.executeAndCollect())


def test_an_exception_of_a_key_selector_is_named(env):
    def key(value):
        return next(iter([])) if value == 3 else value

    stream = env.fromData(1, 2, 3, 4).keyBy(key).map(lambda v: v)
    with pytest.raises(UserFunctionError, match=r"keyBy .*StopIteration on the element 3"):
        list(stream.executeAndCollect())


def test_an_exception_in_a_generator_of_elements_is_named(env):
    def number(index):
        return next(iter([])) if index == 5 else index

    with pytest.raises(UserFunctionError, match="StopIteration on the element 5"):
        list(env.fromSource(fl.DataGeneratorSource(number, 10)).executeAndCollect())


class Collecting(fl.KeyedProcessFunction):
    def open(self, openContext):
        self.s = self.getRuntimeContext().getState(fl.ValueStateDescriptor("s"))

    def processElement(self, v, ctx, out):
        l = self.s.value() or []  # noqa: E741 - as in the issue
        l.append(v)
        self.s.update(l)
        out.collect(l)


def add_in_place(a, b):
    a[1] += b[1]
    return a


@pytest.mark.parametrize("reuse", [False, True])
def test_what_is_changed_after_it_was_emitted_changes_no_result(env, reuse):
    config = env.getConfig()
    config.enableObjectReuse() if reuse else config.disableObjectReuse()
    collected = env.fromData(1, 2, 3).keyBy(lambda v: 0).process(Collecting())
    pairs = env.fromCollection([["a", 1], ["a", 2], ["a", 3]]).keyBy(lambda v: v[0])
    reduced = pairs.reduce(add_in_place)
    streams = [collected, reduced, reduced.map(lambda v: v[1])]
    results = [[], [], []]
    for stream, result in zip(streams, results):
        stream.forEachBatch(lambda values, batch, result=result: result.extend(values))
    env.execute()
    assert results == [[[1], [1, 2], [1, 2, 3]], [["a", 1], ["a", 3], ["a", 6]], [1, 3, 6]]


def test_an_object_that_is_in_a_collection_twice_is_two_elements(env):
    def grow(value):
        value.append(len(value))
        return value

    shared = [7]
    grown = env.fromCollection([shared, shared]).map(grow)
    assert list(grown.executeAndCollect()) == [[7, 1], [7, 1]]


def test_an_object_that_a_generator_of_elements_changes(env):
    grown = []

    def number(index):
        grown.append(index)
        return grown

    lengths = env.fromSource(fl.DataGeneratorSource(number, 3)).map(len)
    assert list(lengths.executeAndCollect()) == [1, 2, 3]


def test_a_reader_that_changes_its_elements_shows_nowhere_else(env):
    results = []
    source = env.fromCollection([[1], [2]]).map(lambda v: v)
    source.map(lambda v: v.append("changed") or v).forEachBatch(lambda values, batch: None)
    source.map(lambda v: v[-1]).forEachBatch(lambda values, batch: results.extend(values))
    env.execute()
    assert results == [1, 2]
