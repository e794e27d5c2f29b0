"""Operators of dates."""

from __future__ import annotations

import calendar
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

from flinkish.api.errors import shown
from flinkish.compat.atlas.bson.numbers import whole
from flinkish.compat.atlas.bson.values import (
    MILLISECOND,
    MISSING,
    DocumentError,
    Int64,
    Timestamp,
    date_of,
    is_null,
    millis,
    type_name,
)
from flinkish.compat.atlas.expressions.compiler import (
    OPERATORS,
    Evaluator,
    Place,
    Variables,
    compile_expression,
    named_operator,
    operators,
)
from flinkish.compat.atlas.expressions.date_formats import (
    ISO_FORMAT,
    moment,
    read,
    week,
    written,
    zone_of,
)

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_LENGTHS = {
    "millisecond": 1,
    "second": 1_000,
    "minute": 60_000,
    "hour": 3_600_000,
    "day": 86_400_000,
    "week": 604_800_000,
}
_MONTHS = {"month": 1, "quarter": 3, "year": 12}


# ---------------------------------------------------------------------- parts


def _part(name: str, get: Callable[[datetime], Any]) -> None:
    """An operator of a date, or of a document with ``date`` and ``timezone``."""

    def compiler(argument: Any, place: Place) -> Evaluator:
        zoned: Any = "UTC"
        if isinstance(argument, (list, tuple)) and len(argument) == 1:
            (argument,) = argument
        if isinstance(argument, Mapping) and "date" in argument:
            unknown = set(argument) - {"date", "timezone"}
            if unknown:
                raise place.unknown("argument", sorted(unknown)[0], ("date", "timezone"))
            zoned, argument = argument.get("timezone", "UTC"), argument["date"]
        date, where = compile_expression(argument, place), compile_expression(zoned, place)

        def call(document: Any, variables: Variables) -> Any:
            value, local_zone = date(document, variables), where(document, variables)
            if is_null(value) or is_null(local_zone):
                return None
            return get(moment(name, value).astimezone(zone_of(local_zone)))

        return call

    OPERATORS[name] = compiler


