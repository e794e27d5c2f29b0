"""User functions on Spark: what they raise is named, and what they emit is as it was then."""

from __future__ import annotations

import pytest

import flinkish as fl
from flinkish.api.errors import UserFunctionError
from tests.branches import results_of


class OfItsOwn(BaseException):
    """No Exception."""


def test_a_stop_iteration_loses_no_element(env):
    numbers = env.fromCollection([[2], [3], [4], [6], [8], [10]])
    first_even = numbers.map(lambda x: next(y for y in x if y % 2 == 0)).name("first even")
    with pytest.raises(
        UserFunctionError, match=r"first even: .*StopIteration on the element \[3\]"
    ):
        list(first_even.executeAndCollect())


ROTATING = pytest.mark.rotating("tests/runtime/records/test_user_code.py has all without Spark")


@pytest.mark.parametrize(
    "kind",
    [
        SystemExit,
        *(
            pytest.param(kind, marks=ROTATING)
            for kind in (StopIteration, GeneratorExit, KeyboardInterrupt, OfItsOwn)
        ),
    ],
)
def test_an_exception_of_any_class_in_a_worker_names_operator_and_element(env, kind):
    def function(value):
        if value == 3:
            raise kind("on purpose")
        return value

    stream = env.fromData(1, 2, 3, 4).keyBy(lambda v: 0).map(function).name("after")
    with pytest.raises(UserFunctionError, match=rf"after: .*{kind.__name__}: .* element 3"):
        list(stream.executeAndCollect())


def test_an_exception_of_a_key_selector_is_named():
    def key(value):
        return next(iter([])) if value == 3 else value

    env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
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


def in_place(env):
    """Build the branches that change an object in place after it was emitted."""
    collected = env.fromData(1, 2, 3).keyBy(lambda v: 0).process(Collecting())
    pairs = env.fromCollection([["a", 1], ["a", 2], ["a", 3]]).keyBy(lambda v: v[0])
    reduced = pairs.reduce(add_in_place)
    return {"collected": collected, "reduced": reduced, "mapped": reduced.map(lambda v: v[1])}


IN_PLACE = {
    "collected": [[1], [1, 2], [1, 2, 3]],
    "reduced": [["a", 1], ["a", 3], ["a", 6]],
    "mapped": [1, 3, 6],
}


def test_what_is_changed_after_it_was_emitted_changes_no_result_where_objects_are_reused():
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    env.getConfig().enableObjectReuse()
    streams = in_place(env)
    assert results_of(env, {name: lambda env, s=s: s for name, s in streams.items()}) == IN_PLACE


def twice(env):
    def grow(value):
        value.append(len(value))
        return value

    shared = [7]
    return env.fromCollection([shared, shared]).map(grow)


def of_a_generator(env):
    grown = []

    def number(index):
        grown.append(index)
        return grown

    return env.fromSource(fl.DataGeneratorSource(number, 3)).map(len)


def read_twice(env):
    source = env.fromCollection([[1], [2]]).map(lambda v: v)
    source.map(lambda v: v.append("changed") or v).forEachBatch(lambda values, batch: None)
    return source.map(lambda v: v[-1])


@pytest.fixture(scope="module")
def found(spark):
    """The output of branches that change objects in place, in one job."""
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment(spark)
    env.setParallelism(2).setMaxParallelism(4).getConfig().disableObjectReuse()
    streams = in_place(env)
    branches = {name: lambda env, stream=stream: stream for name, stream in streams.items()}
    return results_of(
        env, {**branches, "twice": twice, "generator": of_a_generator, "two readers": read_twice}
    )


def test_what_is_changed_after_it_was_emitted_changes_no_result(found):
    assert {name: found[name] for name in IN_PLACE} == IN_PLACE


def test_an_object_that_is_in_a_collection_twice_is_two_elements(found):
    assert found["twice"] == [[7, 1], [7, 1]]


def test_an_object_that_a_generator_of_elements_changes(found):
    assert found["generator"] == [1, 2, 3]


def test_a_reader_that_changes_its_elements_shows_nowhere_else(found):
    assert found["two readers"] == [1, 2]
