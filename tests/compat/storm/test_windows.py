"""Windows by length and slide, each a count or a length of time, and by user-defined policies."""

from __future__ import annotations

import itertools
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flinkish as fl
from flinkish.compat import storm
from flinkish.compat.storm.windows import PolicyWindowDescription
from flinkish.testing import StreamTestHarness
from tests.runtime.micro_batches import MicroBatches
from tests.streams import values

Count, Time = storm.Count, fl.Time
LATE = fl.OutputTag("late")


def contents(window):
    return [list(window.get())]


def difference(window):
    return [(list(window.get()), list(window.getNew()), list(window.getExpired()))]


def harness_of(length, slide=None, function=contents, **options):
    return StreamTestHarness(
        lambda stream: (
            storm.PolicyWindowedStream.of(stream, length, slide, **options)
            .sideOutputLateData(LATE)
            .process(function)
        )
    )


def stamped(harness):
    return [(r.timestamp, r.value) for r in harness.getOutput() if isinstance(r, fl.StreamRecord)]


# The diagrams of the document, on the clock and by arrival: elements are named by their number.


def arriving(harness, *arrivals):
    for number, second in enumerate(arrivals, start=1):
        harness.setProcessingTime(round(second * 1000))
        harness.processElement(f"e{number}")


def named(*numbers):
    return [f"e{number}" for number in numbers]


def test_tumbling_by_time_five_seconds_each():
    harness = harness_of(Time.seconds(5), eventTime=False)
    arriving(harness, 1, 3, 6, 7, 8, 9, 11, 12, 14)
    harness.setProcessingTime(15_001)
    assert stamped(harness) == [
        (5000, named(1, 2)),
        (10_000, named(3, 4, 5, 6)),
        (15_000, named(7, 8, 9)),
    ]


def test_tumbling_by_count_five_each():
    harness = harness_of(Count(5), eventTime=False)
    arriving(harness, *range(12))
    assert values(harness) == [named(1, 2, 3, 4, 5), named(6, 7, 8, 9, 10)]


def test_sliding_by_time_ten_seconds_every_five():
    harness = harness_of(Time.seconds(10), Time.seconds(5), eventTime=False)
    arriving(harness, 1, 3, 6, 7, 8, 9, 11, 12, 14)
    harness.setProcessingTime(15_001)
    assert values(harness) == [
        named(1, 2),
        named(1, 2, 3, 4, 5, 6),
        named(3, 4, 5, 6, 7, 8, 9),
    ]


def test_ten_seconds_every_five_elements():
    harness = harness_of(Time.seconds(10), Count(5), eventTime=False)
    arriving(harness, 1, 2, 3, 4, 5, 7, 8, 9, 10, 12)
    assert values(harness) == [named(1, 2, 3, 4, 5), named(3, 4, 5, 6, 7, 8, 9, 10)]


def test_ten_elements_every_five():
    harness = harness_of(Count(10), Count(5), eventTime=False)
    arriving(harness, *range(15))
    assert values(harness) == [named(*range(1, 6)), named(*range(1, 11)), named(*range(6, 16))]


def test_ten_elements_every_five_seconds():
    harness = harness_of(Count(10), Time.seconds(5), eventTime=False)
    arriving(harness, 0.1, 1, 2, 3, 3.5, 4, 6, 7, 7.5, 8, 8.5, 9, 10, 11)
    harness.setProcessingTime(15_001)
    # The first is of the millisecond 100; e13 came at 10 s just, when that second was not over.
    assert values(harness) == [named(*range(1, 7)), named(*range(4, 14)), named(*range(5, 15))]


# The same in event time.


def at(harness, *timestamps):
    for timestamp in timestamps:
        harness.processElement(timestamp, timestamp)


