"""TopSpeedWindowing on the harness: when it fires, and what it has forgotten by then."""

from __future__ import annotations

from pathlib import Path

import pytest

from examples.top_speed_windowing import CarEvent, build, drive, event_of, main
from flinkish.testing import StreamTestHarness
from tests.local_programs import local_execution
from tests.streams import feed, values


def test_it_fires_once_a_car_has_gone_further_than_fifty_metres() -> None:
    harness = StreamTestHarness(build)
    start = CarEvent(0, 90, 0.0, 0)
    fifty = CarEvent(0, 60, 50.0, 1000)
    beyond = CarEvent(0, 70, 50.1, 2000)
    feed(harness, [start, fifty])
    assert values(harness) == []
    feed(harness, [beyond])
    assert values(harness) == [start]
    feed(harness, [CarEvent(0, 80, 100.1, 3000)])  # only 50 m from where it fired
    assert values(harness) == [start]


def test_speeds_of_ten_seconds_ago_are_forgotten() -> None:
    harness = StreamTestHarness(build)
    fast, slow, later = (
        CarEvent(0, 90, 0.0, 0),
        CarEvent(0, 40, 10.0, 1000),
        CarEvent(0, 50, 80.0, 10_000),
    )
    feed(harness, [fast, slow, later])
    assert values(harness) == [later]


def test_of_equal_speeds_the_first_counts_and_cars_are_apart() -> None:
    harness = StreamTestHarness(build)
    first = CarEvent(0, 60, 0.0, 0)
    feed(harness, [first, CarEvent(1, 99, 0.0, 0), CarEvent(0, 60, 60.0, 1000)])
    assert values(harness) == [first]


def test_every_result_is_a_top_speed_of_ten_seconds() -> None:
    events = list(drive(cars=2, seconds=60))
    harness = StreamTestHarness(build)
    fired: list[object] = []
    for event in events:
        feed(harness, [event])
        now = values(harness)
        if len(now) > len(fired):
            last = [
                e
                for e in events
                if e.car == event.car and event.timestamp - 10_000 < e.timestamp <= event.timestamp
            ]
            assert now[-1] == max(last, key=lambda e: e.speed)
        fired = now
    assert len(fired) > 10


def test_events_may_come_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert event_of("0,80,10.5,0") == CarEvent(0, 80, 10.5, 0)
    file = tmp_path / "cars.csv"
    file.write_text("0,80,10.5,0\n1,99,0.0,0\n0,70,60.6,1000\n")
    with local_execution():
        main(["--input", str(file)])
    assert capsys.readouterr().out == f"{CarEvent(0, 80, 10.5, 0)}\n"
