"""Current-time increments: generated, imported, and what violates them."""

from __future__ import annotations

import itertools
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flinkish as fl
from flinkish.compat import streaminsight
from flinkish.compat.streaminsight import (
    AdvanceTimeGenerationSettings,
    AdvanceTimeImportSettings,
    AdvanceTimePolicy,
    AdvanceTimeSettings,
    EdgeEvent,
    IntervalEvent,
    PointEvent,
)
from flinkish.testing import StreamTestHarness
from tests.runtime.micro_batches import MicroBatches
from tests.streams import values

DROP, ADJUST = AdvanceTimePolicy.Drop, AdvanceTimePolicy.Adjust
VIOLATIONS = fl.OutputTag("violations")


def harness_of(*generation, policy=DROP):
    advance = AdvanceTimeSettings(AdvanceTimeGenerationSettings(*generation), policy=policy)
    return StreamTestHarness(lambda events: streaminsight.advanceTime(events, advance, VIOLATIONS))


def points(harness, *starts):
    for start in starts:
        harness.processElement(PointEvent(start, "p"))


def increments(harness):
    """The times of the increments: an increment at c is Watermark(c - 1)."""
    return [w.timestamp + 1 for w in harness.getOutput() if isinstance(w, fl.Watermark)]


def events(harness):
    return values(harness)


def violations(harness):
    return [r.value for r in harness.getSideOutput(VIOLATIONS)]


# Generation


def test_every_ten_events_five_seconds_behind_the_last():
    harness = harness_of(10, fl.Duration.ofSeconds(5), True)
    points(harness, *range(0, 25_000, 1000))
    assert increments(harness) == [9000 - 5000, 19_000 - 5000]
    harness.endInput()
    assert harness.getOutput()[-1] == fl.Watermark.MAX_WATERMARK


def test_an_increment_follows_the_event_that_makes_it():
    harness = harness_of(1)
    points(harness, 7)
    assert harness.getOutput() == [fl.StreamRecord(PointEvent(7, "p"), 7), fl.Watermark(6)]


def test_a_negative_delay_makes_the_event_itself_final():
    harness = harness_of(1, timedelta(milliseconds=-1))
    points(harness, 7)
    assert harness.getOutput()[-1] == fl.Watermark(7)


def test_every_so_long_after_the_event_of_the_increment_before():
    harness = harness_of(fl.Duration.ofMillis(10), 2)
    points(harness, 5, 14, 15, 24, 31, 40, 41)
    assert increments(harness) == [15 - 2, 31 - 2, 41 - 2]


def test_an_increment_that_is_not_above_the_last_is_left_out():
    harness = harness_of(1, 5)
    points(harness, 20, 18, 15, 20, 21)
    assert increments(harness) == [15, 16]


def test_end_edges_make_no_increments_and_start_edges_do():
    for frequency in (1, fl.Duration.ofMillis(1)):
        harness = harness_of(frequency)
        for event in (
            EdgeEvent.createStart(1, "a"),
            EdgeEvent.createStart(3, "b"),
            EdgeEvent.createEnd(1, 9, "a"),
            EdgeEvent.createStart(6, "c"),
        ):
            harness.processElement(event)
        assert increments(harness)[-2:] == [3, 6]


def test_without_infinity_the_end_of_the_stream_makes_nothing_final():
    harness = harness_of(2, 0, False)
    points(harness, 1)
    harness.endInput()
    assert increments(harness) == []


def test_watermarks_that_come_with_the_events_end_here():
    harness = harness_of(2)
    points(harness, 1)
    harness.processWatermark(50)
    points(harness, 2)
    assert increments(harness) == [2]


# Violations


INTERVALS = [(12, 15), (5, 20), (5, 11), (5, 10), (5, 8), (10, 12)]


@pytest.mark.parametrize(
    ("policy", "admitted"),
    [
        (DROP, [(12, 15), (10, 12)]),
        (ADJUST, [(12, 15), (10, 20), (10, 11), (10, 12)]),
    ],
)
def test_intervals_that_violate_an_increment(policy, admitted):
    harness = harness_of(7, 0, policy=policy)
    points(harness, *[0] * 6, 10)
    assert increments(harness) == [10]
    for start, end in INTERVALS:
        harness.processElement(IntervalEvent(start, end, "i"))
    found = harness.getOutput()[8:]
    assert [(r.value.startTime, r.value.endTime, r.timestamp) for r in found] == [
        (start, end, start) for start, end in admitted
    ]
    assert len(violations(harness)) == len(INTERVALS) - len(admitted)
    assert [v.payload for v in violations(harness)] == ["i"] * len(violations(harness))


@pytest.mark.parametrize("policy", [DROP, ADJUST])
def test_a_point_before_the_increment_is_dropped(policy):
    harness = harness_of(1, policy=policy)
    points(harness, 10, 9, 10)
    assert [event.startTime for event in events(harness)] == [10, 10]
    assert violations(harness) == [PointEvent(9, "p")]


