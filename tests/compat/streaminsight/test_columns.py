"""Windows over a run of points or intervals give what they give event by event."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from flinkish import (
    DataStream,
    Duration,
    OutputTag,
    Row,
    StreamRecord,
    TumblingEventTimeWindows,
    Watermark,
    WatermarkGenerator,
    WatermarkOutput,
    WatermarkStrategy,
)
from flinkish.compat import streaminsight
from flinkish.compat.streaminsight import (
    AdvanceTimeGenerationSettings,
    AdvanceTimePolicy,
    AdvanceTimeSettings,
    IntervalEvent,
    PointEvent,
)
from flinkish.testing import StreamTestHarness
from tests.runtime.micro_batches import MicroBatches

LATE, VIOLATIONS = OutputTag[Any]("late"), OutputTag[Any]("violations")

rows = st.lists(
    st.builds(
        lambda key, at, lasts: Row(key=key, at=at, lasts=lasts),
        st.sampled_from("ab"),
        st.integers(-20, 40),
        st.integers(1, 15),
    ),
    min_size=1,
    max_size=12,
)
generations = st.sampled_from(
    [
        AdvanceTimeGenerationSettings(1),
        AdvanceTimeGenerationSettings(3, 4),
        AdvanceTimeGenerationSettings(1, 30),
        AdvanceTimeGenerationSettings(Duration.ofMillis(7)),
    ]
)


def of_points(source: DataStream[Row], *settings: Any) -> DataStream[Any]:
    return streaminsight.toPointStreamable(
        source, lambda row: PointEvent(row.at, {"key": row.key, "seen": row.lasts}), *settings
    )


def of_rows(source: DataStream[Row], *settings: Any) -> DataStream[Any]:
    """Points that cannot change, which stay columns up to their windows."""
    return streaminsight.toPointStreamable(source, lambda row: PointEvent(row.at, row), *settings)


def of_intervals(source: DataStream[Row], *settings: Any) -> DataStream[Any]:
    return streaminsight.toIntervalStreamable(
        source,
        lambda row: IntervalEvent(row.at, row.at + row.lasts, {"key": row.key, "seen": row.lasts}),
        *settings,
    )


class EachEvent(WatermarkGenerator[Any]):
    """A watermark with each event, at its start."""

    def onEvent(self, event: Any, eventTimestamp: int, output: WatermarkOutput) -> None:
        output.emitWatermark(Watermark(event.startTime))

    def onPeriodicEmit(self, output: WatermarkOutput) -> None:
        """Nothing: all has been said in ``onEvent``."""


def of_watermarks(source: DataStream[Row], *settings: Any) -> DataStream[Any]:
    """Events that come late for their windows, which those behind an increment do not."""
    strategy = WatermarkStrategy[Any].forGenerator(lambda context: EachEvent())
    return source.map(
        lambda row: PointEvent(row.at, {"key": row.key, "seen": row.lasts})
    ).assignTimestampsAndWatermarks(
        strategy.withTimestampAssigner(lambda event, timestamp: event.startTime)
    )


def seen(key: str, window: Any, events: Any) -> list[Any]:
    """What a function sees that changes what it gets, if it can be changed."""
    found = [(event.startTime, event.endTime, repr(event.payload)) for event in events]
    for event in events:
        if isinstance(event.payload, dict):
            event.payload["seen"] = None
    return [(key, window, *found)]


def by_key(values: list[Any]) -> dict[str, list[str]]:
    """The results of each key, in their order."""
    found: dict[str, list[str]] = {}
    for value in values:
        found.setdefault(value[0], []).append(repr(value))
    return found


@pytest.mark.parametrize(
    "events_of",
    [
        pytest.param(of_points, marks=pytest.mark.takes_columns("ColumnFunction")),
        pytest.param(of_rows, marks=pytest.mark.takes_columns("ColumnFunction")),
        of_intervals,
        of_watermarks,
    ],
)
@example(
    [Row(key=key, at=at, lasts=4) for at, key in enumerate("abbaabbbaababbaa")],
    (6, 3, 1),
    AdvanceTimeGenerationSettings(2, 1),
    AdvanceTimePolicy.Drop,
    False,
    {9},
)
@given(
    rows,
    st.tuples(st.integers(1, 12), st.integers(1, 12), st.integers(-5, 5)),
    generations,
    st.sampled_from(AdvanceTimePolicy),
    st.booleans(),
    st.sets(st.integers(1, 11)),
)
def test_as_event_by_event(
    events_of: Any,
    stream: list[Row],
    windows: tuple[int, int, int],
    generation: AdvanceTimeGenerationSettings,
    policy: AdvanceTimePolicy,
    sides: bool,
    cuts: set[int],
) -> None:
    """Behind the windows of events come windows of Flink, which tell where the watermarks were."""
    settings = AdvanceTimeSettings(generation, policy=policy)

    def build(source: DataStream[Row]) -> list[DataStream[Any]]:
        events = events_of(source, settings, *([VIOLATIONS] if sides else []))
        windowed = streaminsight.hoppingWindow(
            events.keyBy(lambda event: event.payload["key"]), *windows
        )
        results = (windowed.sideOutputLateData(LATE) if sides else windowed).apply(seen)
        late = [results.getSideOutput(LATE)] if sides else []
        if sides and events_of is not of_watermarks:
            late.append(events.getSideOutput(VIOLATIONS))
        outputs = [
            results.map(lambda event: (event.payload[0], event)),
            *(side.map(lambda event: (event.payload["key"], event)) for side in late),
        ]
        return [*outputs, *map(counted, outputs)]

    def counted(output: DataStream[Any]) -> DataStream[Any]:
        keyed = output.keyBy(lambda pair: pair[0]).window(TumblingEventTimeWindows.of(10))
        return keyed.process(
            lambda key, context, pairs: [(key, context.window().start, len(list(pairs)))]
        )

    bounds = [0, *sorted(cut for cut in cuts if cut < len(stream)), len(stream)]
    batches = [[[(row, None) for row in stream[a:b]]] for a, b in itertools.pairwise(bounds)]
    found = MicroBatches(build, 1, columns=True).run(batches)
    for number, results in enumerate(found):
        harness = StreamTestHarness(lambda source, number=number: build(source)[number])  # type: ignore[misc]
        for row in stream:
            harness.processElement(row)
        harness.endInput()
        expected = [r.value for r in harness.getOutput() if isinstance(r, StreamRecord)]
        assert by_key([result.value for result in results]) == by_key(expected)
