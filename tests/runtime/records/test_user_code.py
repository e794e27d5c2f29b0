"""Every exception of a user function names the operator and the element, whatever class it is of."""

from __future__ import annotations

import operator
import re
import subprocess
import sys
import threading

import numpy as np
import pytest

import flinkish as fl
from flinkish.api.errors import IllegalArgumentError, InternalError, UserFunctionError
from flinkish.runtime.records.user_code import mapped, user_code_of
from flinkish.testing import StreamTestHarness
from tests.engines import in_batches, on_harness


class OfItsOwn(BaseException):
    """No Exception."""


CLASSES = [
    StopIteration,
    StopAsyncIteration,
    SystemExit,
    GeneratorExit,
    OfItsOwn,
    ValueError,
]


class Raising:
    """Raises on the element 3."""

    def __init__(self, kind):
        self.kind = kind

    def __call__(self, value, *others):
        if value == 3:
            raise self.kind("on purpose")
        return value

    def iterated(self, value):
        return [self(value)]

    def yielded(self, value):
        # A StopIteration in the user's own generator becomes a RuntimeError there
        yield self(value)

    def truth(self, value):
        return Truth(self, value)


class Truth:
    def __init__(self, function, value):
        self.function, self.value = function, value

    def __bool__(self):
        return bool(self.function(self.value))


class Process(fl.ProcessFunction):
    def __init__(self, function):
        self.function = function

    def processElement(self, value, ctx, out):
        out.collect(self.function(value))


class KeyedProcess(fl.KeyedProcessFunction):
    def __init__(self, function):
        self.function = function

    def processElement(self, value, ctx, out):
        out.collect(self.function(value))


class OnTimer(fl.KeyedProcessFunction):
    def __init__(self, function):
        self.function = function

    def processElement(self, value, ctx, out):
        ctx.timerService().registerEventTimeTimer(value)

    def onTimer(self, timestamp, ctx, out):
        self.function(timestamp)


class Selecting(fl.KeySelector):
    def __init__(self, function):
        self.function = function

    def getKey(self, value):
        return self.function(value)


class Generator(fl.WatermarkGenerator):
    def __init__(self, function):
        self.function = function

    def onEvent(self, event, eventTimestamp, output):
        self.function(event)

    def onPeriodicEmit(self, output):
        pass


class Summed(fl.AggregateFunction):
    def __init__(self, function):
        self.function = function

    def createAccumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + self.function(value)

    def getResult(self, accumulator):
        return accumulator

    def merge(self, a, b):
        return a + b


class Trigger(fl.Trigger):
    def __init__(self, function):
        self.function = function

    def onElement(self, element, timestamp, window, ctx):
        self.function(element)
        return fl.TriggerResult.CONTINUE

    def onProcessingTime(self, time, window, ctx):
        return fl.TriggerResult.CONTINUE

    def onEventTime(self, time, window, ctx):
        return fl.TriggerResult.FIRE

    def clear(self, window, ctx):
        pass


class Evictor(fl.Evictor):
    def __init__(self, function):
        self.function = function

    def evictBefore(self, elements, size, window, evictorContext):
        for element in elements:
            self.function(element.getValue())

    def evictAfter(self, elements, size, window, evictorContext):
        pass


def timed(stream):
    return stream.assignTimestampsAndWatermarks(
        fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(lambda v, t: v)
    )


def windows(stream):
    return (
        timed(stream).keyBy(lambda v: 0).window(fl.TumblingEventTimeWindows.of(fl.Time.seconds(1)))
    )


STRATEGY = fl.WatermarkStrategy

PLACES = {
    "map": lambda s, f: s.map(f),
    "keyed map": lambda s, f: s.keyBy(lambda v: v).map(f),
    "filter": lambda s, f: s.filter(f),
    "the truth of what a filter gives": lambda s, f: s.filter(f.truth),
    "flatMap that returns": lambda s, f: s.flatMap(f.iterated),
    "flatMap that collects": lambda s, f: s.flatMap(lambda v, out: out.collect(f(v))),
    "keyBy": lambda s, f: s.keyBy(f).map(str),
    "keyBy with a selector": lambda s, f: s.keyBy(Selecting(f)).map(str),
    "process": lambda s, f: s.process(Process(f)),
    "keyed process": lambda s, f: s.keyBy(lambda v: 0).process(KeyedProcess(f)),
    "a timer": lambda s, f: timed(s).keyBy(lambda v: 0).process(OnTimer(f)),
    "a rolling reduce": lambda s, f: s.keyBy(lambda v: 0).reduce(lambda a, b: f(b)),
    "a timestamp assigner": lambda s, f: s.assignTimestampsAndWatermarks(
        STRATEGY.forMonotonousTimestamps().withTimestampAssigner(f)
    ),
    "a watermark generator": lambda s, f: s.assignTimestampsAndWatermarks(
        STRATEGY.forGenerator(lambda ctx: Generator(f)).withTimestampAssigner(lambda v, t: v)
    ),
    "a window's reduce": lambda s, f: windows(s).reduce(lambda a, b: f(b)),
    "a window's aggregate": lambda s, f: windows(s).aggregate(Summed(f)),
    "a session's aggregate": lambda s, f: (
        timed(s)
        .keyBy(lambda v: 0)
        .window(fl.EventTimeSessionWindows.withGap(fl.Time.seconds(1)))
        .aggregate(Summed(f))
    ),
    "a trigger": lambda s, f: windows(s).trigger(Trigger(f)).reduce(max),
}
"""Functions whose error names the element."""

