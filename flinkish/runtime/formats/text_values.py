"""Reads texts as column values, by the rules of Spark's readers in strict mode.

A type reads a whole column of texts at once if all have its plain form. Otherwise it reads text by
text, in any form that Spark accepts.
"""

from __future__ import annotations

import base64
import datetime
import math
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from functools import cache
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc

from flinkish.api.errors import shown
from flinkish.api.types.table_schema import ColumnType

_BLANKS = "".join(map(chr, range(33)))
"""The characters that Java's ``trim`` removes."""


class NotOfType(ValueError):
    """A text is not a value of its column's type."""


@dataclass(frozen=True)
class ValueType(ABC):
    """A type that texts are read as. ``name`` is Spark's name for it."""

    name: str
    arrow: pa.DataType
    direct: ClassVar[bool] = False
    """Whether Arrow reads the type in CSV and JSON by these rules, but for rare forms."""
    plain: ClassVar[str | None] = None
    """A pattern of the texts that Arrow casts to the type; None if it casts none."""

    @abstractmethod
    def value(self, text: str) -> Any:
        """``text`` as a value for a column of the type ``arrow``. Raises NotOfType."""

    def column(self, texts: pa.Array) -> pa.Array | None:
        """``texts`` as values; None if one of them does not have the plain form or does not fit."""
        return None if self.plain is None else _cast(texts, self.plain, self.arrow)

    def _refused(self, text: str) -> NotOfType:
        return NotOfType(f"{shown(text)} is no {self.name}")


@dataclass(frozen=True)
class StringType(ValueType):
    """Texts as they are."""

    direct = True

    def value(self, text: str) -> Any:
        return text

    def column(self, texts: pa.Array) -> pa.Array | None:
        return texts


@dataclass(frozen=True)
class BooleanType(ValueType):
    """``true`` and ``false``, in letters of any case."""

    direct = True

    def value(self, text: str) -> Any:
        lower = text.lower()
        if lower not in ("true", "false"):
            raise self._refused(text)
        return lower == "true"

    def column(self, texts: pa.Array) -> pa.Array | None:
        lower = pc.utf8_lower(texts)
        known = pc.is_in(lower, pa.array(["true", "false", None]))
        return pc.equal(lower, "true") if _all(known) else None


@dataclass(frozen=True)
class IntegerType(ValueType):
    """Digits with or without a sign, no blanks, within the type's range."""

    direct = True
    plain = "^-?[0-9]+$"

    def value(self, text: str) -> Any:
        most = 1 << (self.arrow.bit_width - 1)
        # Python converts no more than 4,300 digits to a number
        number = int(text) if len(text) < 4_000 and _INTEGER.fullmatch(text) else most
        if not -most <= number < most:
            raise self._refused(text)
        return number


@dataclass(frozen=True)
class FloatType(ValueType):
    """The texts that Java reads as floating-point numbers, and ``Inf``."""

    direct = True
    plain = r"^-?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|Infinity|Inf)$|^NaN$"

    def value(self, text: str) -> Any:
        text = text.strip(_BLANKS)
        if text in _NON_FINITE:
            return _NON_FINITE[text]
        if _FLOAT.fullmatch(text):
            return float(text.rstrip("dDfF"))
        if _HEX_FLOAT.fullmatch(text):
            return _hex_float(text.rstrip("dDfF"))
        raise self._refused(text)


@dataclass(frozen=True)
class DecimalType(ValueType):
    """Digits, a point and an exponent, rounded half up to the scale. Commas are ignored."""

    plain = r"^-?[0-9]+(?:\.[0-9]+)?$"

    def value(self, text: str) -> Any:
        plain = text.replace(",", "")
        if not _DECIMAL.fullmatch(plain) or len(plain) > 4_000:
            raise self._refused(text)
        try:
            number = Decimal(plain)
            if number and number.adjusted() > 40:
                raise self._refused(text)
            number = number.quantize(
                Decimal(1).scaleb(-self.arrow.scale), ROUND_HALF_UP, Context(prec=100)
            )
        except InvalidOperation:
            raise self._refused(text) from None
        # abs() would round to 28 digits
        if number.copy_abs() >= Decimal(1).scaleb(self.arrow.precision - self.arrow.scale):
            raise self._refused(text)
        return number