def test_dropped_events_are_counted_where_nobody_reads_them():
    advance = AdvanceTimeSettings(AdvanceTimeGenerationSettings(1))
    harness = StreamTestHarness(lambda stream: streaminsight.advanceTime(stream, advance))
    points(harness, 10, 9)
    assert harness.numLateRecordsDropped() == 1


EDGES = [
    EdgeEvent.createStart(4, "a"),
    EdgeEvent.createStart(11, "b"),
    EdgeEvent.createEnd(4, 15, "a"),
    EdgeEvent.createEnd(11, 16, "b"),
]


@pytest.mark.parametrize(
    ("policy", "admitted"),
    [
        (DROP, [EDGES[1], EDGES[3]]),
        (
            ADJUST,
            [
                EdgeEvent.createStart(10, "a"),
                EDGES[1],
                EdgeEvent.createEnd(10, 15, "a"),
                EDGES[3],
            ],
        ),
    ],
)
def test_an_end_edge_goes_the_way_of_its_start(policy, admitted):
    """Also over a restart between the two."""

    def build(stream):
        advance = AdvanceTimeSettings(AdvanceTimeGenerationSettings(3), policy=policy)
        return streaminsight.advanceTime(stream, advance, VIOLATIONS)

    harness = StreamTestHarness(build)
    points(harness, 0, 0, 10)
    for event in EDGES[:2]:
        harness.processElement(event)
    restored = StreamTestHarness.restore(build, harness.snapshot())
    for event in EDGES[2:]:
        restored.processElement(event)
    assert events(harness)[3:] + events(restored) == admitted


def test_an_end_edge_before_the_increment_is_dropped():
    harness = harness_of(3, policy=ADJUST)
    for event in (EdgeEvent.createStart(4, "a"), PointEvent(5, "p"), PointEvent(10, "p")):
        harness.processElement(event)
    harness.processElement(EdgeEvent.createEnd(4, 9, "a"))
    harness.processElement(EdgeEvent.createEnd(4, 10, "a"))
    assert events(harness)[3:] == [EdgeEvent.createEnd(4, 10, "a")]
    assert violations(harness) == [EdgeEvent.createEnd(4, 9, "a")]


# Import


def importing(policy=ADJUST, *generation):
    def build(slow, fast):
        advance = AdvanceTimeSettings(
            AdvanceTimeGenerationSettings(*generation) if generation else None,
            AdvanceTimeImportSettings(fast),
            policy,
        )
        return streaminsight.advanceTime(slow, advance)

    return StreamTestHarness(build)


def test_a_slow_stream_takes_its_time_from_a_fast_one():
    harness = importing()
    harness.processElement1(IntervalEvent(0, 1000, "reference"))
    harness.processElement2("fast", 100)
    harness.processWatermark2(99)
    harness.processElement1(IntervalEvent(50, 200, "later"))
    assert harness.getOutput() == [
        fl.StreamRecord(IntervalEvent(0, 1000, "reference"), 0),
        fl.Watermark(99),
        fl.StreamRecord(IntervalEvent(100, 200, "later"), 100),
    ]


def test_the_end_of_the_slow_stream_does_not_advance_imported_time():
    harness = importing()
    harness.processWatermark1(fl.Watermark.MAX_WATERMARK)
    harness.processWatermark2(4)
    assert harness.getOutput() == [fl.Watermark(4)]


def test_generation_and_import_together():
    harness = importing(ADJUST, 2)
    harness.processElement1(PointEvent(1, "p"))
    harness.processWatermark2(9)
    harness.processElement1(PointEvent(10, "p"))
    harness.processElement1(PointEvent(15, "p"))
    harness.processElement1(PointEvent(20, "p"))
    harness.processWatermark2(14)
    assert increments(harness) == [10, 20]


# Elements that are no temporal events


@pytest.mark.parametrize("policy", [DROP, ADJUST])
def test_any_element_is_a_point_at_its_timestamp(policy):
    harness = harness_of(2, 3, policy=policy)
    for element, timestamp in (("a", 10), ("b", 12), ("late", 8), ("c", 9)):
        harness.processElement(element, timestamp)
    assert harness.getOutput() == [
        fl.StreamRecord("a", 10),
        fl.StreamRecord("b", 12),
        fl.Watermark(8),
        fl.StreamRecord("c", 9),
    ]
    assert violations(harness) == ["late"]


def test_flinks_windows_go_by_imported_time():
    def build(slow, fast):
        imported = AdvanceTimeSettings(None, AdvanceTimeImportSettings(fast))
        tens = fl.TumblingEventTimeWindows.of(10)
        return streaminsight.advanceTime(slow, imported).windowAll(tens).reduce(lambda a, b: a + b)

    harness = StreamTestHarness(build)
    for element, timestamp in (("a", 3), ("b", 8), ("c", 14)):
        harness.processElement1(element, timestamp)
    harness.processWatermark2(12)
    assert harness.getOutput()[0] == fl.StreamRecord("ab", 9)


