"""Process functions with and without a key: times, timers, side outputs, errors."""

from __future__ import annotations

import pytest

from flinkish import (
    KeyedProcessFunction,
    OutputTag,
    ProcessFunction,
    RichFlatMapFunction,
    RichMapFunction,
    RichReduceFunction,
    StreamRecord,
    TimeDomain,
    ValueStateDescriptor,
    Watermark,
)
from flinkish.api.errors import IllegalStateError, UserFunctionError
from flinkish.testing import StreamTestHarness
from tests.streams import records, values

SIDE = OutputTag("side")


def keyed(function):
    return StreamTestHarness(lambda stream: stream.keyBy(lambda value: value[0]).process(function))


class TestProcessFunction:
    def test_knows_the_time_and_the_clocks(self):
        def look(value, ctx, out):
            timers = ctx.timerService()
            now = (timers.currentWatermark(), timers.currentProcessingTime())
            out.collect((value, ctx.timestamp(), *now))

        harness = StreamTestHarness(lambda stream: stream.process(look))
        harness.processElement("a", 3)
        harness.processWatermark(7)
        harness.setProcessingTime(11)
        harness.processElement("b")
        assert records(harness) == [
            StreamRecord(("a", 3, -(2**63), 0), 3),
            StreamRecord(("b", None, 7, 11), None),
        ]

    def test_side_outputs_keep_the_timestamp(self):
        harness = StreamTestHarness(
            lambda stream: stream.process(lambda value, ctx, out: ctx.output(SIDE, value))
        )
        harness.processElement("a", 3)
        harness.processElement("b")
        assert harness.getSideOutput(SIDE) == [StreamRecord("a", 3), StreamRecord("b", None)]
        assert records(harness) == []

    def test_a_side_output_can_be_read_on(self):
        def build(stream):
            split = stream.process(lambda value, ctx, out: ctx.output(SIDE, value))
            return split.getSideOutput(SIDE).map(str.upper)

        harness = StreamTestHarness(build)
        harness.processElement("a", 3)
        harness.processWatermark(5)
        assert harness.getOutput() == [StreamRecord("A", 3), Watermark(5)]

    @pytest.mark.parametrize("domain", ["EventTime", "ProcessingTime"])
    @pytest.mark.parametrize("action", ["register", "delete"])
    def test_has_no_timers(self, domain, action):
        def ask(value, ctx, out):
            getattr(ctx.timerService(), f"{action}{domain}Timer")(5)

        harness = StreamTestHarness(lambda stream: stream.process(ask))
        with pytest.raises(IllegalStateError, match="Call keyBy"):
            harness.processElement("a", 3)

    def test_on_a_keyed_stream_has_state_but_no_timers_as_in_flink(self):
        class Count(ProcessFunction):
            def open(self, openContext):
                descriptor = ValueStateDescriptor("count", default=0)
                self.count = self.getRuntimeContext().getState(descriptor)

            def processElement(self, value, ctx, out):
                self.count.update(self.count.value() + 1)
                out.collect((value[0], self.count.value()))
                if value[1]:
                    ctx.timerService().registerEventTimeTimer(1)

        harness = keyed(Count())
        for key in "aba":
            harness.processElement((key, False), 1)
        assert values(harness) == [("a", 1), ("b", 1), ("a", 2)]
        with pytest.raises(IllegalStateError, match="Write a KeyedProcessFunction"):
            harness.processElement(("a", True), 1)

    def test_without_a_key_has_no_state(self):
        class Stateful(ProcessFunction):
            def open(self, openContext):
                self.getRuntimeContext().getState(ValueStateDescriptor("state"))

            def processElement(self, value, ctx, out):
                pass

        with pytest.raises(IllegalStateError, match="keyBy"):
            StreamTestHarness(lambda stream: stream.process(Stateful()))


