"""Dates as texts and texts as dates: the formats of ``$dateToString`` and ``$dateFromString``."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from flinkish.api.errors import shown
from flinkish.compat.atlas.bson.values import DocumentError, ObjectId, Timestamp, date_of, type_name

# Python's own names are in the language of the process
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


@lru_cache(maxsize=256)
def zone(name: str) -> tzinfo:
    """The time zone of an Olson name or an offset such as +05:30; raises DocumentError if there is none."""
    offset = re.fullmatch(r"([+-])(\d\d):?(\d\d)?", name)
    if offset:
        sign = -1 if offset[1] == "-" else 1
        return timezone(sign * timedelta(hours=int(offset[2]), minutes=int(offset[3] or 0)))
    if name in ("UTC", "GMT", "Z"):
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise DocumentError(f"unrecognized time zone identifier: {name!r}") from None


def zone_of(value: Any) -> tzinfo:
    if not isinstance(value, str):
        raise DocumentError(f"timezone must evaluate to a string, found {type_name(value)}")
    return zone(value)


def moment(name: str, value: Any) -> datetime:
    """A date, timestamp or ObjectId as a date in UTC."""
    if isinstance(value, datetime):
        if value.tzinfo is UTC:
            return value
        if value.tzinfo is None:
            return value.replace(tzinfo=UTC)
        return value.astimezone(UTC)
    if isinstance(value, ObjectId):
        return value.generationTime
    if isinstance(value, Timestamp):
        return date_of(value.time * 1000)
    raise DocumentError(f"{name}: can't convert from {type_name(value)} to Date")


# ---------------------------------------------------------------------- to text


def _offset(local: datetime) -> int:
    return (local.utcoffset() or timedelta()) // timedelta(minutes=1)


def _signed_offset(local: datetime) -> str:
    """Without the seconds that offsets of the 19th century have."""
    minutes = _offset(local)
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}{abs(minutes) % 60:02}"


def week(local: datetime) -> int:
    """The week of the year from 0, weeks beginning on Sunday."""
    return (local.timetuple().tm_yday - (local.isoweekday() % 7) + 6) // 7


_WRITTEN: dict[str, Callable[[datetime], str]] = {
    "Y": lambda local: f"{local.year:04}",
    "m": lambda local: f"{local.month:02}",
    "d": lambda local: f"{local.day:02}",
    "H": lambda local: f"{local.hour:02}",
    "M": lambda local: f"{local.minute:02}",
    "S": lambda local: f"{local.second:02}",
    "L": lambda local: f"{local.microsecond // 1000:03}",
    "j": lambda local: f"{local.timetuple().tm_yday:03}",
    "w": lambda local: f"{local.isoweekday() % 7 + 1}",
    "u": lambda local: f"{local.isoweekday()}",
    "U": lambda local: f"{week(local):02}",
    "V": lambda local: f"{local.isocalendar().week:02}",
    "G": lambda local: f"{local.isocalendar().year:04}",
    "z": _signed_offset,
    "Z": lambda local: f"{_offset(local):+d}",
    "b": lambda local: _MONTHS[local.month - 1][:3],
    "B": lambda local: _MONTHS[local.month - 1],
    "%": lambda local: "%",
}

ISO_FORMAT = "%Y-%m-%dT%H:%M:%S.%L"


def written(local: datetime, format_: str) -> str:
    """``local`` in the format; raises DocumentError for a specifier that there is not."""

    def part(match: re.Match[str]) -> str:
        writer = _WRITTEN.get(match[1])
        if writer is None:
            raise DocumentError(f"$dateToString: invalid format character '%{match[1]}'")
        return writer(local)

    return re.sub(r"%(.?)", part, format_, flags=re.DOTALL)


# ---------------------------------------------------------------------- from text

_READ = {
    "Y": r"(?P<year>\d{4})",
    "m": r"(?P<month>\d{1,2})",
    "d": r"(?P<day>\d{1,2})",
    "H": r"(?P<hour>\d{1,2})",
    "M": r"(?P<minute>\d{1,2})",
    "S": r"(?P<second>\d{1,2})",
    "L": r"(?P<millisecond>\d{1,3})",
    "j": r"(?P<day_of_year>\d{1,3})",
    "u": r"(?P<iso_day>[1-7])",
    "V": r"(?P<iso_week>\d{1,2})",
    "G": r"(?P<iso_year>\d{4})",
    "z": r"(?P<offset>Z|[+-]\d\d:?\d\d)",
    "Z": r"(?P<minutes>[+-]?\d{1,3})",
    "b": r"(?P<short_month>[A-Za-z]{3})",
    "B": r"(?P<long_month>[A-Za-z]+)",
    "%": "%",
}


@lru_cache(maxsize=256)
def _reader(format_: str) -> re.Pattern[str]:
    pattern = ""
    for literal, specifier in re.findall("([^%]+)|%(.?)", format_, re.DOTALL):
        if not literal and (
            specifier not in _READ or (_READ[specifier] in pattern and specifier != "%")
        ):
            raise DocumentError(f"$dateFromString: invalid format character '%{specifier}'")
        pattern += re.escape(literal) if literal else _READ[specifier]
    return re.compile(pattern)


def read(text: str, format_: str | None, given: tzinfo | None) -> datetime:
    """The date that ``text`` is, in the zone that it names or else in ``given``.

    Raises DocumentError if it is none.
    """
    local = _read_any(text) if format_ is None else _read_as(text, format_)
    if local.tzinfo is not None and given is not None:
        raise DocumentError(
            f"Error parsing date string {text!r}: a time zone in the text and the argument timezone"
        )
    if local.tzinfo is None:
        local = local.replace(tzinfo=given or UTC)
    whole_millis = local.replace(microsecond=local.microsecond // 1000 * 1000)
    return whole_millis.astimezone(UTC)


def _read_as(text: str, format_: str) -> datetime:
    found = _reader(format_).fullmatch(text)
    if found is None:
        raise DocumentError(
            f"Error parsing date string {text!r}: it is not of the format {format_!r}"
        )
    parts = {name: value for name, value in found.groupdict().items() if value is not None}
    try:
        return _assembled(parts)
    except (ValueError, OverflowError) as error:
        raise DocumentError(f"Error parsing date string {text!r}: {error}") from None


def _assembled(parts: dict[str, str]) -> datetime:
    numbers = {name: int(value) for name, value in parts.items() if value.lstrip("+-").isdecimal()}
    hour, minute, second = (numbers.get(name, 0) for name in ("hour", "minute", "second"))
    micros = int(parts.get("millisecond", "0").ljust(3, "0")) * 1000
    month = numbers.get("month", 1)
    for name, length in (("short_month", 3), ("long_month", 20)):
        if name in parts:
            names = [long[:length].lower() for long in _MONTHS]
            month = names.index(parts[name].lower()) + 1
    if "iso_year" in parts:
        day = datetime.fromisocalendar(
            numbers["iso_year"], numbers.get("iso_week", 1), numbers.get("iso_day", 1)
        )
    elif "day_of_year" in parts:
        day = datetime(numbers["year"], 1, 1) + timedelta(days=numbers["day_of_year"] - 1)
    elif "year" in parts:
        day = datetime(numbers["year"], month, numbers.get("day", 1))
    else:
        raise ValueError("there is no year in it")
    local = day.replace(hour=hour, minute=minute, second=second, microsecond=micros)
    if "minutes" in parts:
        return local.replace(tzinfo=timezone(timedelta(minutes=numbers["minutes"])))
    if "offset" in parts:
        return local.replace(tzinfo=zone(parts["offset"]))
    return local


_OTHER_FORMATS = (
    "%Y/%m/%d",
    "%Y/%m/%d %H:%M:%S",
    "%m/%d/%Y",
    "%m/%d/%Y %H:%M:%S",
    "%b %d, %Y",
    "%B %d, %Y",
    "%d %b %Y",
    "%d %B %Y",
    "%d-%b-%Y",
    "%d %b %Y %H:%M:%S",
    "%a, %d %b %Y %H:%M:%S GMT",
    "%a, %d %b %Y %H:%M:%S %z",
    "%a %b %d %Y %H:%M:%S",
    "%a %b %d %H:%M:%S %Y",
    "%b %d, %Y %H:%M:%S",
    "%b %d, %Y, %I:%M:%S %p",
)


def _read_any(text: str) -> datetime:
    stripped = text.strip()
    named = re.fullmatch(r"(.*\d) ?([A-Za-z]+(?:/[A-Za-z_]+)+|UTC|GMT)", stripped)
    if named:
        return _read_any(named[1]).replace(tzinfo=zone(named[2]))
    iso = re.sub(r"\s+([+-]\d\d:?\d\d)$", r"\1", stripped)
    if not iso.isdecimal() or len(iso) == 8:
        try:
            return datetime.fromisoformat(iso)
        except ValueError:
            pass
    for other in _OTHER_FORMATS:
        try:
            return datetime.strptime(stripped, other)
        except ValueError:
            continue
    raise DocumentError(f"Error parsing date string {shown(text)}: it is no date")