def test_the_time_of_a_keyed_stream_is_that_of_all_its_keys():
    def build(stream):
        keyed = stream.keyBy(lambda event: event.payload)
        own = streaminsight.advanceTime(
            keyed, AdvanceTimeSettings(AdvanceTimeGenerationSettings(2))
        )
        imported = AdvanceTimeSettings(None, AdvanceTimeImportSettings(own.keyBy(lambda e: 0)))
        return streaminsight.advanceTime(keyed, imported).process(
            lambda event, ctx, out: out.collect(
                (event.payload, ctx.timerService().currentWatermark())
            )
        )

    batches = [[[(PointEvent(time, f"p{time}"), None)]] for time in (1, 2, 3, 4, 5)]
    (results,) = MicroBatches(build, 4).run(batches)
    assert [r.value for r in results] == [
        ("p1", -(2**63)),
        ("p2", -(2**63)),
        ("p3", 1),
        ("p4", 1),
        ("p5", 3),
    ]


# Settings


def test_one_of_generation_and_import_is_required():
    with pytest.raises(fl.InvalidProgramError, match="neither"):
        AdvanceTimeSettings(None, None, DROP)


@pytest.mark.parametrize(
    "frequency",
    [0, -1, True, fl.Duration.ofMillis(0), timedelta(-1), 2.5, "10", None],
)
def test_a_frequency_is_a_number_of_events_or_a_length_of_time_above_zero(frequency):
    with pytest.raises(fl.IllegalArgumentError, match="AdvanceTimeGenerationSettings: frequency"):
        AdvanceTimeGenerationSettings(frequency)


def test_an_element_without_lifetime_and_timestamp_is_an_error():
    with pytest.raises(fl.MissingTimestampError, match="Advance Time"):
        harness_of(1).processElement("not an event")


def test_an_interval_ends_after_its_start():
    with pytest.raises(fl.IllegalArgumentError, match="after the start"):
        IntervalEvent(5, 5, "i")


def test_an_end_edge_has_an_end():
    with pytest.raises(fl.IllegalArgumentError, match="createEnd"):
        EdgeEvent(streaminsight.EdgeType.End, 5, "e")


# Rules

shapes = st.one_of(
    st.builds(PointEvent, st.integers(0, 40), st.just("p")),
    st.builds(lambda s, d: IntervalEvent(s, s + d, "i"), st.integers(0, 40), st.integers(1, 20)),
)
generations = st.builds(
    AdvanceTimeGenerationSettings,
    st.one_of(st.integers(1, 4), st.builds(fl.Duration.ofMillis, st.integers(1, 15))),
    st.integers(-2, 6),
)


@given(st.lists(shapes, max_size=20), generations, st.sampled_from([DROP, ADJUST]))
def test_nothing_comes_before_an_increment(stream, generation, policy):
    harness = StreamTestHarness(
        lambda s: streaminsight.advanceTime(
            s, AdvanceTimeSettings(generation, None, policy), VIOLATIONS
        )
    )
    for event in stream:
        harness.processElement(event)
    last = fl.Watermark(-(2**63))
    for element in harness.getOutput():
        if isinstance(element, fl.Watermark):
            assert element > last
            last = element
        else:
            assert element.timestamp == element.value.startTime > last.timestamp
    assert len(events(harness)) + len(violations(harness)) == len(stream)
    if policy is DROP:
        assert sorted(map(repr, events(harness) + violations(harness))) == sorted(map(repr, stream))


@given(
    st.lists(shapes, max_size=15), generations, st.sampled_from([DROP, ADJUST]), st.sets(st.integers(1, 14))
)  # fmt: skip
def test_cuts_into_batches_change_nothing(stream, generation, policy, cuts):
    def build(source):
        result = streaminsight.advanceTime(
            source, AdvanceTimeSettings(generation, None, policy), VIOLATIONS
        )
        windows = result.windowAll(fl.TumblingEventTimeWindows.of(10)).apply(
            lambda window, elements: [(window.start, list(elements))]
        )
        return [windows, result.getSideOutput(VIOLATIONS)]

    harness = StreamTestHarness(build)
    for event in stream:
        harness.processElement(event)
    harness.endInput()
    bounds = [0, *sorted(cut for cut in cuts if cut < len(stream)), len(stream)]
    batches = [[[(e, None) for e in stream[a:b]]] for a, b in itertools.pairwise(bounds)]
    for output, results in enumerate(MicroBatches(build, 2).run(batches)):
        expected = values(harness, output)
        assert [r.value for r in results] == expected
