"""Functions that emit any number may write to ``out``, return or yield: all the same."""

from __future__ import annotations

import pytest

import flinkish as fl
from flinkish.api.errors import UnfitElementError, UserFunctionError
from flinkish.testing import StreamTestHarness
from tests.runtime.micro_batches import MicroBatches
from tests.streams import records

RULES = fl.MapStateDescriptor("rules")


def key_of(value):
    return value[0]


def in_order(value, out):
    """Three results: one before the first yield, one yielded, one after it."""
    out.collect((*value, 1))
    yield (*value, 2)
    out.collect((*value, 3))


def listed(value, out):
    out.collect((*value, 1))
    return [(*value, 2), (*value, 3)]


def written(value, out):
    for result in listed(value, out):
        out.collect(result)


@pytest.fixture(params=[in_order, listed, written])
def results(request):
    return request.param


def functions(results):
    """A job of two streams for each kind of function; all call ``results(value, out)``."""

    class Flat(fl.FlatMapFunction):
        def flatMap(self, value, out):
            return results(value, out)

    class Process(fl.ProcessFunction):
        def processElement(self, value, ctx, out):
            return results(value, out)

    class Keyed(fl.KeyedProcessFunction):
        def processElement(self, value, ctx, out):
            return results(value, out)

    class CoFlat(fl.CoFlatMapFunction):
        def flatMap1(self, value, out):
            return results(value, out)

        flatMap2 = flatMap1

    class Co(fl.CoProcessFunction):
        def processElement1(self, value, ctx, out):
            return results(value, out)

        processElement2 = processElement1

    class KeyedCo(fl.KeyedCoProcessFunction):
        def processElement1(self, value, ctx, out):
            return results(value, out)

        processElement2 = processElement1

    class Broadcast(fl.BroadcastProcessFunction):
        def processElement(self, value, ctx, out):
            return results(value, out)

        processBroadcastElement = processElement

    class KeyedBroadcast(fl.KeyedBroadcastProcessFunction):
        def processElement(self, value, ctx, out):
            return results(value, out)

        processBroadcastElement = processElement

    class Timed(fl.KeyedProcessFunction):
        def open(self, openContext):
            self.value = self.getRuntimeContext().getState(fl.ValueStateDescriptor("value"))

        def processElement(self, value, ctx, out):
            self.value.update(value)
            ctx.timerService().registerEventTimeTimer(ctx.timestamp())

        def onTimer(self, timestamp, ctx, out):
            return results(self.value.value(), out)

    return {
        "FlatMapFunction": lambda a, b: a.union(b).flatMap(Flat()),
        "flatMap(f)": lambda a, b: a.union(b).flatMap(lambda value, out: results(value, out)),
        "keyed flatMap": lambda a, b: a.union(b).keyBy(key_of).flatMap(Flat()),
        "ProcessFunction": lambda a, b: a.union(b).process(Process()),
        "process(f)": lambda a, b: a.union(b).process(lambda value, ctx, out: results(value, out)),
        "KeyedProcessFunction": lambda a, b: a.union(b).keyBy(key_of).process(Keyed()),
        "onTimer": lambda a, b: a.union(b).keyBy(key_of).process(Timed()),
        "CoFlatMapFunction": lambda a, b: a.connect(b).flatMap(CoFlat()),
        "keyed CoFlatMapFunction": lambda a, b: a.connect(b).keyBy(0, 0).flatMap(CoFlat()),
        "CoProcessFunction": lambda a, b: a.connect(b).process(Co()),
        "KeyedCoProcessFunction": lambda a, b: a.connect(b).keyBy(0, 0).process(KeyedCo()),
        "BroadcastProcessFunction": lambda a, b: a.connect(b.broadcast(RULES)).process(Broadcast()),
        "KeyedBroadcastProcessFunction": (
            lambda a, b: a.keyBy(key_of).connect(b.broadcast(RULES)).process(KeyedBroadcast())
        ),
    }


