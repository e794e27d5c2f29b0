"""GroupedProcessingTimeWindow on the harness, with its clock."""

from __future__ import annotations

import pytest

from examples.grouped_processing_time_window import build, report
from flinkish import StreamRecord
from flinkish.testing import StreamTestHarness
from tests.streams import feed, values


def test_a_pair_is_in_five_windows_of_the_clock() -> None:
    harness = StreamTestHarness(build)
    harness.setProcessingTime(10_100)
    feed(harness, [(1, 1), (1, 1), (2, 1)])
    harness.setProcessingTime(10_499)
    assert harness.getOutput()[0] == StreamRecord((1, 2), 10_499)
    assert values(harness) == [(1, 2), (2, 1)]
    harness.setProcessingTime(10_600)
    feed(harness, [(1, 5)])
    harness.setProcessingTime(20_000)
    of_key_1 = [pair for pair in values(harness) if pair in [(1, 2), (1, 7), (1, 5)]]
    assert of_key_1 == [(1, 2), (1, 7), (1, 7), (1, 7), (1, 7), (1, 5)]
    assert harness.numProcessingTimeTimers() == harness.numKeyedStateEntries() == 0


def test_windows_that_are_open_at_the_end_do_not_fire() -> None:
    harness = StreamTestHarness(build)
    feed(harness, [(1, 1)])
    harness.endInput()
    assert values(harness) == []


def test_a_batch_is_reported_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    report([(1, 2_000), (2, 500)], batch=3)
    assert capsys.readouterr().out == "batch 3: 2 results, sum 2,500\n"
