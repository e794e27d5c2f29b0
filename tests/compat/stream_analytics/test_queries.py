"""Azure Stream Analytics: the worked example and the windows, in its own words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flinkish import (
    ArrivalTimeStrategy,
    DataStream,
    DeadLetter,
    DeadLetterReason,
    FlinkishError,
    IllegalArgumentError,
    InvalidProgramError,
    OperatorMetrics,
    OrderingPolicy,
    OutputTag,
    StreamExecutionEnvironment,
    StreamRecord,
    UserFunctionError,
    Watermark,
    WindowAssigner,
)
from flinkish.compat.stream_analytics import (
    EventOrdering,
    HoppingWindow,
    Offset,
    SessionWindow,
    SlidingWindow,
    SnapshotWindow,
    StreamAnalyticsMetrics,
    System,
    TumblingWindow,
    byArrivalTime,
    timestampBy,
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

DEAD = OutputTag[DeadLetter[Reading]]("dead")
SETTINGS: dict[str, Any] = {
    "eventsLateArrivalMaxDelayInSeconds": 300,
    "eventsOutOfOrderMaxDelayInSeconds": 120,
}
FIGURES = [
    pytest.param({}, {}, ALL_POLICIES, id="all policies"),
    pytest.param({"earlyArrivalToleranceInSeconds": None}, {}, NO_EARLY_POLICY, id="no early one"),
    pytest.param({}, {"over": "device"}, SUBSTREAMS, id="substreams"),
]


def ordered(
    stream: DataStream[Reading], settings: dict[str, Any], options: dict[str, Any]
) -> DataStream[Any]:
    return timestampBy(
        stream,
        lambda reading, timestamp: reading.at,
        arrivalTime=lambda reading, timestamp: reading.enqueued,
        ordering=EventOrdering(**SETTINGS, **settings),
        deadLetters=DEAD,
        **options,
    )


def stamped(stream: DataStream[Reading]) -> DataStream[tuple[int, str]]:
    """The number of each event and its ``System.Timestamp``."""
    return stream.process(
        lambda reading, ctx, out: out.collect((reading.number, shown(System.Timestamp(ctx))))
    )


def timestamps(outcome: Outcome) -> list[tuple[int, str]]:
    """As they go on: by time, and at one time as they came."""
    return in_order([(number, at) for number, (at, _) in outcome.items() if at is not None])


def in_order(stamped: list[tuple[int, str]]) -> list[tuple[int, str]]:
    return sorted(stamped, key=lambda event: event[1])


def values_of(harness: StreamTestHarness) -> list[Any]:
    """All that came out, when the input has ended."""
    harness.endInput()
    return [e.value for e in harness.getOutput() if isinstance(e, StreamRecord)]


class TestTheWorkedExample:
    @pytest.mark.parametrize(("settings", "options", "outcome"), FIGURES)
    def test_element_by_element(
        self, settings: dict[str, Any], options: dict[str, Any], outcome: Outcome
    ) -> None:
        harness = StreamTestHarness(lambda s: stamped(ordered(s, settings, options)))
        watermark = None
        for reading in READINGS:
            before = len(harness.getOutput())
            harness.processElement(reading)
            new = harness.getOutput()[before:]
            watermark = ([watermark, *(e for e in new if isinstance(e, Watermark))])[-1]
            assert watermark == Watermark(clock(outcome[reading.number][1]) - 1)
        values = values_of(harness)
        assert values == timestamps(outcome)

    def test_the_policy_drop(self) -> None:
        drop = {"eventsOutOfOrderPolicy": OrderingPolicy.DROP}
        harness = StreamTestHarness(lambda s: stamped(ordered(s, drop, {})))
        for reading in READINGS:
            harness.processElement(reading)
        dropped = {e.value.value.number: e.value.reason for e in harness.getSideOutput(DEAD)}
        assert dropped == {
            3: DeadLetterReason.EARLY,
            6: DeadLetterReason.OUT_OF_ORDER,
            9: DeadLetterReason.OUT_OF_ORDER,
            12: DeadLetterReason.LATE,
        }
        values = values_of(harness)
        assert values == [(n, at) for n, at in timestamps(ALL_POLICIES) if n not in dropped]

    @pytest.mark.recovery
    def test_on_spark_over_a_restart_with_its_metrics(
        self, env: StreamExecutionEnvironment, tmp_path: Path
    ) -> None:
        """Three jobs in one; the first run breaks off in the third of four batches."""
        env.enableCheckpointing(str(tmp_path / "checkpoint"))
        env.getConfig().setElementsPerBatch(3)
        broken = tmp_path / "broken"
        broken.touch()
        seen: dict[str, list[Any]] = {}

        def fail(reading: Reading) -> Reading:
            if reading.number == 8 and broken.exists():
                raise ValueError("not yet")
            return reading

        def note(name: str) -> Any:
            into = seen.setdefault(name, [])
            return lambda values, batch: into.extend(values)

        def job() -> Any:
            readings = env.fromCollection(READINGS).uid("readings").map(fail)
            for i, figure in enumerate(FIGURES):
                settings, options, _ = figure.values
                stream = ordered(readings, settings, options)  # type: ignore[arg-type]
                stream.uid(f"ordered-{i}")  # type: ignore[attr-defined]
                stamped(stream).forEachBatch(note(str(figure.id)))
                if i == 0:
                    letters = stream.getSideOutput(DEAD)  # type: ignore[attr-defined]
                    letters.map(lambda letter: letter.value.number).forEachBatch(note("dead"))
            return env.execute("event ordering")

        with pytest.raises(UserFunctionError, match="not yet"):
            job()
        assert len(seen["all policies"]) == 3
        broken.unlink()
        metrics = StreamAnalyticsMetrics.of(job().getMetrics())
        for figure in FIGURES:
            assert seen[str(figure.id)] == timestamps(figure.values[2])  # type: ignore[arg-type]
        assert seen["dead"] == [3]
        # of the second run, readings 7 to 12, three times
        assert (metrics.InputEvents, metrics.EarlyInputEvents) == (18, 0)
        assert (metrics.LateInputEvents, metrics.OutOfOrderEvents) == (3, 2)
        assert metrics.WatermarkDelaySeconds > 0


def test_metrics_are_summed_over_the_inputs_and_the_delay_is_the_longest() -> None:
    def reported(name: str, records: int, early: int, late: int, delay: int) -> OperatorMetrics:
        counts = {"earlyElements": early, "lateElements": late, "outOfOrderElements": 2 * late}
        user = {**counts, "watermarkDelay": delay}
        return OperatorMetrics(name, name, numRecordsIn=records, user=user)

    operators = [
        reported("one", 10, 1, 2, 1_500),
        reported("two", 20, 3, 4, 750),
        OperatorMetrics("sums", "sums", numRecordsIn=30, user={"earlyElements": 9}),
    ]
    metrics = StreamAnalyticsMetrics.of({operator.name: operator for operator in operators})
    assert metrics == StreamAnalyticsMetrics(30, 4, 6, 12, 1.5)
    assert StreamAnalyticsMetrics.of({}) == StreamAnalyticsMetrics(0, 0, 0, 0, 0.0)


class TestOrder:
    """Events go on in the order of their timestamps, as Azure hands them on."""

    MINUTES = (10, 12, 11, 13, 12, 20, 19)

    def job(self, stream: DataStream[Any]) -> DataStream[Any]:
        ordering = EventOrdering(eventsOutOfOrderMaxDelayInSeconds=120)
        timed = timestampBy(stream, 1, arrivalTime=1, ordering=ordering)
        return timed.process(lambda e, ctx, out: out.collect((e[0], System.Timestamp(ctx))))

    def expected(self) -> list[tuple[int, int]]:
        by_time = sorted(enumerate(self.MINUTES), key=lambda event: event[1])
        return [(number, minute * 60_000) for number, minute in by_time]

    def events(self) -> list[tuple[int, int]]:
        return [(number, minute * 60_000) for number, minute in enumerate(self.MINUTES)]

    def test_on_the_harness_with_restarts(self) -> None:
        harness = StreamTestHarness(self.job)
        found: list[Any] = []
        for event in self.events():
            harness.processElement(event)
            found += [e.value for e in harness.getOutput() if isinstance(e, StreamRecord)]
            harness = StreamTestHarness.restore(self.job, harness.snapshot())
        assert found == self.expected()[:5]
        assert found + values_of(harness) == self.expected()

    @pytest.mark.parametrize("per_batch", [1, 3, 100])
    def test_in_local_execution(self, per_batch: int) -> None:
        env = StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
        env.getConfig().setElementsPerBatch(per_batch)
        found = self.job(env.fromCollection(self.events())).executeAndCollect()
        assert list(found) == self.expected()

    def test_nothing_waits_where_events_are_in_order_anyhow(self) -> None:
        harness = StreamTestHarness(lambda s: timestampBy(s, 1, arrivalTime=1))
        harness.processElement((0, 60_000))
        assert [e.value for e in harness.getOutput() if isinstance(e, StreamRecord)]


class TestNewSubstreams:
    """A device whose clock is behind the others' begins when their windows may have closed."""

    READINGS = (
        Reading(1, clock("12:17"), clock("12:17"), "d1"),
        Reading(2, clock("12:14"), clock("12:18"), "d2"),
        Reading(3, clock("12:13"), clock("12:18"), "d2"),
        Reading(4, clock("12:16"), clock("12:18"), "d1"),
    )

    def run(self, policy: str, independent: bool) -> tuple[list[tuple[int, str]], list[int]]:
        options = {"over": "device", "independentSubstreams": independent}
        harness = StreamTestHarness(
            lambda s: stamped(ordered(s, {"eventsOutOfOrderPolicy": policy}, options))
        )
        for reading in self.READINGS:
            harness.processElement(reading)
        values = values_of(harness)
        return values, [letter.value.value.number for letter in harness.getSideOutput(DEAD)]

    def test_they_are_held_against_the_watermark_that_windows_go_by(self) -> None:
        adjusted = [(1, "12:17"), (2, "12:15"), (3, "12:15"), (4, "12:16")]
        assert self.run("Adjust", False) == (in_order(adjusted), [])
        assert self.run("Drop", False) == ([(4, "12:16"), (1, "12:17")], [2, 3])

    @pytest.mark.parametrize("policy", ["Adjust", "Drop"])
    def test_independent_ones_are_held_against_their_own_alone(self, policy: str) -> None:
        kept = [(1, "12:17"), (2, "12:14"), (3, "12:13"), (4, "12:16")]
        assert self.run(policy, True) == (in_order(kept), [])

    def test_in_the_worked_example_independent_ones_keep_the_same_times(self) -> None:
        options = {"over": "device", "independentSubstreams": True}
        harness = StreamTestHarness(lambda s: stamped(ordered(s, {}, options)))
        watermarks = []
        for reading in READINGS:
            harness.processElement(reading)
            watermarks += [e for e in harness.getOutput() if isinstance(e, Watermark)][-1:]
        values = values_of(harness)
        assert values == timestamps(SUBSTREAMS)
        behind = [Watermark(reading.enqueued - clock("00:05") - 1) for reading in READINGS]
        behind[2] = behind[1]  # the third is dropped as early
        assert watermarks == behind

    def test_they_need_a_bound(self) -> None:
        with pytest.raises(InvalidProgramError, match="needs both substreamKey and lateArrival"):
            ArrivalTimeStrategy[Any](independentSubstreams=True, lateArrivalTolerance=5)
        with pytest.raises(InvalidProgramError, match="a new key may lag behind"):
            ArrivalTimeStrategy[Any](independentSubstreams=True, substreamKey=lambda event: event)


