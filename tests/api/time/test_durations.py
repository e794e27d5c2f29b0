"""Lengths of time as Flink's jobs write them."""

from __future__ import annotations

import pytest

from flinkish import Duration, IllegalArgumentError, Time, TimeUnit, TumblingEventTimeWindows


@pytest.mark.parametrize(
    ("length", "millis"),
    [
        (Time.of(5, TimeUnit.SECONDS), 5_000),
        (Time.of(5, TimeUnit.MILLISECONDS), 5),
        (Time.of(2, TimeUnit.MINUTES), 120_000),
        (Time.of(2, TimeUnit.HOURS), 7_200_000),
        (Time.of(1, TimeUnit.DAYS), 86_400_000),
        (Time.of(2_500, TimeUnit.MICROSECONDS), 2),
        (Time.of(999_999, TimeUnit.NANOSECONDS), 0),
        (Time.seconds(5), 5_000),
        (Time.milliseconds(7), 7),
    ],
)
def test_a_length_of_time_in_a_unit(length, millis):
    assert length == Duration.ofMillis(millis)
    assert length.toMillis() == millis


def test_windows_take_it():
    windows = TumblingEventTimeWindows.of(Time.of(5, TimeUnit.SECONDS))
    assert repr(windows) == repr(TumblingEventTimeWindows.of(Duration.ofSeconds(5)))


@pytest.mark.parametrize("unit", ["SECONDS", None, 1000])
def test_a_unit_that_is_none_is_named(unit):
    with pytest.raises(IllegalArgumentError, match=r"Pass one, such as TimeUnit\.SECONDS"):
        Time.of(5, unit)


def test_a_size_that_is_no_whole_number_is_named():
    with pytest.raises(IllegalArgumentError, match="is not a whole number"):
        Time.of("5", TimeUnit.SECONDS)
