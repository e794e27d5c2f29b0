"""Values of the query language: bigint, float, nvarchar(max), datetime, bit, record and array, and NULL.

They are int, float, str, datetime in UTC, int, dict and list in Python, and None.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from flinkish.api.errors import shown
from flinkish.api.types.fields import named_values
from flinkish.api.types.row import Row

Record = dict[str, Any]
Environment = dict[str, Any]
"""The rows in scope by the lower-case names of their sources, and under ``@name`` their event times in ms;
under ``@`` System.Timestamp() in ms, and under ``#...`` values that are computed before."""
Evaluate = Callable[[Environment], Any]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_OTHER_FORMATS = ("%m/%d/%Y %I:%M:%S %p", "%m/%d/%Y %H:%M:%S", "%m/%d/%Y %H:%M", "%m/%d/%Y")
_SMALLEST, _LARGEST = -(2**63), 2**63 - 1


class ValueFailure(Exception):
    """A value that is not what an expression needs."""


def record_of(element: Any) -> Record:
    """An element of an input as a record; raises ValueFailure if it is none."""
    if isinstance(element, (str, bytes)):
        try:
            element = json.loads(element)
        except ValueError as error:
            raise ValueFailure(f"{shown(element)} is no JSON: {error}") from None
    is_record = isinstance(element, (dict, Row)) or named_values(element) is not None
    value = value_of(element) if is_record else None
    if not isinstance(value, dict):
        raise ValueFailure(
            f"{shown(element)} is no record: pass dicts, Rows, dataclasses or texts of JSON objects"
        )
    return value


def value_of(value: Any) -> Any:
    """A value from outside as one of the language."""
    if value is None or isinstance(value, (int, float, str)):
        return value
    if isinstance(value, Row):  # as columns may be of Rows
        return value_of(value.asDict())
    if isinstance(value, dict):
        return {str(name): value_of(item) for name, item in value.items()}
    fields = named_values(value)
    if fields is not None:
        return value_of(dict(fields))
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value
    if isinstance(value, (list, tuple)):
        return [value_of(item) for item in value]
    return value


def field_of(record: Any, name: str) -> Any:
    """A field of a record by its name in any case, None if there is none."""
    if not isinstance(record, dict):
        return None
    if name in record:
        return record[name]
    lower = name.lower()
    for known, value in record.items():
        if known.lower() == lower:
            return value
    return None


def has_field(record: Any, name: str) -> bool:
    """Whether a record has such a field."""
    return isinstance(record, dict) and (
        name in record or any(known.lower() == name.lower() for known in record)
    )


def millis(time: datetime) -> int:
    """A datetime in ms."""
    return (time - EPOCH) // _MILLISECOND


def date_of(time: int) -> datetime:
    """The datetime of a time in ms."""
    try:
        return EPOCH + timedelta(milliseconds=time)
    except OverflowError:
        raise ValueFailure(f"{time} ms is no datetime between the years 1 and 9999") from None


def datetime_of(value: Any) -> datetime:
    """A datetime, or the text of one."""
    if isinstance(value, datetime):
        return value
    if isinstance(value, str):
        found = _parsed(value.strip())
        if found is not None:
            return found if _has_zone(found) else found.replace(tzinfo=UTC)
    raise ValueFailure(f"{shown(value)} ({type_name(value)}) is no datetime")


def _has_zone(time: datetime) -> bool:
    """Whether a datetime has a time zone. An attribute that may be None could not be read over columns."""
    clock = time.isoformat()[len("2024-05-06") :]
    return "+" in clock or "-" in clock


def _parsed(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text.upper())
    except ValueError:
        for known in _OTHER_FORMATS:
            try:
                return datetime.strptime(text, known)
            except ValueError:
                continue
    return None


def type_name(value: Any) -> str:
    """The name of a value's type in the language."""
    for kinds, name in (
        (type(None), "NULL"),
        (bool, "bit"),
        (int, "bigint"),
        (float, "float"),
        (str, "nvarchar(max)"),
        (datetime, "datetime"),
        (dict, "record"),
        (list, "array"),
    ):
        if isinstance(value, kinds):
            return name
    return type(value).__name__


def text_of(value: Any) -> str:
    """A value as ``CAST(value AS nvarchar(max))`` writes it."""
    if isinstance(value, str):
        return value
    if isinstance(value, datetime):
        utc = value.astimezone(UTC)
        return f"{utc:%Y-%m-%dT%H:%M:%S}.{utc.microsecond:06}0Z"
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, (dict, list)):
        return json.dumps(value, default=text_of, separators=(",", ":"))
    return str(value)


