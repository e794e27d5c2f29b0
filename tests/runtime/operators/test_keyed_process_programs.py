"""Random keyed process functions give the same with and without what spares them look-ups.

What spares them: blocks found once for a key, timers known to be registered, and rows of columns made one by one. The
heap backend has none of the pages; timers of different keys with equal timestamps come in another order there.
"""

from __future__ import annotations

import pickle
from collections import defaultdict

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish import (
    Duration,
    KeyedProcessFunction,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    Row,
    StateTtlConfig,
    ValueStateDescriptor,
)
from flinkish.api.errors import UserFunctionError
from flinkish.api.functions.process import TimeDomain
from flinkish.api.functions.runtime_context import TaskInfo
from flinkish.api.plan.operators import KeyedProcessDescription
from flinkish.runtime.columns.keyed_process import KeyedColumnProcess
from flinkish.runtime.operators import timers
from flinkish.runtime.operators.base import OperatorContext
from flinkish.runtime.operators.output import Output
from flinkish.runtime.records.keys import ColumnKeys, KeyHashes
from flinkish.runtime.records.records import Records, timestamps_of
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.state import hashed_pages
from flinkish.runtime.state.heap import HeapKeyedStateBackend
from flinkish.runtime.state.page_store import DictPageStore
from flinkish.runtime.state.paged_backend import PagedKeyedStateBackend
from flinkish.runtime.time.clock import ProcessingTimeService
from tests.runtime.windowing.operators import Recorder

AFTER_ALL = 10_000
"""Behind all timers that programs register; what fires then registers none."""


class Programs(KeyedProcessFunction):
    """Runs the program that an element names, and for a timer the one that follows from its timestamp."""

    def __init__(self, programs):
        self.programs = programs

    def open(self, openContext):
        context = self.getRuntimeContext()
        expiring = ValueStateDescriptor("expiring")
        expiring.enableTimeToLive(StateTtlConfig.newBuilder(Duration.ofMillis(4)).build())
        self.values = [
            context.getState(ValueStateDescriptor("plain")),
            context.getState(ValueStateDescriptor("default", default=-1)),
            context.getState(expiring),
        ]
        self.adding = [
            context.getListState(ListStateDescriptor("list")),
            context.getReducingState(ReducingStateDescriptor("sum", lambda a, b: a + b)),
        ]
        self.map = context.getMapState(MapStateDescriptor("map"))

    def processElement(self, value, ctx, out):
        self.run(self.programs[value.program % len(self.programs)], value.at, ctx, out, 0)

    def onTimer(self, timestamp, ctx, out):
        service = ctx.timerService()
        if max(service.currentWatermark(), service.currentProcessingTime()) < AFTER_ALL:
            # A timer that registers itself again would fire for ever
            event = ctx.timeDomain() is TimeDomain.EVENT_TIME
            self.run(self.programs[timestamp % len(self.programs)], timestamp, ctx, out, 1 + event)
        self.show(("timer", timestamp, ctx.timeDomain().name), ctx, out)

    def run(self, program, now, ctx, out, least):
        timers = ctx.timerService()
        for action, number in program:
            if action == "update":
                self.values[number % 3].update((now, number))
            elif action == "none":
                self.values[number % 3].update(None)
            elif action == "clear":
                (*self.values, *self.adding, self.map)[number % 6].clear()
            elif action == "add":
                self.adding[number % 2].add(number)
            elif action == "put":
                self.map.put(number % 4, now)
            elif action == "register":
                timers.registerEventTimeTimer(now + max(number, least))
            elif action == "delete":
                timers.deleteEventTimeTimer(now + number)
            elif action == "register at":
                timers.registerEventTimeTimer(number * 20 if not least else AFTER_ALL)
            elif action == "delete at":
                timers.deleteEventTimeTimer(number * 20)
            elif action == "register by clock":
                timers.registerProcessingTimeTimer(timers.currentProcessingTime() + max(number, 1))
            elif action == "delete by clock":
                timers.deleteProcessingTimeTimer(timers.currentProcessingTime() + number)
            else:
                self.show(("shown", now), ctx, out)

    def show(self, what, ctx, out):
        values = tuple(state.value() for state in self.values)
        added = (tuple(self.adding[0].get()), self.adding[1].get(), tuple(self.map.entries()))
        out.collect((ctx.getCurrentKey(), what, ctx.timestamp(), values, added))


