"""Apache Storm's windowed bolts, by the examples of its documentation."""

from __future__ import annotations

import time
from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flinkish as fl
from flinkish import FlinkishError, IllegalArgumentError, OutputTag, TimeUnit
from flinkish.compat.storm import (
    BaseWindowedBolt,
    Count,
    Duration,
    Event,
    EvictionPolicy,
    TimeEvictionPolicy,
    setBolt,
)
from flinkish.testing import StreamTestHarness
from tests.compat.storm.example import (
    FIRST,
    FIRST_WINDOWS,
    SECOND,
    SECOND_WINDOWS,
    at,
    example_bolt,
)
from tests.runtime.micro_batches import MicroBatches
from tests.streams import values

LATE = fl.OutputTag("late")


def example(stream):
    return setBolt(example_bolt(), stream)


def watermarks(harness):
    return [w.timestamp for w in harness.getOutput() if isinstance(w, fl.Watermark)]


def begun():
    harness = StreamTestHarness(example)
    harness.setProcessingTime(at(9, 0, 0))
    for element in FIRST:
        harness.processElement(element)
    harness.setProcessingTime(at(9, 0, 1))
    return harness


def test_the_example_window_by_window():
    harness = begun()
    assert values(harness) == FIRST_WINDOWS
    seen = len(values(harness))
    for element in SECOND:
        harness.processElement(element)
    harness.setProcessingTime(at(9, 0, 2))
    assert values(harness)[seen:] == SECOND_WINDOWS
    # Storm's watermark w is Watermark(w - 1)
    assert watermarks(harness) == [at(6, 0, 31) - 1, at(8, 0, 34) - 1]


def test_the_example_goes_on_after_a_restart():
    harness = StreamTestHarness.restore(example, begun().snapshot())
    for element in SECOND:
        harness.processElement(element)
    harness.setProcessingTime(at(9, 0, 2))
    assert values(harness) == SECOND_WINDOWS


def test_the_example_in_batches():
    job = MicroBatches(example, 3)
    job.process([[(element, None) for element in FIRST]], clock=at(9, 0, 0))
    job.process([], clock=at(9, 0, 1), tick=True)
    job.process([[(element, None) for element in SECOND]], clock=at(9, 0, 1) + 1)
    job.process([], clock=at(9, 0, 2), tick=True)
    found = [(r.batch, r.value) for r in job.results[0]]
    assert found == [(1, w) for w in FIRST_WINDOWS] + [(3, w) for w in SECOND_WINDOWS]


def test_a_tuple_before_the_watermark_is_late():
    """6:00:00 may come while the watermark is not past it: Storm calls that a lag of 5 s."""
    harness = begun()
    harness.processElement(("late", at(6, 0, 31) - 1))
    harness.processElement(("in time", at(6, 0, 31)))
    harness.processElement(("more", at(6, 0, 50)))
    harness.setProcessingTime(at(9, 0, 2))
    assert harness.getSideOutput(LATE) == [
        fl.StreamRecord(("late", at(6, 0, 31) - 1), at(6, 0, 31) - 1)
    ]
    assert values(harness)[len(FIRST_WINDOWS) :] == [
        (at(6, 0, 20), at(6, 0, 40), ["e5", "e6", "in time"])
    ]


def test_the_watermark_is_computed_in_the_interval_that_is_set():
    bolt = example_bolt().withWatermarkInterval(Duration.seconds(3))
    harness = StreamTestHarness(lambda s: setBolt(bolt, s))
    harness.processElement(("a", at(6, 0, 25)))
    harness.setProcessingTime(2_800)
    assert watermarks(harness) == []
    harness.setProcessingTime(3_000)
    assert watermarks(harness) == [at(6, 0, 20) - 1]


def test_the_watermark_is_that_of_the_slowest_stream():
    harness = StreamTestHarness(lambda one, two: setBolt(example_bolt(), one, two))
    harness.processElement1(("a", at(6, 0, 25)))
    harness.setProcessingTime(1000)
    assert watermarks(harness) == []
    harness.processElement2(("b", at(6, 0, 15)))
    harness.setProcessingTime(2000)
    assert watermarks(harness) == [at(6, 0, 10) - 1]
    assert values(harness) == []
    harness.processElement2(("c", at(6, 0, 27)))
    harness.setProcessingTime(3000)
    assert values(harness) == [(at(6, 0, 0), at(6, 0, 20), ["b"])]


