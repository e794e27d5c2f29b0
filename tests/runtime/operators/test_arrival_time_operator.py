"""Event time against arrival time: the worked example, each policy, idle stretches, restarts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish import (
    ArrivalTimeStrategy,
    DataStream,
    DeadLetter,
    DeadLetterReason,
    IllegalArgumentError,
    InvalidProgramError,
    OrderingPolicy,
    OutputTag,
    StreamRecord,
    Time,
    TumblingEventTimeWindows,
    Watermark,
)
from flinkish.testing import StreamTestHarness
from tests.compat.stream_analytics.example import (
    ALL_POLICIES,
    NO_EARLY_POLICY,
    READINGS,
    SUBSTREAMS,
    Outcome,
    Reading,
    clock,
    shown,
)
from tests.runtime.micro_batches import MicroBatches
from tests.streams import records, values

DEAD = OutputTag[DeadLetter[Reading]]("dead")
EXAMPLE = ArrivalTimeStrategy[Reading](
    timestampAssigner=lambda reading, timestamp: reading.at,
    arrivalTime=lambda reading, timestamp: reading.enqueued,
    earlyArrivalTolerance=Time.minutes(5),
    lateArrivalTolerance=Time.minutes(5),
    outOfOrderTolerance=Time.minutes(2),
    deadLetters=DEAD,
)
VARIANTS = [
    pytest.param(EXAMPLE, ALL_POLICIES, id="all policies"),
    pytest.param(replace(EXAMPLE, earlyArrivalTolerance=None), NO_EARLY_POLICY, id="no early one"),
    pytest.param(replace(EXAMPLE, substreamKey="device"), SUBSTREAMS, id="substreams"),
]


def harness_of(strategy: ArrivalTimeStrategy[Any]) -> StreamTestHarness:
    return StreamTestHarness(lambda stream: stream.assignTimestampsAndWatermarks(strategy))


class TestTheWorkedExample:
    @pytest.mark.parametrize(("strategy", "outcome"), VARIANTS)
    def test_element_by_element_and_watermark_by_watermark(
        self, strategy: ArrivalTimeStrategy[Reading], outcome: Outcome
    ) -> None:
        harness = harness_of(strategy)
        watermark = None
        for reading in READINGS:
            before = len(harness.getOutput())
            harness.processElement(reading)
            timestamp = None
            for element in harness.getOutput()[before:]:
                if isinstance(element, Watermark):
                    # Flink's Watermark(t) excludes t itself, Azure's is the lowest still to come
                    watermark = shown(element.timestamp + 1)
                else:
                    assert element.value == reading
                    timestamp = shown(element.timestamp)
            assert (timestamp, watermark) == outcome[reading.number], reading

    @pytest.mark.parametrize(("strategy", "outcome"), VARIANTS)
    @pytest.mark.parametrize("cut", range(13))
    def test_the_same_over_a_restart(
        self, strategy: ArrivalTimeStrategy[Reading], outcome: Outcome, cut: int
    ) -> None:
        def build(stream: DataStream[Reading]) -> DataStream[Any]:
            return stream.assignTimestampsAndWatermarks(strategy)

        first = StreamTestHarness(build)
        for reading in READINGS[:cut]:
            first.processElement(reading)
        second = StreamTestHarness.restore(build, first.snapshot())
        for reading in READINGS[cut:]:
            second.processElement(reading)
        timestamps = {
            e.value.number: shown(e.timestamp or 0)
            for e in first.getOutput() + second.getOutput()
            if isinstance(e, StreamRecord)
        }
        assert timestamps == {number: at for number, (at, _) in outcome.items() if at is not None}

    @pytest.mark.parametrize(("strategy", "outcome"), VARIANTS)
    @pytest.mark.parametrize("size", [1, 2, 5, 12])
    def test_the_same_in_batches(
        self, strategy: ArrivalTimeStrategy[Reading], outcome: Outcome, size: int
    ) -> None:
        job = MicroBatches(lambda s: s.assignTimestampsAndWatermarks(strategy), 4, 2)
        for start in range(0, 12, size):
            job.process([[(reading, None) for reading in READINGS[start : start + size]]])
        job.end()
        timestamps = {r.value.number: shown(r.timestamp or 0) for r in job.results[0]}
        assert timestamps == {number: at for number, (at, _) in outcome.items() if at is not None}

    def test_the_third_event_is_a_dead_letter(self) -> None:
        harness = harness_of(EXAMPLE)
        for reading in READINGS:
            harness.processElement(reading)
        early = DeadLetter(READINGS[2], clock("12:17"), clock("12:11"), DeadLetterReason.EARLY)
        assert harness.getSideOutput(DEAD) == [StreamRecord(early, clock("12:17"))]

    def test_it_is_counted(self) -> None:
        job = MicroBatches(lambda s: s.assignTimestampsAndWatermarks(EXAMPLE), 4)
        job.process([[(reading, None) for reading in READINGS]], clock=clock("12:30"))
        metrics = job.metrics.metrics()["Arrival Time"]
        assert (metrics.numRecordsIn, metrics.numRecordsOut) == (12, 11)
        assert metrics.user == {
            "earlyElements": 1,
            "lateElements": 1,
            "outOfOrderElements": 2,
            "droppedElements": 1,
            "watermarkDelay": clock("12:30") - clock("12:21"),
        }


def at(timestamp: int, arrival: int) -> tuple[int, int]:
    return timestamp, arrival


PAIRS = ArrivalTimeStrategy[tuple[int, int]](
    timestampAssigner=lambda pair, timestamp: pair[0],
    arrivalTime=lambda pair, timestamp: pair[1],
)


class TestDropping:
    @pytest.mark.parametrize(
        ("strategy", "dropped", "reason"),
        [
            (replace(PAIRS, earlyArrivalTolerance=5), at(21, 15), DeadLetterReason.EARLY),
            (
                replace(PAIRS, lateArrivalTolerance=5, lateArrivalPolicy=OrderingPolicy.DROP),
                at(9, 15),
                DeadLetterReason.LATE,
            ),
            (
                replace(PAIRS, outOfOrderTolerance=2, outOfOrderPolicy=OrderingPolicy.DROP),
                at(7, 15),
                DeadLetterReason.OUT_OF_ORDER,
            ),
        ],
    )
    def test_what_goes_too_far_and_not_what_is_at_the_limit(
        self, strategy: Any, dropped: tuple[int, int], reason: DeadLetterReason
    ) -> None:
        tag = OutputTag[Any]("dead")
        harness = harness_of(replace(strategy, deadLetters=tag))
        harness.processElement(at(10, 10))
        harness.processElement(dropped)
        # one ms nearer
        nearer = at(dropped[0] + (-1 if reason is DeadLetterReason.EARLY else 1), dropped[1])
        harness.processElement(nearer)
        kept = values(harness)
        assert kept == [at(10, 10), nearer]
        (letter,) = harness.getSideOutput(tag)
        assert letter == StreamRecord(DeadLetter(dropped, *dropped, reason), dropped[0])

    def test_without_a_tag_it_is_gone(self) -> None:
        harness = harness_of(replace(PAIRS, earlyArrivalTolerance=5))
        harness.processElement(at(21, 15))
        assert harness.getOutput() == []


class TestWithoutElements:
    STRATEGY = ArrivalTimeStrategy[int](
        timestampAssigner=lambda value, timestamp: value, lateArrivalTolerance=500
    )

    def test_the_watermark_follows_the_estimated_arrival_time(self) -> None:
        harness = harness_of(self.STRATEGY)
        harness.setProcessingTime(10_000)
        assert harness.getOutput() == []
        harness.processElement(9_900)
        harness.setProcessingTime(10_300)
        harness.setProcessingTime(10_700)
        assert [w.timestamp for w in harness.getOutput()[1:]] == [9_899, 10_199]

    def test_it_begins_at_the_arrival_time_of_the_last_element(self) -> None:
        harness = harness_of(replace(PAIRS, lateArrivalTolerance=500))
        harness.setProcessingTime(70_000)
        harness.processElement(at(9_900, 10_000))
        harness.setProcessingTime(71_000)
        assert harness.getOutput()[-1] == Watermark(10_000 + 1_000 - 500 - 1)

    def test_an_estimate_goes_over_a_restart(self) -> None:
        def build(stream: DataStream[int]) -> DataStream[int]:
            return stream.assignTimestampsAndWatermarks(self.STRATEGY)

        harness = StreamTestHarness(build)
        harness.setProcessingTime(10_000)
        harness.processElement(9_900)
        harness = StreamTestHarness.restore(build, harness.snapshot())
        harness.setProcessingTime(11_000)
        assert harness.getOutput() == [Watermark(10_499)]

    def test_without_a_late_tolerance_it_stands(self) -> None:
        harness = harness_of(replace(self.STRATEGY, lateArrivalTolerance=None))
        harness.processElement(9_900)
        harness.setProcessingTime(99_000)
        assert harness.getOutput()[-1] == Watermark(9_899)

    def test_ticks_close_windows_and_are_asked_for(self) -> None:
        def build(stream: DataStream[int]) -> DataStream[int]:
            windows = stream.assignTimestampsAndWatermarks(self.STRATEGY).windowAll(
                TumblingEventTimeWindows.of(1000)
            )
            return windows.reduce(lambda a, b: a + b)

        job = MicroBatches(build, 4)
        job.process([], clock=5_000, tick=True)
        assert job.metrics.nextProcessingTime() is None
        job.process([[(9_900, None)]], clock=10_000)
        assert job.metrics.nextProcessingTime() == 11_000
        job.process([], clock=10_400, tick=True)
        assert job.results == [[]]
        job.process([], clock=11_400, tick=True)
        assert [(r.batch, r.value) for r in job.results[0]] == [(3, 9_900)]
        job.end(clock=12_000)
        assert job.metrics.nextProcessingTime() is None


class TestSubstreams:
    STRATEGY = ArrivalTimeStrategy[tuple[str, int]](
        timestampAssigner=lambda element, timestamp: element[1],
        outOfOrderPolicy=OrderingPolicy.DROP,
        substreamKey=0,
    )

    def test_each_is_held_against_its_own_watermark(self) -> None:
        harness = harness_of(self.STRATEGY)
        for element in [("a", 100), ("b", 10), ("a", 99), ("b", 20), ("c", 5)]:
            harness.processElement(element)
        # b comes behind the watermark that a alone has made
        assert harness.getOutput() == [StreamRecord(("a", 100), 100), Watermark(99)]

    def test_the_stream_has_the_lowest(self) -> None:
        harness = harness_of(self.STRATEGY)
        for element in [("a", 10), ("b", 30), ("b", 29), ("a", 20), ("c", 19), ("c", 25)]:
            harness.processElement(element)
        assert harness.getOutput() == [
            StreamRecord(("a", 10), 10),
            Watermark(9),
            StreamRecord(("b", 30), 30),
            StreamRecord(("a", 20), 20),
            Watermark(19),
            StreamRecord(("c", 25), 25),
        ]

    def test_the_clock_moves_all_of_them_on(self) -> None:
        harness = harness_of(replace(self.STRATEGY, lateArrivalTolerance=1_000))
        harness.setProcessingTime(10_000)
        harness.processElement(("a", 10_000))
        harness.processElement(("b", 12_000))
        harness.setProcessingTime(13_500)
        harness.processElement(("a", 12_600))
        assert harness.getOutput()[-2:] == [Watermark(12_499), StreamRecord(("a", 12_600), 12_600)]


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=6), max_size=6),
    st.sampled_from(OrderingPolicy),
    st.sampled_from(OrderingPolicy),
    st.booleans(),
)
def test_counts_add_up_and_batches_do_not_matter(
    batches: list[list[tuple[int, int]]],
    late: OrderingPolicy,
    out_of_order: OrderingPolicy,
    substreams: bool,
) -> None:
    tag = OutputTag[DeadLetter[Any]]("dead")
    strategy = replace(
        PAIRS,
        earlyArrivalTolerance=20,
        lateArrivalTolerance=15,
        lateArrivalPolicy=late,
        outOfOrderTolerance=5,
        outOfOrderPolicy=out_of_order,
        substreamKey=(lambda pair: pair[0] % 3) if substreams else None,
        deadLetters=tag,
    )

    def build(stream: DataStream[tuple[int, int]]) -> list[DataStream[Any]]:
        ordered = stream.assignTimestampsAndWatermarks(strategy)
        return [ordered, ordered.getSideOutput(tag)]

    job, harness = MicroBatches(build, 4), StreamTestHarness(build)
    for batch in batches:
        job.process([[(pair, None) for pair in batch]])
        for pair in batch:
            harness.processElement(pair)
    kept, dropped = job.results
    for results, i in ((kept, 0), (dropped, 1)):
        expected = records(harness, i)
        assert [StreamRecord(r.value, r.timestamp) for r in results] == expected
    if not any(batches):
        return
    metrics = job.metrics.metrics()["Arrival Time"]
    assert metrics.numRecordsIn == sum(map(len, batches)) == len(kept) + len(dropped)
    assert (metrics.numRecordsOut, metrics.user["droppedElements"]) == (len(kept), len(dropped))
    reasons = [result.value.reason for result in dropped]
    assert reasons.count(DeadLetterReason.EARLY) == metrics.user["earlyElements"]
    assert reasons.count(DeadLetterReason.LATE) <= metrics.user["lateElements"]
    if out_of_order is OrderingPolicy.DROP:
        assert reasons.count(DeadLetterReason.OUT_OF_ORDER) == metrics.user["outOfOrderElements"]


def test_without_a_timestamp_assigner_event_time_is_arrival_time() -> None:
    harness = harness_of(ArrivalTimeStrategy[str]())
    harness.setProcessingTime(77)
    harness.processElement("x", 5)
    assert harness.getOutput() == [StreamRecord("x", 77), Watermark(76)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"outOfOrderTolerance": -1}, "outOfOrderTolerance is -1 ms, but cannot be negative"),
        ({"estimateInterval": 0}, "estimateInterval is 0 ms, but must be greater than zero"),
    ],
)
def test_a_length_of_time_that_will_not_do(arguments: dict[str, int], message: str) -> None:
    with pytest.raises(IllegalArgumentError, match=message):
        ArrivalTimeStrategy[int](**arguments)  # type: ignore[arg-type]


def test_dead_letters_need_a_tag() -> None:
    with pytest.raises(
        InvalidProgramError, match="deadLetters: 'dead' of type str is not an OutputTag"
    ):
        ArrivalTimeStrategy[int](deadLetters="dead")  # type: ignore[arg-type]


def test_a_time_that_is_no_int_names_the_element() -> None:
    harness = harness_of(ArrivalTimeStrategy(arrivalTime=lambda element, timestamp: 1.5))  # type: ignore[return-value]
    with pytest.raises(IllegalArgumentError, match=r"Arrival Time: arrivalTime gave 1\.5 .* 'x'"):
        harness.processElement("x")
