"""StreamInsight's current-time increments, by what its documentation says of them."""

from __future__ import annotations

import pytest

import flinkish as fl
from flinkish import Duration
from flinkish.compat.streaminsight import (
    TICK,
    AdvanceTimeGenerationSettings,
    AdvanceTimeImportSettings,
    AdvanceTimePolicy,
    AdvanceTimeSettings,
    EdgeEvent,
    IntervalEvent,
    PointEvent,
    committed,
    countByStartTimeWindow,
    hoppingWindow,
    join,
    snapshotWindow,
    toEdgeStreamable,
    toIntervalStreamable,
    toPointStreamable,
    tumblingWindow,
    union,
)
from flinkish.testing import StreamTestHarness
from tests.runtime.micro_batches import MicroBatches
from tests.streams import values

EVERY_EVENT = AdvanceTimeSettings(
    AdvanceTimeGenerationSettings(1, Duration.ofSeconds(0), True), None, AdvanceTimePolicy.Adjust
)
AT_ONCE = AdvanceTimeSettings(AdvanceTimeGenerationSettings(1, Duration.ofMillis(-TICK), True))


def point(element):
    """Convert a pair of a time and a payload to a point event."""
    return PointEvent(*element)


def increments(harness):
    """The times of the CTIs: a CTI at c is Watermark(c - 1)."""
    return [w.timestamp + 1 for w in harness.getOutput() if isinstance(w, fl.Watermark)]


def seconds(count):
    return count * 1000


# Generation, with the settings of the document


def test_a_cti_every_ten_events_five_seconds_behind_and_one_at_infinity():
    atgs = AdvanceTimeGenerationSettings(10, Duration.ofSeconds(5), True)
    ats = AdvanceTimeSettings(atgs, None, AdvanceTimePolicy.Drop)
    harness = StreamTestHarness(lambda s: toPointStreamable(s, point, ats))
    for second in range(1, 26):
        harness.processElement((seconds(second), "p"))
    assert increments(harness) == [seconds(10) - seconds(5), seconds(20) - seconds(5)]
    harness.endInput()
    assert harness.getOutput()[-1] == fl.Watermark.MAX_WATERMARK


def test_an_event_may_come_as_much_too_late_as_the_delay():
    atgs = AdvanceTimeGenerationSettings(10, Duration.ofSeconds(5), True)
    ats = AdvanceTimeSettings(atgs, None, AdvanceTimePolicy.Drop)
    harness = StreamTestHarness(lambda s: toPointStreamable(s, point, ats))
    for second in (*range(1, 11), 5, 4):
        harness.processElement((seconds(second), "p"))
    assert [event.startTime for event in values(harness)][10:] == [seconds(5)]
    assert harness.numLateRecordsDropped() == 1


def test_a_cti_with_every_event_at_its_time():
    harness = StreamTestHarness(lambda s: toPointStreamable(s, point, EVERY_EVENT))
    for second in (3, 4, 7):
        harness.processElement((seconds(second), "p"))
    assert increments(harness) == [seconds(3), seconds(4), seconds(7)]


@pytest.mark.parametrize(
    ("settings", "delay"),
    [
        (EVERY_EVENT, 1),
        (AT_ONCE, 0),
        (AdvanceTimeSettings.increasingStartTime(), 1),
        (AdvanceTimeSettings.strictlyIncreasingStartTime(), 0),
    ],
)
def test_liveliness(settings, delay):
    """With no delay a point event is final with the next CTI; with -1 tick it is so at once."""
    harness = StreamTestHarness(lambda s: committed(toPointStreamable(s, point, settings)))
    seen = []
    for second in (1, 2, 3, 4):
        harness.processElement((seconds(second), f"p{second}"))
        seen.append([event.payload for event in values(harness)])
    all_of_them = ["p1", "p2", "p3", "p4"]
    assert seen == [all_of_them[: count - delay] for count in (1, 2, 3, 4)]


# Violations


@pytest.mark.parametrize(
    ("policy", "lifetimes"),
    [
        (AdvanceTimePolicy.Drop, [(20, 30)]),
        (AdvanceTimePolicy.Adjust, [(20, 30), (20, 25)]),
    ],
)
def test_violations_of_the_cti_at_20(policy, lifetimes):
    ats = AdvanceTimeSettings(AdvanceTimeGenerationSettings(1), None, policy)
    harness = StreamTestHarness(
        lambda s: toIntervalStreamable(s, lambda bounds: IntervalEvent(*bounds, "i"), ats)  # type: ignore[call-arg]
    )
    for bounds in ((20, 30), (15, 25), (15, 20), (10, 12)):
        harness.processElement(bounds)
    assert [(event.startTime, event.endTime) for event in values(harness)] == lifetimes


