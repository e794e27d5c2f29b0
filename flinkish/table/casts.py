"""``CAST`` and ``TRY_CAST`` with Flink's results: numbers wrap around or lose digits, strings are
parsed, and values are formatted like Java's."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from flinkish.runtime.formats.basic_texts import double_text, float_text
from flinkish.table.arithmetic import BITS, fitted, wrap, wrapped
from flinkish.table.data_types import UNBOUNDED, DataType
from flinkish.table.expressions import Call, Missing, RowByRow, Values

Converter = Callable[[Any], Any]


def cast_kernel(given: DataType, wanted: DataType) -> tuple[Any, bool] | None:
    """The kernel of a cast, and whether the cast may fail; None if there is no such cast."""
    if given.name == "NULL":
        return _nulls, False
    if _same(given, wanted):
        return _unchanged, False
    if given.isInteger and wanted.isInteger:
        return _wrapped, False
    if (given.isInteger or given.isApproximate) and wanted.isApproximate:
        return _floating, False
    if given.isInteger and wanted.name == "VARCHAR" and wanted.precision == UNBOUNDED:
        return _integer_texts, False
    converter = _converter(given, wanted)
    if converter is None:
        return None
    fails = given.isText or wanted.name == "TIME" or (given.isApproximate and wanted.isDecimal)
    return RowByRow(converter), fails


def _same(given: DataType, wanted: DataType) -> bool:
    if given.name == wanted.name in ("ARRAY", "MAP", "ROW"):
        pairs = zip(given.children, wanted.children)
        return len(given.children) == len(wanted.children) and all(_same(a, b) for a, b in pairs)
    if wanted.name == "VARCHAR" and given.isText:
        return given.precision <= wanted.precision
    if given.name != wanted.name:
        return False
    if given.isTimestamp or given.name == "TIME":
        return given.precision <= wanted.precision
    return (given.precision, given.scale) == (wanted.precision, wanted.scale)


def _unchanged(call: Call, values: Values) -> Values:
    return values


def _nulls(call: Call, values: Values) -> Values:
    return values.cast(call.type.arrow)


def _wrapped(call: Call, values: Values) -> Values:
    return wrapped(values, call.type)


def _floating(call: Call, values: Values) -> Values:
    return values.cast(call.type.arrow, safe=False)


def _integer_texts(call: Call, values: Values) -> Values:
    return values.cast(pa.string())


def _converter(given: DataType, wanted: DataType) -> Converter | None:
    if given.name in ("ARRAY", "MAP", "ROW"):
        return text_of(given) if wanted.isText and wanted.precision == UNBOUNDED else None
    if wanted.isText:
        write = text_of(given)
        return None if write is None else partial(_sized, write, wanted.name, wanted.precision)
    table = {
        "BOOLEAN": _to_boolean,
        "DATE": _to_date,
        "TIME": _to_time,
        "TIMESTAMP": _to_timestamp,
        "TIMESTAMP_LTZ": _to_timestamp,
    }
    if wanted.isInteger:
        return _to_integer(given, wanted)
    if wanted.isApproximate:
        return _to_float(given, wanted)
    if wanted.isDecimal:
        return _to_decimal(given, wanted)
    make = table.get(wanted.name)
    return None if make is None else make(given, wanted)


# ---------------------------------------------------------------------- numbers


def _to_integer(given: DataType, wanted: DataType) -> Converter | None:
    if given.isApproximate:
        return partial(_truncated, wanted)
    if given.isDecimal:
        return partial(_whole, wanted)
    if given.name == "BOOLEAN":
        return int
    return partial(_read_integer, wanted) if given.isText else None


def _truncated(wanted: DataType, value: float) -> int:
    """Like Java's cast: to the nearest representable number; for fewer than 32 bits by way of
    32."""
    if math.isnan(value):
        return 0
    half = 1 << (max(BITS[wanted.name], 32) - 1)
    whole = half - 1 if value >= half else -half if value <= -half else int(value)
    return wrap(whole, wanted)


def _whole(wanted: DataType, value: Decimal) -> int:
    return wrap(int(value), wanted)


_INTEGER = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)", re.ASCII)


def _read_integer(wanted: DataType, text: str) -> int:
    trimmed = text.strip(" ")
    if not _INTEGER.fullmatch(trimmed):
        raise _unreadable(text, wanted)
    digits = trimmed.partition(".")[0]
    value = int(digits) if digits.strip("+-") else 0
    if wrap(value, wanted) != value:
        raise _unreadable(text, wanted)
    return value


def _unreadable(text: str, wanted: DataType) -> Missing:
    return Missing(
        f"{text!r} is no {wanted.nullableIf(True)}. Write TRY_CAST, which gives NULL, or filter such values before"
    )


def _to_float(given: DataType, wanted: DataType) -> Converter | None:
    if given.isDecimal or given.name == "BOOLEAN":
        return float
    return partial(_read_float, wanted) if given.isText else None


_FLOAT = re.compile(r"[-+]?(?:NaN|Infinity|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?[fFdD]?)", re.ASCII)


def _read_float(wanted: DataType, text: str) -> float:
    trimmed = text.strip()
    if not _FLOAT.fullmatch(trimmed):
        raise _unreadable(text, wanted)
    value = float(trimmed if trimmed[-1] in "yN" else trimmed.rstrip("fFdD"))
    return value if wanted.name == "DOUBLE" else float(np.float32(value))


def _to_decimal(given: DataType, wanted: DataType) -> Converter | None:
    if given.isInteger or given.isDecimal or given.name == "BOOLEAN":
        return partial(_fitted, wanted)
    if given.isApproximate:
        return partial(_decimal_of_float, given.name == "DOUBLE", wanted)
    return partial(_read_decimal, wanted) if given.isText else None


def _fitted(wanted: DataType, value: Any) -> Decimal | None:
    return fitted(Decimal(value), wanted)


def _decimal_of_float(double: bool, wanted: DataType, value: float) -> Decimal | None:
    if not math.isfinite(value):
        raise Missing(f"{value} is no {wanted.nullableIf(True)}")
    return fitted(Decimal(repr(value)), wanted)


_DECIMAL = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?", re.ASCII)


def _read_decimal(wanted: DataType, text: str) -> Decimal | None:
    trimmed = text.strip()
    if not _DECIMAL.fullmatch(trimmed):
        raise _unreadable(text, wanted)
    try:
        return fitted(Decimal(trimmed), wanted)
    except InvalidOperation:
        return None


_TRUE, _FALSE = {"t", "true", "y", "yes", "1"}, {"f", "false", "n", "no", "0"}


def _to_boolean(given: DataType, wanted: DataType) -> Converter | None:
    if given.isNumeric:
        return bool
    return partial(_read_boolean, wanted) if given.isText else None


def _read_boolean(wanted: DataType, text: str) -> bool:
    word = text.lower()
    if word not in _TRUE | _FALSE:
        raise _unreadable(text, wanted)
    return word in _TRUE


# ---------------------------------------------------------------------- times

_DATE = re.compile(r"(\d{1,4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?", re.ASCII)
_TIME = re.compile(r"(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?)?)?", re.ASCII)


def read_date(text: str) -> date | None:
    """The date in a string such as ``2024-02-29``, None if there is none."""
    found = _DATE.fullmatch(text.strip().partition(" ")[0])
    if found is None:
        return None
    year, month, day = (int(part or 1) for part in found.groups())
    try:
        return date(year, month, day)
    except ValueError:
        return None


def read_time(text: str) -> time | None:
    """The time of day in a string such as ``12:34:56.789``, None if there is none."""
    found = _TIME.fullmatch(text.strip())
    if found is None:
        return None
    hour, minute, second = (int(part or 0) for part in found.groups()[:3])
    micros = int(f"{found[4] or '0':0<6}"[:6])
    try:
        return time(hour, minute, second, micros)
    except ValueError:
        return None


def read_timestamp(text: str) -> datetime | None:
    """A date and a time of day with a space or a T between, None if ``text`` has none."""
    day, _, clock = text.strip().replace("T", " ").partition(" ")
    if day.count("-") != 2:
        return None
    on, at = read_date(day), read_time(clock) if clock else time()
    return None if on is None or at is None else datetime.combine(on, at)


def rounded_down(value: Any, precision: int) -> Any:
    """A time truncated to ``precision`` digits of a second."""
    step = 10 ** (6 - precision)
    return value.replace(microsecond=value.microsecond // step * step)


def _to_date(given: DataType, wanted: DataType) -> Converter | None:
    if given.isTimestamp:
        return _date_of if given.name == "TIMESTAMP" else datetime.date
    return partial(_read, read_date, wanted) if given.isText else None


_EPOCH = datetime(1970, 1, 1)


def _micros(value: datetime) -> int:
    return (value.replace(tzinfo=None) - _EPOCH) // timedelta(microseconds=1)


def towards_epoch(value: datetime, unit: int) -> datetime:
    """The time truncated to multiples of ``unit`` microseconds; before 1970 Flink rounds up."""
    micros = _micros(value)
    whole = micros // unit if micros >= 0 else -(-micros // unit)
    return (_EPOCH + timedelta(microseconds=whole * unit)).replace(tzinfo=value.tzinfo)


def _date_of(value: datetime) -> date:
    return towards_epoch(value, 86_400_000_000).date()


def _read(read: Converter, wanted: DataType, text: str) -> Any:
    value = read(text)
    if value is None:
        raise _unreadable(text, wanted)
    return value if wanted.name == "DATE" else rounded_down(value, wanted.precision)


def _to_time(given: DataType, wanted: DataType) -> Converter | None:
    if given.isTimestamp or given.name == "TIME":
        return partial(_time_of, wanted.precision)
    return partial(_read, read_time, wanted) if given.isText else None


def _time_of(precision: int, value: Any) -> time:
    if (
        isinstance(value, datetime)
        and value.tzinfo is None
        and value.year < 1970
        and value.time() != time()
    ):
        raise Missing(f"the time of day of {value} is before 1970, where Flink has none")
    clock = value.time() if isinstance(value, datetime) else value
    found: time = rounded_down(clock, precision)
    return found


def _to_timestamp(given: DataType, wanted: DataType) -> Converter | None:
    zone = UTC if wanted.name == "TIMESTAMP_LTZ" else None
    if given.isText:
        return partial(_read_in, zone, wanted)
    if given.isTimestamp:
        return partial(_moved, zone, wanted.precision)
    return partial(_midnight, zone) if given.name == "DATE" else None


def _read_in(zone: Any, wanted: DataType, text: str) -> Any:
    return _read(read_timestamp, wanted, text).replace(tzinfo=zone)


def _moved(zone: Any, precision: int, value: datetime) -> Any:
    return towards_epoch(value.replace(tzinfo=zone), 10 ** (6 - precision))


def _midnight(zone: Any, value: date) -> datetime:
    return datetime.combine(value, time(), zone)


# ---------------------------------------------------------------------- texts


def text_of(given: DataType) -> Converter | None:
    """The function that formats values of a type as strings."""
    name = given.name
    if given.isText:
        return str
    if given.isInteger:
        return str
    if name == "FLOAT":
        return java_float
    if name == "DOUBLE":
        return java_double
    if given.isDecimal:
        return _decimal_text
    if name == "BOOLEAN":
        return _boolean_text
    if name == "DATE":
        return date.isoformat
    if name == "TIME":
        return partial(_time_text, given.precision)
    if given.isTimestamp:
        return partial(timestamp_text, given.precision)
    if name in ("BINARY", "VARBINARY"):
        return _bytes_text
    if name == "MAP":
        return None  # Flink writes the keys in the order of their hashes
    children = [text_of(child) for child in given.children]
    known = [child for child in children if child is not None]
    if not known or len(known) < len(children):
        return None
    return partial(_COMPOSITE[name], tuple(partial(_or_null, child) for child in known))


def java_double(value: float) -> str:
    """A DOUBLE formatted like Java's: with at least two digits, the nearest ones."""
    return _two_digits(double_text(value), value)


