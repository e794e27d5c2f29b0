"""Asks our own expressions about the table of awkward values."""

from __future__ import annotations

from datetime import UTC
from typing import Any

import pyarrow as pa
from sqlglot import exp

from flinkish.runtime.records.rows import python_values
from flinkish.table.analysis import Analyser, Column, Scope
from flinkish.table.data_types import DataType, DataTypes
from flinkish.table.expressions import Expression, Rows
from flinkish.table.text import Text
from tests.table.awkward import COLUMNS, ROWS

TYPES = [DataTypes.of(text) for _, text in COLUMNS]


def _cell(value: Any, kind: DataType) -> Any:
    if value is None:
        return None
    if kind.name == "TIMESTAMP_LTZ":
        return value.replace(tzinfo=UTC)
    if kind.name == "MAP":
        return list(value.items())
    if kind.name == "ROW":
        return dict(zip(kind.fields, value))
    if kind.isDecimal:
        return value
    return value


def awkward_rows() -> Rows:
    """The table as columns."""
    columns = [
        pa.array([_cell(row[number], kind) for row in ROWS], kind.arrow)
        for number, kind in enumerate(TYPES)
    ]
    return Rows(columns, len(ROWS))


def analysed(expression: str) -> Expression:
    """The expression of a text."""
    text = Text(f"SELECT {expression} AS v FROM awkward", "sqlQuery")
    columns = tuple(Column(name, kind, "awkward") for (name, _), kind in zip(COLUMNS, TYPES))
    select = text.query
    assert isinstance(select, exp.Select)
    return Analyser(Scope(text, columns)).expression(select.expressions[0].this)


def values(expression: Expression, rows: Rows) -> list[Any]:
    """Its values for the rows."""
    return python_values(rows.column(expression.evaluate(rows), expression.type))