# A slow reference stream follows a fast one


def looked_up(data, lookup, import_time=True):
    """Point events, each with the reference data of its time."""
    fast = toPointStreamable(data, point, AT_ONCE)
    ats = AdvanceTimeSettings(
        None if import_time else AdvanceTimeGenerationSettings(1, 0, True),
        AdvanceTimeImportSettings(fast) if import_time else None,
        AdvanceTimePolicy.Adjust,
    )
    slow = toEdgeStreamable(lookup, lambda edge: edge, ats)
    return committed(join(fast, slow, lambda a, b: True, lambda a, b: (a, b)))


def test_with_imported_time_the_join_is_as_live_as_the_fast_side():
    harness = StreamTestHarness(looked_up)
    harness.processElement2(EdgeEvent.createStart(0, "old"))
    for time in (5, 6):
        harness.processElement1((time, f"p{time}"))
        assert values(harness)[-1].payload == (f"p{time}", "old")
    harness.processElement2(EdgeEvent.createEnd(0, 8, "old"))
    harness.processElement2(EdgeEvent.createStart(8, "new"))
    harness.processElement1((9, "p9"))
    assert [event.payload for event in values(harness)] == [
        ("p5", "old"),
        ("p6", "old"),
        ("p9", "new"),
    ]


def test_without_imported_time_the_join_waits_for_the_slow_side():
    harness = StreamTestHarness(lambda data, lookup: looked_up(data, lookup, import_time=False))
    harness.processElement2(EdgeEvent.createStart(0, "old"))
    for time in (5, 6):
        harness.processElement1((time, f"p{time}"))
    assert values(harness) == []
    harness.processElement2(EdgeEvent.createStart(6, "more"))
    assert [event.payload for event in values(harness)] == [("p5", "old")]


def test_a_late_reference_begins_when_it_comes():
    """The policy is Adjust: its start moves to the last CTI."""
    harness = StreamTestHarness(looked_up)
    harness.processElement1((5, "p5"))
    harness.processElement2(EdgeEvent.createStart(0, "late"))
    harness.processElement1((6, "p6"))
    assert [event.payload for event in values(harness)] == [("p6", "late")]


REFERENCES = [
    ("lookup", EdgeEvent.createStart(0, "old")),
    ("data", (5, "p5")),
    ("data", (6, "p6")),
    ("lookup", EdgeEvent.createEnd(0, 8, "old")),
    ("lookup", EdgeEvent.createStart(8, "new")),
    ("data", (9, "p9")),
    ("data", (10, "p10")),
]
PAIRS = [("p5", "old"), ("p6", "old"), ("p9", "new"), ("p10", "new")]


def of_one_source(stream):
    data, lookup = (
        stream.filter(lambda tagged, kind=kind: tagged[0] == kind).map(lambda tagged: tagged[1])
        for kind in ("data", "lookup")
    )
    return looked_up(data, lookup)


@pytest.mark.parametrize("size", [1, 2, 7])
def test_the_join_in_batches(size):
    batches = [[[(e, None) for e in REFERENCES[i : i + size]]] for i in range(0, 7, size)]
    job = MicroBatches(of_one_source, 3)
    assert [r.value.payload for r in job.run(batches)[0]] == PAIRS


# What operators do with CTIs


def payloads(window, events):
    return ["".join(event.payload for event in events)]


def lifetime(event):
    return event.startTime, event.endTime, event.payload


def lifetimes(harness):
    return [lifetime(event) for event in values(harness)]


POINTS = [(2, "a"), (7, "b"), (11, "c"), (15, "d")]
HOPPING = [(-5, 5, "a"), (0, 10, "ab"), (5, 15, "bc"), (10, 20, "cd"), (15, 25, "d")]


def hopping(stream):
    return hoppingWindow(toPointStreamable(stream, point, EVERY_EVENT), 10, 5).apply(payloads)


def test_hopping_windows_move_ctis_to_the_start_of_the_window():
    harness = StreamTestHarness(hopping)
    for element in POINTS:
        harness.processElement(element)
    # At 2 the window [-5, 5) is open, at 7 [0, 10), at 11 [5, 15), at 15 [10, 20).
    assert increments(harness) == [-5, 0, 5, 10]
    assert lifetimes(harness) == HOPPING[:3]
    harness.endInput()
    assert lifetimes(harness) == HOPPING


