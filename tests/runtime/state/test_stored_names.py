"""No state, frame or snapshot names a module of flinkish: it would be lost when the module moved."""

from __future__ import annotations

import io
import pickle
import subprocess
import sys

import cloudpickle
import pytest

import flinkish as fl
from flinkish.api.stored_names import stored_names
from flinkish.api.stored_values import unpickled
from flinkish.compat import storm, streaminsight
from flinkish.runtime.records.frames import NO_MARKS, Frame, encode_frame
from flinkish.runtime.records.records import untimed
from flinkish.runtime.records.shapes import row_shape
from flinkish.runtime.state.page_codec import Envelope
from flinkish.runtime.task.stage import DIRECTORY
from flinkish.runtime.windowing.pane_elements import (
    ENCODED_AT_ONCE,
    LEAST_COLUMNS,
    PaneElements,
)
from flinkish.testing import StreamTestHarness
from tests.runtime.micro_batches import MicroBatches
from tests.runtime.test_metrics import AT, ONE_INPUT, TWO_INPUTS, key, points


class Globals(pickle.Unpickler):
    """Notes what a pickle, and those inside it, name."""

    def __init__(self, data, found):
        super().__init__(io.BytesIO(bytes(data)))
        self.found = found

    def find_class(self, module, name):
        self.found.add((module, name))
        return super().find_class(module, name)

    def persistent_load(self, reference):
        return None


def globals_of(data, found=None):
    """Return the names of flinkish in a pickle, as (module, name)."""
    found = set() if found is None else found
    note_inside(Globals(data, found).load(), found)
    return {name for name in found if name[0].partition(".")[0] == "flinkish"}


def note_inside(value, found):
    if isinstance(value, (bytes, memoryview)):
        if bytes(value[:1]) == pickle.PROTO and value[1] <= pickle.HIGHEST_PROTOCOL:
            globals_of(value, found)
    elif isinstance(value, dict):
        for part in value.items():
            note_inside(part, found)
    elif isinstance(value, (list, tuple)):
        for part in value:
            note_inside(part, found)


def globals_in_store(store):
    found = set()
    for page, content in store.pages.items():
        if page == DIRECTORY:
            found |= globals_of(content[1:])
        else:
            for section in Envelope.of(content).sections.values():
                found |= globals_of(section)
    return found


LAGGING = fl.WatermarkStrategy.forBoundedOutOfOrderness(3).withTimestampAssigner(lambda e, t: e[2])


class Keeps(fl.KeyedProcessFunction):
    """Keeps a Row, a window and an event in state of every kind, with timers."""

    def open(self, openContext):
        context = self.getRuntimeContext()
        ttl = fl.StateTtlConfig.newBuilder(fl.Time.seconds(5)).build()
        expiring = fl.ValueStateDescriptor("expiring")
        expiring.enableTimeToLive(ttl)
        self.values = [
            context.getState(fl.ValueStateDescriptor("value")),
            context.getState(expiring),
        ]
        self.list = context.getListState(fl.ListStateDescriptor("list"))
        self.map = context.getMapState(fl.MapStateDescriptor("map"))

    def processElement(self, value, ctx, out):
        kept = (
            fl.Row(a=1),
            fl.TimeWindow(0, 1),
            fl.GlobalWindow.get(),
            streaminsight.PointEvent(1, "p"),
            streaminsight.IntervalEvent(1, 2, "p"),
            streaminsight.EdgeEvent.createStart(1, "p"),
        )
        for state in self.values:
            state.update(kept)
        self.list.add(kept)
        self.map.put(value, kept)
        ctx.timerService().registerEventTimeTimer(value[2] + 100)
        ctx.timerService().registerProcessingTimeTimer(100)
        out.collect(value)


def late(window):
    return lambda s: s.keyBy(key).window(window).allowedLateness(50).reduce(lambda a, b: b)


MORE = {
    "states": lambda s: s.keyBy(key).process(Keeps()),
    "generators": lambda s: s.assignTimestampsAndWatermarks(LAGGING.withIdleness(5)),
    "no generator": lambda s: s.assignTimestampsAndWatermarks(
        fl.WatermarkStrategy.noWatermarks().withIdleness(5)
    ),
    "monotonous": lambda s: s.assignTimestampsAndWatermarks(AT.withIdleness(5)),
    "sliding": late(fl.SlidingEventTimeWindows.of(10, 5)),
    "merging": late(fl.DynamicEventTimeSessionWindows.withDynamicGap(lambda e: 20)),
    "global": lambda s: (
        s.keyBy(key).window(fl.GlobalWindows.create()).trigger(fl.CountTrigger.of(9)).reduce(max)
    ),
    "processing time": lambda s: (
        s.keyBy(key).window(fl.TumblingProcessingTimeWindows.of(10)).reduce(max)
    ),
    "policies by time": lambda s: storm.PolicyWindowedStream.of(
        s, fl.Duration.ofSeconds(3), storm.Count(1)
    ).process(lambda window: []),
    "edges": lambda s: streaminsight.advanceTime(
        s.map(lambda e: streaminsight.EdgeEvent.createStart(e[2], e[0])),
        streaminsight.AdvanceTimeSettings(
            streaminsight.AdvanceTimeGenerationSettings(2),
            None,
            streaminsight.AdvanceTimePolicy.Adjust,
        ),
    ),
    "hopping lifetimes": lambda s: streaminsight.LifetimeWindowedStream(
        points(s), streaminsight.HoppingLifetimeWindows(4, 2)
    ).apply(lambda window, events: []),
    "joins": lambda s: (
        s.join(s)
        .where(key)
        .equalTo(key)
        .window(fl.TumblingEventTimeWindows.of(10))
        .apply(lambda a, b: a)
    ),
    "rows": lambda s: s.map(lambda e: fl.Row(name=e[0], at=e[2])).keyBy("name").max("at"),
}

