"""The general window operator: what the recorded cases do not show."""

from __future__ import annotations

import pytest

from flinkish import (
    ContentChangeWindows,
    CountEvictor,
    CountTrigger,
    DynamicEventTimeSessionWindows,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    ListStateDescriptor,
    MergingWindowAssigner,
    OutputTag,
    ProcessWindowFunction,
    PurgingTrigger,
    StateTtlConfig,
    Time,
    TimeWindow,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    ValueStateDescriptor,
    Window,
    WindowStagger,
)
from flinkish.api.errors import (
    FlinkishError,
    InvalidProgramError,
    MissingTimestampError,
    NotSupportedError,
    UserFunctionError,
)
from flinkish.testing import StreamTestHarness
from tests.runtime.micro_batches import MicroBatches
from tests.streams import values

TEN = TumblingEventTimeWindows.of(10)


def harness_of(assigner, configure=lambda windowed: windowed, function=None):
    function = function or (lambda key, window, elements: [(key, window, list(elements))])
    return StreamTestHarness(
        lambda s: configure(s.keyBy(lambda e: e[0]).window(assigner)).apply(function)
    )


class Quiet(Trigger):
    """Does nothing, unless a test says otherwise."""

    def onElement(self, element, timestamp, window, ctx):
        return TriggerResult.CONTINUE

    def onProcessingTime(self, time, window, ctx):
        return TriggerResult.CONTINUE

    def onEventTime(self, time, window, ctx):
        return TriggerResult.CONTINUE

    def clear(self, window, ctx):
        pass


# ---------------------------------------------------------------------- errors


@pytest.mark.parametrize("assigner", [TEN, EventTimeSessionWindows.withGap(5)])
def test_an_element_without_a_timestamp_is_refused(assigner):
    harness = harness_of(assigner, lambda w: w.trigger(CountTrigger.of(1)))
    with pytest.raises(MissingTimestampError, match=r"Windows: .*\('a', 1\).*assignTimestamps"):
        harness.processElement(("a", 1))


def test_an_error_in_a_trigger_names_operator_and_element():
    class Broken(Quiet):
        def onElement(self, element, timestamp, window, ctx):
            raise ZeroDivisionError("oh")

    harness = harness_of(TEN, lambda w: w.trigger(Broken()))
    with pytest.raises(UserFunctionError, match=r"TumblingEventTimeWindows: .*oh .*\('a', 1\)"):
        harness.processElement(("a", 1), 5)


def test_an_error_in_a_firing_names_the_timer():
    def broken(key, window, elements):
        raise ZeroDivisionError("oh")

    harness = harness_of(TEN, lambda w: w.trigger(PurgingTrigger.of(EventTimeTrigger())), broken)
    harness.processElement(("a", 1), 5)
    with pytest.raises(UserFunctionError, match=r"timestamp=9, key='a', .*start=0, end=10"):
        harness.processWatermark(9)


def test_a_trigger_must_return_a_trigger_result():
    class Silent(Quiet):
        def onElement(self, element, timestamp, window, ctx):
            pass

    harness = harness_of(TEN, lambda w: w.trigger(Silent()))
    with pytest.raises(InvalidProgramError, match=r"Silent\(\) returned None.*CONTINUE"):
        harness.processElement(("a", 1), 5)


def test_windows_must_not_be_merged_into_what_the_watermark_has_reached():
    class UpTo(MergingWindowAssigner):
        def __init__(self, end):
            self.end = end

        def assignWindows(self, element, timestamp, context):
            return [TimeWindow(timestamp, timestamp + 10)]

        def mergeWindows(self, windows, callback):
            if len(windows) > 1:
                callback.merge(windows, TimeWindow(0, self.end))

        def getDefaultTrigger(self):
            return EventTimeTrigger.create()

        def isEventTime(self):
            return True

    def merged(end):
        harness = harness_of(UpTo(end))
        harness.processWatermark(4)
        harness.processElement(("a", 1), 5)
        harness.processElement(("a", 2), 5)
        harness.processWatermark(5)
        return values(harness)

    with pytest.raises(
        NotSupportedError, match=r"end=5\), which has already ended.* watermark is at 4"
    ):
        merged(5)
    assert merged(6) == [("a", TimeWindow(0, 6), [("a", 1), ("a", 2)])]