@dataclass(frozen=True)
class DateType(ValueType):
    """``2024-02-29``, and the shorter and longer forms that Spark casts to dates."""

    plain = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"

    def value(self, text: str) -> Any:
        found = _DATE.fullmatch(text.strip(_BLANKS))
        if not found:
            raise self._refused(text)
        try:
            return datetime.date(*(int(part or 1) for part in found.groups()))
        except ValueError:
            raise self._refused(text) from None


@dataclass(frozen=True)
class TimestampType(ValueType):
    """``2024-02-29T12:30:00.5Z``, and the other forms that Spark casts to timestamps. A text
    without a zone is in the session's zone, which is that of ``arrow``. If ``arrow`` has no zone, a
    text may have none either."""

    def value(self, text: str) -> Any:
        found = _TIMESTAMP.fullmatch(text.strip(_BLANKS))
        if not found or (found.group(8) and self.arrow.tz is None):
            raise self._refused(text)
        *parts, fraction, zone = found.groups()
        numbers = [int(part) if part else least for part, least in zip(parts, _LEAST)]
        micros = int(f"{fraction or '':0<6}"[:6])
        try:
            if self.arrow.tz is None:
                return datetime.datetime(*numbers, micros)  # type: ignore[arg-type,call-arg]
            offset = _zone(zone) if zone else _named_zone(self.arrow.tz)
            at = datetime.datetime(*numbers, micros, tzinfo=offset)  # type: ignore[arg-type,misc]
            return at.astimezone(datetime.UTC)
        except (ValueError, KeyError, OSError, OverflowError):
            raise self._refused(text) from None

    def column(self, texts: pa.Array) -> pa.Array | None:
        try:
            if _all(pc.match_substring_regex(texts, f"{_PLAIN_TIMESTAMP}$")):
                local = texts.cast(pa.timestamp("us"))
                if self.arrow.tz is None:
                    return local
                return pc.assume_timezone(local, self.arrow.tz, ambiguous="earliest")
            zoned = self.arrow.tz is not None
            if zoned and _all(
                pc.match_substring_regex(texts, f"{_PLAIN_TIMESTAMP}(?:Z|[+-]\\d\\d:\\d\\d)$")
            ):
                return texts.cast(pa.timestamp("us", "UTC")).cast(self.arrow)
        except pa.ArrowInvalid:
            pass
        return None


@dataclass(frozen=True)
class BytesType(ValueType):
    """Bytes in base 64."""

    def value(self, text: str) -> Any:
        try:
            return base64.b64decode(text.encode(), validate=True)
        except ValueError:
            raise self._refused(text) from None


@dataclass(frozen=True)
class DurationType(ValueType):
    """``INTERVAL '1 02:30:00.5' DAY TO SECOND``, with the sign before the days."""

    def value(self, text: str) -> Any:
        found = _INTERVAL.fullmatch(text)
        if not found:
            raise self._refused(text)
        sign, *parts, fraction = found.groups()
        days, hours, minutes, seconds = map(int, parts)
        micros = int(f"{fraction or '':0<6}")
        try:
            length = datetime.timedelta(days, seconds, micros, 0, minutes, hours)
            return -length if sign else length
        except OverflowError:
            raise self._refused(text) from None


def value_type(kind: ColumnType, timeZone: str) -> ValueType | None:
    """The type that reads texts for a column type; None if flinkish has none."""
    name = kind.name
    found = _TYPES.get(name)
    if found is not None:
        make, arrow = found
        made: ValueType = make(name, arrow)
        return made
    if name.startswith("decimal("):
        precision, scale = map(int, re.findall(r"\d+", name))
        return DecimalType(name, pa.decimal128(precision, scale)) if scale >= 0 else None
    if name.startswith("interval") and not re.search("year|month", name):
        return DurationType(name, pa.duration("us"))
    if name == "timestamp" and _is_zone(timeZone):
        return TimestampType(name, pa.timestamp("us", timeZone))
    return None


