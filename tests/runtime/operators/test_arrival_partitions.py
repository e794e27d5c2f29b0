"""Event time against arrival time by input partition: each has a separate watermark."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish import (
    ArrivalTimeStrategy,
    IllegalArgumentError,
    InvalidProgramError,
    OrderingPolicy,
    StreamExecutionEnvironment,
    StreamRecord,
    Time,
    TumblingEventTimeWindows,
    Watermark,
    WatermarkStrategy,
)
from flinkish.api.connectors.source import CollectionSource
from flinkish.testing import StreamTestHarness
from tests.compat.stream_analytics.example import clock
from tests.runtime.micro_batches import MicroBatches


class Event(NamedTuple):
    partition: str
    at: int
    enqueued: int


PARTITIONED = ArrivalTimeStrategy[Event](
    timestampAssigner="at",
    arrivalTime="enqueued",
    lateArrivalTolerance=Time.minutes(5),
    inputPartition="partition",
)


def event(partition: str, at: str, enqueued: str | None = None) -> Event:
    return Event(partition, clock(at), clock(enqueued or at))


def stamped(stream: Any) -> Any:
    return stream.process(lambda value, ctx, out: out.collect((*value, ctx.timestamp())))


def harness_of(strategy: ArrivalTimeStrategy[Any]) -> StreamTestHarness:
    return StreamTestHarness(lambda s: s.assignTimestampsAndWatermarks(strategy))


def seen(harness: StreamTestHarness) -> list[tuple[Any, int | None]]:
    return [(e.value, e.timestamp) for e in harness.getOutput() if isinstance(e, StreamRecord)]


def watermarks(harness: StreamTestHarness) -> list[int]:
    return [e.timestamp for e in harness.getOutput() if isinstance(e, Watermark)]


class TestPartitions:
    def test_an_event_is_held_against_the_watermark_of_its_own_partition(self) -> None:
        events = [event("a", "12:30"), event("b", "12:05"), event("a", "12:20", "12:31")]
        for strategy, last in (
            (PARTITIONED, [clock("12:30"), clock("12:05"), clock("12:30")]),
            (replace(PARTITIONED, inputPartition=None), [clock("12:30")] * 3),
        ):
            harness = harness_of(replace(strategy, lateArrivalTolerance=None))
            for e in events:
                harness.processElement(e)
            assert [timestamp for _, timestamp in seen(harness)] == last

    def test_in_a_batch_all_its_partitions_hold_the_watermark_from_the_beginning(self) -> None:
        """One is not late because Spark gives another first."""

        def build(stream: Any) -> Any:
            timed = stream.assignTimestampsAndWatermarks(PARTITIONED)
            windows = timed.windowAll(TumblingEventTimeWindows.of(Time.minutes(10)))
            return windows.process(lambda ctx, found: [[e.partition for e in found]])

        job = MicroBatches(build, 2)
        first = [event("a", "12:30"), event("a", "12:31")]
        second = [event("b", "12:05"), event("b", "12:06")]
        job.process([[(e, None) for e in first], [(e, None) for e in second]], clock=1_000)
        assert job.results[0] == []
        job.process([[(event("b", "12:32"), None)]], clock=2_000)
        assert [r.value for r in job.results[0]] == [["b", "b"]]
        job.end(clock=3_000)
        assert [r.value for r in job.results[0]] == [["b", "b"], ["a", "a", "b"]]

    def test_a_silent_partition_follows_its_own_arrivals_and_the_clock(self) -> None:
        harness = harness_of(PARTITIONED)
        harness.setProcessingTime(0)
        harness.processElement(event("b", "12:00"))
        harness.processElement(event("a", "12:30"))
        assert watermarks(harness)[-1] == clock("12:00") - 1
        harness.setProcessingTime(clock("00:20"))
        assert watermarks(harness)[-1] == clock("12:15") - 1, "12:00 and 20 minutes, less 5"
        harness.processElement(event("a", "12:50"))
        harness.setProcessingTime(clock("00:30"))
        assert watermarks(harness)[-1] == clock("12:25") - 1

    def test_a_partition_whose_events_are_all_dropped_counts_by_its_arrivals(self) -> None:
        harness = harness_of(replace(PARTITIONED, earlyArrivalTolerance=Time.minutes(5)))
        harness.setProcessingTime(0)
        harness.processElement(event("b", "13:00", "12:00"))
        harness.processElement(event("a", "12:30"))
        assert watermarks(harness) == []
        harness.setProcessingTime(clock("00:01"))
        assert watermarks(harness) == [clock("11:56") - 1]

    def test_a_partition_is_a_value_that_can_be_told_from_others(self) -> None:
        harness = harness_of(replace(PARTITIONED, inputPartition=lambda e: [e.partition]))
        with pytest.raises(
            IllegalArgumentError, match=r"the input partition \['a'\] of the element"
        ):
            harness.processElement(event("a", "12:00"))


events = st.lists(
    st.builds(Event, st.sampled_from("abc"), st.integers(0, 100), st.integers(0, 100)),
    max_size=30,
)
strategies = st.builds(
    replace,
    st.just(PARTITIONED),
    earlyArrivalTolerance=st.sampled_from([None, 0, 30]),
    lateArrivalTolerance=st.sampled_from([None, 0, 20, 60]),
    lateArrivalPolicy=st.sampled_from(OrderingPolicy),
    outOfOrderTolerance=st.sampled_from([0, 7]),
    outOfOrderPolicy=st.sampled_from(OrderingPolicy),
    substreamKey=st.sampled_from([None, lambda e: e.enqueued % 2]),
)


@given(strategies, events)
def test_each_partition_is_as_if_it_were_the_only_one(strategy, events):
    together = harness_of(strategy)
    alone = {name: harness_of(replace(strategy, inputPartition=None)) for name in "abc"}
    known: dict[str, StreamTestHarness] = {}
    lowest: list[int] = []
    for e in events:
        together.processElement(e)
        known[e.partition] = alone[e.partition]
        known[e.partition].processElement(e)
        marks = [watermarks(harness)[-1:] for harness in known.values()]
        if all(marks):
            lowest.append(max([*lowest[-1:], min(mark for (mark,) in marks)]))
    for name, harness in alone.items():
        assert [r for r in seen(together) if r[0].partition == name] == seen(harness)
    assert watermarks(together)[-1:] == lowest[-1:]


@given(strategies, events, st.sets(st.integers(1, 29)))
def test_batches_and_restarts_change_no_timestamp(strategy, events, cuts):
    def build(stream: Any) -> Any:
        return stamped(stream.assignTimestampsAndWatermarks(strategy))

    harness = StreamTestHarness(build)
    for e in events:
        harness.processElement(e)
    bounds = [0, *sorted(cut for cut in cuts if cut < len(events)), len(events)]
    job = MicroBatches(build, 3)
    for start, end in itertools.pairwise(bounds):
        job.process([[(e, None) for e in events[start:end]]])
    found = [r.value for r in job.results[0]]
    for partition in "abc":
        expected = [value for value, _ in seen(harness) if value[0] == partition]
        assert [value for value in found if value[0] == partition] == expected


class TestWhereTheyComeFrom:
    """The splits of the source are the partitions, while the elements are those of the source."""

    unsplit = replace(PARTITIONED, inputPartition=None)

    def partition_of(self, stream: Any) -> Any:
        call = stream.getTransformation().operator.partitionCall
        return None if call is None else call(event("a", "12:00"))

    def source(self) -> Any:
        return CollectionSource([event("a", "12:00")]).withSplits("partition")

    def test_at_the_source(self) -> None:
        env = StreamExecutionEnvironment()
        stream = env.fromSource(self.source(), self.unsplit, "events")
        assert self.partition_of(stream) == "a"
        other = env.fromSource(CollectionSource([event("a", "12:00")]), self.unsplit)
        assert self.partition_of(other) is None

    def test_later_on(self) -> None:
        env = StreamExecutionEnvironment()
        stream = env.fromSource(self.source(), WatermarkStrategy.noWatermarks())
        filtered = stream.filter(lambda e: e.at > 0)
        for later in (stream, filtered, filtered.rebalance()):
            assert self.partition_of(later.assignTimestampsAndWatermarks(self.unsplit)) == "a"
        mapped = stream.map(lambda e: (e.at, e.enqueued))
        assert self.partition_of(mapped.assignTimestampsAndWatermarks(self.unsplit)) is None

    def test_what_the_strategy_says_comes_first(self) -> None:
        env = StreamExecutionEnvironment()
        strategy = replace(PARTITIONED, inputPartition="at")
        assert self.partition_of(env.fromSource(self.source(), strategy)) == clock("12:00")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"inputPartition": 1.5}, "ArrivalTimeStrategy: inputPartition: 1.5"),
        ({"substreamKey": -1}, "ArrivalTimeStrategy: substreamKey: -1 is not a field"),
        ({"timestampAssigner": lambda e: 1}, "timestampAssigner: .* cannot be called with 2"),
        ({"arrivalTime": ""}, "ArrivalTimeStrategy: arrivalTime: '' is not a field"),
    ],
)
def test_what_says_no_partition_or_time_is_refused(options, message):
    with pytest.raises((IllegalArgumentError, InvalidProgramError), match=message):
        ArrivalTimeStrategy[Any](**options)
