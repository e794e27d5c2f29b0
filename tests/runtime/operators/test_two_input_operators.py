"""Operators with two inputs: the watermark of both, shared state, broadcast state."""

from __future__ import annotations

import pytest

from flinkish import (
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    MapStateDescriptor,
    OutputTag,
    RichCoFlatMapFunction,
    RichCoMapFunction,
    StreamRecord,
    ValueStateDescriptor,
    Watermark,
    WatermarkStatus,
)
from flinkish.api.errors import IllegalArgumentError, IllegalStateError, UserFunctionError
from flinkish.testing import StreamTestHarness

IDLE, ACTIVE = WatermarkStatus.IDLE, WatermarkStatus.ACTIVE


class Label(CoMapFunction):
    def map1(self, value):
        return f"one {value}"

    def map2(self, value):
        return f"two {value}"


def labelled():
    return StreamTestHarness(lambda one, two: one.connect(two).map(Label()))


def test_map_tells_the_inputs_apart():
    harness = labelled()
    harness.processElement1("a", 1)
    harness.processElement2("b", 2)
    assert harness.getOutput() == [StreamRecord("one a", 1), StreamRecord("two b", 2)]


def test_flat_map_emits_any_number():
    class Repeat(CoFlatMapFunction):
        def flatMap1(self, value, out):
            out.collect(value)

        def flatMap2(self, value, out):
            out.collect(value)
            out.collect(value)

    harness = StreamTestHarness(lambda one, two: one.connect(two).flatMap(Repeat()))
    harness.processElement1("a", 1)
    harness.processElement2("b", 2)
    assert [record.value for record in harness.getOutput()] == ["a", "b", "b"]


class TestWatermark:
    def test_is_the_lower_of_the_two(self):
        harness = labelled()
        harness.processWatermark1(10)
        assert harness.getOutput() == []
        harness.processWatermark2(5)
        harness.processWatermark2(7)
        harness.processWatermark1(11)
        harness.processWatermark2(20)
        assert harness.getOutput() == [Watermark(5), Watermark(7), Watermark(11)]

    def test_an_idle_input_does_not_hold_it_back(self):
        harness = labelled()
        harness.processWatermark1(10)
        harness.processWatermarkStatus2(IDLE)
        harness.processWatermark1(12)
        harness.processWatermarkStatus2(ACTIVE)
        harness.processWatermark2(11)
        harness.processWatermark1(20)
        harness.processWatermark2(15)
        assert harness.getOutput() == [Watermark(10), Watermark(12), Watermark(15)]

    def test_when_both_are_idle_it_is_the_higher(self):
        harness = labelled()
        harness.processWatermark1(10)
        harness.processWatermark2(30)
        harness.processWatermarkStatus1(IDLE)
        harness.processWatermarkStatus2(IDLE)
        harness.processWatermarkStatus1(ACTIVE)
        assert harness.getOutput() == [Watermark(10), Watermark(30), IDLE, ACTIVE]

    def test_of_the_operator_survives_a_restart(self):
        build = lambda one, two: one.connect(two).map(Label())  # noqa: E731
        harness = StreamTestHarness(build)
        harness.processWatermark1(10)
        harness.processWatermarkStatus2(IDLE)
        harness = StreamTestHarness.restore(build, harness.snapshot())
        harness.processWatermark1(12)
        harness.processWatermarkStatus1(IDLE)
        assert harness.getOutput() == [Watermark(12), IDLE]


class Counting:
    def open(self, openContext):
        self.count = self.getRuntimeContext().getState(ValueStateDescriptor("count", default=0))  # type: ignore[attr-defined]

    def counted(self):
        self.count.update(self.count.value() + 1)
        return self.count.value()


class CountingMap(Counting, RichCoMapFunction):
    def map1(self, value):
        return (1, value, self.counted())

    def map2(self, value):
        return (2, value, self.counted())


class CountingFlatMap(Counting, RichCoFlatMapFunction):
    def flatMap1(self, value, out):
        out.collect((1, value, self.counted()))

    def flatMap2(self, value, out):
        out.collect((2, value, self.counted()))


