"""An error about None names the call of flinkish that gave it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import flinkish as fl
from flinkish.api.errors import UserFunctionError
from flinkish.pyflink.common import Types
from flinkish.pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from flinkish.pyflink.datastream.state import ValueStateDescriptor
from flinkish.testing import StreamTestHarness


class Process(fl.KeyedProcessFunction[int, int, object]):
    """Calls ``body`` with itself, the element and the context."""

    def __init__(self, body: Callable[[Any, int, Any], object]) -> None:
        self.body = body

    def open(self, openContext: fl.OpenContext) -> None:
        context = self.getRuntimeContext()
        self.count = context.getState(fl.ValueStateDescriptor("count"))
        self.one = context.getState(fl.ValueStateDescriptor("one"))
        self.sum = context.getReducingState(fl.ReducingStateDescriptor("sum", max))
        self.seen = context.getMapState(fl.MapStateDescriptor("seen"))

    def processElement(self, value: int, ctx: Any, out: Any) -> None:
        self.one.update(1)
        out.collect(self.body(self, value, ctx))


def notes(body: Callable[[Any, int, Any], object]) -> list[str]:
    harness = StreamTestHarness(lambda numbers: numbers.keyBy(lambda n: n).process(Process(body)))
    with pytest.raises(UserFunctionError) as raised:
        harness.processElement(7)
    return getattr(raised.value, "__notes__", [])


def stored_before(it: Any, value: int, ctx: Any) -> int:
    before = it.count.value()
    it.count.update(value)
    return value - before


def unpacked(it: Any, value: int, ctx: Any) -> int:
    least, most = it.count.value()
    return least + most


def added_by_another(it: Any, value: int, ctx: Any) -> int:
    return one_more(it.count.value())


def one_more(number: int) -> int:
    return number + 1


COUNT = "it.count.value() gave None: nothing was stored under it for this key yet. Write what it begins with"
WITH_COUNT = [
    lambda it, value, ctx: it.count.value() + 1,
    lambda it, value, ctx: value < it.count.value(),
    lambda it, value, ctx: max(it.count.value(), value),
    lambda it, value, ctx: list(it.count.value()),
    lambda it, value, ctx: [n + 1 for n in it.count.value()],
    lambda it, value, ctx: it.count.value().day,
    lambda it, value, ctx: it.count.value()["a"],
    lambda it, value, ctx: f"{it.count.value():5}",
    lambda it, value, ctx: it.one.value() + it.count.value(),
    stored_before,
    unpacked,
    added_by_another,
]


@pytest.mark.parametrize("body", WITH_COUNT)
def test_the_state_that_had_no_value_is_named(body: Callable[[Any, int, Any], object]) -> None:
    (note,) = notes(body)
    assert note.startswith(COUNT)
    assert "(it.count.value() or 0)" in note


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (lambda it, value, ctx: it.sum.get() * 2, "it.sum.get() gave None: nothing was stored"),
        (lambda it, value, ctx: it.seen.get(value) + 1, "it.seen.get(...) gave None: nothing"),
        (
            lambda it, value, ctx: ctx.timestamp() + 1000,
            "ctx.timestamp() gave None: the element has no",
        ),
    ],
)
def test_so_are_other_calls(body: Callable[[Any, int, Any], object], said: str) -> None:
    (note,) = notes(body)
    assert note.startswith(said)
    if "timestamp" in said:
        assert "assignTimestampsAndWatermarks(strategy)" in note
        assert "withTimestampAssigner" in note


def unknown(it: Any, value: int, ctx: Any) -> int:
    it.count.value()
    return {}.get(value) + 1


@pytest.mark.parametrize(
    "body",
    [
        unknown,
        lambda it, value, ctx: {}.get(value) + it.one.value(),
        lambda it, value, ctx: "a" + value,
        lambda it, value, ctx: value.day,
    ],
)
def test_a_none_from_elsewhere_has_no_note(body: Callable[[Any, int, Any], object]) -> None:
    assert notes(body) == []


class PythonProcess(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def process_element(self, value: int, ctx: Any) -> Any:
        if value == 1:
            yield self.count.value() + 1
        yield ctx.timestamp() + 1


@pytest.mark.parametrize(
    ("value", "said"),
    [(1, "(self.count.value() or 0)"), (2, "assign_timestamps_and_watermarks(strategy)")],
)
def test_a_function_of_pyflink_has_its_own_names(value: int, said: str) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.core.setLocalExecution()
    numbers = env.from_collection([value]).key_by(lambda n: n).process(PythonProcess())
    with pytest.raises(UserFunctionError) as raised:
        list(numbers.execute_and_collect())
    (note,) = raised.value.__notes__
    assert said in note