def number_of(value: Any) -> int | float:
    """A number, or the text of one."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, (int, float)):
        return value
    if isinstance(value, str):
        for kind in (int, float):
            try:
                return kind(value.replace("_", "x"))
            except ValueError:
                continue
    raise ValueFailure(f"{shown(value)} ({type_name(value)}) is no number")


def bigint(value: int) -> int:
    """An integer, if a bigint can hold it."""
    if not _SMALLEST <= value <= _LARGEST:
        raise ValueFailure(f"{value} is more than a bigint can hold")
    return value


def cast(value: Any, kind: str) -> Any:
    """``CAST(value AS kind)``; raises ValueFailure where the value cannot be one."""
    if value is None:
        return None
    if kind == "bigint":
        return _bigint_of(value)
    if kind == "float" and not isinstance(value, datetime):
        return float(number_of(value))
    if kind == "nvarchar":
        return text_of(value)
    if kind == "datetime":
        return datetime_of(value)
    if kind == "bit":
        return _bit_of(value)
    wanted = {"record": dict, "array": list}.get(kind)
    if wanted is not None and isinstance(value, wanted):
        return value
    if wanted is not None and isinstance(value, str):
        try:
            found = json.loads(value)
        except ValueError:
            found = None
        if isinstance(found, wanted):
            return found
    raise ValueFailure(f"{shown(value)} ({type_name(value)}) cannot be cast to {kind}")


def _bigint_of(value: Any) -> int:
    number = number_of(value)
    if isinstance(value, str) and isinstance(number, float):
        raise ValueFailure(f"{shown(value)} (nvarchar(max)) cannot be cast to bigint")
    try:
        return bigint(int(number))
    except (ValueError, OverflowError):
        raise ValueFailure(f"{shown(value)} cannot be cast to bigint") from None


def _bit_of(value: Any) -> int:
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return int(value.strip().lower() == "true")
    return int(number_of(value) != 0)


def pair(left: Any, right: Any) -> tuple[Any, Any]:
    """Two values that can be compared, the one of the lower type converted to that of the higher."""
    if isinstance(left, datetime) or isinstance(right, datetime):
        return datetime_of(left), datetime_of(right)
    if isinstance(left, str) and isinstance(right, str):
        # T-SQL compares texts without regard to case
        return left.casefold(), right.casefold()
    if isinstance(left, (dict, list)) or isinstance(right, (dict, list)):
        raise ValueFailure(f"{type_name(left)} and {type_name(right)} cannot be compared")
    return number_of(left), number_of(right)


def frozen(value: Any) -> Any:
    """A hashable form of a value, of one type for all values that compare as equal."""
    if isinstance(value, (dict, list)):
        return ("", json.dumps(value, default=text_of, sort_keys=True))
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, datetime):
        return ("datetime", millis(value), remainder(value.microsecond, 1000))
    return value


def remainder(value: int, by: int) -> int:
    """``value % by``. With the operator no expression could run over columns: it might format a text."""
    return divmod(value, by)[1]


def join_key(value: Any) -> Any:
    """A value shared by all values that compare as equal, even of different types."""
    if isinstance(value, str):
        try:
            return float(number_of(value))
        except ValueFailure:
            date = _parsed(value.strip())
        if date is None:
            return value.casefold()
        value = date if date.tzinfo else date.replace(tzinfo=UTC)
    if isinstance(value, datetime):
        return ("datetime", millis(value))
    return float(value) if isinstance(value, (int, float)) else frozen(value)


def sort_key(value: Any) -> tuple[Any, ...]:
    """Orders values; NULL is the lowest."""
    if value is None:
        return (0,)
    if isinstance(value, str):
        return (2, value)
    if isinstance(value, datetime):
        return (3, value)
    if isinstance(value, (int, float)):
        return (1, value)
    raise ValueFailure(f"{type_name(value)} has no order")


def like_expression(pattern: str, escape: str | None) -> str:
    """The regular expression of a LIKE pattern: ``%``, ``_``, ``[a-f]`` and ``[^a-f]``."""
    parts, position = [], 0
    while position < len(pattern):
        character = pattern[position]
        closing = pattern.find("]", position + 1) if character == "[" else -1
        if escape and character == escape and position + 1 < len(pattern):
            position += 1
            parts.append(re.escape(pattern[position]))
        elif character == "%":
            parts.append(".*")
        elif character == "_":
            parts.append(".")
        elif closing > 0:
            inside = pattern[position + 1 : closing]
            negated = inside.startswith("^")
            inside = inside[negated:].replace("\\", "\\\\").replace("[", "\\[")
            parts.append(f"[{'^' if negated else ''}{inside}]")
            position = closing
        else:
            parts.append(re.escape(character))
        position += 1
    return f"(?si:{''.join(parts)})\\Z"


def sequence(value: Any) -> Sequence[Any]:
    """An array; raises ValueFailure if it is none."""
    if isinstance(value, list):
        return value
    raise ValueFailure(f"{shown(value)} ({type_name(value)}) is no array")
