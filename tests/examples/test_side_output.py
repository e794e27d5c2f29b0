"""SideOutputExample on the harness: long words go aside at once, short ones are counted in time."""

from __future__ import annotations

from examples.side_output import REJECTED_WORDS, Line, build
from flinkish.testing import StreamTestHarness
from tests.streams import feed, values


def test_words_of_more_than_five_letters_go_aside() -> None:
    harness = StreamTestHarness(build)
    feed(harness, [Line(0, "Thus native NATIVE hue"), Line(4999, "hue, regard")])
    assert values(harness, 1) == ["rejected: native", "rejected: native", "rejected: regard"]
    assert [record.timestamp for record in harness.getSideOutput(REJECTED_WORDS)] == [0, 0, 4999]
    harness.endInput()
    assert values(harness, 0) == [("thus", 1), ("hue", 2)]


def test_windows_are_of_five_seconds() -> None:
    harness = StreamTestHarness(build)
    feed(harness, [Line(4999, "die"), Line(5000, "die sleep"), Line(9000, "die")])
    harness.endInput()
    assert values(harness, 0) == [("die", 1), ("die", 2), ("sleep", 1)]


def test_late_words_are_dropped_but_rejected_ones_are_not() -> None:
    harness = StreamTestHarness(build)
    feed(harness, [Line(12_000, "rub")])
    harness.setProcessingTime(200)  # the watermark of the strategy: 11999
    feed(harness, [Line(3_000, "sea troubles")])
    harness.endInput()
    assert values(harness, 0) == [("rub", 1)]
    assert values(harness, 1) == ["rejected: troubles"]
    assert harness.numLateRecordsDropped() == 1
