"""The names that a script may use: the constructors of BSON's types, and constants."""

from __future__ import annotations

import math
import os
import re
import uuid
from base64 import b64decode
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from flinkish.compat.atlas.bson.regular_expressions import compiled
from flinkish.compat.atlas.bson.values import MAX_KEY, MIN_KEY, Int64, ObjectId, Timestamp, date_of
from flinkish.compat.atlas.expressions.date_formats import read


def _date(*arguments: Any) -> datetime:
    if not arguments:
        return datetime.now(UTC)
    (value, *parts) = arguments
    if parts:
        numbers = [int(number) for number in arguments]
        year, month, day, hour, minute, second, milli = (
            numbers + [0, 1, 0, 0, 0, 0][len(numbers) - 1 :]
        )[:7]
        return datetime(year, month + 1, day, hour, minute, second, milli * 1000, UTC)
    if isinstance(value, datetime):
        return value
    return read(value, None, None) if isinstance(value, str) else date_of(int(value))


def regular_expression(pattern: str, options: str = "") -> re.Pattern[str]:
    """A regular expression with the flags of JavaScript."""
    return compiled(pattern, options.replace("g", ""))


CONSTRUCTORS: dict[str, Callable[..., Any]] = {
    "ISODate": _date,
    "Date": _date,
    "NumberInt": lambda value=0: int(value),
    "Int32": lambda value=0: int(value),
    "NumberLong": lambda value=0: Int64(int(value)),
    "Long": lambda value=0: Int64(int(value)),
    "NumberDouble": float,
    "Double": float,
    "Number": float,
    "NumberDecimal": lambda value="0": Decimal(str(value)),
    "Decimal128": lambda value="0": Decimal(str(value)),
    "ObjectId": lambda value=None: ObjectId(os.urandom(12).hex() if value is None else value),
    "UUID": uuid.UUID,
    "BinData": lambda kind, data: b64decode(data),
    "Timestamp": lambda time, increment=0: (
        Timestamp(int(time["t"]), int(time["i"]))
        if isinstance(time, dict)
        else Timestamp(int(time), int(increment))
    ),
    "RegExp": regular_expression,
    "MinKey": lambda: MIN_KEY,
    "MaxKey": lambda: MAX_KEY,
    "String": str,
    "Boolean": bool,
}

CONSTANTS = {
    "true": True,
    "false": False,
    "null": None,
    "undefined": None,
    "NaN": math.nan,
    "Infinity": math.inf,
    "MinKey": MIN_KEY,
    "MaxKey": MAX_KEY,
}