class Driver:
    """The single operator, in columns and pages or in neither."""

    def __init__(self, programs, columns, paged):
        self.programs, self.columns, self.paged = programs, columns, paged
        self.clock = ProcessingTimeService()
        self.state = DictPageStore() if paged else {}
        self.directory = None
        self.output = []
        self.start(None)

    def start(self, snapshot):
        function = Programs(self.programs)
        output = Output()
        output.connect(Recorder("main", self.output))
        self.backend = (
            PagedKeyedStateBackend("it") if self.paged else HeapKeyedStateBackend(self.state)
        )
        context = OperatorContext("it", "It", self.backend, self.clock, output, TaskInfo("It"))
        description = KeyedProcessDescription(function, function.processElement)
        self.operator = KeyedColumnProcess(context, description)
        self.operator.open()
        if self.paged:
            self.backend.load(self.state, self.directory)
        self.operator.restore(snapshot)

    def restart(self, anew):
        """The end of a batch; with ``anew`` in another process."""
        snapshot = pickle.loads(pickle.dumps(self.operator.snapshot()))
        if self.paged:
            self.directory = self.backend.flush()
        else:
            self.state = pickle.loads(pickle.dumps(self.backend.contents))
        if anew or not self.paged:
            self.start(snapshot)
        else:
            self.backend.load(self.state, self.directory)
            self.operator.restore(snapshot)

    def elements(self, elements):
        keys = [key for key, _, _ in elements]
        hashes = KeyHashes().column(keys)
        names = ("key", "program", "at")
        if self.columns:
            columns = [pa.array(list(column)) for column in zip(*elements)]
            values = RowColumns(pa.RecordBatch.from_arrays(columns, names=names))
            keys = ColumnKeys(values, 0)
        else:
            values = [Row(**dict(zip(names, element))) for element in elements]
        times = timestamps_of([at for *_, at in elements])
        self.operator.processRecords(Records(values, times, keys, hashes))

    def run(self, steps):
        for step, argument in steps:
            if step == "elements":
                self.elements(argument)
            elif step == "watermark" and argument > self.operator.currentWatermark:
                self.operator.processWatermark(argument)
            elif step == "clock":
                self.clock.advanceTo(self.clock.getCurrentProcessingTime() + argument)
                self.operator.advanceProcessingTime(self.clock.getCurrentProcessingTime())
            elif step == "restart":
                self.restart(argument)
        self.restart(anew=True)
        self.clock.advanceTo(AFTER_ALL)
        self.operator.processWatermark(AFTER_ALL)
        self.operator.advanceProcessingTime(AFTER_ALL)
        return self.output


def by_key(output):
    """Return the output of each key, in order, without watermarks."""
    outputs = defaultdict(list)
    for label, *rest in output:
        if label == "main":
            outputs[rest[0][0]].append(rest)
    return outputs


ACTIONS = st.sampled_from(
    ["update", "none", "clear", "add", "put", "show", "register by clock", "delete by clock"]
    + ["register", "delete", "register at", "delete at"] * 2
)
PROGRAMS = st.lists(
    st.lists(st.tuples(ACTIONS, st.integers(0, 6)), max_size=6), min_size=1, max_size=4
)
ELEMENTS = st.lists(
    st.tuples(st.sampled_from("abcdefg"), st.integers(0, 3), st.integers(0, 100)), min_size=1
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("elements"), ELEMENTS),
        st.tuples(st.just("watermark"), st.integers(0, 120)),
        st.tuples(st.just("clock"), st.integers(1, 6)),
        st.tuples(st.just("restart"), st.booleans()),
    ),
    max_size=12,
)


@given(PROGRAMS, STEPS)
def test_programs_give_the_same_either_way(programs, steps):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hashed_pages, "TARGET_ENTRIES", 3)
        patch.setattr(hashed_pages, "MOST_ENTRIES", 4)
        quick = Driver(programs, columns=True, paged=True).run(steps)
        for module in (hashed_pages, timers):
            patch.setattr(module, "MOST_NOTED", 2)
        assert Driver(programs, columns=True, paged=True).run(steps) == quick
        for module in (hashed_pages, timers):
            patch.setattr(module, "MOST_NOTED", 0)
        assert Driver(programs, columns=False, paged=True).run(steps) == quick
        assert by_key(Driver(programs, columns=False, paged=False).run(steps)) == by_key(quick)


def test_a_registered_timer_is_not_looked_up_again():
    driver = Driver([[("register at", 2)]], columns=True, paged=True)
    added = []
    queue = driver.operator.timers._event
    original = type(queue).add

    def add(queue, timestamp, key, namespace):
        added.append((timestamp, key))
        original(queue, timestamp, key, namespace)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(queue), "add", add)
        driver.elements([("a", 0, 1), ("b", 0, 2), ("a", 0, 3), ("b", 0, 3), ("a", 0, 4)])
    assert added == [(40, "a"), (40, "b")]


@pytest.mark.parametrize("time", [5.0, "5", None])
def test_a_registered_timer_is_still_one_of_an_integer(time):
    driver = Driver([], columns=True, paged=True)
    service = driver.operator.timerService
    driver.backend.currentKey = "a"
    service.registerEventTimeTimer(5)
    with pytest.raises(TypeError, match="pass an integer"):
        service.registerEventTimeTimer(time)


def test_an_error_names_the_row_that_was_made_for_it():
    driver = Driver([], columns=True, paged=True)
    with pytest.raises(UserFunctionError, match=r"program=7"):
        driver.elements([("a", 7, 1)])
