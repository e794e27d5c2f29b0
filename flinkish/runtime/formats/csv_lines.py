"""Elements as lines of CSV."""

from __future__ import annotations

import csv
import dataclasses
import datetime
import io
from collections.abc import Sequence
from typing import Any


def csv_line(value: Any, separator: str = ",", typed: bool = False) -> str:
    """An element as a line of CSV; ``typed``: its fields are of columns, and written as Spark writes
    those."""
    text = io.StringIO()
    fields = [_cell(field) for field in value] if typed else _plain_fields(value)
    csv.writer(text, delimiter=separator, lineterminator="").writerow(fields)
    return text.getvalue()


def _plain_fields(value: Any) -> Sequence[Any]:
    if isinstance(value, (tuple, list)):
        return value
    if hasattr(value, "_fields"):
        return list(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = dataclasses.asdict(value)
    return list(value.values()) if isinstance(value, dict) else (value,)


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime.datetime):
        text = value.isoformat(timespec="milliseconds")
        return f"{text[:-6]}Z" if text.endswith("+00:00") else text
    return value