FIRING = {
    "a window function": lambda s, f: windows(s).apply(lambda k, w, values: [f(v) for v in values]),
    "an evictor": lambda s, f: windows(s).evictor(Evictor(f)).apply(lambda k, w, values: [1]),
    "a reduce after an evictor": lambda s, f: (
        windows(s).evictor(fl.CountEvictor.of(5)).reduce(lambda a, b: f(b))
    ),
    "the key of a sort": lambda s, f: s.fullWindowPartition().sortPartition(f),
    "a partition": lambda s, f: s.fullWindowPartition().mapPartition(lambda vs: [f(v) for v in vs]),
}
"""Functions whose error names the window."""


VALUES = (1, 2, 3, 4)


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("place", [*PLACES, *FIRING])
def test_an_exception_of_any_class_names_the_operator_and_the_element(run, kind, place):
    build = PLACES.get(place) or FIRING[place]
    with pytest.raises(UserFunctionError, match=f"{kind.__name__}: on purpose") as raised:
        run(lambda stream: build(stream, Raising(kind)), VALUES)
    assert isinstance(raised.value.__cause__, kind)
    assert raised.value.__cause__.__traceback__ is not None
    assert raised.value.operator
    if place == "a timer":
        assert "timestamp=3" in raised.value.element
    elif place in PLACES:
        assert raised.value.element == "3"


def test_a_stop_iteration_does_not_end_a_run(run):
    def first_even(numbers):
        return next(n for n in numbers if n % 2 == 0)

    def build(stream):
        return stream.map(lambda v: [v, v + v % 2 * 3]).map(lambda v: [v[0]]).map(first_even)

    with pytest.raises(UserFunctionError, match=r"Map: .*StopIteration on the element \[1\]"):
        run(build, VALUES)


def test_a_generator_of_the_users_own_says_what_python_says_of_it():
    with pytest.raises(UserFunctionError, match="RuntimeError: generator raised StopIteration"):
        on_harness(lambda s: s.flatMap(Raising(StopIteration).yielded), VALUES)


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("method", ["open", "close"])
def test_a_method_without_an_element_is_named(kind, method):
    class Opened(fl.RichMapFunction):
        def map(self, value):
            return value

    def fails(self, *arguments):
        raise kind("on purpose")

    setattr(Opened, method, fails)
    with pytest.raises(UserFunctionError, match=rf"{kind.__name__}: on purpose in {method}\(\)"):
        StreamTestHarness(lambda s: s.map(Opened())).close()


def test_all_functions_are_closed_though_one_leaves_with_system_exit():
    closed = []

    class Closing(fl.RichMapFunction):
        def __init__(self, name):
            self.name = name

        def map(self, value):
            return value

        def close(self):
            closed.append(self.name)
            sys.exit(1)

    harness = StreamTestHarness(lambda s: s.map(Closing("a")).map(Closing("b")))
    with pytest.raises(UserFunctionError, match="SystemExit"):
        harness.close()
    assert closed == ["b", "a"]


@pytest.mark.parametrize("kind", CLASSES)
def test_a_watermark_generator_that_cannot_be_made_is_named(kind):
    def supplier(context):
        raise kind("on purpose")

    with pytest.raises(UserFunctionError, match=r"on purpose in createWatermarkGenerator\(\)"):
        on_harness(
            lambda s: s.assignTimestampsAndWatermarks(STRATEGY.forGenerator(supplier)), VALUES
        )


def test_a_gauge_that_raises_is_named():
    class Gauged(fl.RichMapFunction):
        def open(self, openContext):
            self.getRuntimeContext().getMetricGroup().gauge("g", lambda: sys.exit(2))

        def map(self, value):
            return value

    with pytest.raises(UserFunctionError, match="SystemExit: 2 in a gauge"):
        in_batches(lambda s: s.map(Gauged()), VALUES)


def test_a_verdict_that_is_neither_true_nor_false_names_the_element():
    with pytest.raises(UserFunctionError, match=r"Filter: .*ValueError.*on the element 1"):
        on_harness(lambda s: s.filter(lambda v: np.array([v, v])), VALUES)  # type: ignore[return-value]