def windowed(window: WindowAssigner[Any, Any], events: list[int]) -> list[tuple[int, list[int]]]:
    """The windows of events at those times, as (``System.Timestamp``, events)."""
    harness = StreamTestHarness(
        lambda s: s.windowAll(window).process(
            lambda ctx, found: [(System.Timestamp(ctx), list(found))]
        )
    )
    for event in events:
        harness.processElement(event, event)
    harness.endInput()
    records = [e for e in harness.getOutput() if isinstance(e, StreamRecord)]
    assert all(record.timestamp == record.value[0] for record in records)
    return [record.value for record in records]


class TestWindows:
    def test_a_tumbling_window_takes_in_its_end_and_leaves_out_its_start(self) -> None:
        assert windowed(TumblingWindow("ms", 10), [0, 1, 9, 10, 11]) == [
            (0, [0]),
            (10, [1, 9, 10]),
            (20, [11]),
        ]

    def test_an_offset_of_less_than_nothing_turns_that_round(self) -> None:
        window = TumblingWindow("ms", 10, Offset("ms", -1))
        assert windowed(window, [0, 1, 9, 10]) == [(9, [0, 1, 9]), (19, [10])]

    @pytest.mark.parametrize("offset", [2, 7, -3])
    def test_an_offset_moves_windows_and_only_what_is_left_of_it_by_the_hop_counts(
        self, offset: int
    ) -> None:
        assert windowed(HoppingWindow("ms", 10, 5, Offset("ms", offset)), [2, 3, 7, 8, 12]) == [
            (2, [2]),
            (7, [2, 3, 7]),
            (12, [3, 7, 8, 12]),
            (17, [8, 12]),
        ]

    @pytest.mark.parametrize("offset", [3, 13, -7, 1003])
    def test_an_offset_of_the_size_or_more(self, offset: int) -> None:
        window = TumblingWindow("ms", 10, Offset("ms", offset))
        assert windowed(window, [3, 4, 13, 14]) == [(3, [3]), (13, [4, 13]), (23, [14])]

    def test_hopping_windows(self) -> None:
        assert windowed(HoppingWindow("ms", 10, 5), [5, 6, 10]) == [
            (5, [5]),
            (10, [5, 6, 10]),
            (15, [6, 10]),
        ]

    def test_a_hopping_window_that_hops_by_its_size_is_a_tumbling_one(self) -> None:
        events = list(range(0, 50, 3))
        assert windowed(HoppingWindow("s", 10, 10), events) == windowed(
            TumblingWindow("second", 10), events
        )

    def test_a_sliding_window_says_when_its_content_changes(self) -> None:
        assert windowed(SlidingWindow("ms", 10), [12, 9, 15, 12]) == [
            (9, [9]),
            (12, [9, 12, 12]),
            (15, [9, 12, 12, 15]),
            (19, [12, 12, 15]),
            (22, [15]),
        ]

    def test_a_session_ends_with_the_timeout(self) -> None:
        assert windowed(SessionWindow("ms", 5, 20), [1, 4, 8, 15]) == [(13, [1, 4, 8]), (20, [15])]

    def test_a_session_ends_with_the_first_check_at_which_it_is_too_long(self) -> None:
        events = list(range(3, 45, 4))
        assert windowed(SessionWindow("ms", 5, 10), events) == [
            (20, [3, 7, 11, 15, 19]),
            (30, [23, 27]),
            (40, [31, 35, 39]),
            (48, [43]),
        ]

    def test_a_snapshot_has_the_events_of_one_time(self) -> None:
        assert windowed(SnapshotWindow(), [3, 5, 3]) == [(3, [3, 3]), (5, [5])]

    def test_an_event_behind_the_watermark_is_in_no_snapshot(self) -> None:
        harness = StreamTestHarness(
            lambda s: s.windowAll(SnapshotWindow()).apply(lambda window, found: [list(found)])
        )
        harness.processWatermark(4)
        harness.processElement("late", 4)
        harness.processElement("in time", 5)
        harness.endInput()
        assert [e.value for e in harness.getOutput() if isinstance(e, StreamRecord)] == [
            ["in time"]
        ]
        assert harness.numLateRecordsDropped() == 1

    def test_units(self) -> None:
        assert windowed(TumblingWindow("minute", 5), [1]) == [(300_000, [1])]
        assert windowed(TumblingWindow("d", 1), [1]) == [(86_400_000, [1])]
        with pytest.raises(IllegalArgumentError, match="SlidingWindow: the time unit 'year'"):
            SlidingWindow("year", 1)  # type: ignore[arg-type]