@pytest.mark.parametrize(
    ("length", "slide", "expected"),
    [
        (10, None, [(10, [3, 9, 10]), (20, [11]), (40, [31, 35])]),
        (20, 10, [(10, [3, 9, 10]), (20, [3, 9, 10, 11]), (30, [11]), (40, [31, 35]), (50, [31, 35])]),
        (Count(2), None, [(9, [3, 9]), (11, [10, 11]), (35, [31, 35])]),
        (Count(3), Count(2), [(9, [3, 9]), (11, [9, 10, 11]), (35, [11, 31, 35])]),
        (8, Count(2), [(9, [3, 9]), (11, [9, 10, 11]), (35, [31, 35])]),
        (
            Count(2),
            10,
            [(10, [9, 10]), (20, [10, 11]), (30, [10, 11]), (40, [31, 35])],
        ),
    ],
)  # fmt: skip
def test_the_six_forms_in_event_time(length, slide, expected):
    harness = harness_of(length, slide)
    at(harness, 3, 9, 10, 11, 31, 35)
    harness.endInput()
    assert stamped(harness) == expected
    assert (harness.numEventTimeTimers(), harness.numLateRecordsDropped()) == (0, 0)


def test_windows_wait_for_the_watermark():
    harness = harness_of(20, 10)
    at(harness, 12, 3, 26)
    harness.processWatermark(18)
    assert values(harness) == [[3]]
    harness.processWatermark(19)
    assert values(harness) == [[3], [12, 3]]


def test_windows_go_on_while_there_are_elements_and_no_longer():
    harness = harness_of(20, 10)
    at(harness, 3)
    for watermark in (9, 19, 29):
        harness.processWatermark(watermark)
    assert stamped(harness) == [(10, [3]), (20, [3])]
    assert harness.numEventTimeTimers() == harness.numKeyedStateEntries() == 0


def test_an_empty_window_does_not_delay_the_one_after_it():
    harness = harness_of(10)
    at(harness, 3, 44)
    harness.processWatermark(19)  # the window that ends at 20 has nothing
    at(harness, 25)
    harness.processWatermark(21)
    harness.processWatermark(29)
    assert stamped(harness) == [(10, [3]), (30, [25])]
    harness.endInput()
    assert stamped(harness)[2:] == [(50, [44])]


@pytest.mark.parametrize(
    ("length", "slide", "rest"),
    [
        (Time.seconds(5), None, [(15_000, ["e4"])]),
        (Time.seconds(10), Time.seconds(5), [(15_000, ["e3", "e4"]), (20_000, ["e4"])]),
        (Count(3), Time.seconds(5), [(15_000, ["e2", "e3", "e4"])]),
        (Count(3), None, []),
    ],
)
def test_windows_of_the_clock_that_are_open_at_the_end_fire(length, slide, rest):
    harness = harness_of(length, slide, eventTime=False)
    arriving(harness, 1, 3, 6, 12)
    fired = len(stamped(harness))
    harness.endInput()
    harness.setProcessingTime(60_000)
    assert stamped(harness)[fired:] == rest


def test_in_batch_windows_of_the_clock_end():
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    env.setRuntimeMode(fl.RuntimeExecutionMode.BATCH)
    windows = storm.PolicyWindowedStream.of(
        env.fromData(1, 2, 3, 4), Count(3), Time.seconds(5), eventTime=False
    )
    assert list(windows.process(contents).executeAndCollect()) == [[2, 3, 4]]


def test_they_do_by_the_clock_too():
    harness = harness_of(Time.seconds(10), Time.seconds(5), eventTime=False)
    arriving(harness, 1)
    for second in (5, 10, 15):
        harness.setProcessingTime(second * 1000 + 1)
    assert stamped(harness) == [(5_000, ["e1"]), (10_000, ["e1"])]
    assert harness.numProcessingTimeTimers() == harness.numKeyedStateEntries() == 0


def test_new_and_expired():
    harness = harness_of(20, 10, difference)
    at(harness, 3, 14, 25)
    harness.processWatermark(29)
    assert values(harness) == [([3], [3], []), ([3, 14], [14], []), ([14, 25], [25], [3])]


def test_what_expires_in_an_empty_window_is_not_told():
    harness = harness_of(10, 10, difference)
    at(harness, 3, 44)
    harness.endInput()
    assert values(harness) == [([3], [3], []), ([44], [44], [])]


