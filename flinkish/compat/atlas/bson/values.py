"""The values of documents: BSON's types as Python has them, their order, and when two are equal.

Documents are dicts, arrays lists, dates ``datetime`` (one without a time zone is in UTC), decimals
``Decimal``, binary data ``bytes`` or ``UUID``, regular expressions ``re.Pattern``. What Python lacks is here.
"""

from __future__ import annotations

import math
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Context, Decimal
from functools import cmp_to_key
from typing import Any

from flinkish.api.errors import FlinkishError, IllegalArgumentError, shown

Document = dict[str, Any]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)
DECIMAL128 = Context(prec=34)
"""The precision of BSON's decimals."""

INT32 = 1 << 31
INT64 = 1 << 63


class DocumentError(FlinkishError):
    """A document that a stage cannot take; it goes to the dead letter queue."""


class Missing:
    """The value of a field that is not there."""

    def __repr__(self) -> str:
        return "MISSING"

    def __bool__(self) -> bool:
        return False


MISSING = Missing()


class Int64(int):
    """A whole number that is a ``long`` however small it is, such as ``NumberLong(5)``."""

    __slots__ = ()


@dataclass(frozen=True, order=True)
class ObjectId:
    """An ``ObjectId``: 12 bytes, as 24 hexadecimal digits.

    >>> str(ObjectId("507F1F77BCF86CD799439011"))
    '507f1f77bcf86cd799439011'
    """

    value: str

    def __post_init__(self) -> None:
        if not isinstance(self.value, str) or not re.fullmatch("[0-9a-fA-F]{24}", self.value):
            raise IllegalArgumentError(
                f"ObjectId: {shown(self.value)} is not a text of 24 hexadecimal digits."
            )
        object.__setattr__(self, "value", self.value.lower())

    def __str__(self) -> str:
        return self.value

    @property
    def generationTime(self) -> datetime:
        """The time of its creation, to the second."""
        return EPOCH + timedelta(seconds=int(self.value[:8], 16))


@dataclass(frozen=True, order=True)
class Timestamp:
    """BSON's timestamp: seconds since the epoch, and a number within the second."""

    time: int
    increment: int


@dataclass(frozen=True)
class Bound:
    """``MinKey`` or ``MaxKey``: below or above all other values."""

    name: str

    def __repr__(self) -> str:
        return self.name


MIN_KEY = Bound("MinKey")
MAX_KEY = Bound("MaxKey")


# ---------------------------------------------------------------------- types


def type_name(value: Any) -> str:
    """BSON's name of the type, as ``$type`` gives it."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int" if -INT32 <= value < INT32 and not isinstance(value, Int64) else "long"
    if isinstance(value, Bound):
        return "minKey" if value == MIN_KEY else "maxKey"
    for kind, (name, _) in _TYPES.items():
        if isinstance(value, kind):
            return name
    raise DocumentError(
        f"a {type(value).__name__} is no value of a document: {shown(value)}. Documents have None,"
        " bool, int, float, Decimal, str, bytes, UUID, datetime, list and dict."
    )


_TYPES: dict[type, tuple[str, int]] = {
    float: ("double", 10),
    str: ("string", 15),
    type(None): ("null", 5),
    dict: ("object", 20),
    list: ("array", 25),
    datetime: ("date", 45),
    Decimal: ("decimal", 10),
    ObjectId: ("objectId", 35),
    bytes: ("binData", 30),
    uuid.UUID: ("binData", 30),
    re.Pattern: ("regex", 50),
    Timestamp: ("timestamp", 47),
    Missing: ("missing", 0),
    tuple: ("array", 25),
    Mapping: ("object", 20),
}
"""The name of each type, and its place in the order of types. Whole numbers and bounds have their own."""

_RANKS: dict[type, int] = {kind: rank for kind, (_, rank) in _TYPES.items()} | {
    bool: 40,
    int: 10,
    Int64: 10,
}

TYPE_CODES = {
    1: "double",
    2: "string",
    3: "object",
    4: "array",
    5: "binData",
    6: "undefined",
    7: "objectId",
    8: "bool",
    9: "date",
    10: "null",
    11: "regex",
    13: "javascript",
    16: "int",
    17: "timestamp",
    18: "long",
    19: "decimal",
    -1: "minKey",
    127: "maxKey",
}
"""BSON's numbers of the types."""

NUMBERS = ("int", "long", "double", "decimal")


def rank(value: Any) -> int:
    """The place of the value's type in BSON's order."""
    found = _RANKS.get(type(value))
    if found is not None:
        return found
    if isinstance(value, Bound):
        return -1 if value == MIN_KEY else 127
    for kind, (_, place) in _TYPES.items():
        if isinstance(value, kind):
            return place
    return 10 if isinstance(value, int) else len(type_name(value))


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)


def is_null(value: Any) -> bool:
    """Whether it is null or missing, which most operators answer with null."""
    return value is None or value is MISSING


def truth(value: Any) -> bool:
    """The value as a condition: false are ``false``, 0, null and what is missing, and nothing else."""
    if value is None or value is MISSING or value is False:
        return False
    return not (is_number(value) and value == 0)