def test_state_per_window_is_refused_where_windows_merge():
    class Stateful(ProcessWindowFunction):
        def process(self, key, context, elements, out):
            context.windowState().getListState(ListStateDescriptor("l"))

    harness = StreamTestHarness(
        lambda s: (
            s.keyBy(lambda e: 0).window(EventTimeSessionWindows.withGap(5)).process(Stateful())
        )
    )
    harness.processElement(("a", 1), 5)
    with pytest.raises(FlinkishError, match=r"Stateful .*EventTimeSessionWindows.*globalState\(\)"):
        harness.processWatermark(20)


def test_a_value_state_of_a_trigger_cannot_merge():
    class Wrong(Quiet):
        def canMerge(self):
            return True

        def onMerge(self, window, ctx):
            ctx.mergePartitionedState(ValueStateDescriptor("v"))

    harness = harness_of(EventTimeSessionWindows.withGap(5), lambda w: w.trigger(Wrong()))
    harness.processElement(("a", 1), 5)
    with pytest.raises(InvalidProgramError, match=r"ValueStateDescriptor.*ReducingState"):
        harness.processElement(("a", 2), 7)


# ---------------------------------------------------------------------- behaviour


def test_a_trigger_may_keep_lists_and_merge_them():
    class Remembers(Quiet):
        SEEN = ListStateDescriptor("seen")

        def onElement(self, element, timestamp, window, ctx):
            seen = ctx.getPartitionedState(self.SEEN)
            seen.add(element[1])
            return TriggerResult.FIRE if len(list(seen.get())) == 3 else TriggerResult.CONTINUE

        def canMerge(self):
            return True

        def onMerge(self, window, ctx):
            ctx.mergePartitionedState(self.SEEN)

        def clear(self, window, ctx):
            ctx.getPartitionedState(self.SEEN).clear()

    harness = harness_of(EventTimeSessionWindows.withGap(5), lambda w: w.trigger(Remembers()))
    harness.processElement(("a", 1), 0)
    harness.processElement(("a", 2), 10)
    assert values(harness) == []
    harness.processElement(("a", 3), 5)
    assert [(window, sorted(es)) for _, window, es in values(harness)] == [
        (TimeWindow(0, 15), [("a", 1), ("a", 2), ("a", 3)])
    ]
    harness.processWatermark(100)
    assert harness.numKeyedStateEntries() == harness.numEventTimeTimers() == 0


def test_windows_of_ones_own_work():
    class Name(Window):
        def __init__(self, name):
            self.name = name

        def maxTimestamp(self):
            return 99

        def __eq__(self, other):
            return isinstance(other, Name) and other.name == self.name

        def __hash__(self):
            return hash(self.name)

    class ByName(type(TEN)):
        def assignWindows(self, element, timestamp, context):
            return [Name(letter) for letter in element[1]]

    harness = harness_of(ByName(10), function=lambda k, w, es: [(w.name, len(list(es)))])
    harness.processElement(("a", "xy"), 5)
    harness.processElement(("a", "y"), 5)
    harness.processWatermark(99)
    assert sorted(values(harness)) == [("x", 1), ("y", 2)]


def test_a_stagger_offset_stays_over_a_restart():
    def build(stream):
        windows = TumblingEventTimeWindows.of(1000, 0, WindowStagger.RANDOM)
        return stream.keyBy(lambda e: 0).window(windows).apply(lambda k, w, es: [w.start])

    harness = StreamTestHarness(build)
    for number in range(20):
        harness.processElement(number, number * 1000)
        harness = StreamTestHarness.restore(build, harness.snapshot())
    harness.endInput()
    assert len({start % 1000 for start in values(harness)}) == 1


def test_processing_time_windows_take_no_notice_of_timestamps():
    harness = harness_of(TumblingProcessingTimeWindows.of(10))
    harness.processWatermark(1000)
    harness.processElement(("a", 1), 5)
    harness.processElement(("a", 2))
    harness.setProcessingTime(8)
    assert values(harness) == []
    harness.setProcessingTime(9)
    assert values(harness) == [("a", TimeWindow(0, 10), [("a", 1), ("a", 2)])]
    assert harness.numProcessingTimeTimers() == 0


def test_processing_time_timers_do_not_fire_at_the_end():
    harness = harness_of(TumblingProcessingTimeWindows.of(10))
    harness.processElement(("a", 1), 5)
    harness.endInput()
    assert values(harness) == []