class Timers(KeyedProcessFunction):
    """An element ``(key, action, time)`` registers or deletes a timer."""

    def processElement(self, value, ctx, out):
        _, action, time = value
        getattr(ctx.timerService(), f"{action}Timer")(time)

    def onTimer(self, timestamp, ctx, out):
        watermark = ctx.timerService().currentWatermark()
        event = ctx.timeDomain() is TimeDomain.EVENT_TIME
        assert ctx.timestamp() == timestamp
        out.collect((ctx.getCurrentKey(), timestamp, event, watermark))
        ctx.output(SIDE, timestamp)


class TestTimers:
    def test_fire_in_order_with_their_timestamp_and_key(self):
        harness = keyed(Timers())
        for key, time in [("a", 30), ("b", 10), ("a", 20), ("a", 20), ("b", 99)]:
            harness.processElement((key, "registerEventTime", time), 5)
        assert harness.numEventTimeTimers() == 4
        harness.processWatermark(30)
        assert harness.getOutput() == [
            StreamRecord(("b", 10, True, 30), 10),
            StreamRecord(("a", 20, True, 30), 20),
            StreamRecord(("a", 30, True, 30), 30),
            Watermark(30),
        ]
        assert harness.numEventTimeTimers() == 1

    def test_in_processing_time_emit_without_a_timestamp_but_to_the_side_with_it(self):
        harness = keyed(Timers())
        harness.processElement(("a", "registerProcessingTime", 10), 5)
        harness.setProcessingTime(9)
        assert records(harness) == []
        harness.setProcessingTime(12)
        assert records(harness) == [StreamRecord(("a", 10, False, -(2**63)), None)]
        assert harness.getSideOutput(SIDE) == [StreamRecord(10, 10)]

    def test_are_deleted_by_key_domain_and_time(self):
        harness = keyed(Timers())
        for action in ("registerEventTime", "registerProcessingTime"):
            harness.processElement(("a", action, 10), 5)
        for value in [("b", "deleteEventTime", 10), ("a", "deleteEventTime", 11)]:
            harness.processElement(value, 5)
        assert (harness.numEventTimeTimers(), harness.numProcessingTimeTimers()) == (1, 1)
        harness.processElement(("a", "deleteEventTime", 10), 5)
        assert (harness.numEventTimeTimers(), harness.numProcessingTimeTimers()) == (0, 1)

    def test_at_or_below_the_watermark_fire_with_the_next(self):
        harness = keyed(Timers())
        harness.processWatermark(50)
        harness.processElement(("a", "registerEventTime", 20), 60)
        assert records(harness) == []
        harness.processWatermark(51)
        assert records(harness) == [StreamRecord(("a", 20, True, 51), 20)]

    def test_registered_by_a_timer_fire_in_the_same_sweep(self):
        class Chain(KeyedProcessFunction):
            def processElement(self, value, ctx, out):
                ctx.timerService().registerEventTimeTimer(10)
                ctx.timerService().registerProcessingTimeTimer(10)

            def onTimer(self, timestamp, ctx, out):
                out.collect(timestamp)
                if timestamp < 13:
                    event = ctx.timeDomain() is TimeDomain.EVENT_TIME
                    timers = ctx.timerService()
                    register = (
                        timers.registerEventTimeTimer
                        if event
                        else timers.registerProcessingTimeTimer
                    )
                    register(timestamp - 5 if timestamp == 10 else timestamp + 7)

        harness = keyed(Chain())
        harness.processElement(("a",), 0)
        harness.processWatermark(12)
        assert values(harness) == [10, 5, 12]
        harness.setProcessingTime(12)
        assert values(harness) == [10, 5, 12] * 2
        harness.setProcessingTime(19)
        assert values(harness)[-1] == 19

    def test_in_processing_time_do_not_fire_at_the_end_of_the_input(self):
        harness = keyed(Timers())
        harness.processElement(("a", "registerProcessingTime", 10), 5)
        harness.endInput()
        assert harness.getOutput() == [Watermark(2**63 - 1)]

    def test_a_float_is_no_time(self):
        harness = keyed(Timers())
        with pytest.raises(UserFunctionError, match="integer"):
            harness.processElement(("a", "registerEventTime", 1.5), 5)

    def test_time_domain_is_only_there_in_on_timer(self):
        harness = keyed(lambda value, ctx, out: ctx.timeDomain())
        with pytest.raises(IllegalStateError, match="onTimer"):
            harness.processElement(("a",), 5)