def test_late_elements_go_to_the_side_output():
    harness = harness_of(10)
    harness.processWatermark(4)
    at(harness, 4, 5)
    harness.endInput()
    assert values(harness) == [[5]]
    assert harness.getSideOutput(LATE) == [fl.StreamRecord(4, 4)]


def test_late_elements_without_a_side_output_are_counted():
    harness = StreamTestHarness(lambda s: storm.PolicyWindowedStream.of(s, 10).process(contents))
    harness.processWatermark(4)
    at(harness, 4)
    assert harness.numLateRecordsDropped() == 1


@pytest.mark.parametrize("options", [{}, {"eventTime": False}, {"length": storm.Count(5)}])
def test_a_negative_lag_is_refused_also_where_it_has_no_effect(options):
    stream = fl.StreamExecutionEnvironment().fromData(1)
    with pytest.raises(fl.IllegalArgumentError, match=r"of: lag is -5 ms, but cannot be negative"):
        storm.PolicyWindowedStream.of(stream, **{"length": 10, **options}, lag=-5)


def test_a_lag_stops_the_scan_as_in_storm():
    """An element more than the lag ahead hides those that came after it; without a lag none does."""
    for lag, expected in ((5, [[36, 33]]), (None, [[3], [36, 33]])):
        harness = harness_of(10, lag=lag)
        at(harness, 36, 3, 33)
        harness.endInput()
        assert values(harness) == expected


def test_negative_timestamps_align_too():
    harness = harness_of(10)
    at(harness, -25, -13)
    harness.endInput()
    assert stamped(harness) == [(-20, [-25]), (-10, [-13])]


def test_start_and_end():
    def bounds(window):
        return [(window.key, window.getStartTimestamp(), window.getEndTimestamp())]

    harness = harness_of(10, function=bounds)
    at(harness, 3)
    harness.endInput()
    assert values(harness) == [(None, 0, 10)]
    harness = harness_of(Count(1), function=bounds)
    at(harness, 3)
    harness.endInput()
    assert values(harness) == [(None, None, 3)]


def by_parity(function, *arguments):
    return lambda stream: storm.PolicyWindowedStream.of(
        stream.keyBy(lambda n: n % 2), *arguments
    ).process(function)


def test_each_key_has_windows_of_its_own():
    harness = StreamTestHarness(by_parity(lambda w: [(w.key, list(w.get()))], Count(2)))
    at(harness, 1, 2, 3, 4, 5)
    harness.endInput()
    assert sorted(values(harness)) == [(0, [2, 4]), (1, [1, 3])]


def test_windows_by_time_leave_nothing_behind():
    harness = StreamTestHarness(by_parity(contents, 10, 5))
    at(harness, 1, 2, 3, 14)
    assert harness.numKeyedStateEntries() == 2
    harness.processWatermark(40)
    assert (harness.numKeyedStateEntries(), harness.numEventTimeTimers()) == (0, 0)


# User-defined policies


class UntilFull(storm.TriggerPolicy):
    """Fires when the weights add up to 10."""

    total = 0

    def isEventTime(self):
        return False

    def track(self, event, context):
        self.total += event.get()
        if self.total >= 10:
            context.onTrigger(storm.EvictionContext(event.getTimestamp()))

    def reset(self):
        self.total = 0


class Heaviest(storm.EvictionPolicy):
    """Keeps what weighs as much as the heaviest so far."""

    heaviest = 0

    def isEventTime(self):
        return False

    def track(self, event):
        self.heaviest = max(self.heaviest, event.get())

    def evict(self, event):
        action = storm.EvictionPolicy.Action
        return action.PROCESS if event.get() == self.heaviest else action.EXPIRE


def heavy(stream):
    return storm.PolicyWindowedStream(stream, UntilFull(), Heaviest()).process(contents)


def test_policies_of_ones_own_keep_their_attributes_over_a_restart():
    harness = StreamTestHarness(heavy)
    for weight in (4, 5, 3, 5):
        harness.processElement(weight)
    restored = StreamTestHarness.restore(heavy, harness.snapshot())
    for weight in (1, 1, 4):
        restored.processElement(weight)
    assert (values(harness), values(restored)) == ([[5]], [[5, 5]])