@pytest.mark.parametrize("run", [on_harness, in_batches])
@pytest.mark.parametrize("time", [None, 2.5, 2**63])
def test_a_timestamp_that_is_none_names_the_element(run, time):
    strategy = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(
        lambda value, _: time if value == VALUES[1] else value
    )
    message = re.escape(
        f"assigner gave {time} of type {type(time).__name__} for the element {VALUES[1]}."
    )
    with pytest.raises(IllegalArgumentError, match=message):
        run(lambda s: s.assignTimestampsAndWatermarks(strategy), VALUES)


def test_what_comes_before_the_exception_was_called_once():
    called = []

    def function(value):
        called.append(value)
        if value == 2:
            raise StopIteration
        return value

    with pytest.raises(UserFunctionError, match="StopIteration on the element 2"):
        mapped("Map", function, [1, 2, 3])
    assert called == [1, 2]


def test_an_exception_whose_message_and_an_element_whose_repr_raise_are_named_too():
    class Mute(Exception):
        def __str__(self):
            raise ValueError

    class Unshowable:
        def __repr__(self):
            raise SystemExit

    named = pytest.raises(UserFunctionError, match=r"Mute: .*ValueError.*<Unshowable whose repr")
    with named, user_code_of("Map", Unshowable):
        raise Mute


def test_a_ctrl_c_gets_through():
    def interrupted(value):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        on_harness(lambda s: s.map(interrupted), VALUES)


def test_a_keyboard_interrupt_where_no_ctrl_c_arrives_is_like_any_other():
    def interrupted(value):
        raise KeyboardInterrupt("on purpose")

    raised = []

    def run():
        try:
            on_harness(lambda s: s.map(interrupted), VALUES)
        except UserFunctionError as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert "KeyboardInterrupt: on purpose" in str(raised[0])


def test_a_ctrl_c_gets_through_a_run_on_the_harness():
    program = """
import os, signal
from flinkish.testing import StreamTestHarness

def interrupted(value):
    os.kill(os.getpid(), signal.SIGINT)
    while True:
        pass

try:
    StreamTestHarness(lambda s: s.map(interrupted)).processElement(1)
except KeyboardInterrupt:
    print("interrupted")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "interrupted\n", done.stderr


def broken(monkeypatch, fault):
    """Let a window's contents be broken inside flinkish."""
    monkeypatch.setattr("flinkish.runtime.windowing.window_contents.ListContents.add", fault)


def windowed(stream):
    windows = stream.keyBy(lambda e: 0).window(fl.TumblingProcessingTimeWindows.of(10))
    return windows.apply(lambda key, window, elements: [sum(elements)])


@pytest.mark.parametrize("statement", ["assert self is None", "window.nothing", "{}[value]"])
@pytest.mark.not_on("spark", reason="workers of Spark do not have the broken module")
def test_a_fault_of_flinkish_is_internal_and_no_user_functions(statement, engine, monkeypatch):
    source = f"def add(self, window, value, timestamp):\n    {statement}"
    defined = {"__name__": "flinkish.runtime.windowing.window_contents"}
    exec(compile(source, "window_contents.py", "exec"), defined)
    broken(monkeypatch, defined["add"])
    env = fl.StreamExecutionEnvironment().setLocalExecution()
    run = {
        "harness": lambda: on_harness(windowed, [1]),
        "batches": lambda: in_batches(windowed, [1]),
        "local": lambda: list(windowed(env.fromData(1)).executeAndCollect()),
    }
    with pytest.raises(InternalError) as raised:
        run[engine]()
    message = str(raised.value)
    assert message.startswith("TumblingProcessingTimeWindows: internal error of flinkish")
    assert "window_contents:2 in add. Please report it" in message
    assert "user function" not in message


def test_a_fault_outside_user_code_is_internal_too(monkeypatch):
    def snapshot(self):
        assert self is None

    monkeypatch.setitem(vars(sys.modules[__name__]), "__name__", "flinkish.runtime.somewhere")
    monkeypatch.setattr("flinkish.runtime.task.chain.OperatorChain.snapshot", snapshot)
    env = fl.StreamExecutionEnvironment().setLocalExecution()
    windowed(env.fromData(1)).print()
    with pytest.raises(InternalError, match="TumblingProcessingTimeWindows: internal error"):
        env.execute()


@pytest.mark.parametrize(
    "function", [operator.itemgetter(7), operator.attrgetter("nothing"), {}.__getitem__]
)
def test_a_function_without_frames_is_the_users(function):
    harness = StreamTestHarness(lambda stream: stream.map(function))
    with pytest.raises(UserFunctionError, match="Map: the user function raised"):
        harness.processElement((1, 2))


def test_an_assertion_of_the_users_is_theirs():
    def checked(value):
        assert value < 0, "too large"
        return value

    harness = StreamTestHarness(lambda stream: stream.map(checked))
    with pytest.raises(UserFunctionError, match="AssertionError: too large"):
        harness.processElement(1)
