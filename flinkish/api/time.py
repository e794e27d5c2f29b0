"""Lengths of time. All of flinkish counts in int milliseconds; these are the ways to say them."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Union

from flinkish.api.errors import IllegalArgumentError


@dataclass(frozen=True, order=True)
class Duration:
    """A length of time in whole milliseconds (Java: ``java.time.Duration``).

    >>> Duration.ofMinutes(5).toMillis()
    300000
    """

    milliseconds: int

    @classmethod
    def ofMillis(cls, millis: int) -> Duration:
        """``millis`` milliseconds."""
        return cls(millis)

    @classmethod
    def ofSeconds(cls, seconds: int) -> Duration:
        """``seconds`` seconds."""
        return cls(seconds * 1_000)

    @classmethod
    def ofMinutes(cls, minutes: int) -> Duration:
        """``minutes`` minutes."""
        return cls(minutes * 60_000)

    @classmethod
    def ofHours(cls, hours: int) -> Duration:
        """``hours`` hours."""
        return cls(hours * 3_600_000)

    @classmethod
    def ofDays(cls, days: int) -> Duration:
        """``days`` days of 24 hours."""
        return cls(days * 86_400_000)

    def toMillis(self) -> int:
        """The length in milliseconds."""
        return self.milliseconds

    def toMilliseconds(self) -> int:
        """The length in milliseconds, by the name that ``Time`` had in Flink 1."""
        return self.milliseconds


class Time:
    """Flink 1's way to write a ``Duration``: ``Time.seconds(5)``."""

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
"""Whatever may stand for a length of time: a Duration, a timedelta, or int milliseconds."""


def to_milliseconds(length: TimeLike) -> int:
    """``length`` in whole milliseconds.

    Raises IllegalArgumentError for anything else, a float among it: 0.5 could mean seconds.

    >>> to_milliseconds(datetime.timedelta(seconds=2))
    2000
    """
    if isinstance(length, Duration):
        return length.milliseconds
    if isinstance(length, datetime.timedelta):
        return length // datetime.timedelta(milliseconds=1)
    if isinstance(length, int) and not isinstance(length, bool):
        return length
    raise IllegalArgumentError(
        f"{length!r} is not a length of time: pass a Duration such as Duration.ofSeconds(5), a"
        " datetime.timedelta, or int milliseconds."
    )
