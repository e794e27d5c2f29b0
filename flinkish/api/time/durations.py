"""Lengths of time: ``Duration``, ``Time`` and ``TimeUnit``, and Java's 64-bit arithmetic, by which times near the ends of
their range wrap around."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import ClassVar, Self, Union

from flinkish.api.errors import IllegalArgumentError, shown
from flinkish.api.time.elements import MAX_TIMESTAMP, MIN_TIMESTAMP


def fits_long(number: int) -> bool:
    """Whether Java's ``long`` holds ``number``, as it does every timestamp."""
    return MIN_TIMESTAMP <= number <= MAX_TIMESTAMP


def to_long(number: int) -> int:
    """Wrap ``number`` around like Java's ``long``.

    >>> to_long(2**63)
    -9223372036854775808
    """
    if MIN_TIMESTAMP <= number <= MAX_TIMESTAMP:
        return number
    return (number - MIN_TIMESTAMP) % 2**64 + MIN_TIMESTAMP


def remainder(dividend: int, divisor: int) -> int:
    """Java's ``%`` for a positive divisor: the sign is the dividend's.

    >>> remainder(-7, 5)
    -2
    """
    return dividend % divisor if dividend >= 0 else -(-dividend % divisor)


@dataclass(frozen=True, order=True)
class Duration:
    """A length of time in whole milliseconds (Java: ``java.time.Duration``).

    >>> Duration.ofMinutes(5).toMillis()
    300000
    """

    milliseconds: int

    ZERO: ClassVar[Duration]
    """A duration of no length."""

    def __post_init__(self) -> None:
        _check("Duration", self.milliseconds)

    @classmethod
    def parse(cls, text: str) -> Self:
        """A duration as ISO 8601 writes it, such as ``PT15M`` or ``P2DT3H4.5S``.

        Raises IllegalArgumentError for any other text, and for parts of a millisecond.

        >>> Duration.parse("PT1M30.5S").toMillis()
        90500
        """
        found = _ISO_8601.fullmatch(text) if isinstance(text, str) else None
        parts = found.groupdict() if found else {}
        lengths = {
            unit: part for unit, part in parts.items() if unit in _UNITS and part is not None
        }
        if not lengths or (parts["time"] == ""):
            raise IllegalArgumentError(
                f"Duration.parse: {shown(text)} is not a duration of ISO 8601. Pass one such as 'PT15M',"
                " 'PT2.5S' or 'P1DT12H', or write Duration.ofMinutes(15)."
            )
        millis = sum(
            Decimal(part.replace(",", ".")) * _UNITS[unit] for unit, part in lengths.items()
        )
        if millis != int(millis):
            raise IllegalArgumentError(
                f"Duration.parse: {shown(text)} has parts of a millisecond, which flinkish does not keep."
            )
        return cls(int(millis) * (-1 if parts["sign"] == "-" else 1))

    @classmethod
    def between(cls, startInclusive: datetime.datetime, endExclusive: datetime.datetime) -> Self:
        """The length of time from one instant to another, in whole milliseconds."""
        for instant in (startInclusive, endExclusive):
            if not isinstance(instant, datetime.datetime):
                raise IllegalArgumentError(
                    f"Duration.between: {shown(instant)} is not an instant. Pass a datetime.datetime."
                )
        return cls((endExclusive - startInclusive) // datetime.timedelta(milliseconds=1))

    @classmethod
    def ofNanos(cls, nanos: int) -> Self:
        """``nanos`` nanoseconds, in whole milliseconds."""
        return cls(_check("Duration.ofNanos", nanos) // 1_000_000)

    @classmethod
    def ofMillis(cls, millis: int) -> Self:
        """``millis`` milliseconds."""
        return cls(_check("Duration.ofMillis", millis))

    @classmethod
    def ofSeconds(cls, seconds: int) -> Self:
        """``seconds`` seconds."""
        return cls(_check("Duration.ofSeconds", seconds) * 1_000)

    @classmethod
    def ofMinutes(cls, minutes: int) -> Self:
        """``minutes`` minutes."""
        return cls(_check("Duration.ofMinutes", minutes) * 60_000)

    @classmethod
    def ofHours(cls, hours: int) -> Self:
        """``hours`` hours."""
        return cls(_check("Duration.ofHours", hours) * 3_600_000)

    @classmethod
    def ofDays(cls, days: int) -> Self:
        """``days`` days of 24 hours."""
        return cls(_check("Duration.ofDays", days) * 86_400_000)

    def toMillis(self) -> int:
        """The length in milliseconds."""
        return self.milliseconds

    def toNanos(self) -> int:
        """The length in nanoseconds."""
        return self.milliseconds * 1_000_000

    def toSeconds(self) -> int:
        """The length in whole seconds."""
        return self.milliseconds // 1_000

    def getSeconds(self) -> int:
        """The length in whole seconds."""
        return self.toSeconds()

    def toMinutes(self) -> int:
        """The length in whole minutes."""
        return _quotient(self.toSeconds(), 60)

    def toHours(self) -> int:
        """The length in whole hours."""
        return _quotient(self.toSeconds(), 3_600)

    def toDays(self) -> int:
        """The length in whole days of 24 hours."""
        return _quotient(self.toSeconds(), 86_400)

    def plus(self, duration: Duration) -> Duration:
        """The sum of both."""
        return Duration(self.milliseconds + _duration("plus", duration).milliseconds)

    def plusMillis(self, millisToAdd: int) -> Duration:
        """This duration plus that many milliseconds."""
        return self.plus(Duration.ofMillis(millisToAdd))

    def plusSeconds(self, secondsToAdd: int) -> Duration:
        """This duration plus that many seconds."""
        return self.plus(Duration.ofSeconds(secondsToAdd))

    def plusMinutes(self, minutesToAdd: int) -> Duration:
        """This duration plus that many minutes."""
        return self.plus(Duration.ofMinutes(minutesToAdd))

    def plusHours(self, hoursToAdd: int) -> Duration:
        """This duration plus that many hours."""
        return self.plus(Duration.ofHours(hoursToAdd))

    def plusDays(self, daysToAdd: int) -> Duration:
        """This duration plus that many days of 24 hours."""
        return self.plus(Duration.ofDays(daysToAdd))

    def minus(self, duration: Duration) -> Duration:
        """The difference of both."""
        return Duration(self.milliseconds - _duration("minus", duration).milliseconds)

    def minusMillis(self, millisToSubtract: int) -> Duration:
        """This duration minus that many milliseconds."""
        return self.minus(Duration.ofMillis(millisToSubtract))

    def minusSeconds(self, secondsToSubtract: int) -> Duration:
        """This duration minus that many seconds."""
        return self.minus(Duration.ofSeconds(secondsToSubtract))

    def multipliedBy(self, multiplicand: int) -> Duration:
        """This duration times ``multiplicand``."""
        return Duration(self.milliseconds * _check("Duration.multipliedBy", multiplicand))

    def dividedBy(self, divisor: int) -> Duration:
        """This duration divided by ``divisor``, rounded to whole milliseconds towards zero."""
        if _check("Duration.dividedBy", divisor) == 0:
            raise IllegalArgumentError(
                "Duration.dividedBy: 0 divides nothing. Pass another number."
            )
        return Duration(_quotient(self.milliseconds, divisor))

    def negated(self) -> Duration:
        """This duration with the other sign."""
        return Duration(-self.milliseconds)

    def abs(self) -> Duration:
        """This duration without its sign."""
        return Duration(abs(self.milliseconds))

    def isZero(self) -> bool:
        """Whether it has no length."""
        return self.milliseconds == 0

    def isNegative(self) -> bool:
        """Whether it is below zero."""
        return self.milliseconds < 0

    def compareTo(self, otherDuration: Duration) -> int:
        """-1, 0 or 1, as this duration is less than the other, as long or longer."""
        own, other = self.milliseconds, _duration("compareTo", otherDuration).milliseconds
        return (own > other) - (own < other)

    def toMilliseconds(self) -> int:
        """The length in milliseconds, by the name that ``Time`` had in Flink 1."""
        return self.milliseconds


_UNITS = {"days": 86_400_000, "hours": 3_600_000, "minutes": 60_000, "seconds": 1_000}
_ISO_8601 = re.compile(
    r"(?P<sign>[-+]?)P(?:(?P<days>[-+]?\d+)D)?"
    r"(?:T(?P<time>(?:(?P<hours>[-+]?\d+)H)?(?:(?P<minutes>[-+]?\d+)M)?(?:(?P<seconds>[-+]?\d+(?:[.,]\d{0,9})?)S)?))?",
    re.IGNORECASE | re.ASCII,
)


class TimeUnit(Enum):
    """Units of time (Java: ``java.util.concurrent.TimeUnit``).

    >>> TimeUnit.SECONDS.toMillis(5)
    5000
    """

    NANOSECONDS = 1
    MICROSECONDS = 1_000
    MILLISECONDS = 1_000_000
    SECONDS = 1_000_000_000
    MINUTES = 60_000_000_000
    HOURS = 3_600_000_000_000
    DAYS = 86_400_000_000_000

    def toMillis(self, duration: int) -> int:
        """``duration`` of this unit, in whole milliseconds."""
        amount = _check("TimeUnit.toMillis", duration)
        return amount * self.value // TimeUnit.MILLISECONDS.value


class Time:
    """Flink 1's way to write a ``Duration``: ``Time.seconds(5)``."""

    @staticmethod
    def of(size: int, unit: TimeUnit) -> Duration:
        """``size`` of ``unit``."""
        if not isinstance(unit, TimeUnit):
            raise IllegalArgumentError(
                f"Time.of: {shown(unit)} is not a TimeUnit. Pass one, such as TimeUnit.SECONDS."
            )
        return Duration.ofMillis(unit.toMillis(size))

    @staticmethod
    def milliseconds(milliseconds: int) -> Duration:
        """``milliseconds`` milliseconds."""
        return Duration.ofMillis(milliseconds)

    @staticmethod
    def seconds(seconds: int) -> Duration:
        """``seconds`` seconds."""
        return Duration.ofSeconds(seconds)

    @staticmethod
    def minutes(minutes: int) -> Duration:
        """``minutes`` minutes."""
        return Duration.ofMinutes(minutes)

    @staticmethod
    def hours(hours: int) -> Duration:
        """``hours`` hours."""
        return Duration.ofHours(hours)

    @staticmethod
    def days(days: int) -> Duration:
        """``days`` days of 24 hours."""
        return Duration.ofDays(days)


TimeLike = Union[Duration, datetime.timedelta, int]
"""The types that stand for a length of time: a Duration, a timedelta, or int milliseconds."""


def to_milliseconds(length: TimeLike) -> int:
    """``length`` in whole milliseconds.

    Raises IllegalArgumentError for anything else, including a float, as 0.5 could mean seconds; and
    for a length that does not fit into 64 bits.

    >>> to_milliseconds(datetime.timedelta(seconds=2))
    2000
    """
    if isinstance(length, Duration):
        millis = length.milliseconds
    elif isinstance(length, datetime.timedelta):
        millis = length // datetime.timedelta(milliseconds=1)
    elif isinstance(length, int) and not isinstance(length, bool):
        millis = length
    else:
        raise IllegalArgumentError(
            f"{shown(length)} is not a length of time: pass a Duration such as Duration.ofSeconds(5),"
            " a datetime.timedelta, or int milliseconds."
        )
    if not fits_long(millis):
        raise IllegalArgumentError(
            f"{shown(length)} is {millis} ms, which 64 bits do not hold. Pass Duration.ofMillis(2**63 -"
            " 1) for what never ends."
        )
    return millis


def _check(method: str, amount: int) -> int:
    if not isinstance(amount, int) or isinstance(amount, bool):
        raise IllegalArgumentError(
            f"{method}: {shown(amount)} is not a whole number. Pass an int, of a smaller unit if need"
            " be: Duration.ofMillis(500)."
        )
    return amount


def _duration(method: str, duration: Duration) -> Duration:
    if not isinstance(duration, Duration):
        raise IllegalArgumentError(
            f"Duration.{method}: {shown(duration)} is not a Duration. Pass one, such as Duration.ofSeconds(5)."
        )
    return duration


def _quotient(dividend: int, divisor: int) -> int:
    """Java's ``/``: towards zero."""
    quotient = abs(dividend) // abs(divisor)
    return quotient if (dividend < 0) == (divisor < 0) else -quotient


Duration.ZERO = Duration(0)
