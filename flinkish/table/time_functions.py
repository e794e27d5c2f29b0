"""Functions of dates and times, in UTC, with Flink's units and Java's formats."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pyarrow as pa
import pyarrow.compute as pc

from flinkish.table.casts import read_date, read_time, read_timestamp, towards_epoch
from flinkish.table.expressions import Call, Missing, RowByRow, Values

EPOCH = datetime(1970, 1, 1)
_DAY = 86_400_000

# ---------------------------------------------------------------------- parts

_ARROW_PARTS = {
    "YEAR": "year",
    "QUARTER": "quarter",
    "MONTH": "month",
    "DAY": "day",
    "DOY": "day_of_year",
    "HOUR": "hour",
    "MINUTE": "minute",
    "SECOND": "second",
    "WEEK": "iso_week",
    "ISOYEAR": "iso_year",
}


def part_kernel(unit: str) -> Callable[..., Values] | None:
    """The kernel of ``EXTRACT(unit FROM time)``, None if the unit is not supported."""
    if unit in _ARROW_PARTS:
        return _ArrowPart(_ARROW_PARTS[unit])
    return _PARTS.get(unit)


class _ArrowPart:
    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, call: Call, values: Values) -> Values:
        kind = call.arguments[0].type
        if kind.isTimestamp and (pc.min(pc.year(values)).as_py() or 1970) < 1970:
            return RowByRow(self._of_row)(call, values)
        return getattr(pc, self._name)(values).cast(pa.int64())

    def _of_row(self, value: datetime) -> int:
        """Before 1970 Flink counts backwards from the epoch, and rounds towards it."""
        if self._name in _CLOCK_UNITS:
            unit, size = _CLOCK_UNITS[self._name]
            whole = _truncated(millis_of(value), unit)
            return whole - _truncated(whole, size) * size
        found: int = getattr(pc, self._name)(
            pa.scalar(towards_epoch(value, 86_400_000_000))
        ).as_py()
        return found


_CLOCK_UNITS = {"hour": (3_600_000, 24), "minute": (60_000, 60), "second": (1000, 60)}


def _day_of_week(call: Call, values: Values) -> Values:
    return pc.day_of_week(values, count_from_zero=False, week_start=7).cast(pa.int64())


def _iso_day_of_week(call: Call, values: Values) -> Values:
    return pc.day_of_week(values, count_from_zero=False, week_start=1).cast(pa.int64())


def millis_of(value: date | time) -> int:
    """A date, a timestamp or a time of day in ms."""
    if isinstance(value, datetime):
        return (value.replace(tzinfo=None) - EPOCH) // timedelta(milliseconds=1)
    if isinstance(value, date):
        return (value - EPOCH.date()).days * _DAY
    return ((value.hour * 60 + value.minute) * 60 + value.second) * 1000 + value.microsecond // 1000


def _epoch(value: Any) -> int:
    return _truncated(millis_of(value), 1000)


def _century(value: Any) -> int:
    return (int(value.year) + 99) // 100


_PARTS: dict[str, Any] = {
    "DOW": _day_of_week,
    "ISODOW": _iso_day_of_week,
    "EPOCH": RowByRow(_epoch),
    "CENTURY": RowByRow(_century),
}


# ---------------------------------------------------------------------- intervals

UNIT_MILLIS = {"SECOND": 1000, "MINUTE": 60_000, "HOUR": 3_600_000, "DAY": _DAY, "WEEK": 7 * _DAY}
UNIT_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}


def plus_months(value: Any, months: int) -> Any:
    """The same day ``months`` later, or the last day of that month."""
    count = value.year * 12 + value.month - 1 + months
    year, month = divmod(count, 12)
    _check_year(year)
    return value.replace(
        year=year, month=month + 1, day=min(value.day, monthrange(year, month + 1)[1])
    )


def _check_year(year: int) -> None:
    if not 1 <= year <= 9999:
        raise Missing(
            f"the year {year} is outside Python's years 1 to 9999. Filter such times before"
        )


def plus_millis(value: Any, millis: int) -> Any:
    """A time ``millis`` ms later; a time of day wraps around at midnight, a date keeps whole
    days."""
    if isinstance(value, datetime):
        return _later(value, timedelta(milliseconds=millis))
    if isinstance(value, date):
        return _later(value, timedelta(days=millis // _DAY))
    total = (millis_of(value) + millis) % _DAY
    return (datetime.min + timedelta(milliseconds=total)).time()


def _later(value: Any, delta: timedelta) -> Any:
    try:
        return value + delta
    except OverflowError:
        raise Missing(
            "the result is outside the years 1 to 9999. Filter such times before"
        ) from None


def minus_months(value: Any, months: int) -> Any:
    return plus_months(value, -months)


def minus_millis(value: Any, millis: int) -> Any:
    return plus_millis(value, -millis)


_INTERVAL_SECOND = re.compile(
    r"(?P<sign>[-+]?)(?:(?P<days>\d+)\s*)?(?:(?P<h>\d+):(?P<m>\d+)(?::(?P<s>\d+)(?:\.(?P<f>\d+))?)?)?"
)


def interval(text: str, unit: str, end: str | None) -> tuple[bool, int] | None:
    """Whether an interval is in months, and its length in months or ms; None if it cannot be
    parsed."""
    sign = -1 if text.startswith("-") else 1
    plain = text.lstrip("+-").strip()
    if end is not None:
        return _span(plain, sign, unit, end)
    if not re.fullmatch(r"\d+(\.\d+)?", plain):
        return None
    if unit in UNIT_MONTHS and plain.isdigit():
        return True, sign * int(plain) * UNIT_MONTHS[unit]
    if unit == "SECOND":
        whole, _, fraction = plain.partition(".")
        return False, sign * (int(whole) * 1000 + int(f"{fraction:0<3}"[:3]))
    if unit in UNIT_MILLIS and plain.isdigit():
        return False, sign * int(plain) * UNIT_MILLIS[unit]
    return None


def _span(plain: str, sign: int, unit: str, end: str) -> tuple[bool, int] | None:
    if (unit, end) == ("YEAR", "MONTH"):
        found = re.fullmatch(r"(\d+)-(\d+)", plain)
        return None if found is None else (True, sign * (int(found[1]) * 12 + int(found[2])))
    if (unit, end) == ("DAY", "SECOND"):
        found = re.fullmatch(r"(\d+) (\d+):(\d+):(\d+)(?:\.(\d{1,3}))?", plain)
        if found is None:
            return None
        days, hours, minutes, seconds = (int(part) for part in found.groups()[:4])
        whole = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
        return False, sign * (whole * 1000 + int(f"{found[5] or '':0<3}"))
    return None


def timestamp_diff(unit: str) -> RowByRow:
    """The kernel of ``TIMESTAMPDIFF(unit, from, to)``."""
    return RowByRow(_Difference(unit))


class _Difference:
    def __init__(self, unit: str) -> None:
        self._unit = unit

    def __call__(self, begin: Any, end: Any) -> int:
        if self._unit in UNIT_MONTHS:
            return _truncated(_months_between(begin, end), UNIT_MONTHS[self._unit])
        count = _truncated(millis_of(end) - millis_of(begin), UNIT_MILLIS[self._unit])
        return (count + 2**31) % 2**32 - 2**31


def _truncated(number: int, unit: int) -> int:
    return number // unit if number >= 0 else -(-number // unit)


def _months_between(begin: Any, end: Any) -> int:
    months: int = (end.year - begin.year) * 12 + end.month - begin.month
    shifted = plus_months(begin, months)
    if months > 0 and shifted > end:
        return months - 1
    return months + 1 if months < 0 and shifted < end else months


# ---------------------------------------------------------------------- rounding


def rounding_kernel(unit: str, up: bool) -> RowByRow | None:
    """The kernel of ``FLOOR(time TO unit)`` or ``CEIL``."""
    if unit not in (*UNIT_MILLIS, *UNIT_MONTHS):
        return None
    return RowByRow(_Rounding(unit, up))


class _Rounding:
    def __init__(self, unit: str, up: bool) -> None:
        self._unit, self._up = unit, up

    def __call__(self, value: Any) -> Any:
        lower = self._floor(value)
        if not self._up or lower == value:
            return lower
        if self._unit in UNIT_MONTHS:
            return plus_months(lower, UNIT_MONTHS[self._unit])
        return plus_millis(lower, UNIT_MILLIS[self._unit])

    def _floor(self, value: Any) -> Any:
        unit = self._unit
        if unit in UNIT_MONTHS:
            if isinstance(value, datetime):
                value = towards_epoch(value, 86_400_000_000)
            month = {"YEAR": 1, "QUARTER": (value.month - 1) // 3 * 3 + 1}.get(unit, value.month)
            return self._midnight(value).replace(month=month, day=1)
        if unit == "WEEK":
            return plus_millis(self._midnight(value), -((value.isoweekday()) % 7) * _DAY)
        millis = millis_of(value) % UNIT_MILLIS[unit]
        if isinstance(value, (datetime, time)):
            value = value.replace(microsecond=value.microsecond // 1000 * 1000)
        return plus_millis(value, -millis)

    def _midnight(self, value: Any) -> Any:
        if isinstance(value, datetime):
            return value.replace(hour=0, minute=0, second=0, microsecond=0)
        return value


# ---------------------------------------------------------------------- formats

_FORMAT_PART = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|(.)", re.DOTALL)
_WRITTEN: dict[str, Callable[[Any], str]] = {}


def _write(letter: str, width: int, value: datetime) -> str:
    if letter in "yu":
        return f"{value.year % 100:02}" if width == 2 else f"{value.year:0{width}}"
    if letter in "ML":
        if width <= 2:
            return f"{value.month:0{width}}"
        return _MONTHS[value.month - 1][:3] if width == 3 else _MONTHS[value.month - 1]
    if letter == "E":
        name = _DAYS[value.weekday()]
        return name[:3] if width <= 3 else name
    if letter == "a":
        return "AM" if value.hour < 12 else "PM"
    if letter == "S":
        return f"{value.microsecond:06}000"[:width]
    number = {
        "d": value.day,
        "H": value.hour,
        "h": (value.hour - 1) % 12 + 1,
        "m": value.minute,
        "s": value.second,
        "D": value.timetuple().tm_yday,
    }[letter]
    return f"{number:0{width}}"


_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_LETTERS = "yuMLEaSdHhmsD"


@lru_cache(maxsize=256)
def _format(pattern: str) -> list[tuple[str, int]]:
    """The parts of a Java pattern: a letter with its width, or literal text with width 0."""
    parts: list[tuple[str, int]] = []
    for found in _FORMAT_PART.finditer(pattern):
        if found[2] is None:
            quoted = "'" if found[0] == "''" else (found[1] or "").replace("''", "'")
            parts.append((found[3] or quoted, 0))
        elif found[2] not in _LETTERS:
            raise Missing(
                f"the format {pattern!r} has {found[2]!r}, which is not supported. The letters are {', '.join(_LETTERS)}"
            )
        else:
            parts.append((found[2], len(found[0])))
    return parts


def formatted(value: datetime, pattern: str) -> str:
    """A timestamp formatted with a Java pattern."""
    return "".join(
        _write(part, width, value) if width else part for part, width in _format(pattern)
    )


_READ_DIGITS = {"y": 4, "u": 4, "M": 2, "d": 2, "H": 2, "h": 2, "m": 2, "s": 2}


@lru_cache(maxsize=256)
def _reader(pattern: str) -> tuple[re.Pattern[str], list[str]]:
    texts, letters = [], []
    parts = _format(pattern)
    for number, (part, width) in enumerate(parts):
        if not width:
            texts.append(re.escape(part))
        elif part in _READ_DIGITS and width <= _READ_DIGITS[part]:
            adjacent = number + 1 < len(parts) and parts[number + 1][1] > 0
            exact = width > 1 or adjacent
            texts.append(f"(\\d{{{width}}})" if exact else "(\\d{1,2})")
            letters.append("y2" if part in "yu" and width == 2 else part)
        elif part == "S":
            texts.append(f"(\\d{{{width}}})")
            letters.append("S")
        elif part == "a":
            texts.append("(AM|PM)")
            letters.append("a")
        else:
            raise Missing(f"the format {pattern!r} cannot be read with {part * width!r}")
    return re.compile("".join(texts), re.ASCII), letters


def parsed(text: str, pattern: str) -> datetime | None:
    """The timestamp that a Java pattern parses from ``text``, None if it does not match."""
    expression, letters = _reader(pattern)
    found = expression.fullmatch(text)
    if found is None:
        return None
    values = dict(zip(letters, found.groups()))
    year = int(values.get("y") or values.get("u") or 2000 + int(values.get("y2", -1970 + 1940)))
    if "y2" not in values and "y" not in values and "u" not in values:
        year = 1970
    hour = int(values.get("H") or 0)
    if "h" in values:
        hour = int(values["h"]) % 12 + (12 if values.get("a") == "PM" else 0)
    micros = int(f"{values.get('S', '0'):0<6}"[:6])
    try:
        return datetime(
            year,
            int(values.get("M", 1)),
            int(values.get("d", 1)),
            hour,
            int(values.get("m", 0)),
            int(values.get("s", 0)),
            micros,
        )
    except ValueError:
        return None


def date_format(value: Any, pattern: str) -> str | None:
    if isinstance(value, str):
        value = read_timestamp(value)
    return None if value is None else formatted(value, pattern)


def to_date(text: str, pattern: str | None = None) -> date | None:
    if pattern is None:
        return read_date(text)
    value = parsed(text, pattern)
    return None if value is None else value.date()


def to_timestamp(text: str, pattern: str | None = None) -> datetime | None:
    value = read_timestamp(text) if pattern is None else parsed(text, pattern)
    return None if value is None else value.replace(microsecond=value.microsecond // 1000 * 1000)


def to_timestamp_ltz(number: int, precision: int = 3) -> datetime | None:
    if precision not in (0, 3):
        raise Missing(
            "TO_TIMESTAMP_LTZ: the second argument is 0 for seconds or 3 for milliseconds"
        )
    millis = number * 1000 if precision == 0 else number
    try:
        return (EPOCH + timedelta(milliseconds=millis)).replace(tzinfo=UTC)
    except OverflowError:
        return None


def from_unixtime(seconds: int, pattern: str = "yyyy-MM-dd HH:mm:ss") -> str:
    try:
        return formatted(EPOCH + timedelta(seconds=seconds), pattern)
    except OverflowError:
        raise Missing(f"FROM_UNIXTIME: {seconds} is outside the years 1 to 9999") from None


_NO_TIME = -(2**63)


def unix_timestamp(text: str, pattern: str = "yyyy-MM-dd HH:mm:ss") -> int:
    value = _leading(text, pattern)
    return _NO_TIME if value is None else millis_of(value) // 1000


def _leading(text: str, pattern: str) -> datetime | None:
    expression, _ = _reader(pattern)
    found = expression.match(text)
    return None if found is None else parsed(found[0], pattern)


def convert_tz(text: str, one: str, other: str) -> str | None:
    value = read_timestamp(text)
    try:
        zones = ZoneInfo(one), ZoneInfo(other)
    except (ZoneInfoNotFoundError, ValueError):
        return None
    if value is None:
        return None
    return formatted(value.replace(tzinfo=zones[0]).astimezone(zones[1]), "yyyy-MM-dd HH:mm:ss")


def read_literal(kind: str, text: str) -> Any:
    """The value of ``DATE '...'``, ``TIME '...'`` or ``TIMESTAMP '...'``, None if it cannot be
    parsed."""
    patterns = {
        "DATE": r"\d{4}-\d{2}-\d{2}",
        "TIME": r"\d{2}:\d{2}:\d{2}(\.\d{1,3})?",
        "TIMESTAMP": r"\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}(\.\d{1,6})?",
    }
    if not re.fullmatch(patterns[kind], text, re.ASCII):
        return None
    read: dict[str, Callable[[str], Any]] = {
        "DATE": read_date,
        "TIME": read_time,
        "TIMESTAMP": read_timestamp,
    }
    return read[kind](text)