TIMES = ((0, 1, 2), (3, 4, 5), (2,))


def one_input(build):
    return lambda stream: build(stream.assignTimestampsAndWatermarks(AT))


def two_inputs(build):
    return one_input(lambda s: build(s.filter(lambda e: True), s.filter(lambda e: e[1] < 5)))


BUILDS = {
    **{name: one_input(build) for name, build in {**ONE_INPUT, **MORE}.items()},
    **{name: two_inputs(build) for name, build in TWO_INPUTS.items()},
}

AT_TOP = {("flinkish", "_restored"), ("flinkish", "_row_of")}


@pytest.mark.parametrize("build", BUILDS.values(), ids=BUILDS.keys())
def test_pages_and_directories_name_no_module(build):
    job = MicroBatches(build, 2)
    for times in TIMES:
        job.process([[((f"k{time % 2}", time, time), None) for time in times]], clock=1)
    for store in job.stores.values():
        assert globals_in_store(store) <= AT_TOP


@pytest.mark.parametrize("build", BUILDS.values(), ids=BUILDS.keys())
def test_snapshots_of_the_harness_name_no_module(build):
    harness = StreamTestHarness(build)
    for times in TIMES:
        for time in times:
            harness.processElement((f"k{time % 2}", time, time))
    snapshot = harness.snapshot()
    assert globals_of(snapshot) <= AT_TOP
    again = StreamTestHarness.restore(build, snapshot)
    assert again.numKeyedStateEntries() == harness.numKeyedStateEntries()


EXAMPLES = [
    fl.TimeWindow(1, 2),
    fl.GlobalWindow.get(),
    fl.Row(a=1, b="x"),
    streaminsight.PointEvent(1, "p"),
    streaminsight.EdgeEvent.createStart(1, "p"),
    fl.Watermark(5),
    fl.WatermarkStatus.IDLE,
    fl.StreamRecord("x", 1),
    fl.DeadLetterReason.LATE,
]


@pytest.mark.parametrize("value", EXAMPLES, ids=repr)
def test_an_object_comes_back_as_it_was(value):
    for pickled in (pickle.dumps(value), cloudpickle.dumps(value)):
        assert globals_of(pickled) <= AT_TOP
        back = unpickled(pickled)
        assert type(back) is type(value)
        assert back == value


def test_the_names_that_are_stored_stay():
    """A name that was once stored is never given up: state of it would no longer be read."""
    assert sorted(stored_names()) == STORED


def test_frames_name_no_module():
    elements = [fl.Row(a=1), fl.TimeWindow(0, 1), streaminsight.PointEvent(1, "p")]
    for values in (elements, [fl.Row(a=1)], [fl.Row(a=1), fl.Row(b=1)]):
        for stored in (False, True):
            frame = encode_frame(Frame(untimed(values), NO_MARKS), "test", stored=stored)
            assert globals_of(frame[1:]) <= AT_TOP


def test_elements_of_panes_name_no_module():
    elements = PaneElements.of([fl.Row(a=n) for n in range(ENCODED_AT_ONCE)])
    for number in (1, LEAST_COLUMNS, ENCODED_AT_ONCE):
        elements.addColumns([["x"] * number], number, row_shape(["a"]), False)
    assert globals_of(pickle.dumps(elements)) <= AT_TOP


def test_a_class_of_flinkish_that_has_moved_is_found_by_its_name():
    moved = pickle.dumps(fl.OutputTag).replace(
        b"flinkish.api.output_tag", b"flinkish.old.output_tag"
    )
    assert unpickled(moved) is fl.OutputTag


def test_a_process_that_knows_nothing_of_another_system_reads_its_objects():
    """A worker may meet one in a frame, or in a function's closure, before anything else."""
    event = pickle.dumps(streaminsight.PointEvent(1, "p"))
    program = f"import pickle; print(pickle.loads({event!r}))"
    read = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert read.stdout.strip() == str(streaminsight.PointEvent(1, "p")), read.stderr


STORED = [
    "AscendingTimestampsWatermarks",
    "BoundedOutOfOrdernessWatermarks",
    "ConstantShape",
    "DeadLetter",
    "DeadLetterReason",
    "GlobalWindow",
    "HeapColumnTable",
    "HeapKeyedColumnTable",
    "HeapMapStateTable",
    "HeapStateTable",
    "HeapTimerQueue",
    "HeapWindowTable",
    "NoWatermarksGenerator",
    "PaneElements",
    "Shape",
    "StreamRecord",
    "TaggedUnion",
    "TimeWindow",
    "Timer",
    "TimestampedValue",
    "Watermark",
    "WatermarkStatus",
    "storm.Event",
    "storm.GlobalStreamId",
    "storm.LagWatermarks",
    "storm.PolicyWindowState",
    "storm.TupleSchema",
    "streaminsight.EdgeEvent",
    "streaminsight.EdgeType",
    "streaminsight.IntervalEvent",
    "streaminsight.Lifetime",
    "streaminsight.LifetimeState",
    "streaminsight.PointEvent",
    "streaminsight.Remaining",
]