class ColourByColour(storm.EvictionPolicy):
    """Takes the events of the oldest colour, keeps the others, and lets go of colours that it had."""

    def __init__(self):
        self.now = None
        self.had = []

    def isEventTime(self):
        return False

    def setContext(self, context):
        self.had.append(self.now)
        self.now = None

    def track(self, event):
        pass

    def evict(self, event):
        action = storm.EvictionPolicy.Action
        colour, _ = event.get()
        if colour in self.had:
            return action.EXPIRE
        self.now = self.now or colour
        return action.PROCESS if colour == self.now else action.KEEP


def test_what_is_kept_is_not_in_this_window_but_in_a_later_one():
    def build(stream):
        policies = storm.CountTriggerPolicy(3), ColourByColour()
        return storm.PolicyWindowedStream(stream, *policies).process(difference)

    harness = StreamTestHarness(build)
    for number, colour in enumerate(["red", "blue", "red", "blue", "blue", "green"]):
        harness.processElement((colour, number))
    red, blue = [("red", 0), ("red", 2)], [("blue", 1), ("blue", 3), ("blue", 4)]
    assert values(harness) == [(red, red, []), (blue, blue, red)]


def test_policies_of_both_kinds_of_time_are_refused():
    def mixed(stream):
        return storm.PolicyWindowedStream(
            stream, storm.WatermarkCountTriggerPolicy(2), storm.CountEvictionPolicy(2)
        )

    with pytest.raises(fl.InvalidProgramError, match=r"WatermarkCountTriggerPolicy.*Count"):
        StreamTestHarness(mixed)


@pytest.mark.parametrize("count", [0, -1, 2.5, True])
def test_a_count_is_positive(count):
    with pytest.raises(
        fl.IllegalArgumentError, match=r"CountTriggerPolicy: .* is not a whole number from 1 on"
    ):
        storm.CountTriggerPolicy(count)


def test_an_element_without_a_timestamp_is_an_error():
    with pytest.raises(fl.MissingTimestampError, match="assignTimestampsAndWatermarks"):
        harness_of(10).processElement("e1")


class OfAWindow:
    def __init__(self, window):
        self.window = window


@pytest.mark.parametrize("function", [list, OfAWindow, 3])
def test_a_function_that_is_none_is_refused(function):
    with pytest.raises(fl.InvalidProgramError, match=r"f\(window\[, out\]\)"):
        harness_of(10, function=function)


def test_an_error_names_the_timer_of_either_clock():
    def broken(window):
        raise ZeroDivisionError("oh")

    harness = harness_of(10, function=broken)
    at(harness, 3)
    with pytest.raises(fl.UserFunctionError, match=r"oh on the element .*timestamp=9, "):
        harness.processWatermark(9)
    harness = harness_of(10, function=broken, eventTime=False)
    harness.setProcessingTime(3)
    harness.processElement("e1")
    with pytest.raises(fl.UserFunctionError, match=r"oh on the element .*timestamp=11, "):
        harness.setProcessingTime(11)


class Seen(storm.PolicyWindowFunction):
    """Emits the number of windows that its key has had, and the contents of this one."""

    def open(self, openContext):
        self.windows = self.getRuntimeContext().getState(fl.ValueStateDescriptor("windows"))

    def process(self, window, out):
        self.windows.update((self.windows.value() or 0) + 1)
        out.collect((window.key, self.windows.value(), list(window.get())))


def test_a_function_may_have_keyed_state():
    harness = StreamTestHarness(by_parity(Seen(), Count(1)))
    at(harness, 1, 2, 3)
    harness.endInput()
    assert sorted(values(harness)) == [(0, 1, [2]), (1, 1, [1]), (1, 2, [3])]


# Rules

timestamps = st.lists(st.integers(-30, 60), max_size=12)
extents = st.integers(1, 25)


@given(timestamps, extents, extents)
def test_time_windows_are_all_that_are_not_empty(stamps, length, slide):
    harness = harness_of(length, slide)
    at(harness, *stamps)
    harness.endInput()
    ends = range(-slide * 40, 200, slide)
    windows = [(end, [t for t in stamps if end - length < t <= end]) for end in ends]
    assert stamped(harness) == [(end, window) for end, window in windows if window]