def test_a_purge_leaves_the_timers_and_the_windows_own_state():
    class Counts(ProcessWindowFunction):
        FIRINGS = ValueStateDescriptor("firings")

        def process(self, key, context, elements, out):
            firings = context.windowState().getState(self.FIRINGS)
            firings.update((firings.value() or 0) + 1)
            out.collect((firings.value(), len(list(elements))))

        def clear(self, context):
            context.windowState().getState(self.FIRINGS).clear()

    harness = StreamTestHarness(
        lambda s: (
            s.keyBy(lambda e: 0)
            .window(TEN)
            .trigger(PurgingTrigger.of(CountTrigger.of(2)))
            .process(Counts())
        )
    )
    for number in range(4):
        harness.processElement(number, number)
    assert values(harness) == [(1, 2), (2, 2)]
    assert harness.numKeyedStateEntries() == 1
    harness.processWatermark(9)
    assert harness.numKeyedStateEntries() == harness.numEventTimeTimers() == 0


def test_a_window_function_may_use_side_outputs_state_and_its_life_cycle():
    side = OutputTag("side")
    events = []

    class Everything(ProcessWindowFunction):
        def open(self, openContext):
            events.append("open")
            self.total = self.getRuntimeContext().getState(ValueStateDescriptor("total"))

        def process(self, key, context, elements, out):
            self.total.update((self.total.value() or 0) + len(list(elements)))
            context.output(side, (context.currentWatermark(), context.currentProcessingTime()))
            yield key, self.total.value()

        def close(self):
            events.append("close")

    harness = StreamTestHarness(lambda s: s.keyBy(lambda e: e[0]).window(TEN).process(Everything()))
    harness.setProcessingTime(77)
    for timestamp in (1, 2, 11):
        harness.processElement(("a", 1), timestamp)
    harness.processWatermark(30)
    harness.close()
    assert values(harness) == [("a", 2), ("a", 3)]
    assert [(r.value, r.timestamp) for r in harness.getSideOutput(side)] == [
        ((30, 77), 9),
        ((30, 77), 19),
    ]
    assert events == ["open", "close"]


class CountsFirings(CountTrigger):
    def onElement(self, element, timestamp, window, ctx):
        result = super().onElement(element, timestamp, window, ctx)
        if result.isFire():
            ctx.getMetricGroup().addGroup("trigger").counter("firings").inc()
        return result


class CountsEvicted(CountEvictor):
    def evictBefore(self, elements, size, window, evictorContext):
        super().evictBefore(elements, size, window, evictorContext)
        evictorContext.getMetricGroup().counter("evicted").inc(size - len(elements))


def test_triggers_and_evictors_have_the_metrics_of_the_operator():
    job = MicroBatches(
        lambda stream: (
            stream.keyBy(lambda e: e)
            .window(GlobalWindows.create())
            .trigger(CountsFirings(2))
            .evictor(CountsEvicted(1))
            .apply(lambda key, window, elements: list(elements))
            .name("windows")
        ),
        3,
    )
    for batch in (["a", "b", "a"], ["a", "a", "b"]):
        job.process([[(letter, None) for letter in batch]])
    assert job.metrics.metrics()["windows"].user == {"trigger.firings": 3, "evicted": 4}


@pytest.mark.parametrize(
    "windows",
    [
        lambda keyed: keyed.window(TEN).allowedLateness(100),
        lambda keyed: (
            keyed.window(TEN).allowedLateness(100).trigger(PurgingTrigger.of(EventTimeTrigger()))
        ),
        lambda keyed: keyed.window(ContentChangeWindows(20)),
    ],
    ids=["aligned", "general", "content"],
)
def test_state_per_window_may_expire(windows):
    class Expiring(ProcessWindowFunction):
        def process(self, key, context, elements, out):
            both = {"window": context.windowState(), "global": context.globalState()}
            for name, states in both.items():
                seen = ValueStateDescriptor(name)
                seen.enableTimeToLive(StateTtlConfig.newBuilder(Time.milliseconds(10)).build())
                states.getState(seen).update(key)

    harness = StreamTestHarness(lambda s: windows(s.keyBy(lambda e: 0)).process(Expiring()))
    harness.processElement("a", 1)
    harness.processWatermark(9)
    kept = harness.numKeyedStateEntries()
    harness.setProcessingTime(10)
    assert harness.numKeyedStateEntries() == kept - 2


@pytest.mark.parametrize(
    ("assigner", "window"),
    [
        (TEN, TimeWindow(0, 10)),
        (EventTimeSessionWindows.withGap(5), TimeWindow(1, 6)),
        (ContentChangeWindows(5), TimeWindow(-3, 2)),
    ],
)
def test_a_function_clears_its_state_of_a_window_that_goes(assigner, window):
    cleared = []

    class Clearing(ProcessWindowFunction):
        def process(self, key, context, elements, out):
            assert cleared == []

        def clear(self, context):
            cleared.append(context.window())

    harness = StreamTestHarness(lambda s: s.keyBy(lambda e: 0).window(assigner).process(Clearing()))
    harness.processElement("a", 1)
    harness.endInput()
    assert cleared == [window]


