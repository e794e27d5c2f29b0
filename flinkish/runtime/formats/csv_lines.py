"""Elements as lines of CSV."""

from __future__ import annotations

import csv
import dataclasses
import datetime
import io
import math
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


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


def csv_fits(schema: pa.Schema) -> bool:
    """Whether ``csv_column`` knows all types of ``schema``."""
    return all(map(_fits, schema.types))


def csv_column(batch: pa.RecordBatch) -> pa.Array:
    """The rows of ``batch`` as lines of CSV, each as Spark's writer has it without options."""
    cells = [_cells(column) for column in batch.columns]
    if len(cells) == 1:
        # Nothing at all would be no row
        return pc.if_else(pc.is_valid(cells[0]), cells[0], _EMPTY)
    return pc.binary_join_element_wise(*cells, ",", null_handling="replace", null_replacement="")


_EMPTY = '""'

_BLANK = "".join(map(chr, range(0x21)))
"""What Spark takes off both ends of a text."""

_QUOTED = re.compile('[",\r\n]')

_NOT_PLAIN = r'[",\r\n]|^[\x00-\x20]|[\x00-\x20]$|^$'
"""Finds the texts that are not written as they are."""


def _fits(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_signed_integer(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_float64(kind)
        or pa.types.is_date32(kind)
    )


def _cells(column: pa.Array) -> pa.Array:
    """A column as texts, null where it is null."""
    if pa.types.is_string(column.type):
        if not pc.any(pc.match_substring_regex(column, _NOT_PLAIN)).as_py():
            return column
        return _each(column, _text)
    if pa.types.is_float64(column.type):
        return _each(column, _double)
    return column.cast(pa.string())


def _each(column: pa.Array, written: Callable[[Any], str]) -> pa.Array:
    cells = [None if value is None else written(value) for value in column.to_pylist()]
    return pa.array(cells, pa.string())


def _text(value: str) -> str:
    rest = value.lstrip(_BLANK)
    text = rest.rstrip(_BLANK)
    if _QUOTED.search(rest):
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return text or _EMPTY


def _double(value: float) -> str:
    """A number as Java writes it."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    first, *rest = map(str, digits)
    return f"{'-' * sign}{first}.{''.join(rest) or '0'}E{int(exponent) + len(rest)}"
