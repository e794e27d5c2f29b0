"""Reads elements of streams as columns."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from flinkish.api.errors import MissingTimestampError, UnfitElementError, shown
from flinkish.api.types.fields import field_getter
from flinkish.runtime.records.records import NO_TIMESTAMP, Records
from flinkish.runtime.records.rows import RowColumns
from flinkish.table.arithmetic import fitted
from flinkish.table.data_types import ROWTIME, DataType
from flinkish.table.expressions import Rows


@dataclass(frozen=True)
class InputColumns:
    """The columns that are read from elements. ``whole``: an element is the value of the only
    column. ``timestamps``: the last column has the timestamps."""

    names: tuple[str, ...]
    types: tuple[DataType, ...]
    whole: bool = False
    timestamps: bool = False

    def read(self, records: Records, operator: str) -> Rows:
        """The columns of a run of elements."""
        values = records.values
        columns = self._ready(values) or [
            self._column(number, values, operator) for number in range(len(self.names))
        ]
        if self.timestamps:
            columns.append(self._timestamps(records, operator))
        return Rows(columns, len(records))

    def _ready(self, values: Sequence[Any]) -> list[pa.Array] | None:
        """The columns of elements that are columns of these types already, else None."""
        if not isinstance(values, RowColumns) or values.mayDiffer or self.whole:
            return None
        found = []
        for name, kind in zip(self.names, self.types):
            number = values.column(name)
            if number is None:
                return None
            column = values.arrow(number)
            if pa.types.is_dictionary(column.type):
                column = column.dictionary_decode()
            if column.type != kind.arrow or (not kind.nullable and column.null_count):
                return None
            found.append(column)
        return found

    def _column(self, number: int, values: Sequence[Any], operator: str) -> pa.Array:
        name, kind = self.names[number], self.types[number]
        cells: Iterable[Any] = values
        if not self.whole:
            cells = [field_of(value, name, number) for value in values]
        try:
            convert = _converter(kind)
            if convert is not None:
                cells = [None if cell is None else convert(cell, kind) for cell in cells]
            column = pa.array(cells, kind.arrow)
        except (pa.ArrowException, TypeError, ValueError, OverflowError, AttributeError):
            self._refuse(number, values, operator)
        if column.null_count and not kind.nullable:
            self._refuse(number, values, operator)
        return column

    def _refuse(self, number: int, values: Sequence[Any], operator: str) -> None:
        """Raise the error for the first element that does not fit."""
        name, kind = self.names[number], self.types[number]
        for value in values:
            cell = value if self.whole else field_of(value, name, number)
            try:
                convert = _converter(kind)
                made = cell if convert is None or cell is None else convert(cell, kind)
                fits = pa.array([made], kind.arrow).null_count == 0 or kind.nullable
            except (pa.ArrowException, TypeError, ValueError, OverflowError, AttributeError):
                fits = False
            if not fits:
                raise UnfitElementError(
                    f"the column {name!r} is {kind}, and {shown(cell)} of the element {shown(value)} is none. Pass"
                    " another type in the schema of fromDataStream, or map the elements before."
                ).at(operator)
        raise AssertionError(name)

    def _timestamps(self, records: Records, operator: str) -> pa.Array:
        timestamps = records.timestamps
        if len(timestamps) and int(timestamps.min()) == NO_TIMESTAMP:
            position = int(timestamps.argmin())
            raise MissingTimestampError(operator, records.values[position])
        return pa.array(timestamps * 1000).cast(ROWTIME.arrow)


def field_of(element: Any, name: str, position: int) -> Any:
    """The field of that name, or at that position if the element has no such name."""
    if element is None:
        return None
    if isinstance(element, Mapping):
        return field_getter(name)(element)
    names = getattr(element, "_fields", None)
    if names is not None and name in names:
        return element[list(names).index(name)]
    if isinstance(element, (tuple, list)) or names is not None:
        return element[position]
    if dataclasses.is_dataclass(element):
        return getattr(element, name)
    if (
        hasattr(element, "__getitem__")
        and hasattr(element, "__len__")
        and not isinstance(element, (str, bytes))
    ):
        return element[position]
    return field_getter(name)(element)


def _converter(kind: DataType) -> Callable[[Any, DataType], Any] | None:
    return _CONVERTERS.get(kind.name)


def cell(value: Any, kind: DataType) -> Any:
    """A value in the form in which Arrow accepts it for a column of that type."""
    convert = _CONVERTERS.get(kind.name)
    return value if value is None or convert is None else convert(value, kind)


def _decimal(value: Any, kind: DataType) -> Decimal | None:
    return fitted(Decimal(str(value)) if isinstance(value, float) else Decimal(value), kind)


def _moment(value: Any) -> datetime:
    if hasattr(value, "to_epoch_milli"):  # PyFlink's Instant
        nanos = value.seconds * 1_000_000_000 + value.nanos
        return datetime.fromtimestamp(nanos // 1_000_000_000, UTC).replace(
            microsecond=nanos % 1_000_000_000 // 1000
        )
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)
    raise TypeError(value)


def _timestamp(value: Any, kind: DataType) -> datetime:
    moment = _moment(value)
    zone = UTC if kind.name == "TIMESTAMP_LTZ" else None
    plain = moment.astimezone(UTC) if moment.tzinfo else moment
    step = 10 ** (6 - kind.precision)
    return plain.replace(tzinfo=zone, microsecond=plain.microsecond // step * step)


def _text(value: Any, kind: DataType) -> Any:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _boolean(value: Any, kind: DataType) -> Any:
    if not isinstance(value, bool) and type(value).__name__ != "bool_":
        raise TypeError(value)
    return bool(value)


def _integer(value: Any, kind: DataType) -> Any:
    if isinstance(value, bool):
        raise TypeError(value)
    return value


def _list(value: Any, kind: DataType) -> list[Any]:
    return [cell(part, kind.children[0]) for part in value]


def _map(value: Any, kind: DataType) -> list[tuple[Any, Any]]:
    key, item = kind.children
    return [(cell(k, key), cell(v, item)) for k, v in value.items()]


def _row(value: Any, kind: DataType) -> dict[str, Any]:
    return {
        name: cell(field_of(value, name, number), child)
        for number, (name, child) in enumerate(zip(kind.fields, kind.children))
    }


_CONVERTERS: dict[str, Callable[[Any, DataType], Any]] = {
    "DECIMAL": _decimal,
    "TIMESTAMP": _timestamp,
    "TIMESTAMP_LTZ": _timestamp,
    "CHAR": _text,
    "VARCHAR": _text,
    "BOOLEAN": _boolean,
    "TINYINT": _integer,
    "SMALLINT": _integer,
    "INT": _integer,
    "BIGINT": _integer,
    "ARRAY": _list,
    "MAP": _map,
    "ROW": _row,
}
