"""The scalar functions of the query language.

Each takes values and returns one. Unless it says otherwise, the result is NULL if an argument is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal
from typing import Any

from flinkish.compat.stream_analytics.values import (
    Record,
    ValueFailure,
    bigint,
    datetime_of,
    field_of,
    frozen,
    like_expression,
    number_of,
    sequence,
    text_of,
    type_name,
)


@dataclass(frozen=True)
class Function:
    """A function with the number of arguments that it takes."""

    call: Callable[..., Any]
    fewest: int
    most: int | None
    takes_null: bool = False


# ---------------------------------------------------------------------- mathematics


def _integral(of: Callable[[float], float]) -> Callable[[Any], Any]:
    def call(value: Any) -> Any:
        number = number_of(value)
        return number if isinstance(number, int) else float(of(number))

    return call


def _real(of: Callable[..., float]) -> Callable[..., Any]:
    def call(*values: Any) -> Any:
        try:
            return float(of(*(float(number_of(value)) for value in values)))
        except (ValueError, OverflowError, ZeroDivisionError):
            raise ValueFailure(f"there is none of {', '.join(map(text_of, values))}") from None

    return call


def _sign(value: Any) -> Any:
    number = number_of(value)
    return type(number)((number > 0) - (number < 0))


def _power(value: Any, exponent: Any) -> float:
    try:
        return math.pow(number_of(value), number_of(exponent))
    except (ValueError, OverflowError):
        raise ValueFailure(f"{value} to the power of {exponent} is no number") from None


def _round(value: Any, places: Any = 0, truncate: Any = 0) -> Any:
    number = number_of(value)
    mode = ROUND_DOWN if truncate else ROUND_HALF_UP
    if isinstance(number, float) and not math.isfinite(number):
        return number
    unit = Decimal(1).scaleb(-int(number_of(places)))
    rounded = (Decimal(str(number)) / unit).quantize(Decimal(1), mode) * unit
    return bigint(int(rounded)) if isinstance(number, int) else float(rounded)


# ---------------------------------------------------------------------- texts


def _concat(*values: Any) -> str:
    """NULL is an empty text."""
    return "".join("" if value is None else text_of(value) for value in values)


def _concat_ws(separator: Any, *values: Any) -> str:
    """NULL is left out."""
    between = "" if separator is None else text_of(separator)
    return between.join(text_of(value) for value in values if value is not None)


def _replicate(value: Any, times: Any) -> str | None:
    count = int(number_of(times))
    return None if count < 0 else text_of(value) * count


def _replace(value: Any, old: Any, new: Any) -> str:
    searched = text_of(old)
    return text_of(value).replace(searched, text_of(new)) if searched else text_of(value)


def _length(value: Any) -> int:
    length = int(number_of(value))
    if length < 0:
        raise ValueFailure(f"a length of {length}")
    return length


def _substring(value: Any, start: Any, length: Any) -> str:
    first = int(number_of(start)) - 1
    end = first + _length(length)
    return text_of(value)[max(first, 0) : max(end, 0)]


def _right(value: Any, length: Any) -> str:
    count = _length(length)
    return text_of(value)[-count:] if count else ""


def _charindex(wanted: Any, value: Any, start: Any = 1) -> int:
    searched = text_of(wanted)
    begin = max(int(number_of(start)) - 1, 0)
    return text_of(value).find(searched, begin) + 1 if searched else 0


def _patindex(pattern: Any, value: Any) -> int:
    wanted, text = text_of(pattern), text_of(value)
    anchored_end = not wanted.endswith("%")
    expression = like_expression(wanted.strip("%"), None)
    if not anchored_end:
        expression = expression.removesuffix("\\Z")
    search = re.search if wanted.startswith("%") else re.match
    found = search(expression, text)
    return found.start() + 1 if found else 0


def _regexmatch(value: Any, pattern: Any) -> int:
    try:
        return len(re.findall(text_of(pattern), text_of(value)))
    except re.error as error:
        raise ValueFailure(f"{pattern!r} is no regular expression: {error}") from None


def _nchar(value: Any) -> str | None:
    code = int(number_of(value))
    return chr(code) if 0 <= code <= 0x10FFFF else None


def _unicode(value: Any) -> int | None:
    text = text_of(value)
    return ord(text[0]) if text else None


# ---------------------------------------------------------------------- dates and other values


def _datetime_from_parts(*parts: Any) -> datetime:
    numbers = [int(number_of(part)) for part in parts]
    year, month, day, hour, minute, second, millisecond = numbers
    try:
        date = datetime(year, month, day, hour, minute, second, millisecond * 1000)
        return date.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise ValueFailure(f"{', '.join(map(str, numbers))} are no datetime") from None


def _coalesce(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def _nullif(value: Any, other: Any) -> Any:
    return None if value is not None and frozen(value) == frozen(other) else value


def _isnumeric(value: Any) -> int:
    try:
        number_of(value)
    except ValueFailure:
        return 0
    return 1


def _get_type(value: Any) -> str:
    return type_name(value).removesuffix("(max)").lower()


def _array_element(array: Any, index: Any) -> Any:
    items, position = sequence(array), int(number_of(index))
    return items[position] if 0 <= position < len(items) else None


def _record(value: Any) -> Record:
    if not isinstance(value, dict):
        raise ValueFailure(f"a {type_name(value)} is no record")
    return value


# ---------------------------------------------------------------------- all functions

FUNCTIONS: dict[str, Function] = {
    "ABS": Function(lambda value: abs(number_of(value)), 1, 1),
    "ACOS": Function(_real(math.acos), 1, 1),
    "ASIN": Function(_real(math.asin), 1, 1),
    "ATAN": Function(_real(math.atan), 1, 1),
    "ATN2": Function(_real(math.atan2), 2, 2),
    "CEILING": Function(_integral(math.ceil), 1, 1),
    "COS": Function(_real(math.cos), 1, 1),
    "DEGREES": Function(_real(math.degrees), 1, 1),
    "EXP": Function(_real(math.exp), 1, 1),
    "FLOOR": Function(_integral(math.floor), 1, 1),
    "LOG": Function(_real(math.log), 1, 2),
    "LOG10": Function(_real(math.log10), 1, 1),
    "PI": Function(lambda: math.pi, 0, 0),
    "POWER": Function(_power, 2, 2),
    "RADIANS": Function(_real(math.radians), 1, 1),
    "ROUND": Function(_round, 1, 3),
    "SIGN": Function(_sign, 1, 1),
    "SIN": Function(_real(math.sin), 1, 1),
    "SQRT": Function(_real(math.sqrt), 1, 1),
    "SQUARE": Function(lambda value: float(number_of(value)) ** 2, 1, 1),
    "TAN": Function(_real(math.tan), 1, 1),
    "CHARINDEX": Function(_charindex, 2, 3),
    "CONCAT": Function(_concat, 1, None, takes_null=True),
    "CONCAT_WS": Function(_concat_ws, 2, None, takes_null=True),
    "LEFT": Function(lambda value, length: text_of(value)[: _length(length)], 2, 2),
    "LEN": Function(lambda value: len(text_of(value).rstrip(" ")), 1, 1),
    "LOWER": Function(lambda value: text_of(value).lower(), 1, 1),
    "LTRIM": Function(lambda value: text_of(value).lstrip(" "), 1, 1),
    "NCHAR": Function(_nchar, 1, 1),
    "PATINDEX": Function(_patindex, 2, 2),
    "REGEXMATCH": Function(_regexmatch, 2, 2),
    "REPLACE": Function(_replace, 3, 3),
    "REPLICATE": Function(_replicate, 2, 2),
    "REVERSE": Function(lambda value: text_of(value)[::-1], 1, 1),
    "RIGHT": Function(_right, 2, 2),
    "RTRIM": Function(lambda value: text_of(value).rstrip(" "), 1, 1),
    "SUBSTRING": Function(_substring, 3, 3),
    "TRIM": Function(lambda value: text_of(value).strip(" "), 1, 1),
    "UNICODE": Function(_unicode, 1, 1),
    "UPPER": Function(lambda value: text_of(value).upper(), 1, 1),
    "DATETIMEFROMPARTS": Function(_datetime_from_parts, 7, 7),
    "DAY": Function(lambda value: datetime_of(value).astimezone(UTC).day, 1, 1),
    "MONTH": Function(lambda value: datetime_of(value).astimezone(UTC).month, 1, 1),
    "YEAR": Function(lambda value: datetime_of(value).astimezone(UTC).year, 1, 1),
    "COALESCE": Function(_coalesce, 1, None, takes_null=True),
    "GETARRAYELEMENT": Function(_array_element, 2, 2),
    "GETARRAYLENGTH": Function(lambda array: len(sequence(array)), 1, 1),
    "GETRECORDPROPERTYVALUE": Function(lambda r, name: field_of(_record(r), text_of(name)), 2, 2),
    "GETTYPE": Function(_get_type, 1, 1, takes_null=True),
    "ISNULL": Function(lambda value, other: other if value is None else value, 2, 2, True),
    "ISNUMERIC": Function(_isnumeric, 1, 1, takes_null=True),
    "NULLIF": Function(_nullif, 2, 2, takes_null=True),
}


# ---------------------------------------------------------------------- functions that give rows


def array_elements(value: Any) -> list[Any]:
    items = [] if value is None else sequence(value)
    return [{"ArrayIndex": index, "ArrayValue": item} for index, item in enumerate(items)]


def record_properties(value: Any) -> list[Any]:
    fields = {} if value is None else _record(value)
    return [{"PropertyName": name, "PropertyValue": item} for name, item in fields.items()]
