"""Elements with watermarks among them are processed together, and give what they give one by one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest import mock

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import flinkish as fl
from flinkish import DataStream, OutputTag, Row, Time, WatermarkStrategy
from flinkish.runtime.columns import aligned_windows, panes, phase_columns
from flinkish.runtime.columns.aligned_windows import AlignedWindowOperator
from flinkish.runtime.columns.path import WithColumns
from flinkish.runtime.columns.session_windows import ColumnSessionWindows
from flinkish.runtime.operators.output import Input, Output
from flinkish.runtime.records import frames
from flinkish.runtime.records.frames import Frame
from flinkish.runtime.task import writer
from flinkish.runtime.task.gates import InputGates
from tests.runtime.micro_batches import MicroBatches
from tests.runtime.properties import part_of_examples

pytestmark = pytest.mark.slow("each example is a job in three ways")

LATE = OutputTag[Row]("late")

Build = Callable[[DataStream[Any]], DataStream[Any]]


class Marked(fl.WatermarkGenerator[Row]):
    """Emits the watermark that an element has, if any."""

    def onEvent(self, event: Row, eventTimestamp: int, output: fl.WatermarkOutput) -> None:
        if event.mark > -100:
            output.emitWatermark(fl.Watermark(event.mark))

    def onPeriodicEmit(self, output: fl.WatermarkOutput) -> None:
        """All has been said."""


class Sum(fl.AggregateFunction[Row, tuple[int, int], tuple[int, int]]):
    def createAccumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: Row, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value.value, accumulator[1] + 1

    def getResult(self, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator

    def merge(self, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        return a[0] + b[0], a[1] + b[1]


class WithKey(fl.ProcessWindowFunction[Any, Any, str, Any]):
    """Cannot be traced, as it asks for the watermark."""

    def process(self, key: str, context: Any, elements: Iterable[Any], out: Any) -> None:
        window = context.window()
        out.collect((key, list(elements), window.getStart(), context.currentWatermark()))


class KeyAndWindow(fl.ProcessWindowFunction[Any, Any, str, Any]):
    def process(self, key: str, context: Any, elements: Iterable[Any], out: Any) -> None:
        for total, count in elements:
            out.collect((key, total, count, context.window().getStart(), context.window().getEnd()))


class Last(fl.ProcessWindowFunction[Any, Any, str, Any]):
    def process(self, key: str, context: Any, elements: Iterable[Row], out: Any) -> None:
        out.collect((key, [element.value for element in elements], context.window().getEnd()))


class Totals(fl.KeyedProcessFunction[str, Row, Any]):
    """A running total with the watermark at which it is known."""

    def open(self, context: Any) -> None:
        descriptor = fl.ValueStateDescriptor[int]("total")
        self.total = self.getRuntimeContext().getState(descriptor)

    def processElement(self, value: Row, ctx: Any, out: Any) -> None:
        total = (self.total.value() or 0) + value.value
        self.total.update(total)
        out.collect((ctx.getCurrentKey(), total, ctx.timerService().currentWatermark()))


class Reminders(Totals):
    """Registers a timer for each third element."""

    def processElement(self, value: Row, ctx: Any, out: Any) -> None:
        total = (self.total.value() or 0) + value.value
        self.total.update(total)
        if value.value % 3 == 0:
            ctx.timerService().registerEventTimeTimer(value.at + 4)
        out.collect((ctx.getCurrentKey(), total, value.at))

    def onTimer(self, timestamp: int, ctx: Any, out: Any) -> None:
        out.collect((ctx.getCurrentKey(), self.total.value(), timestamp))


class EverySecond(fl.Trigger[Row, Any]):
    """Fires with each second element of a pane, and at the end of the window."""

    COUNT = fl.ReducingStateDescriptor("count", lambda a, b: a + b)

    def onElement(self, element: Row, timestamp: int, window: Any, ctx: Any) -> fl.TriggerResult:
        ctx.registerEventTimeTimer(window.maxTimestamp())
        count = ctx.getPartitionedState(self.COUNT)
        count.add(1)
        return fl.TriggerResult.FIRE if count.get() % 2 == 0 else fl.TriggerResult.CONTINUE

    def onEventTime(self, time: int, window: Any, ctx: Any) -> fl.TriggerResult:
        return fl.TriggerResult.FIRE

    def onProcessingTime(self, time: int, window: Any, ctx: Any) -> fl.TriggerResult:
        return fl.TriggerResult.CONTINUE

    def clear(self, window: Any, ctx: Any) -> None:
        ctx.getPartitionedState(self.COUNT).clear()


class Both(fl.KeyedCoProcessFunction[str, Row, Row, Any]):
    """A total of two inputs, with the watermark at which it is known."""

    def open(self, context: Any) -> None:
        descriptor = fl.ValueStateDescriptor[int]("total")
        self.total = self.getRuntimeContext().getState(descriptor)

    def processElement1(self, value: Row, ctx: Any, out: Any) -> None:
        self.total.update((self.total.value() or 0) + value.value)

    def processElement2(self, value: Row, ctx: Any, out: Any) -> None:
        out.collect((value.key, self.total.value(), ctx.timerService().currentWatermark()))


class Aside(fl.ProcessFunction[Row, Any]):
    """Results for two outputs, with the watermark."""

    def processElement(self, value: Row, ctx: Any, out: Any) -> None:
        if value.value > 4:
            ctx.output(LATE, value)
        else:
            out.collect((value.key, value.value, ctx.timerService().currentWatermark()))


def both(stream: DataStream[Any]) -> DataStream[Any]:
    high, low = (stream.filter(lambda r: r.value > 4), stream.filter(lambda r: r.value <= 4))
    joined = high.keyBy(lambda r: r.key).connect(low.keyBy(lambda r: r.key))
    return joined.process(Both()).process(Seen())


def within_five(stream: DataStream[Any]) -> DataStream[Any]:
    high, low = (stream.filter(lambda r: r.value > 4), stream.filter(lambda r: r.value <= 4))
    joined = high.keyBy(lambda r: r.key).intervalJoin(low.keyBy(lambda r: r.key))
    return (
        joined.between(Time.milliseconds(-5), Time.milliseconds(5)).process(Pairs()).process(Seen())
    )


class Pairs(fl.ProcessJoinFunction[Row, Row, Any]):
    def processElement(self, left: Row, right: Row, ctx: Any, out: Any) -> None:
        out.collect((left.key, left.value, left.at, right.value, right.at))


def aside(stream: DataStream[Any]) -> Any:
    found = stream.process(Aside())
    others = found.getSideOutput(LATE).map(lambda r: (r.key, r.value, r.at))
    return [found.process(Seen()), others.process(Seen())]


class Seen(fl.ProcessFunction[Any, Any]):
    """Adds the watermark that a result meets behind the operator."""

    def processElement(self, value: Any, ctx: Any, out: Any) -> None:
        out.collect((value, ctx.timestamp(), ctx.timerService().currentWatermark()))


def windowed(assigner: Any, lateness: int, function: Callable[[Any], Any]) -> Build:
    def build(stream: DataStream[Any]) -> Any:
        windows = stream.keyBy(lambda row: row.key).window(assigner)
        found = function(
            windows.allowedLateness(Time.milliseconds(lateness)).sideOutputLateData(LATE)
        )
        late = found.getSideOutput(LATE).map(lambda row: (row.key, row.value, row.at))
        return [found.process(Seen()), late.process(Seen())]

    return build


def keyed(function: Callable[[Any], DataStream[Any]]) -> Build:
    return lambda stream: function(stream.keyBy(lambda row: row.key)).process(Seen())


def milliseconds(*times: int) -> list[Time]:
    return [Time.milliseconds(time) for time in times]


TUMBLING = fl.TumblingEventTimeWindows.of(*milliseconds(10))
SLIDING = fl.SlidingEventTimeWindows.of(*milliseconds(20, 8))
SESSIONS = fl.EventTimeSessionWindows.withGap(*milliseconds(6))
DYNAMIC = fl.EventTimeSessionWindows.withDynamicGap(lambda row: row.value + 1)


def larger(a: Row, b: Row) -> Row:
    return a if a.value >= b.value else b


JOBS: dict[str, tuple[Any, type | None]] = {
    "tumbling": (
        windowed(TUMBLING, 0, lambda w: w.aggregate(Sum(), KeyAndWindow())),
        AlignedWindowOperator,
    ),
    "tumbling, late": (
        windowed(TUMBLING, 5, lambda w: w.aggregate(Sum(), WithKey())),
        AlignedWindowOperator,
    ),
    "tumbling, updates": (
        windowed(TUMBLING, 9, lambda w: w.aggregate(Sum(), KeyAndWindow())),
        AlignedWindowOperator,
    ),
    "tumbling, all": (windowed(TUMBLING, 0, lambda w: w.process(Last())), AlignedWindowOperator),
    "sliding": (
        windowed(SLIDING, 0, lambda w: w.aggregate(Sum(), KeyAndWindow())),
        AlignedWindowOperator,
    ),
    "sliding, late": (
        windowed(SLIDING, 7, lambda w: w.aggregate(Sum(), WithKey())),
        AlignedWindowOperator,
    ),
    "sliding, reduce": (
        windowed(SLIDING, 0, lambda w: w.reduce(larger).map(lambda r: (r.key, r.value, r.at))),
        AlignedWindowOperator,
    ),
    "sessions": (
        windowed(SESSIONS, 0, lambda w: w.aggregate(Sum(), KeyAndWindow())),
        ColumnSessionWindows,
    ),
    "sessions, late": (
        windowed(SESSIONS, 5, lambda w: w.aggregate(Sum(), WithKey())),
        ColumnSessionWindows,
    ),
    "sessions, dynamic": (
        windowed(DYNAMIC, 5, lambda w: w.aggregate(Sum(), KeyAndWindow())),
        ColumnSessionWindows,
    ),
    "sessions, all": (windowed(SESSIONS, 0, lambda w: w.process(Last())), None),
    "own trigger": (
        windowed(TUMBLING, 0, lambda w: w.trigger(EverySecond()).aggregate(Sum(), KeyAndWindow())),
        None,
    ),
    "count windows": (
        keyed(lambda k: k.countWindow(3).reduce(larger).map(lambda r: (r.key, r.value, r.at))),
        None,
    ),
    "two inputs": (both, None),
    "interval join": (within_five, None),
    "side output": (aside, None),
    "process": (keyed(lambda k: k.process(Totals())), WithColumns),
    "timers": (keyed(lambda k: k.process(Reminders())), WithColumns),
    "rolling": (
        keyed(lambda k: k.sum("value").map(lambda r: (r.key, r.value, r.at))),
        WithColumns,
    ),
    "map": (lambda s: s.map(lambda r: (r.key, r.value * 2)).process(Seen()), WithColumns),
    "filter": (
        lambda s: s.filter(lambda r: r.value > 2).map(lambda r: (r.key, r.value)).process(Seen()),
        WithColumns,
    ),
    "flat map": (
        lambda s: s.flatMap(lambda r: [(r.key, r.value)] * (r.value % 3)).process(Seen()),
        None,
    ),
    "two readers": (
        lambda s: (
            s.map(lambda r: (r.key, r.value))
            .union(s.map(lambda r: (r.key, -r.value)))
            .process(Seen())
        ),
        None,
    ),
}


@contextmanager
def cut_at_each_watermark() -> Iterator[None]:
    """Frames are processed run by run, and the elements of a run one by one."""

    def emit(output: Output, frame: Frame) -> None:
        frame.inParts(
            output.emitRecords, output.emitWatermarks, output.emitWatermarkStatus, output.emitSplit
        )

    with (
        mock.patch.object(InputGates, "_read_whole", return_value=False),
        mock.patch.object(Output, "emitFrame", emit),
    ):
        yield


def results_of(build: Build, batches: Any, groups: int, traces: bool, slices: int = 1) -> Any:
    """The results of each key in their order, each with its batch, timestamp, and the watermark that it
    met; how many elements were late; and the watermark in the end."""

    def timed(stream: DataStream[Any]) -> Any:
        strategy = WatermarkStrategy[Row].forGenerator(lambda context: Marked())
        return build(
            stream.assignTimestampsAndWatermarks(
                strategy.withTimestampAssigner(lambda row, timestamp: row.at)
            )
        )

    job = MicroBatches(timed, groups, columns=traces)
    job._settings = replace(job._settings, tracesFunctions=traces)
    for batch in batches:
        job.process([[(each, None) for each in batch[start::slices]] for start in range(slices)])
    job.end()
    found: list[dict[str, list[Any]]] = []
    for results in job.results:
        by_key = defaultdict(list)
        for result in results:
            (value, *seen) = result.value
            by_key[value[0]].append((result.batch, value, *seen, result.timestamp))
        found.append(dict(by_key))
    return found, job.metrics.numLateRecordsDropped


elements = st.builds(
    lambda key, value, at, mark: Row(key=key, value=value, at=at, mark=mark),
    st.sampled_from("abc"),
    st.integers(0, 9),
    st.integers(0, 60),
    st.one_of(st.just(-100), st.integers(-5, 60)),
)
"""Late ones among them, as often as not."""


def in_order(steps: list[tuple[str, int, int, int, int]]) -> list[Row]:
    """Elements whose time goes on, but for a few ms; each emits a watermark some ms behind."""
    rows, now = [], 0
    for key, value, step, back, lag in steps:
        now += step
        rows.append(Row(key=key, value=value, at=now - back, mark=now - lag))
    return rows


ordered = st.lists(
    st.tuples(
        st.sampled_from("abc"),
        st.integers(0, 9),
        st.integers(0, 9),
        st.integers(0, 4),
        st.integers(1, 9),
    ),
    min_size=1,
    max_size=40,
).map(in_order)

batches = st.lists(st.one_of(st.lists(elements, min_size=1, max_size=25), ordered), max_size=4)

EVERY = in_order([("abc"[n % 3], n % 10, 3, n % 4, 5) for n in range(90)])
"""Each element emits a watermark."""


@pytest.mark.parametrize("job", JOBS)
@pytest.mark.parametrize("shortest", [0, 256], ids=["columns", "short runs as objects"])
@part_of_examples(2)
@given(batches, st.integers(1, 3), st.integers(1, 2))
@example([EVERY, EVERY[:5]], 1, 1)
@example([EVERY, EVERY[:5]], 2, 2)
def test_as_one_by_one(job: str, shortest: int, batches: Any, groups: int, slices: int) -> None:
    build, _ = JOBS[job]
    with cut_at_each_watermark():
        expected = results_of(build, batches, groups, traces=False, slices=slices)
    with (
        mock.patch.object(phase_columns, "LEAST_ELEMENTS", 1),
        mock.patch.object(aligned_windows, "LEAST_LATE", 1),
        mock.patch.object(frames, "SHORTEST_COLUMNS", shortest),
        mock.patch.object(writer, "_LEAST_FOLDED", 1 if shortest == 0 else 4096),
        mock.patch.object(panes, "_LEAST_ELEMENTS_A_GROUP", 0 if shortest == 0 else 2),
    ):
        assert results_of(build, batches, groups, traces=False, slices=slices) == expected
        assert results_of(build, batches, groups, traces=True, slices=slices) == expected


@pytest.mark.parametrize("job", [job for job, (_, whole) in JOBS.items() if whole is not None])
def test_operators_take_whole_frames(job: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the results would prove nothing."""
    cut: list[str] = []
    process = Input.processFrame

    def noted(target: Input, frame: Frame) -> None:
        if (
            len(frame.records)
            and len(frame.marks)
            and frame.marks.positions[0] < len(frame.records)
        ):
            cut.append(type(target).__name__)
        process(target, frame)

    monkeypatch.setattr(Input, "processFrame", noted)
    monkeypatch.setattr(phase_columns, "LEAST_ELEMENTS", 1)
    results_of(JOBS[job][0], [EVERY], 1, traces=True)
    taken = {"timers": ["KeyedColumnProcess"]}.get(job, [])
    assert [name for name in cut if name != "ColumnProcess"] == taken