_TYPES: dict[str, tuple[Any, pa.DataType]] = {
    "string": (StringType, pa.string()),
    "boolean": (BooleanType, pa.bool_()),
    "tinyint": (IntegerType, pa.int8()),
    "smallint": (IntegerType, pa.int16()),
    "int": (IntegerType, pa.int32()),
    "bigint": (IntegerType, pa.int64()),
    "float": (FloatType, pa.float32()),
    "double": (FloatType, pa.float64()),
    "date": (DateType, pa.date32()),
    "binary": (BytesType, pa.binary()),
    "timestamp_ntz": (TimestampType, pa.timestamp("us")),
}

_INTEGER = re.compile(r"[+-]?\d+")
_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,9})?")
_FLOAT = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[dDfF]?")
_HEX_FLOAT = re.compile(
    r"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+[dDfF]?"
)
_NON_FINITE = {
    **dict.fromkeys(["NaN", "+NaN", "-NaN"], math.nan),
    **dict.fromkeys(["Inf", "Infinity", "+Infinity"], math.inf),
    **dict.fromkeys(["-Inf", "-Infinity"], -math.inf),
}
_DATE = re.compile(r"\+?0{0,3}([0-9]{4})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T].*)?)?)?", re.DOTALL)
_INTERVAL = re.compile(
    r"INTERVAL '(-?)([0-9]{1,9}) ([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,6}))?' DAY TO SECOND"
)
_TIMESTAMP = re.compile(
    r"\+?0{0,2}([0-9]{4})(?:-([0-9]{1,2})(?:-([0-9]{1,2})"
    r"(?:[ T]([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]*))?"
    r"\s*((?:UTC|GMT|UT)?[+-][0-9:]+|[A-Za-z]+(?:/[A-Za-z0-9_+-]+)*)?)?)?)?)?)?"
)
_PLAIN_TIMESTAMP = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?"
_LEAST = (1, 1, 1, 0, 0, 0)
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])([0-9]{1,2})(?::?([0-9]{2})(?::?([0-9]{2}))?)?")


def _all(found: pa.Array) -> bool:
    return pc.all(found, min_count=0).as_py() is True


def _cast(texts: pa.Array, pattern: str, arrow: pa.DataType) -> pa.Array | None:
    if not _all(pc.match_substring_regex(texts, pattern)):
        return None
    try:
        values = texts.cast(arrow)
    except pa.ArrowInvalid:
        return None
    if pa.types.is_date(arrow) and not _all(pc.greater_equal(values, _FIRST_DAY)):
        return None
    return values


_FIRST_DAY = pa.scalar(datetime.date.min)


def _hex_float(text: str) -> float:
    try:
        return float.fromhex(text)
    except OverflowError:
        return -math.inf if text.startswith("-") else math.inf


def _zone(name: str) -> datetime.tzinfo:
    found = _OFFSET.fullmatch(name)
    if not found:
        return _named_zone("UTC" if name in ("Z", "GMT", "UT") else name)
    sign, hours, minutes, seconds = found.groups()
    offset = datetime.timedelta(
        hours=int(hours), minutes=int(minutes or 0), seconds=int(seconds or 0)
    )
    if offset > datetime.timedelta(hours=18) or int(minutes or 0) > 59:
        raise ValueError(name)
    return datetime.timezone(-offset if sign == "-" else offset)


@cache
def _named_zone(name: str) -> datetime.tzinfo:
    return ZoneInfo(name)


def _is_zone(name: str) -> bool:
    try:
        _named_zone(name)
    except (KeyError, ValueError, OSError):
        return False
    return True
