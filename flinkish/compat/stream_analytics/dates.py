"""Dates of T-SQL: their parts, sums and the boundaries between two."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from flinkish.compat.stream_analytics.values import EPOCH, ValueFailure

_NAMES = {
    "year": ("yy", "yyyy"),
    "quarter": ("qq", "q"),
    "month": ("mm", "m"),
    "dayofyear": ("dy", "y"),
    "day": ("dd", "d"),
    "week": ("wk", "ww"),
    "weekday": ("dw", "w"),
    "hour": ("hh",),
    "minute": ("mi", "n"),
    "second": ("ss", "s"),
    "millisecond": ("ms",),
    "microsecond": ("mcs",),
    "iso_week": ("isowk", "isoww"),
}
UNITS = {name: unit for unit, short in _NAMES.items() for name in (unit, *short)}
"""The names of the parts of a date, with what they stand for."""

_MONTHS = {"year": 12, "quarter": 3, "month": 1}
_MICROSECOND = timedelta(microseconds=1)
_MICROSECONDS = {
    "day": 86_400_000_000,
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
    "millisecond": 1_000,
    "microsecond": 1,
}
_SUNDAY_BEFORE_EPOCH = EPOCH - timedelta(days=4)

MILLISECONDS = {unit: size // 1000 for unit, size in _MICROSECONDS.items() if size >= 1000}
"""The units of fixed length, in ms."""


def _sunday_first(date: datetime) -> int:
    return (date.weekday() + 1) % 7


_PARTS: dict[str, Callable[[datetime], int]] = {
    "year": lambda date: date.year,
    "quarter": lambda date: (date.month + 2) // 3,
    "month": lambda date: date.month,
    "dayofyear": lambda date: date.timetuple().tm_yday,
    "day": lambda date: date.day,
    "week": lambda date: (
        (date.timetuple().tm_yday - 1 + _sunday_first(date.replace(month=1, day=1))) // 7 + 1
    ),
    "weekday": lambda date: _sunday_first(date) + 1,
    "hour": lambda date: date.hour,
    "minute": lambda date: date.minute,
    "second": lambda date: date.second,
    "millisecond": lambda date: date.microsecond // 1000,
    "microsecond": lambda date: date.microsecond,
    "iso_week": lambda date: date.isocalendar().week,
}


def date_part(unit: str, date: datetime) -> int:
    return _PARTS[unit](date.astimezone(UTC))


def date_name(unit: str, date: datetime) -> str:
    utc = date.astimezone(UTC)
    if unit == "month":
        return utc.strftime("%B")
    return utc.strftime("%A") if unit == "weekday" else str(_PARTS[unit](utc))


def date_add(unit: str, number: int, date: datetime) -> datetime:
    """``DATEADD(unit, number, date)``; a day that a month does not have is its last."""
    try:
        if unit in _MONTHS:
            years, month = divmod(date.month - 1 + number * _MONTHS[unit], 12)
            first = date.replace(year=date.year + years, month=month + 1, day=1)
            after = (first + timedelta(days=31)).replace(day=1)
            return first.replace(day=min(date.day, (after - timedelta(days=1)).day))
        days = {"week": 7, "iso_week": 7, "dayofyear": 1, "weekday": 1}.get(unit)
        if days is not None:
            return date + timedelta(days=number * days)
        return date + number * _MICROSECONDS[unit] * _MICROSECOND
    except (ValueError, OverflowError):
        raise ValueFailure(f"{number} {unit} from {date} is no datetime") from None


def date_difference(unit: str, start: datetime, end: datetime) -> int:
    """``DATEDIFF(unit, start, end)``: how many boundaries of the unit lie between the two."""
    return _boundary(unit, end.astimezone(UTC)) - _boundary(unit, start.astimezone(UTC))


def _boundary(unit: str, date: datetime) -> int:
    if unit in _MONTHS:
        return (date.year * 12 + date.month - 1) // _MONTHS[unit]
    if unit in ("week", "iso_week"):
        return (date - _SUNDAY_BEFORE_EPOCH).days // 7
    size = _MICROSECONDS["day" if unit in ("dayofyear", "weekday") else unit]
    return ((date - EPOCH) // _MICROSECOND) // size