@given(
    st.lists(st.tuples(st.integers(0, 1), st.integers(1, 60) | st.none()), max_size=20),
    st.integers(0, 9),
)
def test_each_tuple_of_several_streams_is_in_its_window_or_late(arrivals, lag):
    """In whatever order the streams of a batch come. None: the watermark is computed."""
    bolt = BaseWindowedBolt(lambda window: [(window.getEndTimestamp(), window.get())])
    bolt.withTumblingWindow(10).withTimestampField(1).withLag(lag).withLateTupleStream("late")
    harness = StreamTestHarness(lambda one, two: setBolt(bolt, one, two))
    process = harness.processElement1, harness.processElement2
    latest, watermark, late, windows = {}, None, [], defaultdict(list)
    for number, (stream, timestamp) in enumerate(arrivals):
        if timestamp is None:
            harness.setProcessingTime((number + 1) * 1_000)
            if len(latest) == 2:
                watermark = min(latest.values()) - lag
            continue
        process[stream]((number, timestamp))
        latest[stream] = max(latest.get(stream, 0), timestamp)
        if watermark is not None and timestamp < watermark:
            late.append((number, timestamp))
        else:
            windows[-(-timestamp // 10) * 10].append((number, timestamp))
    harness.endInput()
    assert values(harness) == sorted(windows.items())
    assert [record.value for record in harness.getSideOutput(LATE)] == late


@pytest.mark.parametrize(
    "several",
    [
        lambda one, two: [one.union(two)],
        lambda one, two: [one.union(two).keyBy(lambda t: t[0] in "ab").process(Passes())],
    ],
)
def test_streams_that_come_one_after_another_hide_nothing(several):
    """Nor do the key groups of a stream."""
    bolt = BaseWindowedBolt(lambda window: [{name for name, _ in window.get()}])
    bolt.withTumblingWindow(Duration.seconds(1)).withTimestampField(1)
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    env.setParallelism(4)
    one = env.fromCollection([("a", 100), ("b", 1500)])
    two = env.fromCollection([("c", 200), ("d", 1300)])
    found = setBolt(bolt, *several(one, two)).executeAndCollect()
    assert list(found) == [{"a", "c"}, {"b", "d"}]


class Passes(fl.KeyedProcessFunction):
    def processElement(self, value, ctx, out):
        out.collect(value)


def test_get_new_and_get_expired():
    bolt = BaseWindowedBolt(lambda window: [(window.get(), window.getNew(), window.getExpired())])
    harness = StreamTestHarness(lambda s: setBolt(bolt.withWindow(Count.of(3), Count.of(2)), s))
    for number in range(1, 7):
        harness.processElement(number)
    assert values(harness) == [
        ([1, 2], [1, 2], []),
        ([2, 3, 4], [3, 4], [1]),
        ([4, 5, 6], [5, 6], [2, 3]),
    ]


def test_what_expires_at_an_empty_window_is_in_no_get_expired():
    """As with Storm's WindowManager: the window from 10 to 20 has no tuple and is not fired."""
    bolt = BaseWindowedBolt(lambda w: [(w.getEndTimestamp(), w.get(), w.getExpired())])
    bolt.withTumblingWindow(Duration.of(10)).withTimestampExtractor(lambda element: element)
    harness = StreamTestHarness(lambda s: setBolt(bolt, s))
    for element in (5, 25, 28, 33):
        harness.processElement(element)
    harness.endInput()
    assert values(harness) == [(10, [5], []), (30, [25, 28], []), (40, [33], [25, 28])]


ROWS = [(number, number * 1700 + 1) for number in range(6)]
FORMS = [
    (lambda bolt: bolt.withTumblingWindow(Duration.seconds(5)), [[0, 1, 2], [3, 4, 5]]),
    (lambda bolt: bolt.withTumblingWindow(Count(3)), [[0, 1, 2], [3, 4, 5]]),
    (
        lambda bolt: bolt.withWindow(Duration.seconds(10), Duration.seconds(5)),
        [[0, 1, 2], [0, 1, 2, 3, 4, 5], [3, 4, 5]],
    ),
    (
        lambda bolt: bolt.withWindow(Duration.of(5_000), Count(2)),
        [[0, 1], [1, 2, 3], [3, 4, 5]],
    ),
    (lambda bolt: bolt.withWindow(Count(4), Count(2)), [[0, 1], [0, 1, 2, 3], [2, 3, 4, 5]]),
    (
        lambda bolt: bolt.withWindow(Count(4), Duration.seconds(5)),
        [[0, 1, 2], [2, 3, 4, 5]],
    ),
    (lambda bolt: bolt.withWindow(Count(2)), [[0], [0, 1], [1, 2], [2, 3], [3, 4], [4, 5]]),
]


def of_form(configure, stream):
    bolt = configure(BaseWindowedBolt(lambda window: [[n for n, _ in window.get()]]))
    return setBolt(bolt.withTimestampField(1), stream)


@pytest.mark.parametrize(("configure", "expected"), FORMS)
def test_the_forms_of_windows_in_event_time(configure, expected):
    harness = StreamTestHarness(lambda s: of_form(configure, s))
    for row in ROWS:
        harness.processElement(row)
    harness.endInput()
    assert values(harness) == expected


class Lifecycle(BaseWindowedBolt):
    """Notes what it is called for."""

    def __init__(self, notes):
        super().__init__()
        self.notes = notes

    def prepare(self, context):
        self.notes.append("prepare " + context.getTaskInfo().getTaskName())

    def execute(self, inputWindow, collector):
        self.notes.append(list(inputWindow.get()))

    def cleanup(self):
        self.notes.append("cleanup")


def test_a_bolt_is_prepared_and_cleaned_up_and_may_make_timestamps_itself():
    notes = []
    bolt = Lifecycle(notes).withTumblingWindow(Duration.of(10))
    bolt = bolt.withTimestampExtractor(lambda text: len(text))
    harness = StreamTestHarness(lambda s: setBolt(bolt, s))
    for text in ("a" * 3, "c" * 9, "b" * 12):
        harness.processElement(text)
    harness.endInput()
    harness.close()
    assert notes == ["prepare Lifecycle", ["a" * 3, "c" * 9], ["b" * 12], "cleanup"]


def test_lengths_by_the_names_that_they_have_inside_the_bolt():
    assert BaseWindowedBolt.Count is Count
    lengths = BaseWindowedBolt.Duration
    assert [
        length.toMillis()
        for length in (
            lengths.of(7),
            lengths.seconds(7),
            lengths.minutes(7),
            lengths.hours(7),
            lengths.days(7),
        )
    ] == [7, 7_000, 420_000, 25_200_000, 604_800_000]


def test_windows_without_timestamps_go_by_the_clock():
    bolt = BaseWindowedBolt(lambda window: [list(window.get())])
    harness = StreamTestHarness(
        lambda one, two: setBolt(bolt.withTumblingWindow(Duration.seconds(5)), one, two)
    )
    harness.processElement1("a")
    harness.processElement2("b")
    harness.setProcessingTime(6000)
    harness.processElement1("c")
    harness.setProcessingTime(12_000)
    assert values(harness) == [["a", "b"], ["c"]]


class Counted(BaseWindowedBolt):
    """Numbers the windows of each key."""

    def prepare(self, context):
        self.count = context.getState(fl.ValueStateDescriptor("count", default=0))

    def execute(self, inputWindow, collector):
        self.count.update(self.count.value() + 1)
        collector.emit((inputWindow.key, self.count.value(), [n for _, n in inputWindow.get()]))


@pytest.mark.parametrize(
    "build",
    [
        lambda bolt, s: setBolt(bolt, s, fieldsGrouping="f0"),
        lambda bolt, s: setBolt(bolt, s, fieldsGrouping=lambda e: e[0]),
        lambda bolt, s: setBolt(bolt, s.keyBy(lambda e: e[0])),
    ],
)
def test_each_key_may_have_windows_of_its_own(build):
    harness = StreamTestHarness(lambda s: build(Counted().withTumblingWindow(Count(2)), s))
    for element in (("a", 1), ("b", 2), ("a", 3), ("b", 4), ("a", 5), ("a", 6)):
        harness.processElement(element)
    assert values(harness) == [("a", 1, [1, 3]), ("b", 1, [2, 4]), ("a", 2, [5, 6])]


def test_results_are_a_stream_like_any_other():
    bolt = BaseWindowedBolt(lambda window: [len(window.get())]).withTimestampField(1)
    harness = StreamTestHarness(
        lambda s: (
            setBolt(bolt.withTumblingWindow(Duration.seconds(10)), s)
            .windowAll(fl.TumblingEventTimeWindows.of(fl.Time.minutes(1)))
            .reduce(max)
        )
    )
    for second in (1, 2, 3, 15, 61):
        harness.processElement(("e", second * 1000))
    harness.endInput()
    assert values(harness) == [3, 1]


@pytest.mark.parametrize(
    ("bolt", "error", "named"),
    [
        (BaseWindowedBolt(), fl.InvalidProgramError, "withWindow"),
        (
            BaseWindowedBolt().withWindow(Count(1)),
            fl.InvalidProgramError,
            "nothing to do. Write its",
        ),
        (
            BaseWindowedBolt().withTumblingWindow(Count(1)).withLateTupleStream("late"),
            fl.IllegalArgumentError,
            "withTimestampField",
        ),
    ],
)
def test_settings_that_do_not_fit_are_refused(bolt, error, named):
    with pytest.raises(error, match=named):
        StreamTestHarness(lambda s: setBolt(bolt, s))


def test_streams_that_do_not_fit_are_refused():
    stream = fl.StreamExecutionEnvironment().fromData(1)
    bolt = BaseWindowedBolt(list).withTumblingWindow(Count(1))
    with pytest.raises(fl.InvalidProgramError, match="pass the streams"):
        setBolt(bolt)
    with pytest.raises(fl.InvalidProgramError, match="fieldsGrouping"):
        setBolt(bolt, stream, stream.keyBy(lambda n: n))


class Parts(BaseWindowedBolt):
    """Emits to two streams, anchored and not."""

    def declareOutputFields(self, declarer):
        declarer.declare("n")
        declarer.declareStream("odd", "n")

    def execute(self, inputWindow, collector):
        for number in inputWindow.get():
            if number % 2:
                collector.emit("odd", number)
                collector.emit("odd", (number,), number + 10)
            else:
                collector.emit(number)
                collector.emit((number,), number + 10)
                collector.emit("default", number + 20)


def test_a_bolt_emits_to_the_streams_that_it_declares():
    odd = OutputTag("odd")
    bolt = Parts().withTumblingWindow(Count(2))
    harness = StreamTestHarness(lambda numbers: (s := setBolt(bolt, numbers), s.getSideOutput(odd)))
    for number in (1, 2, 3, 4):
        harness.processElement(number)
    assert values(harness, 0) == [2, 12, 22, 4, 14, 24]
    assert values(harness, 1) == [1, 11, 3, 13]


def test_a_stream_that_is_not_declared_is_refused():
    class Stray(BaseWindowedBolt):
        def execute(self, inputWindow, collector):
            collector.emit("stray", 1)

    harness = StreamTestHarness(lambda s: setBolt(Stray().withTumblingWindow(Count(1)), s))
    with pytest.raises(
        FlinkishError, match=r"Stray: emit: no stream 'stray' is declared\. Write decl"
    ):
        harness.processElement(1)


class Returns(BaseWindowedBolt):
    def execute(self, inputWindow, collector):
        return [sum(inputWindow.get())]


class Yields(BaseWindowedBolt):
    def execute(self, inputWindow, collector):
        collector.emit(len(inputWindow.get()))
        yield sum(inputWindow.get())


class ReturnsANumber(BaseWindowedBolt):
    def execute(self, inputWindow, collector):
        return sum(inputWindow.get())


@pytest.mark.parametrize(("bolt", "expected"), [(Returns, [3]), (Yields, [2, 3])])
def test_a_bolt_may_return_or_yield_its_results(bolt, expected):
    harness = StreamTestHarness(lambda s: setBolt(bolt().withTumblingWindow(Count(2)), s))
    for number in (1, 2):
        harness.processElement(number)
    assert values(harness) == expected


def test_a_result_that_is_none_of_a_list_is_refused():
    harness = StreamTestHarness(lambda s: setBolt(ReturnsANumber().withTumblingWindow(Count(1)), s))
    with pytest.raises(FlinkishError, match="returned 3"):
        harness.processElement(3)


def test_durations_have_units():
    assert Duration(5, TimeUnit.SECONDS) == Duration.of(5_000) == Duration.seconds(5)
    assert Duration(7).toMillis() == 7
    for arguments in (("5", TimeUnit.SECONDS), (5, "fortnights")):
        with pytest.raises(IllegalArgumentError, match="Duration: "):
            Duration(*arguments)


def test_eviction_by_the_clock_needs_no_context():
    policy = TimeEvictionPolicy(Duration.seconds(10))
    now = round(time.time() * 1000)
    assert policy.evict(Event(1, now - 11_000)) is EvictionPolicy.Action.EXPIRE
    assert policy.evict(Event(1, now - 1_000)) is EvictionPolicy.Action.PROCESS
