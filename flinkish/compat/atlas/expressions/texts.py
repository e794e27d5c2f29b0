"""Values as texts, as ``$toString`` writes them."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from math import isfinite
from typing import Any

from flinkish.compat.atlas.bson.values import is_nan


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
    if not isfinite(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == int(value) and abs(value) < 1e15:
        return str(int(value)) if value or str(value)[0] != "-" else "-0"
    return repr(value)


def date_text(value: datetime) -> str:
    """A date as ISO 8601 in UTC with milliseconds: 2024-01-31T12:00:00.000Z."""
    moment = value if value.tzinfo is None else value.astimezone(UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z".rjust(24, "0")
