"""SessionWindowing on the harness: when each session comes out, and what becomes of late events."""

from __future__ import annotations

from examples.session_windowing import EVENTS, Event, build
from flinkish.testing import StreamTestHarness
from tests.streams import feed, values


def test_a_session_comes_out_when_the_watermark_passes_its_gap() -> None:
    harness = StreamTestHarness(build)
    feed(harness, EVENTS[:4])
    assert values(harness) == [Event("a", 1, 1)]  # at b's 5 the watermark is 4, and a ended at 3
    feed(harness, EVENTS[4:6])
    assert values(harness)[1:] == [Event("b", 1, 3), Event("c", 6, 1)]
    feed(harness, EVENTS[6:])
    assert len(values(harness)) == 3
    harness.endInput()
    assert values(harness)[3:] == [Event("a", 10, 1), Event("c", 11, 1)]


def test_an_event_between_two_sessions_joins_them() -> None:
    harness = StreamTestHarness(build)
    feed(harness, [Event("a", 1, 1), Event("a", 4, 1)])  # windows [1, 4) and [4, 7) touch
    harness.endInput()
    assert values(harness) == [Event("a", 1, 2)]


def test_an_event_after_the_end_of_its_session_is_dropped() -> None:
    harness = StreamTestHarness(build)
    feed(harness, [Event("a", 1, 1), Event("b", 20, 1), Event("a", 2, 1)])
    harness.endInput()
    assert values(harness) == [Event("a", 1, 1), Event("b", 20, 1)]
    assert harness.numLateRecordsDropped() == 1
    assert harness.numKeyedStateEntries() == 0
