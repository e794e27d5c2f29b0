"""Lengths of time and instants."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Duration", "Instant", "Time"]


@dataclass(frozen=True)
class Duration:
    """A length of time (PyFlink: ``Duration``)."""

    milliseconds: float

    @staticmethod
    def of_days(days: int) -> Duration:
        """``days`` days."""
        return Duration(days * 86_400_000)

    @staticmethod
    def of_hours(hours: int) -> Duration:
        """``hours`` hours."""
        return Duration(hours * 3_600_000)

    @staticmethod
    def of_minutes(minutes: int) -> Duration:
        """``minutes`` minutes."""
        return Duration(minutes * 60_000)

    @staticmethod
    def of_seconds(seconds: int) -> Duration:
        """``seconds`` seconds."""
        return Duration(seconds * 1000)

    @staticmethod
    def of_millis(millis: int) -> Duration:
        """``millis`` milliseconds."""
        return Duration(millis)

    @staticmethod
    def of_nanos(nanos: int) -> Duration:
        """``nanos`` nanoseconds."""
        return Duration(nanos / 1_000_000)


@dataclass(frozen=True)
class Instant:
    """A point in time, to the nanosecond (PyFlink: ``Instant``)."""

    seconds: int
    nanos: int

    def to_epoch_milli(self) -> int:
        """Milliseconds since the epoch."""
        return self.seconds * 1000 + self.nanos // 1_000_000

    @staticmethod
    def of_epoch_milli(epoch_milli: int) -> Instant:
        """The instant ``epoch_milli`` milliseconds after the epoch."""
        seconds, millis = divmod(epoch_milli, 1000)
        return Instant(seconds, millis * 1_000_000)

    def __repr__(self) -> str:
        return f"Instant<{self.seconds}, {self.nanos}>"


class Time:
    """A length of time in whole milliseconds (PyFlink: ``Time``)."""

    def __init__(self, milliseconds: int) -> None:
        self._milliseconds = milliseconds

    def to_milliseconds(self) -> int:
        """The length in milliseconds."""
        return self._milliseconds

    @staticmethod
    def milliseconds(milliseconds: int) -> Time:
        """``milliseconds`` milliseconds."""
        return Time(milliseconds)

    @staticmethod
    def seconds(seconds: int) -> Time:
        """``seconds`` seconds."""
        return Time(seconds * 1000)

    @staticmethod
    def minutes(minutes: int) -> Time:
        """``minutes`` minutes."""
        return Time(minutes * 60_000)

    @staticmethod
    def hours(hours: int) -> Time:
        """``hours`` hours."""
        return Time(hours * 3_600_000)

    @staticmethod
    def days(days: int) -> Time:
        """``days`` days."""
        return Time(days * 86_400_000)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Time) and self._milliseconds == other._milliseconds

    def __hash__(self) -> int:
        return hash(self._milliseconds)

    def __str__(self) -> str:
        return f"{self._milliseconds} ms"