class TestByArrivalTime:
    def test_event_time_is_arrival_time_and_goes_on_without_events(self) -> None:
        harness = StreamTestHarness(byArrivalTime)
        harness.setProcessingTime(10_000)
        harness.processElement("event", 3)
        harness.setProcessingTime(16_000)
        assert harness.getOutput() == [
            StreamRecord("event", 10_000),
            Watermark(9_999),
            Watermark(10_999),
        ]


def test_minus_one_lets_events_come_at_any_time() -> None:
    harness = StreamTestHarness(
        lambda s: timestampBy(
            s,
            lambda event, timestamp: event,
            ordering=EventOrdering(eventsLateArrivalMaxDelayInSeconds=-1),
        )
    )
    harness.setProcessingTime(10**12)
    harness.processElement(5)
    harness.setProcessingTime(10**13)
    assert harness.getOutput() == [StreamRecord(5, 5), Watermark(4)]


class TestLimits:
    @pytest.mark.parametrize(
        ("setting", "largest", "said"),
        [
            ("eventsLateArrivalMaxDelayInSeconds", 20 * 86_400, "1728000 at most .20 days"),
            ("eventsOutOfOrderMaxDelayInSeconds", 599, "599 at most .9:59 minutes"),
        ],
    )
    def test_the_largest_tolerances_are_those_of_azure(
        self, setting: str, largest: int, said: str
    ) -> None:
        assert getattr(EventOrdering(**{setting: largest}), setting) == largest
        with pytest.raises(IllegalArgumentError, match=f"EventOrdering: {setting} is .*{said}"):
            EventOrdering(**{setting: largest + 1})


class TestFields:
    def test_times_and_partitions_are_fields_by_name(self) -> None:
        def build(stream: DataStream[Any]) -> Any:
            options = {"arrivalTime": "enqueued", "inputPartition": "device"}
            return timestampBy(stream, "at", ordering=EventOrdering(**SETTINGS), **options)

        harness = StreamTestHarness(build)
        for reading in READINGS:
            harness.processElement(reading)
        harness.endInput()
        own = {
            record.value: record.timestamp
            for record in harness.getOutput()
            if isinstance(record, StreamRecord)
        }
        late = READINGS[11]
        assert own == {
            reading: max(reading.at, reading.enqueued - clock("00:05"))
            for reading in READINGS
            if reading is not READINGS[2]
        }
        assert own[late] == clock("12:22")

    def test_a_field_that_is_not_there_is_named(self) -> None:
        harness = StreamTestHarness(lambda s: timestampBy(s, "when"))
        with pytest.raises(FlinkishError, match="no field 'when'"):
            harness.processElement(READINGS[0])