# ---------------------------------------------------------------------- dates


def millis(date: datetime) -> int:
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return (date - EPOCH) // MILLISECOND


def date_of(time: int) -> datetime:
    """The date of a time in ms; raises DocumentError if Python cannot hold it."""
    try:
        return EPOCH + timedelta(milliseconds=time)
    except OverflowError:
        raise DocumentError(f"{time} ms is a date before year 1 or after year 9999") from None


# ---------------------------------------------------------------------- texts


def as_text(value: Any) -> str:
    """The text of a number, date, id or bool."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return date_text(value)
    if is_nan(value):
        return "NaN"
    if isinstance(value, float):
        return double_text(value)
    if isinstance(value, Decimal):
        return str(value) if value.is_finite() else ("Infinity" if value > 0 else "-Infinity")
    return str(value)


def double_text(value: float) -> str:
    """A double in its shortest form: 5 rather than 5.0."""
    if not math.isfinite(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == int(value) and abs(value) < 1e15:
        return str(int(value)) if value or str(value)[0] != "-" else "-0"
    return repr(value)


def date_text(value: datetime) -> str:
    """A date as ISO 8601 in UTC with milliseconds: 2024-01-31T12:00:00.000Z."""
    moment = value if value.tzinfo is None else value.astimezone(UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z".rjust(24, "0")


# ---------------------------------------------------------------------- order and equality


def compare(left: Any, right: Any) -> int:
    """Below 0, 0 or above 0: BSON's order, first by type, then by value."""
    kind = rank(left)
    other = rank(right)
    if kind != other:
        return -1 if kind < other else 1
    if kind in (10, 15, 35, 40, 47):
        return _numbers(left, right) if kind == 10 else _ordered(left, right)
    compared = _COMPARED.get(kind)
    return 0 if compared is None else compared(left, right)


def _ordered(left: Any, right: Any) -> int:
    return int(left > right) - int(left < right)


def _numbers(left: Any, right: Any) -> int:
    if left == right:
        return 0
    left_is_nan, right_is_nan = is_nan(left), is_nan(right)
    if left_is_nan or right_is_nan:  # NaN is below all other numbers
        return right_is_nan - left_is_nan
    return -1 if left < right else 1


def is_nan(value: Any) -> bool:
    """Whether it is a number that is none."""
    return isinstance(value, (float, Decimal)) and value != value


def _documents(left: Any, right: Any) -> int:
    for (name, value), (other_name, other) in zip(left.items(), right.items()):
        found = (
            _ordered(rank(value), rank(other))
            or _ordered(name, other_name)
            or compare(value, other)
        )
        if found:
            return found
    return _ordered(len(left), len(right))


def _arrays(left: Any, right: Any) -> int:
    for value, other in zip(left, right):
        if found := compare(value, other):
            return found
    return _ordered(len(left), len(right))


def _binary(value: Any) -> tuple[int, int, bytes]:
    data = value.bytes if isinstance(value, uuid.UUID) else value
    return len(data), 4 if isinstance(value, uuid.UUID) else 0, data


_COMPARED: dict[int, Any] = {
    20: _documents,
    25: _arrays,
    30: lambda left, right: _ordered(_binary(left), _binary(right)),
    45: lambda left, right: _ordered(millis(left), millis(right)),
    50: lambda left, right: _ordered((left.pattern, left.flags), (right.pattern, right.flags)),
}

ORDER = cmp_to_key(compare)
"""A key for ``sorted`` that sorts as BSON does."""


def equal(left: Any, right: Any) -> bool:
    """Whether two values are the same to BSON: 1 equals 1.0, and true does not equal 1."""
    return compare(left, right) == 0


def key_of(value: Any) -> Any:
    """A hashable key, equal for values that are equal: texts, whole numbers and null as they are."""
    kind = type(value)
    if kind is str or kind is int or value is None:
        return value
    if value is MISSING:
        return ("missing",)
    if is_number(value):
        return _number_key(value)
    if isinstance(value, datetime):
        return ("date", millis(value))
    if isinstance(value, (dict, Mapping)):
        return ("object", tuple((name, key_of(inner)) for name, inner in value.items()))
    if isinstance(value, (list, tuple)):
        return ("array", tuple(map(key_of, value)))
    if isinstance(value, (bytes, uuid.UUID)):
        return ("binData", *_binary(value))
    if isinstance(value, re.Pattern):
        return ("regex", value.pattern, value.flags)
    if isinstance(value, Timestamp):
        return ("timestamp", value.time, value.increment)
    return (type_name(value), value if isinstance(value, bool) else str(value))


def _number_key(value: Any) -> Any:
    if isinstance(value, int):
        return int(value)
    if is_nan(value):
        return ("number", "nan")
    if math.isinf(value):
        return float(value)
    if value == (value.to_integral_value() if isinstance(value, Decimal) else math.floor(value)):
        return int(value)
    as_double = float(value)
    return as_double if as_double == value else ("number", str(value.normalize()))