@given(st.lists(st.integers(0, 99), unique=True, max_size=20), st.integers(1, 6), st.integers(1, 6))
def test_count_windows_in_order_are_slices(stamps, length, slide):
    stamps.sort()
    expected = [stamps[max(0, end - length) : end] for end in range(slide, len(stamps) + 1, slide)]
    for event_time in (True, False):
        harness = harness_of(Count(length), Count(slide), eventTime=event_time)
        at(harness, *stamps)
        harness.endInput()
        assert values(harness) == expected


class Each(fl.WatermarkGenerator):
    """After each element the watermark is 4 behind it."""

    def onEvent(self, event, eventTimestamp, output):
        output.emitWatermark(fl.Watermark(eventTimestamp - 4))

    def onPeriodicEmit(self, output):
        pass


FORMS = [(10, 5), (Count(3), Count(2)), (10, Count(2)), (Count(3), 5)]


def timed(length, slide, keyed):
    each = fl.WatermarkStrategy.forGenerator(lambda context: Each()).withTimestampAssigner(
        lambda element, timestamp: element
    )

    def build(stream):
        stream = stream.assignTimestampsAndWatermarks(each)
        stream = stream.keyBy(lambda n: n % 3) if keyed else stream
        return storm.PolicyWindowedStream.of(stream, length, slide).process(
            lambda window: [(window.key, window.getEndTimestamp(), *difference(window)[0])]
        )

    return build


@pytest.mark.parametrize("keyed", [True, False])
@pytest.mark.parametrize(("length", "slide"), FORMS)
@given(stamps=st.lists(st.integers(0, 40), max_size=14), cuts=st.sets(st.integers(1, 13)))
def test_cuts_into_batches_change_nothing(length, slide, keyed, stamps, cuts):
    build = timed(length, slide, keyed)
    harness = StreamTestHarness(build)
    for stamp in stamps:
        harness.processElement(stamp)
    harness.endInput()
    bounds = [0, *sorted(cut for cut in cuts if cut < len(stamps)), len(stamps)]
    batches = [[[(n, None) for n in stamps[a:b]]] for a, b in itertools.pairwise(bounds)]
    (results,) = MicroBatches(build, 3).run(batches)

    def by_key(windows):
        return sorted(windows, key=lambda window: window[0] or 0)

    assert by_key(r.value for r in results) == by_key(values(harness))


def test_the_description_tells_its_functions():
    stream = fl.StreamExecutionEnvironment().fromData(1)
    result = storm.PolicyWindowedStream.of(stream, 10).process(contents)
    description = result.getTransformation().operator  # type: ignore[attr-defined]
    assert isinstance(description, PolicyWindowDescription)
    assert contents in description.userFunctions


class Started(storm.TriggerPolicy):
    """Ignores what comes before it is started, as Storm's own policies do, and counts from 1 then."""

    calls: ClassVar[list[str]] = []

    def __init__(self):
        self.fired = None

    def start(self):
        self.calls.append("start")
        self.fired = 0

    def shutdown(self):
        self.calls.append("shutdown")

    def isEventTime(self):
        return False

    def track(self, event, context):
        if self.fired is not None:
            self.fired += 1
            context.onTrigger(storm.EvictionContext(self.fired))


def test_a_trigger_policy_is_started_and_shut_down():
    Started.calls.clear()

    def ends(stream):
        windows = storm.PolicyWindowedStream(
            stream.keyBy(str), Started(), storm.CountEvictionPolicy(1)
        )
        return windows.process(lambda window: [(window.get()[0], window.getEndTimestamp())])

    harness = StreamTestHarness(ends)
    for element in (1, 2, 1):
        harness.processElement(element)
    assert values(harness) == [(1, 1), (2, 1), (1, 2)]
    assert Started.calls == ["start"]
    harness = StreamTestHarness.restore(ends, harness.snapshot())
    harness.processElement(1)
    assert values(harness) == [(1, 3)]
    harness.close()
    assert Started.calls == ["start", "start", "shutdown"]
