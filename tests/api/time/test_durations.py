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


@pytest.mark.parametrize(
    ("text", "millis"),
    [
        ("PT15M", 900_000),
        ("PT1M30.5S", 90_500),
        ("pt0,25s", 250),
        ("P2DT3H", 183_600_000),
        ("-PT6H", -21_600_000),
        ("PT-6H+3M", -21_420_000),
        ("P1D", 86_400_000),
    ],
)
def test_a_duration_as_iso_8601_writes_it(text, millis):
    assert Duration.parse(text).toMillis() == millis


@pytest.mark.parametrize("text", ["", "P", "PT", "15M", "P1DT", "PT1.5M", "P1Y", "PT0.0005S", 5])
def test_what_is_no_duration_is_refused(text):
    with pytest.raises(IllegalArgumentError, match=r"Duration\.parse: "):
        Duration.parse(text)


def test_durations_are_computed_with_as_in_java():
    minute = Duration.ofMinutes(1)
    assert Duration.ZERO.plusMillis(5).plusSeconds(1) == Duration.ofMillis(1_005)
    assert Duration.ZERO.plusMinutes(1).plusHours(1).plusDays(1) == Duration.ofMillis(90_060_000)
    assert minute.minus(Duration.ofSeconds(90)) == Duration.ofSeconds(-30)
    assert minute.minusMillis(1).minusSeconds(1).toMillis() == 58_999
    assert minute.multipliedBy(3).dividedBy(2) == Duration.ofSeconds(90)
    assert Duration.ofMillis(-5).dividedBy(2) == Duration.ofMillis(-2)
    assert (minute.getSeconds(), minute.toSeconds(), minute.toNanos()) == (60, 60, 60_000_000_000)
    assert (Duration.ofHours(50).toMinutes(), Duration.ofHours(50).toHours()) == (3_000, 50)
    assert (Duration.ofHours(50).toDays(), Duration.ofHours(-50).toDays()) == (2, -2)
    assert minute.negated().isNegative()
    assert minute.negated().abs() == minute
    assert Duration.ZERO.isZero()
    assert [minute.compareTo(Duration.ofSeconds(s)) for s in (59, 60, 61)] == [1, 0, -1]
