"""Watermarks that lag behind several streams, computed once an interval."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flinkish as fl
from flinkish.api.eventtime.clock import ManualClock
from flinkish.compat import storm
from flinkish.testing import StreamTestHarness
from tests.runtime.micro_batches import MicroBatches


def harness_of(**options):
    return StreamTestHarness(lambda one, two: storm.unionWithLag(one, two, lag=5, **options))


def watermarks(harness):
    return [w.timestamp for w in harness.getOutput() if isinstance(w, fl.Watermark)]


def test_no_watermark_until_each_stream_has_sent_something():
    harness = harness_of()
    harness.processElement1("a", 100)
    harness.setProcessingTime(1000)
    assert watermarks(harness) == []
    harness.processElement2("b", 70)
    harness.setProcessingTime(2000)
    assert watermarks(harness) == [70 - 5 - 1]


def test_it_is_computed_once_an_interval():
    harness = harness_of(watermarkInterval=3000)
    harness.processElement1("a", 100)
    harness.processElement2("b", 100)
    harness.setProcessingTime(2800)
    assert watermarks(harness) == []
    harness.setProcessingTime(3000)
    harness.processElement1("a", 200)
    harness.processElement2("b", 200)
    harness.setProcessingTime(5800)
    assert watermarks(harness) == [94]
    harness.setProcessingTime(6000)
    assert watermarks(harness) == [94, 194]


@pytest.mark.parametrize("interval", [50, 70, 300])
def test_it_is_computed_at_multiples_of_the_interval(interval):
    """Whatever the auto-watermark interval is, which is 200 here."""
    harness, moved = harness_of(watermarkInterval=interval), []
    for now in range(0, 1200, 10):
        harness.processElement1("a", now)
        harness.processElement2("b", now)
        before = len(watermarks(harness))
        harness.setProcessingTime(now)
        moved += [now] * (len(watermarks(harness)) > before)
    assert moved == list(range(interval, 1200, interval))


def test_an_element_at_the_watermark_is_not_late():
    def build(one, two):
        windows = storm.PolicyWindowedStream.of(storm.unionWithLag(one, two, lag=5), 10)
        return windows.process(lambda window: [list(window.get())])

    harness = StreamTestHarness(build)
    harness.processElement1(20, 20)
    harness.processElement2(20, 20)
    harness.setProcessingTime(1000)
    harness.processElement1(14, 14)
    harness.processElement1(15, 15)
    harness.endInput()
    assert [r.value for r in harness.getOutput()[1:-1]] == [[20, 20, 15]]
    assert harness.numLateRecordsDropped() == 1


def test_elements_keep_their_timestamps_or_get_new_ones():
    harness = harness_of()
    harness.processElement1("a", 100)
    assert harness.getOutput() == [fl.StreamRecord("a", 100)]
    harness = harness_of(timestampAssigner=lambda element, timestamp: element * 2)
    harness.processElement2(7, 100)
    assert harness.getOutput() == [fl.StreamRecord(7, 14)]


def test_what_the_streams_have_sent_survives_a_restart():
    def build(one, two):
        return storm.unionWithLag(one, two, lag=5)

    harness = StreamTestHarness(build)
    harness.processElement1("a", 100)
    harness.setProcessingTime(1500)
    restored = StreamTestHarness.restore(build, harness.snapshot())
    restored.processElement2("b", 90)
    restored.setProcessingTime(1999)
    assert watermarks(restored) == []
    restored.setProcessingTime(2500)
    assert watermarks(restored) == [84]


def test_the_clock_is_wanted_only_when_the_watermark_has_risen():
    clock = ManualClock(0)
    generator = storm.LagWatermarks(1, 5, 1000, clock)
    assert generator.nextPeriodicEmit() is None
    generator.onEvent((0, "a"), 100, None)
    assert generator.nextPeriodicEmit() == 1000


def test_in_batches_the_watermark_follows_the_clock_of_the_batches():
    def build(stream):
        odd, even = (stream.filter(lambda n, r=r: n % 2 == r) for r in (1, 0))
        union = storm.unionWithLag(odd, even, lag=5, timestampAssigner=lambda n, timestamp: n)
        return storm.PolicyWindowedStream.of(union, 10).process(lambda window: [list(window.get())])

    job = MicroBatches(build, 2)
    job.process([[(11, None), (24, None)]], clock=10_000)
    job.process([[(27, None), (12, None)]], clock=10_500)
    assert job.results == [[]]
    job.process([], clock=11_000, tick=True)
    assert [r.value for r in job.results[0]] == []
    job.process([[(39, None), (15, None)]], clock=11_500)  # 15 < 24 - 5
    job.process([], clock=12_000, tick=True)
    job.end()
    assert [(r.batch, r.value) for r in job.results[0]] == [
        (5, [11, 12]),
        (5, [24, 27]),
        (5, [39]),
    ]


@pytest.mark.parametrize(
    ("options", "named"), [({"lag": -1}, "negative"), ({"lag": 1, "watermarkInterval": 0}, "zero")]
)
def test_settings_that_cannot_be_are_refused(options, named):
    stream = fl.StreamExecutionEnvironment().fromData(1)
    with pytest.raises(fl.IllegalArgumentError, match=named):
        storm.unionWithLag(stream, **options)


def test_what_is_no_stream_is_refused():
    stream = fl.StreamExecutionEnvironment().fromElements(1)
    with pytest.raises(fl.InvalidProgramError, match="unionWithLag: 5 of type int is not a Data"):
        storm.unionWithLag(stream, 5, lag=1)


def test_without_streams_it_is_refused():
    with pytest.raises(fl.IllegalArgumentError, match="at least one"):
        storm.unionWithLag(lag=1)


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 50)), max_size=15), st.integers(0, 9))
def test_the_watermark_is_the_lowest_of_the_latest_minus_the_lag(elements, lag):
    harness = StreamTestHarness(
        lambda one, two: storm.unionWithLag(one, two, lag=lag, watermarkInterval=200)
    )
    latest, expected = {}, []
    for step, (stream, timestamp) in enumerate(elements, start=1):
        (harness.processElement1, harness.processElement2)[stream]("e", timestamp)
        harness.setProcessingTime(step * 200)
        latest[stream] = max(latest.get(stream, 0), timestamp)
        if len(latest) == 2 and min(latest.values()) - lag - 1 not in expected:
            expected.append(min(latest.values()) - lag - 1)
    assert watermarks(harness) == expected