def java_float(value: float) -> str:
    """A FLOAT formatted like Java's."""
    return _two_digits(float_text(value), float(np.float32(value)))


def _two_digits(text: str, value: float) -> str:
    if len(text.lstrip("-").partition("E-")[0]) != 3 or "E-" not in text:
        return text
    return re.sub("e-0*", "E-", f"{value:.1e}")


def _decimal_text(value: Decimal) -> str:
    return format(value, "f")


def _boolean_text(value: bool) -> str:
    return "TRUE" if value else "FALSE"


def _time_text(precision: int, value: time) -> str:
    return value.isoformat("seconds") + _fraction(value.microsecond, precision)


def _fraction(micros: int, precision: int) -> str:
    return f".{micros:06}"[: precision + 1] if precision else ""


def timestamp_text(precision: int, value: datetime) -> str:
    """A timestamp with ``precision`` digits of a second."""
    text = f"{value.year:04}-{value:%m-%d %H:%M:%S}"
    return text + _fraction(value.microsecond, precision)


def _bytes_text(value: bytes) -> str:
    return value.decode(errors="replace")


def _or_null(write: Converter, value: Any) -> str:
    return "NULL" if value is None else write(value)


def _array_text(writers: tuple[Converter, ...], values: list[Any]) -> str:
    return f"[{', '.join(map(writers[0], values))}]"


def _row_text(writers: tuple[Converter, ...], values: tuple[Any, ...]) -> str:
    return f"({', '.join(write(value) for write, value in zip(writers, values))})"


_COMPOSITE: dict[str, Callable[..., str]] = {"ARRAY": _array_text, "ROW": _row_text}


def _sized(write: Converter, name: str, length: int, value: Any) -> str:
    text: str = write(value)[:length]
    return text.ljust(length) if name == "CHAR" else text


# ---------------------------------------------------------------------- tried


class Tried:
    """``TRY_CAST``: NULL where ``CAST`` fails."""

    def __init__(self, converter: Converter) -> None:
        self._converter = converter

    def __call__(self, value: Any) -> Any:
        try:
            return self._converter(value)
        except Missing:
            return None


def tried(kernel: Any) -> Any:
    """The kernel of TRY_CAST for a kernel of CAST."""
    return RowByRow(Tried(kernel.function)) if isinstance(kernel, RowByRow) else kernel