_part("$year", lambda local: local.year)
_part("$month", lambda local: local.month)
_part("$dayOfMonth", lambda local: local.day)
_part("$dayOfWeek", lambda local: local.isoweekday() % 7 + 1)
_part("$dayOfYear", lambda local: local.timetuple().tm_yday)
_part("$hour", lambda local: local.hour)
_part("$minute", lambda local: local.minute)
_part("$second", lambda local: local.second)
_part("$millisecond", lambda local: local.microsecond // 1000)
_part("$week", week)
_part("$isoWeek", lambda local: local.isocalendar().week)
_part("$isoWeekYear", lambda local: Int64(local.isocalendar().year))
_part("$isoDayOfWeek", lambda local: local.isoweekday())


@named_operator("$dateToParts", ("date",), ("date", "timezone"), timezone="UTC", iso8601=False)
def _to_parts(date: Any, timezone: Any, iso8601: Any) -> Any:
    local = moment("$dateToParts", date).astimezone(zone_of(timezone))
    time = {
        "hour": local.hour,
        "minute": local.minute,
        "second": local.second,
        "millisecond": local.microsecond // 1000,
    }
    if iso8601:
        year, number, day = local.isocalendar()
        return {"isoWeekYear": year, "isoWeek": number, "isoDayOfWeek": day, **time}
    return {"year": local.year, "month": local.month, "day": local.day, **time}


@named_operator(
    "$dateFromParts",
    (),
    year=MISSING,
    month=1,
    day=1,
    isoWeekYear=MISSING,
    isoWeek=1,
    isoDayOfWeek=1,
    hour=0,
    minute=0,
    second=0,
    millisecond=0,
    timezone="UTC",
)
def _from_parts(**parts: Any) -> Any:
    iso = parts["isoWeekYear"] is not MISSING
    used = ("isoWeekYear", "isoWeek", "isoDayOfWeek") if iso else ("year", "month", "day")
    names = (*used, "hour", "minute", "second", "millisecond")
    if any(is_null(parts[name]) for name in (*names, "timezone")):
        return None
    year, second, third, *time = (whole(f"$dateFromParts: {name}", parts[name]) for name in names)
    try:
        if iso:
            first = datetime.fromisocalendar(year, 1, 1)
            local = first + timedelta(weeks=second - 1, days=third - 1)
        else:
            months = year * 12 + second - 1
            local = datetime(months // 12, months % 12 + 1, 1) + timedelta(days=third - 1)
        local += timedelta(hours=time[0], minutes=time[1], seconds=time[2], milliseconds=time[3])
    except (ValueError, OverflowError) as error:
        raise DocumentError(f"$dateFromParts: {error}") from None
    return local.replace(tzinfo=zone_of(parts["timezone"])).astimezone(UTC)


# ---------------------------------------------------------------------- texts


@named_operator("$dateToString", ("date",), format=MISSING, timezone="UTC", onNull=MISSING)
def _to_string(date: Any, format: Any, timezone: Any, onNull: Any) -> Any:  # noqa: A002
    if is_null(date):
        return None if onNull is MISSING else onNull
    if timezone is None or format is None:
        return None
    local = moment("$dateToString", date).astimezone(zone_of(timezone))
    if format is MISSING:
        in_utc = local.utcoffset() == timedelta() and timezone in ("UTC", "GMT", "Z")
        format = ISO_FORMAT + ("Z" if in_utc else "%z")  # noqa: A001
    if not isinstance(format, str):
        raise DocumentError("$dateToString requires that 'format' be a string")
    return written(local, format)


@named_operator(
    "$dateFromString", ("dateString",), format=None, timezone=None, onError=MISSING, onNull=MISSING
)
def _from_string(
    dateString: Any,
    format: Any,  # noqa: A002
    timezone: Any,
    onError: Any,
    onNull: Any,
) -> Any:
    if is_null(dateString):
        return None if onNull is MISSING else onNull
    try:
        if not isinstance(dateString, str):
            raise DocumentError(
                "$dateFromString requires that 'dateString' be a string, found:"
                f" {type_name(dateString)}"
            )
        given = None if is_null(timezone) else zone_of(timezone)
        return read(dateString, None if is_null(format) else format, given)
    except DocumentError:
        if onError is MISSING:
            raise
        return onError


# ---------------------------------------------------------------------- arithmetic


def _unit(name: str, unit: Any) -> str:
    if unit not in _LENGTHS and unit not in _MONTHS:
        raise DocumentError(
            f"{name}: unknown time unit {shown(unit)}; there are {', '.join((*_LENGTHS, *_MONTHS))}"
        )
    return str(unit)


def _shifted(name: str, date: Any, unit: Any, amount: int, where: Any) -> Any:
    start = moment(name, date)
    kind = _unit(name, unit)
    try:
        if kind in ("millisecond", "second", "minute", "hour"):
            return start + timedelta(milliseconds=_LENGTHS[kind] * amount)
        local = start.astimezone(zone_of(where))
        if kind in _LENGTHS:
            moved = local + timedelta(milliseconds=_LENGTHS[kind] * amount)
        else:
            months = local.year * 12 + local.month - 1 + _MONTHS[kind] * amount
            year, month = months // 12, months % 12 + 1
            day = min(local.day, calendar.monthrange(year, month)[1])
            moved = local.replace(year=year, month=month, day=day)
        return moved.astimezone(UTC)
    except (OverflowError, ValueError):
        raise DocumentError(f"{name}: the result is a date before year 1 or after 9999") from None


def _shifting(name: str, sign: int) -> None:
    required = ("startDate", "unit", "amount")

    @named_operator(name, required, (*required, "timezone"), timezone="UTC")
    def call(startDate: Any, unit: Any, amount: Any, timezone: Any) -> Any:
        length = sign * whole(f"{name}: amount", amount)
        return _shifted(name, startDate, unit, length, timezone)


_shifting("$dateAdd", 1)
_shifting("$dateSubtract", -1)


def _first_day(name: str, start: Any) -> int:
    """The number of a day of the week, from Monday; a day's name may be cut to three letters."""
    for number, day in enumerate(_DAYS):
        if isinstance(start, str) and start.lower() in (day, day[:3]):
            return number
    raise DocumentError(f"{name}: {shown(start)} is no day of the week")


def _wall(value: Any, where: tzinfo, name: str) -> datetime:
    return moment(name, value).astimezone(where).replace(tzinfo=None)


@named_operator("$dateDiff", ("startDate", "endDate", "unit"), timezone="UTC", startOfWeek="sunday")
def _diff(startDate: Any, endDate: Any, unit: Any, timezone: Any, startOfWeek: Any) -> Any:
    if any(map(is_null, (startDate, endDate, unit, timezone))):
        return None
    where, kind = zone_of(timezone), _unit("$dateDiff", unit)
    start, end = (_wall(date, where, "$dateDiff") for date in (startDate, endDate))
    if kind in _MONTHS:
        length = _MONTHS[kind]
        months = [(date.year * 12 + date.month - 1) // length for date in (start, end)]
        return Int64(months[1] - months[0])
    if kind == "day":
        return Int64(end.toordinal() - start.toordinal())
    if kind == "week":
        first = _first_day("$dateDiff", startOfWeek) + 1  # the ordinal 1 is a Monday
        return Int64((end.toordinal() - first) // 7 - (start.toordinal() - first) // 7)
    length = _LENGTHS[kind]
    ends = [millis(moment("$dateDiff", date)) // length for date in (startDate, endDate)]
    if kind in ("hour", "minute"):  # a zone's offset need not be of whole hours
        ends = [(date - datetime(1970, 1, 1)) // MILLISECOND // length for date in (start, end)]
    return Int64(ends[1] - ends[0])


@named_operator("$dateTrunc", ("date", "unit"), binSize=1, timezone="UTC", startOfWeek="sunday")
def _trunc(date: Any, unit: Any, binSize: Any, timezone: Any, startOfWeek: Any) -> Any:
    if any(map(is_null, (date, unit, binSize, timezone))):
        return None
    kind, size = _unit("$dateTrunc", unit), whole("$dateTrunc: binSize", binSize)
    if size <= 0:
        raise DocumentError("$dateTrunc requires 'binSize' to be greater than 0")
    where = zone_of(timezone)
    if kind in ("millisecond", "second", "minute", "hour"):
        return _trunc_time(moment("$dateTrunc", date), where, _LENGTHS[kind] * size)
    local = _wall(date, where, "$dateTrunc")
    if kind in _MONTHS:
        length = _MONTHS[kind] * size
        months = (local.year - 2000) * 12 + local.month - 1
        months = months // length * length + 2000 * 12
        found = datetime(months // 12, months % 12 + 1, 1)
    else:
        origin = datetime(2000, 1, 1).toordinal()
        length = size
        if kind == "week":
            first = _first_day("$dateTrunc", startOfWeek)
            origin += (first - datetime(2000, 1, 1).weekday()) % 7
            length *= 7
        days = local.toordinal()
        found = datetime.fromordinal(days - (days - origin) % length)
    return found.replace(tzinfo=where).astimezone(UTC)


def _trunc_time(date: datetime, where: tzinfo, length: int) -> datetime:
    origin = millis(datetime(2000, 1, 1, tzinfo=where))
    time = millis(date)
    return date_of(time - (time - origin) % length)


# ---------------------------------------------------------------------- timestamps


def _timestamp(name: str, value: Any) -> Timestamp:
    if not isinstance(value, Timestamp):
        raise DocumentError(f"{name} requires a timestamp argument, found: {type_name(value)}")
    return value


operators(
    {
        "$tsSecond": (lambda timestamp: Int64(timestamp.time), _timestamp),
        "$tsIncrement": (lambda timestamp: Int64(timestamp.increment), _timestamp),
    },
    nulls=True,
)
