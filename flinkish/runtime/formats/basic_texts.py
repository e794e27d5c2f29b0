"""Texts for values without parts, in CSV and JSON. They have Java's forms, as from Spark's writers,
but with all digits of a time and of a decimal number."""

from __future__ import annotations

import base64
import datetime
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa


def double_text(value: float) -> str:
    """A number of 64 bits as Java writes it."""
    plain = value == 0 or 1e-3 <= abs(value) < 1e7
    return float.__repr__(value) if plain else _scientific(value, float.__repr__)


def float_text(value: Any) -> str:
    """A number of 32 bits, with the fewest digits that distinguish it from its neighbours."""
    number = np.float32(value)
    if number != 0 and not 1e-3 <= abs(number) < 1e7:
        return _scientific(number, str)
    text = str(number)
    # NumPy has an exponent from a million on
    return np.format_float_positional(number, trim="0") if "e" in text else text


def timestamp_text(value: datetime.datetime, zone: datetime.tzinfo = datetime.UTC) -> str:
    """A time to the millisecond, or the microsecond if it has more digits; zoned in ``zone``."""
    value = value if value.tzinfo is None else value.astimezone(zone)
    text = value.isoformat(timespec="microseconds" if value.microsecond % 1000 else "milliseconds")
    return f"{text[:-6]}Z" if text.endswith("+00:00") else text


def duration_text(value: datetime.timedelta) -> str:
    """A length of time as an interval of SQL."""
    sign = "-" if value < datetime.timedelta() else ""
    length = abs(value)
    minutes, seconds = divmod(length.seconds, 60)
    fraction = f".{length.microseconds:06}".rstrip("0") if length.microseconds else ""
    clock = f"{minutes // 60:02}:{minutes % 60:02}:{seconds:02}{fraction}"
    return f"INTERVAL '{sign}{length.days} {clock}' DAY TO SECOND"


def bytes_text(value: bytes | bytearray | memoryview) -> str:
    """Bytes in base 64."""
    return base64.b64encode(value).decode()


def decimal_text(value: Decimal) -> str:
    """A decimal number without an exponent."""
    return format(value, "f") if value.is_finite() else double_text(float(value))


def basic_texts(column: pa.Array) -> pa.Array:
    """The texts of a column of values without parts, null for null."""
    kind = column.type
    if pa.types.is_string(kind):
        return column
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_date(kind):
        return column.cast(pa.string())
    write = next(write for is_of, write in _WRITERS if is_of(kind))
    return each(column, write)


def each(column: pa.Array, written: Callable[[Any], str]) -> pa.Array:
    """``written(value)`` for each value of ``column``, null for null."""
    texts = [None if value is None else written(value) for value in column.to_pylist()]
    return pa.array(texts, pa.string())


def _scientific(value: Any, digits_of: Callable[[Any], str]) -> str:
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    sign, digits, exponent = Decimal(digits_of(value)).normalize().as_tuple()
    first, *rest = map(str, digits)
    return f"{'-' * sign}{first}.{''.join(rest) or '0'}E{int(exponent) + len(rest)}"


_WRITERS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[Any], str]], ...] = (
    (pa.types.is_float64, double_text),
    (pa.types.is_float32, float_text),
    (pa.types.is_decimal, decimal_text),
    (pa.types.is_timestamp, timestamp_text),
    (pa.types.is_binary, bytes_text),
    (pa.types.is_duration, duration_text),
)
