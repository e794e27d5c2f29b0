"""Lengths of time and times as .NET writes them, in ticks of 100 ns."""

from __future__ import annotations

import datetime
from typing import ClassVar, Final

from flinkish.api.arguments import integer
from flinkish.api.time.durations import Duration
from flinkish.compat.streaminsight.events import TICK

TICKS_PER_MILLISECOND: Final = 10_000
"""The number of ticks of 100 ns in a millisecond."""

_EPOCH_TICKS: Final = 621_355_968_000_000_000
"""1970 in ticks since the year 1."""

ENDLESS: Final = datetime.timedelta.max
"""A duration without end (.NET: ``TimeSpan.MaxValue``): an event that lasts so long is open."""


class TimeSpan(Duration):
    """A length of time (.NET: ``TimeSpan``), in whole ms as all of flinkish.

    >>> TimeSpan.fromTicks(50_000_000) == TimeSpan.fromSeconds(5)
    True
    """

    MaxValue: ClassVar[datetime.timedelta] = ENDLESS

    @classmethod
    def fromTicks(cls, value: int) -> TimeSpan:
        """``value`` ticks of 100 ns. Part of a millisecond counts as a whole one, away from zero: so
        ``fromTicks(-1)``, the smallest step, is ``-TICK``."""
        ticks = integer("TimeSpan.fromTicks", value)
        millis = -(-abs(ticks) // TICKS_PER_MILLISECOND) * TICK
        return cls(millis if ticks >= 0 else -millis)

    @classmethod
    def fromMilliseconds(cls, value: int) -> TimeSpan:
        """``value`` milliseconds."""
        return cls.ofMillis(value)

    @classmethod
    def fromSeconds(cls, value: int) -> TimeSpan:
        """``value`` seconds."""
        return cls.ofSeconds(value)

    @classmethod
    def fromMinutes(cls, value: int) -> TimeSpan:
        """``value`` minutes."""
        return cls.ofMinutes(value)

    @classmethod
    def fromHours(cls, value: int) -> TimeSpan:
        """``value`` hours."""
        return cls.ofHours(value)

    @classmethod
    def fromDays(cls, value: int) -> TimeSpan:
        """``value`` days."""
        return cls.ofDays(value)


def timeOfTicks(ticks: int) -> int:
    """A time in ms since 1970, of ``ticks`` of 100 ns since the year 1 (.NET: ``DateTime.Ticks`` in UTC). What is
    below a millisecond is cut off.

    >>> timeOfTicks(621_355_968_000_000_000 + 15_000)
    1
    """
    return (integer("timeOfTicks", ticks) - _EPOCH_TICKS) // TICKS_PER_MILLISECOND
