"""One function object passed to several operators is several functions, as in Flink."""

from __future__ import annotations

import threading

import pytest

import flinkish as fl
from flinkish.api.errors import InvalidProgramError
from flinkish.testing import StreamTestHarness


def key_of(value):
    return value[0]


class Count(fl.RichMapFunction):
    """Appends how many elements of the key it has seen, by its state and by its attribute."""

    def __init__(self):
        self.opened = []

    def open(self, openContext):
        self.opened.append(self.getRuntimeContext().getTaskInfo().getTaskName())
        self.count = self.getRuntimeContext().getState(fl.ValueStateDescriptor("count", default=0))

    def map(self, value):
        self.count.update(self.count.value() + 1)
        return (*value, self.count.value(), *self.opened)


def twice(function):
    return lambda stream: (
        stream.keyBy(key_of).map(function).name("A").keyBy(key_of).map(function).name("B")
    )


def branches(function):
    def build(stream):
        one = stream.keyBy(key_of).map(function).name("A")
        return one.union(stream.keyBy(key_of).map(function).name("B"))

    return build


def test_each_operator_has_its_own_state_context_and_attributes(run):
    elements = [("a", 1), ("a", 2)]
    assert run(twice(Count()), elements, batchSize=1) == [
        ("a", 1, 1, "A", 1, "B"),
        ("a", 2, 2, "A", 2, "B"),
    ]
    assert sorted(run(branches(Count()), elements, batchSize=1)) == [
        ("a", 1, 1, "A"),
        ("a", 1, 1, "B"),
        ("a", 2, 2, "A"),
        ("a", 2, 2, "B"),
    ]


class Firings(fl.ProcessWindowFunction):
    def process(self, key, context, elements, out):
        count = context.globalState().getState(fl.ValueStateDescriptor("firings", default=0))
        count.update(count.value() + 1)
        yield (key, self.getRuntimeContext().getTaskInfo().getTaskName(), count.value())


def test_a_window_function_is_called_as_the_copy_that_was_opened():
    function = Firings()

    def build(stream):
        windows = stream.keyBy(key_of).window(fl.TumblingEventTimeWindows.of(10))
        return windows.process(function).name("A").union(windows.process(function).name("B"))

    harness = StreamTestHarness(build)
    for timestamp in (1, 11):
        harness.processElement(("a", 0), timestamp)
    harness.endInput()
    values = [r.value for r in harness.getOutput() if isinstance(r, fl.StreamRecord)]
    assert sorted(values) == [("a", "A", 1), ("a", "A", 2), ("a", "B", 1), ("a", "B", 2)]


def test_a_function_of_one_operator_is_the_one_that_was_passed():
    function = Count()
    StreamTestHarness(lambda stream: stream.keyBy(key_of).map(function).name("A"))
    assert function.opened == ["A"]


def test_what_cannot_be_copied_is_refused():
    function = Count()
    function.lock = threading.Lock()  # type: ignore[attr-defined]
    with pytest.raises(
        InvalidProgramError, match=r"^B: .* same Count.* cannot .*lock.* separate instance"
    ):
        StreamTestHarness(twice(function))
