"""Values as Java writes them, which is how the recorded results of real Flink are."""

from __future__ import annotations

from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from flinkish.table.casts import java_double, java_float
from flinkish.table.data_types import DataType


def java_text(value: Any, kind: DataType) -> str | None:
    """``toString()`` of the value of a column."""
    if value is None:
        return None
    if kind.name == "ARRAY":
        return f"[{', '.join(str(_inner(part, kind.children[0])) for part in value)}]"
    if kind.name == "MAP":
        pairs = [
            (_inner(k, kind.children[0]), _inner(v, kind.children[1])) for k, v in value.items()
        ]
        return f"{{{', '.join(f'{k}={v}' for k, v in pairs)}}}"
    if kind.name == "ROW":
        return f"+I[{', '.join(_inner(part, child) for part, child in zip(value, kind.children))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if kind.name == "DOUBLE":
        return java_double(value)
    if kind.name == "FLOAT":
        return java_float(value)
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, datetime):
        text = f"{value.year:04}-{value:%m-%dT}{_time(value.time())}"
        if kind.name == "TIMESTAMP_LTZ":
            return f"{text}:00Z" if text.count(":") == 1 else f"{text}Z"
        return text
    if isinstance(value, time):
        return _time(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bytes):
        return f"[{', '.join(str(byte - 256 if byte > 127 else byte) for byte in value)}]"
    return str(value)


def _inner(value: Any, kind: DataType) -> str:
    text = java_text(value, kind)
    return "null" if text is None else text


def _time(value: time) -> str:
    text = value.isoformat(
        "microseconds"
        if value.microsecond % 1000
        else "milliseconds"
        if value.microsecond
        else "seconds"
    )
    return text[:-3] if text.endswith(":00") else text
