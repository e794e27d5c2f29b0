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


FUNCTIONS: dict[str, Function] = {}


def _function(
    name: str, fewest: int, most: int | None = None, *, takes_null: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(call: Callable[..., Any]) -> Callable[..., Any]:
        FUNCTIONS[name] = Function(call, fewest, most, takes_null)
        return call

    return register


# ---------------------------------------------------------------------- mathematics


def _integral(name: str, of: Callable[[float], float]) -> None:
    @_function(name, 1, 1)
    def call(value: Any) -> Any:
        number = number_of(value)
        return number if isinstance(number, int) else float(of(number))


_integral("CEILING", math.ceil)
_integral("FLOOR", math.floor)


def _real(name: str, of: Callable[..., float], arguments: int = 1) -> None:
    @_function(name, arguments, arguments)
    def call(*values: Any) -> Any:
        try:
            return float(of(*(float(number_of(value)) for value in values)))
        except (ValueError, OverflowError):
            raise ValueFailure(f"there is none of {', '.join(map(text_of, values))}") from None


for _name, _of in {
    "EXP": math.exp,
    "LOG10": math.log10,
    "SQRT": math.sqrt,
    "SIN": math.sin,
    "COS": math.cos,
    "TAN": math.tan,
    "ASIN": math.asin,
    "ACOS": math.acos,
    "ATAN": math.atan,
    "RADIANS": math.radians,
    "DEGREES": math.degrees,
}.items():
    _real(_name, _of)
_real("ATN2", math.atan2, 2)


@_function("PI", 0, 0)
def _pi() -> float:
    return math.pi


@_function("LOG", 1, 2)
def _log(value: Any, base: Any = math.e) -> float:
    try:
        number = float(number_of(value))
        return math.log(number) if base == math.e else math.log(number, float(number_of(base)))
    except (ValueError, ZeroDivisionError):
        raise ValueFailure(f"there is none of {text_of(value)}") from None


@_function("ABS", 1, 1)
def _abs(value: Any) -> Any:
    return abs(number_of(value))


@_function("SIGN", 1, 1)
def _sign(value: Any) -> Any:
    number = number_of(value)
    return type(number)((number > 0) - (number < 0))


@_function("SQUARE", 1, 1)
def _square(value: Any) -> float:
    return float(number_of(value)) ** 2


@_function("POWER", 2, 2)
def _power(value: Any, exponent: Any) -> float:
    try:
        return math.pow(number_of(value), number_of(exponent))
    except (ValueError, OverflowError):
        raise ValueFailure(f"{value} to the power of {exponent} is no number") from None


@_function("ROUND", 1, 3)
def _round(value: Any, places: Any = 0, truncate: Any = 0) -> Any:
    number = number_of(value)
    mode = ROUND_DOWN if truncate else ROUND_HALF_UP
    if isinstance(number, float) and not math.isfinite(number):
        return number
    unit = Decimal(1).scaleb(-int(number_of(places)))
    rounded = (Decimal(str(number)) / unit).quantize(Decimal(1), mode) * unit
    return bigint(int(rounded)) if isinstance(number, int) else float(rounded)


# ---------------------------------------------------------------------- texts


@_function("CONCAT", 1, takes_null=True)
def _concat(*values: Any) -> str:
    """NULL is an empty text."""
    return "".join("" if value is None else text_of(value) for value in values)


@_function("CONCAT_WS", 2, takes_null=True)
def _concat_ws(separator: Any, *values: Any) -> str:
    """NULL is left out."""
    between = "" if separator is None else text_of(separator)
    return between.join(text_of(value) for value in values if value is not None)


@_function("LEN", 1, 1)
def _len(value: Any) -> int:
    return len(text_of(value).rstrip(" "))


@_function("LOWER", 1, 1)
def _lower(value: Any) -> str:
    return text_of(value).lower()


@_function("UPPER", 1, 1)
def _upper(value: Any) -> str:
    return text_of(value).upper()


@_function("TRIM", 1, 1)
def _trim(value: Any) -> str:
    return text_of(value).strip(" ")


@_function("LTRIM", 1, 1)
def _ltrim(value: Any) -> str:
    return text_of(value).lstrip(" ")


@_function("RTRIM", 1, 1)
def _rtrim(value: Any) -> str:
    return text_of(value).rstrip(" ")


@_function("REVERSE", 1, 1)
def _reverse(value: Any) -> str:
    return text_of(value)[::-1]


@_function("REPLICATE", 2, 2)
def _replicate(value: Any, times: Any) -> str | None:
    count = int(number_of(times))
    return None if count < 0 else text_of(value) * count


@_function("REPLACE", 3, 3)
def _replace(value: Any, old: Any, new: Any) -> str:
    searched = text_of(old)
    return text_of(value).replace(searched, text_of(new)) if searched else text_of(value)


def _length(value: Any) -> int:
    length = int(number_of(value))
    if length < 0:
        raise ValueFailure(f"a length of {length}")
    return length


@_function("SUBSTRING", 3, 3)
def _substring(value: Any, start: Any, length: Any) -> str:
    first = int(number_of(start)) - 1
    end = first + _length(length)
    return text_of(value)[max(first, 0) : max(end, 0)]


@_function("LEFT", 2, 2)
def _left(value: Any, length: Any) -> str:
    return text_of(value)[: _length(length)]


@_function("RIGHT", 2, 2)
def _right(value: Any, length: Any) -> str:
    count = _length(length)
    return text_of(value)[-count:] if count else ""


@_function("CHARINDEX", 2, 3)
def _charindex(wanted: Any, value: Any, start: Any = 1) -> int:
    searched = text_of(wanted)
    begin = max(int(number_of(start)) - 1, 0)
    return text_of(value).find(searched, begin) + 1 if searched else 0


@_function("PATINDEX", 2, 2)
def _patindex(pattern: Any, value: Any) -> int:
    wanted, text = text_of(pattern), text_of(value)
    anchored_end = not wanted.endswith("%")
    expression = like_expression(wanted.strip("%"), None)
    if not anchored_end:
        expression = expression.removesuffix("\\Z")
    search = re.search if wanted.startswith("%") else re.match
    found = search(expression, text)
    return found.start() + 1 if found else 0


@_function("REGEXMATCH", 2, 2)
def _regexmatch(value: Any, pattern: Any) -> int:
    try:
        return len(re.findall(text_of(pattern), text_of(value)))
    except re.error as error:
        raise ValueFailure(f"{pattern!r} is no regular expression: {error}") from None


@_function("NCHAR", 1, 1)
def _nchar(value: Any) -> str | None:
    code = int(number_of(value))
    return chr(code) if 0 <= code <= 0x10FFFF else None


@_function("UNICODE", 1, 1)
def _unicode(value: Any) -> int | None:
    text = text_of(value)
    return ord(text[0]) if text else None


# ---------------------------------------------------------------------- dates


@_function("YEAR", 1, 1)
def _year(value: Any) -> int:
    return datetime_of(value).astimezone(UTC).year


@_function("MONTH", 1, 1)
def _month(value: Any) -> int:
    return datetime_of(value).astimezone(UTC).month


@_function("DAY", 1, 1)
def _day(value: Any) -> int:
    return datetime_of(value).astimezone(UTC).day


@_function("DATETIMEFROMPARTS", 7, 7)
def _datetime_from_parts(*parts: Any) -> datetime:
    numbers = [int(number_of(part)) for part in parts]
    year, month, day, hour, minute, second, millisecond = numbers
    try:
        date = datetime(year, month, day, hour, minute, second, millisecond * 1000)
        return date.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise ValueFailure(f"{', '.join(map(str, numbers))} are no datetime") from None


# ---------------------------------------------------------------------- values of any kind


@_function("COALESCE", 1, takes_null=True)
def _coalesce(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


@_function("ISNULL", 2, 2, takes_null=True)
def _isnull(value: Any, other: Any) -> Any:
    return other if value is None else value


@_function("NULLIF", 2, 2, takes_null=True)
def _nullif(value: Any, other: Any) -> Any:
    return None if value is not None and frozen(value) == frozen(other) else value


@_function("ISNUMERIC", 1, 1, takes_null=True)
def _isnumeric(value: Any) -> int:
    try:
        number_of(value)
    except ValueFailure:
        return 0
    return 1


@_function("GETTYPE", 1, 1, takes_null=True)
def _gettype(value: Any) -> str:
    return type_name(value).removesuffix("(max)").lower()


@_function("GETARRAYELEMENT", 2, 2)
def _get_array_element(array: Any, index: Any) -> Any:
    items, position = sequence(array), int(number_of(index))
    return items[position] if 0 <= position < len(items) else None


@_function("GETARRAYLENGTH", 1, 1)
def _get_array_length(array: Any) -> int:
    return len(sequence(array))


@_function("GETRECORDPROPERTYVALUE", 2, 2)
def _get_record_property_value(record: Any, name: Any) -> Any:
    if not isinstance(record, dict):
        raise ValueFailure(f"a {type_name(record)} is no record")
    return field_of(record, text_of(name))


# ---------------------------------------------------------------------- functions that give rows


def array_elements(value: Any) -> list[Any]:
    """``GetArrayElements(value)``."""
    if value is None:
        return []
    return [{"ArrayIndex": index, "ArrayValue": item} for index, item in enumerate(sequence(value))]


def record_properties(value: Any) -> list[Any]:
    """``GetRecordProperties(value)``."""
    if value is None:
        return []
    if not isinstance(value, dict):
        raise ValueFailure(f"a {type_name(value)} is no record")
    return [{"PropertyName": name, "PropertyValue": item} for name, item in value.items()]
