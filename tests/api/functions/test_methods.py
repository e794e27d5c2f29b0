"""Methods with other parameters than Flink's, and generators where one result is due, are refused where
the function is passed."""

from __future__ import annotations

import pytest

import flinkish as fl
from flinkish.api.errors import InvalidProgramError
from flinkish.testing import StreamTestHarness


def key_of(value):
    return value[0]


def yields(*arguments):
    yield arguments


class Process(fl.ProcessFunction):
    def processElement(self, value, ctx):
        yield value


class KeyedProcess(fl.KeyedProcessFunction):
    def processElement(self, value, ctx):
        yield value


class Timer(fl.KeyedProcessFunction):
    def processElement(self, value, ctx, out):
        """It only waits."""

    def onTimer(self, timestamp, ctx):
        yield timestamp


class Co(fl.KeyedCoProcessFunction):
    def processElement1(self, value, ctx, out):
        """It only keeps."""

    def processElement2(self, value, ctx):
        yield value


class Pairs(fl.ProcessJoinFunction):
    def processElement(self, left, right, ctx):
        yield left


class Flat(fl.FlatMapFunction):
    def flatMap(self, value):
        return [value]


class Opens(fl.RichMapFunction):
    def open(self):
        """Flink's has a context."""

    def map(self, value):
        return value


class Total(fl.AggregateFunction):
    def createAccumulator(self):
        return 0

    def add(self, value):
        return value

    def getResult(self, accumulator):
        return accumulator


def windows(stream):
    return stream.keyBy(key_of).window(fl.TumblingEventTimeWindows.of(10))


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda a, b: a.process(Process()), "Process.processElement .*self, value, ctx, out"),
        (lambda a, b: a.keyBy(key_of).process(Process()), "Process.processElement"),
        (lambda a, b: a.keyBy(key_of).process(KeyedProcess()), "KeyedProcess.processElement"),
        (lambda a, b: a.keyBy(key_of).process(Timer()), "Timer.onTimer .*timestamp, ctx, out"),
        (lambda a, b: a.connect(b).keyBy(0, 0).process(Co()), "Co.processElement2"),
        (
            lambda a, b: a.keyBy(0).intervalJoin(b.keyBy(0)).between(0, 1).process(Pairs()),
            "Pairs.processElement .*self, left, right, ctx, out",
        ),
        (lambda a, b: a.flatMap(Flat()), "Flat.flatMap .*self, value, out"),
        (lambda a, b: a.map(Opens()), r"Opens.open .*self, openContext\)"),
        (lambda a, b: windows(a).aggregate(Total()), "Total.add .*self, value, accumulator"),
    ],
)
def test_a_method_has_the_parameters_of_flinks(build, says):
    with pytest.raises(InvalidProgramError, match=f"^{says}"):
        StreamTestHarness(build)


def test_a_plain_function_has_the_parameters_of_flinks():
    with pytest.raises(InvalidProgramError, match=r"4 arguments.*f\(left, right, ctx, out\)"):
        StreamTestHarness(
            lambda a, b: (
                a.keyBy(0).intervalJoin(b.keyBy(0)).between(0, 1).process(lambda left, right: left)
            )
        )


def test_a_window_function_may_do_without_out():
    class Keys(fl.ProcessWindowFunction):
        def process(self, key, context, elements):
            yield key

    harness = StreamTestHarness(lambda stream: windows(stream).process(Keys()))
    harness.processElement(("a", 1), 1)
    harness.endInput()
    assert harness.getOutput()[0] == fl.StreamRecord("a", 9)


class Yields(fl.MapFunction):
    def map(self, value):
        yield value


@pytest.mark.parametrize(
    "build",
    [
        lambda a, b: a.map(yields),
        lambda a, b: a.map(Yields()),
        lambda a, b: a.filter(yields),
        lambda a, b: a.keyBy(yields),
        lambda a, b: a.keyBy(key_of).reduce(yields),
        lambda a, b: windows(a).reduce(yields),
        lambda a, b: (
            a.join(b)
            .where(key_of)
            .equalTo(key_of)
            .window(fl.TumblingEventTimeWindows.of(10))
            .apply(lambda first, second: (yield first))
        ),
    ],
)
def test_what_has_one_result_does_not_yield(build):
    with pytest.raises(InvalidProgramError, match="yields, but must return one result"):
        StreamTestHarness(build)