@pytest.mark.parametrize("kind", functions(written))
def test_what_a_function_returns_or_yields_comes_out_with_its_timestamp_and_in_order(kind, results):
    harness = StreamTestHarness(functions(results)[kind])
    harness.processElement1(("a", "x"), 5)
    harness.processElement2(("b", "y"), 6)
    harness.endInput()
    assert records(harness) == [
        *(fl.StreamRecord(("a", "x", n), 5) for n in (1, 2, 3)),
        *(fl.StreamRecord(("b", "y", n), 6) for n in (1, 2, 3)),
    ]


class Pair(fl.ProcessJoinFunction):
    def __init__(self, results):
        self.results = results

    def processElement(self, left, right, ctx, out):
        return self.results((left[0], left[1] + right[1]), out)


class FlatPair(fl.FlatJoinFunction):
    def __init__(self, results):
        self.results = results

    def join(self, first, second, out):
        return self.results((first[0], first[1] + second[1]), out)


@pytest.mark.parametrize(
    "join",
    [
        lambda a, b, results: (
            a.keyBy(key_of).intervalJoin(b.keyBy(key_of)).between(-5, 5).process(Pair(results))
        ),
        lambda a, b, results: (
            a.join(b)
            .where(key_of)
            .equalTo(key_of)
            .window(fl.TumblingEventTimeWindows.of(10))
            .apply(FlatPair(results))
        ),
    ],
)
def test_what_a_function_of_a_join_returns_or_yields_comes_out_in_order(join, results):
    harness = StreamTestHarness(lambda a, b: join(a, b, results))
    harness.processElement1(("a", "x"), 5)
    harness.processElement2(("a", "y"), 6)
    harness.endInput()
    values = [r.value for r in harness.getOutput() if isinstance(r, fl.StreamRecord)]
    assert values == [("a", "xy", 1), ("a", "xy", 2), ("a", "xy", 3)]


class Count(fl.KeyedProcessFunction):
    """Counts in its generator, which so must run under the key of its element."""

    def open(self, openContext):
        self.count = self.getRuntimeContext().getState(fl.ValueStateDescriptor("count", default=0))

    def processElement(self, value, ctx, out):
        self.count.update(self.count.value() + 1)
        yield (ctx.getCurrentKey(), ctx.timestamp(), self.count.value())


def test_a_generator_runs_under_the_key_and_timestamp_of_its_element():
    job = MicroBatches(lambda stream: stream.keyBy(key_of).process(Count()), 2)
    [results] = job.run([[[(("a", 0), 1), (("b", 0), 2), (("a", 0), 3)]], [[(("b", 0), 4)]]])
    assert sorted(r.value for r in results) == [("a", 1, 1), ("a", 3, 2), ("b", 2, 1), ("b", 4, 2)]
    assert all(result.timestamp == result.value[1] for result in results)


@pytest.mark.parametrize("several", [list, tuple])
def test_the_nones_of_several_calls_in_a_lambda_are_no_results(several):
    harness = StreamTestHarness(
        lambda stream: stream.process(
            lambda value, ctx, out: several((out.collect(value), out.collect(value)))
        )
    )
    harness.processElement("a", 1)
    assert harness.getOutput() == [fl.StreamRecord("a", 1), fl.StreamRecord("a", 1)]


@pytest.mark.parametrize("returned", [3, "ada", {"a": 1}, ("a", 1), fl.Row(name="ada")])
@pytest.mark.parametrize("keyed", [False, True])
def test_a_single_result_of_a_process_function_is_refused(keyed, returned):
    def job(stream):
        return (
            (stream.keyBy(key_of) if keyed else stream)
            .process(lambda value, ctx, out: returned)
            .name("alarm")
        )

    harness = StreamTestHarness(job)
    with pytest.raises(UnfitElementError, match=r"^alarm: .* returned .*write them.*\[result\]"):
        harness.processElement(("a", 1), 1)


def test_an_error_in_a_generator_names_the_element():
    def fail(value, ctx, out):
        yield value
        raise ValueError("no")

    harness = StreamTestHarness(lambda stream: stream.process(fail).name("alarm"))
    with pytest.raises(UserFunctionError, match=r"^alarm: .*ValueError: no.*\('a', 1\)"):
        harness.processElement(("a", 1), 1)
