"""Rides and fares on the harness: pairs in either order, and what found no partner."""

from __future__ import annotations

from examples.rides_and_fares import (
    UNMATCHED_FARES,
    UNMATCHED_RIDES,
    WAIT,
    Fare,
    Ride,
    RideAndFare,
    build,
    taxis,
)
from flinkish import StreamRecord
from flinkish.testing import StreamTestHarness
from tests.streams import values

RIDE = Ride(1, "Ada", 60_000)
FARE = Fare(1, 12.5, 90_000)
MINUTE = 60_000


def advance(harness: StreamTestHarness, now: int, ride_at: int, fare_at: int) -> None:
    """Let other rides and fares come, and the clock make watermarks of them: a minute and 1 ms
    below the latest."""
    harness.processElement1(Ride(98, "Bob", ride_at))
    harness.processElement2(Fare(99, 1.0, fare_at))
    harness.setProcessingTime(now)


def test_a_ride_and_its_fare_meet_in_either_order() -> None:
    ride_first, fare_first = StreamTestHarness(build), StreamTestHarness(build)
    ride_first.processElement1(RIDE)
    ride_first.processElement2(FARE)
    fare_first.processElement2(FARE)
    fare_first.processElement1(RIDE)
    assert ride_first.getOutput() == [StreamRecord(RideAndFare(RIDE, FARE), 90_000)]
    assert fare_first.getOutput() == [StreamRecord(RideAndFare(RIDE, FARE), 60_000)]
    for harness in ride_first, fare_first:
        assert harness.numEventTimeTimers() == harness.numKeyedStateEntries() == 0


def test_a_ride_without_a_fare_goes_aside_when_both_watermarks_have_passed() -> None:
    harness = StreamTestHarness(build)
    harness.processElement1(RIDE)
    end = RIDE.at + WAIT.toMillis()
    advance(harness, 200, ride_at=end + 2 * MINUTE, fare_at=end + MINUTE)
    assert harness.getSideOutput(UNMATCHED_RIDES) == []  # the fares may lag
    advance(harness, 400, ride_at=end + 2 * MINUTE, fare_at=end + MINUTE + 1)
    assert harness.getSideOutput(UNMATCHED_RIDES) == [StreamRecord(RIDE, end)]
    harness.processElement2(FARE)  # comes too late, and so waits for a ride in vain
    harness.endInput()
    assert values(harness, 0) == []
    assert StreamRecord(FARE, FARE.at + WAIT.toMillis()) in harness.getSideOutput(UNMATCHED_FARES)


def test_fares_out_of_order_find_their_rides() -> None:
    harness = StreamTestHarness(build)
    second_ride, second_fare = Ride(2, "Cy", 70_000), Fare(2, 9.0, 80_000)
    harness.processElement1(RIDE)
    harness.processElement1(second_ride)
    harness.processElement2(FARE)
    harness.processElement2(second_fare)
    harness.endInput()
    assert values(harness) == [RideAndFare(RIDE, FARE), RideAndFare(second_ride, second_fare)]


def test_what_is_left_at_the_end_goes_aside() -> None:
    harness = StreamTestHarness(build)
    rides, fares = taxis(30)
    for fare in fares:
        harness.processElement2(fare)
    for ride in rides:
        harness.processElement1(ride)
    harness.endInput()
    assert len(values(harness, 0)) == 24
    assert [ride.ride for ride in values(harness, 1)] == [10, 20, 30]
    assert [fare.ride for fare in values(harness, 2)] == [5, 15, 25]
    assert harness.numKeyedStateEntries() == 0