class TestErrors:
    def test_name_the_operator_and_the_element(self):
        def fail(value, ctx, out):
            raise KeyError(value)

        with pytest.raises(UserFunctionError, match=r"KeyedProcess: .*KeyError.*\('a', 1\)") as e:
            keyed(fail).processElement(("a", 1), 5)
        assert isinstance(e.value.__cause__, KeyError)

    def test_name_the_timer(self):
        class Fails(Timers):
            def onTimer(self, timestamp, ctx, out):
                raise KeyError(timestamp)

        harness = keyed(Fails())
        harness.processElement(("a", "registerEventTime", 10), 5)
        with pytest.raises(UserFunctionError, match=r"timestamp=10, key='a'"):
            harness.processWatermark(10)

    def test_a_side_output_wants_a_tag(self):
        harness = keyed(lambda value, ctx, out: ctx.output("side", value))
        with pytest.raises(ValueError, match="needs an OutputTag, not 'side'"):
            harness.processElement(("a",), 5)

    def test_state_in_open_is_refused(self):
        class Early(Timers):
            def open(self, openContext):
                self.getRuntimeContext().getState(ValueStateDescriptor("state")).value()

        with pytest.raises(IllegalStateError, match=r"open\(\) is for getting"):
            keyed(Early())


class Numbered:
    """Counts per key, in keyed state."""

    def open(self, openContext):
        self.count = self.getRuntimeContext().getState(ValueStateDescriptor("count", default=0))  # type: ignore[attr-defined]

    def number(self):
        self.count.update(self.count.value() + 1)
        return self.count.value()


class TestRichFunctionsOnKeyedStreams:
    def run(self, build):
        harness = StreamTestHarness(lambda stream: build(stream.keyBy(lambda value: value[0])))
        for key in "abaab":
            harness.processElement((key,), 1)
        return values(harness)

    def test_map(self):
        class Map(Numbered, RichMapFunction):
            def map(self, value):
                return (*value, self.number())

        expected = [("a", 1), ("b", 1), ("a", 2), ("a", 3), ("b", 2)]
        assert self.run(lambda stream: stream.map(Map())) == expected

    def test_flat_map(self):
        class FlatMap(Numbered, RichFlatMapFunction):
            def flatMap(self, value, out):
                for _ in range(self.number()):
                    out.collect(value[0])

        assert "".join(self.run(lambda stream: stream.flatMap(FlatMap()))) == "abaaaaabb"

    def test_filter(self):
        from flinkish import RichFilterFunction

        class EverySecond(Numbered, RichFilterFunction):
            def filter(self, value):
                return self.number() % 2 == 0

        assert self.run(lambda stream: stream.filter(EverySecond())) == [("a",), ("b",)]

    def test_reduce(self):
        class Reduce(Numbered, RichReduceFunction):
            def reduce(self, value1, value2):
                return (*value1, self.number())

        expected = [("a",), ("b",), ("a", 1), ("a", 1, 2), ("b", 1)]
        assert self.run(lambda stream: stream.reduce(Reduce())) == expected


def test_none_is_reduced_as_nothing():
    harness = StreamTestHarness(
        lambda stream: stream.keyBy(lambda value: 0).reduce(
            lambda a, b: None if b is None else a + b
        )
    )
    for number in [1, 2, None, 4, 1]:
        harness.processElement(number, 0)
    assert values(harness) == [1, 3, None, 4, 5]