def test_count_windows_leave_what_is_below_the_count():
    harness = StreamTestHarness(lambda s: s.keyBy(lambda e: e[0]).countWindow(2).sum(1))
    for key, number in (("a", 1), ("b", 5), ("a", 2), ("a", 3)):
        harness.processElement((key, number), 0)
    harness.endInput()
    assert values(harness) == [("a", 3)]


def test_the_end_of_stream_trigger_fires_at_the_end():
    harness = harness_of(GlobalWindows.createWithEndOfStreamTrigger())
    harness.processElement(("a", 1), 5)
    harness.processWatermark(10**9)
    assert values(harness) == []
    harness.endInput()
    assert [es for _, _, es in values(harness)] == [[("a", 1)]]


@pytest.mark.parametrize("trigger", [None, PurgingTrigger.of(EventTimeTrigger())])
def test_a_session_may_be_as_long_as_what_it_merges(trigger):
    """Its own window is then the merged one, and has the contents of the others."""
    harness = harness_of(
        DynamicEventTimeSessionWindows.withDynamicGap(lambda element: element[1]),
        lambda windowed: windowed.trigger(trigger) if trigger else windowed,
    )
    for gap, timestamp in ((2, 2), (2, 6), (10, 0)):
        harness.processElement(("a", gap), timestamp)
    harness.processWatermark(9)
    assert values(harness) == [("a", TimeWindow(0, 10), [("a", 2), ("a", 2), ("a", 10)])]
    assert harness.numKeyedStateEntries() == harness.numEventTimeTimers() == 0


def test_sessions_fire_again_for_late_elements_and_then_forget():
    harness = harness_of(
        EventTimeSessionWindows.withGap(Time.milliseconds(5)), lambda w: w.allowedLateness(10)
    )
    harness.processElement(("a", 1), 0)
    harness.processWatermark(6)
    harness.processElement(("a", 2), 1)
    assert [(tuple(w), len(es)) for _, w, es in values(harness)] == [((0, 5), 1), ((0, 6), 2)]
    harness.processWatermark(15)
    assert harness.numKeyedStateEntries() == harness.numEventTimeTimers() == 0


class Keeps(CountEvictor):
    """Returns what to keep, as nothing asks for."""

    def __init__(self, method):
        super().__init__(1, False)
        self._method = method

    def evictBefore(self, elements, size, window, evictorContext):
        return [2] if self._method == "evictBefore" else None

    def evictAfter(self, elements, size, window, evictorContext):
        return [2] if self._method == "evictAfter" else None


@pytest.mark.parametrize("method", ["evictBefore", "evictAfter"])
def test_an_evictor_that_returns_what_to_keep_is_refused(method):
    harness = StreamTestHarness(
        lambda s: (
            s.keyBy(lambda v: 0)
            .window(TumblingEventTimeWindows.of(10))
            .evictor(Keeps(method))
            .reduce(max)
        )
    )
    harness.processElement(1, 1)
    with pytest.raises(FlinkishError, match=rf"Keeps\.{method} returned \[2\].*removeIf"):
        harness.processWatermark(9)


@pytest.mark.parametrize("keyed", [True, False])
def test_a_plain_function_after_a_reduction_may_ask_for_the_window(keyed):
    """By the name of its parameter, or by its type; else it gets the context."""

    def by_type(key, of: TimeWindow, values, out):
        out.collect((of.end, list(values)))

    def build(stream):
        windows = TumblingEventTimeWindows.of(10)
        if keyed:
            windowed = stream.keyBy(lambda v: 0).window(windows)
            return (
                windowed.reduce(max, lambda key, window, values: [(window.end, list(values))]),
                windowed.reduce(max, by_type),
                windowed.reduce(max, lambda key, c, values: [(c.window().end, list(values))]),
            )
        windowed = stream.windowAll(windows)
        return (
            windowed.reduce(
                max, lambda window, values, out: out.collect((window.end, list(values)))
            ),
            windowed.reduce(max, lambda w, values: [(w.end, list(values))]),
            windowed.reduce(max, lambda c, values: [(c.window().end, list(values))]),
        )

    harness = StreamTestHarness(build)
    harness.processElement(4, 1)
    harness.endInput()
    for index in range(3):
        assert values(harness, index) == [(10, [4])]