@pytest.mark.parametrize(
    "apply", [lambda s: s.map(CountingMap()), lambda s: s.flatMap(CountingFlatMap())]
)
def test_both_inputs_share_the_state_of_their_key(apply):
    harness = StreamTestHarness(
        lambda one, two: apply(one.connect(two).keyBy(lambda v: v, lambda v: v))
    )
    harness.processElement1("a", 1)
    harness.processElement2("a", 1)
    harness.processElement2("b", 1)
    assert [r.value for r in harness.getOutput()] == [(1, "a", 1), (2, "a", 2), (2, "b", 1)]


def test_state_of_connected_streams_needs_keys():
    with pytest.raises(IllegalStateError, match="keyBy"):
        StreamTestHarness(lambda one, two: one.connect(two).map(CountingMap()))


class CoTimers(CoProcessFunction):
    def processElement1(self, value, ctx, out):
        out.collect((value, ctx.timestamp(), ctx.timerService().currentWatermark()))

    def processElement2(self, value, ctx, out):
        ctx.timerService().registerEventTimeTimer(value)

    def onTimer(self, timestamp, ctx, out):
        out.collect(("timer", timestamp, ctx.timeDomain().value))


def test_a_co_process_function_has_timers_where_both_streams_are_keyed():
    harness = StreamTestHarness(
        lambda one, two: one.connect(two).keyBy(lambda v: 0, lambda v: 0).process(CoTimers())
    )
    harness.processElement2(7, 1)
    harness.processWatermark1(8)
    assert harness.getOutput() == []
    harness.processWatermark2(9)
    assert harness.getOutput() == [StreamRecord(("timer", 7, "EVENT_TIME"), 7), Watermark(8)]


def test_without_keys_it_has_none():
    harness = StreamTestHarness(lambda one, two: one.connect(two).process(CoTimers()))
    harness.processWatermark1(4)
    harness.processWatermark2(3)
    harness.processElement1("a", 5)
    assert harness.getOutput()[-1] == StreamRecord(("a", 5, 3), 5)
    with pytest.raises(IllegalStateError, match=r"keyBy\(key1, key2\)"):
        harness.processElement2(7, 1)


LIMITS = MapStateDescriptor("limits")
SEEN = ValueStateDescriptor("seen", default=0)
SIDE = OutputTag("side")


class Limits(KeyedBroadcastProcessFunction):
    """Elements ``(key, number)``; broadcast callables get the context."""

    def open(self, openContext):
        self.seen = self.getRuntimeContext().getState(SEEN)

    def processElement(self, value, ctx, out):
        self.seen.update(self.seen.value() + value[1])
        out.collect((*value, sorted(ctx.getBroadcastState(LIMITS).immutableEntries())))

    def processBroadcastElement(self, value, ctx, out):
        value(ctx, out)


def limited():
    return StreamTestHarness(
        lambda one, rules: (
            one.keyBy(lambda value: value[0]).connect(rules.broadcast(LIMITS)).process(Limits())
        )
    )