def test_a_bounded_job_without_infinity_ends_and_what_is_open_does_not_come():
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    env.setParallelism(1).setMaxParallelism(2)
    settings = AdvanceTimeSettings(AdvanceTimeGenerationSettings(1, 0, False))
    points = env.fromCollection([(1, "a"), (2, "b"), (12, "c"), (25, "d")])
    windows = tumblingWindow(toPointStreamable(points, point, settings), 10).apply(payloads)
    found = [lifetime(event) for event in windows.executeAndCollect()]
    assert found == [(0, 10, "ab"), (10, 20, "c")]


def test_union_emits_up_to_the_older_cti():
    harness = StreamTestHarness(
        lambda one, two: committed(
            union(*(toPointStreamable(stream, point, AT_ONCE) for stream in (one, two)))
        )
    )
    harness.processElement1((5, "a"))
    assert values(harness) == []
    harness.processElement2((3, "b"))
    harness.processElement2((4, "c"))
    assert [event.payload for event in values(harness)] == ["b", "c"]
    harness.processElement2((6, "d"))
    assert [event.payload for event in values(harness)] == ["b", "c", "a"]


def sums_of_sums(stream):
    sums = tumblingWindow(toPointStreamable(stream, point, AT_ONCE), 5).apply(
        lambda window, events: [sum(event.payload for event in events)]
    )
    return tumblingWindow(sums, 10).apply(
        lambda window, events: [[event.payload for event in events]]
    )


NUMBERS = [(time, time) for time in range(1, 22, 2)]
SUMS = [(0, 10, [1 + 3, 5 + 7 + 9]), (10, 20, [11 + 13, 15 + 17 + 19]), (20, 30, [21])]


def test_windows_after_windows():
    """The CTIs that hopping windows hold back are right for what comes after them."""
    harness = StreamTestHarness(sums_of_sums)
    for element in NUMBERS:
        harness.processElement(element)
    assert harness.numLateRecordsDropped() == 0
    assert lifetimes(harness) == SUMS[:2]
    harness.endInput()
    assert lifetimes(harness) == SUMS


LIFETIMES = [(1, 6, "a"), (4, 9, "b"), (9, 12, "c")]
SNAPSHOTS = [(1, 4, "a"), (4, 6, "ab"), (6, 9, "b"), (9, 12, "c")]
COUNTED = [PointEvent(4, "ab"), PointEvent(9, "bc")]


def snapshots_and_counts(stream):
    events = toIntervalStreamable(stream, lambda e: IntervalEvent(*e), EVERY_EVENT)
    return [
        snapshotWindow(events).apply(payloads),
        countByStartTimeWindow(events, 2).apply(payloads),
    ]


def test_snapshots_and_counts():
    harness = StreamTestHarness(snapshots_and_counts)
    for element in LIFETIMES:
        harness.processElement(element)
    harness.endInput()
    assert lifetimes(harness) == SNAPSHOTS
    assert values(harness, 1) == COUNTED


def test_windows_of_each_key():
    harness = StreamTestHarness(
        lambda s: tumblingWindow(
            toPointStreamable(s, point, EVERY_EVENT).keyBy(lambda event: event.payload), 10
        ).apply(lambda key, window, events: [(key, len(list(events)))])
    )
    for element in ((1, "a"), (2, "b"), (3, "a")):
        harness.processElement(element)
    harness.endInput()
    assert sorted(event.payload for event in values(harness)) == [("a", 2), ("b", 1)]


# Settings


def test_generation_or_import_is_required_and_both_are_allowed():
    with pytest.raises(fl.InvalidProgramError, match="neither"):
        AdvanceTimeSettings(None, None, AdvanceTimePolicy.Drop)
    stream = fl.StreamExecutionEnvironment().fromData(1)
    AdvanceTimeSettings(
        AdvanceTimeGenerationSettings(1), AdvanceTimeImportSettings(stream), AdvanceTimePolicy.Drop
    )


def test_a_selector_gives_events_of_its_shape():
    harness = StreamTestHarness(lambda s: toEdgeStreamable(s, point, EVERY_EVENT))
    with pytest.raises(fl.InvalidProgramError, match=r"EdgeEvent: the selector gave PointEvent"):
        harness.processElement((1, "p"))