class TestBroadcast:
    def test_elements_see_what_was_broadcast(self):
        harness = limited()
        harness.processElement1(("a", 1), 1)
        harness.processElement2(lambda ctx, out: ctx.getBroadcastState(LIMITS).put("x", 5), 2)
        harness.processElement1(("b", 2), 3)
        values = [record.value for record in harness.getOutput()]
        assert values == [("a", 1, []), ("b", 2, [("x", 5)])]

    def test_apply_to_keyed_state_changes_live_state(self):
        harness = limited()
        for key in "aba":
            harness.processElement1((key, 1), 1)

        def reset(ctx, out):
            def visit(key, state):
                out.collect((key, state.value()))
                state.update(10)

            ctx.applyToKeyedState(SEEN, visit)

        harness.processElement2(reset, 7)
        harness.processElement2(reset, 8)
        assert harness.getOutput()[3:] == [
            StreamRecord(("a", 2), 7),
            StreamRecord(("b", 1), 7),
            StreamRecord(("a", 10), 8),
            StreamRecord(("b", 10), 8),
        ]

    def test_keyed_state_may_be_cleared_while_it_is_visited(self):
        harness = limited()
        for key in "abc":
            harness.processElement1((key, 1), 1)
        assert harness.numKeyedStateEntries() == 3
        harness.processElement2(
            lambda ctx, out: ctx.applyToKeyedState(SEEN, lambda key, state: state.clear()), 2
        )
        assert harness.numKeyedStateEntries() == 0

    def test_a_class_may_visit(self):
        class Visit:
            def process(self, key, state):
                seen.append((key, state.value()))

        seen = []
        function = Visit()
        harness = limited()
        harness.processElement1(("a", 3), 1)
        operator = next(iter(harness._chain.operators.values()))
        operator._broadcast_context.applyToKeyedState(SEEN, function)
        assert seen == [("a", 3)]

    def test_broadcast_elements_have_no_key(self):
        class Wrong(Limits):
            def processBroadcastElement(self, value, ctx, out):
                self.seen.value()

        harness = StreamTestHarness(
            lambda one, rules: (
                one.keyBy(lambda v: v[0]).connect(rules.broadcast(LIMITS)).process(Wrong())
            )
        )
        harness.processElement1(("a", 3), 1)
        with pytest.raises(IllegalStateError, match="applyToKeyedState"):
            harness.processElement2("rule", 1)

    def test_elements_may_not_change_what_is_broadcast(self):
        class Wrong(Limits):
            def processElement(self, value, ctx, out):
                ctx.getBroadcastState(LIMITS).put(*value)

        harness = StreamTestHarness(
            lambda one, rules: (
                one.keyBy(lambda v: v[0]).connect(rules.broadcast(LIMITS)).process(Wrong())
            )
        )
        with pytest.raises(IllegalStateError, match="processBroadcastElement"):
            harness.processElement1(("a", 3), 1)

    def test_an_unknown_descriptor_is_named(self):
        harness = limited()
        with pytest.raises(IllegalArgumentError, match="no broadcast state 'other', only 'limits'"):
            harness.processElement2(
                lambda ctx, out: ctx.getBroadcastState(MapStateDescriptor("other")), 1
            )

    def test_an_error_names_the_element(self):
        harness = limited()
        with pytest.raises(UserFunctionError, match=r"not callable.*on the element 5"):
            harness.processElement2(5, 1)

    def test_works_without_keys(self):
        class Known(BroadcastProcessFunction):
            def processElement(self, value, ctx, out):
                known = ctx.getBroadcastState(LIMITS).contains(value)
                clocks = (ctx.currentWatermark(), ctx.currentProcessingTime())
                out.collect((value, known, ctx.timestamp(), *clocks))

            def processBroadcastElement(self, value, ctx, out):
                state = ctx.getBroadcastState(LIMITS)
                state.putAll({value: True})
                ctx.output(SIDE, list(state.entries()))

        build = lambda one, two: one.connect(two.broadcast(LIMITS)).process(Known())  # noqa: E731
        harness = StreamTestHarness(build)
        harness.processElement1("a", 1)
        harness.processElement2("a", 2)
        assert harness.getSideOutput(SIDE) == [StreamRecord([("a", True)], 2)]
        harness.processWatermark1(3)
        harness.processWatermark2(4)
        harness = StreamTestHarness.restore(build, harness.snapshot())
        harness.setProcessingTime(9)
        harness.processElement1("a", 5)
        assert harness.getOutput() == [StreamRecord(("a", True, 5, 3, 9), 5)]


def test_a_rich_key_is_the_same_for_both_inputs():
    class Pair(KeyedCoProcessFunction):
        def processElement1(self, value, ctx, out):
            out.collect(ctx.getCurrentKey())

        processElement2 = processElement1

    harness = StreamTestHarness(
        lambda one, two: one.connect(two).keyBy("city", lambda v: v[0]).process(Pair())
    )
    harness.processElement1({"city": "Rome"}, 1)
    harness.processElement2(("Rome", 5), 1)
    assert [record.value for record in harness.getOutput()] == ["Rome", "Rome"]
