"""The keys of a run of records, with their hashes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import Any, overload

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flinkish.api.field_access import field_read
from flinkish.runtime.elements import Hashes
from flinkish.runtime.key_groups import KeyHashes
from flinkish.runtime.row_columns import RowColumns, python_values
from flinkish.runtime.user_code import mapped, user_code_of


class ColumnKeys(Sequence[Any]):
    """Keys that are a column of the rows they belong to: they travel as the column's number."""

    __slots__ = ("_rows", "column")

    def __init__(self, rows: RowColumns, column: int) -> None:
        self._rows = rows
        self.column = column

    @property
    def encoded(self) -> pa.DictionaryArray | None:
        """The column, if the rows have it encoded."""
        column = self._rows.arrow(self.column)
        return column if pa.types.is_dictionary(column.type) else None

    def over(self, rows: RowColumns) -> ColumnKeys:
        """The same column of other rows."""
        return ColumnKeys(rows, self.column)

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._rows.values(self.column))

    @overload
    def __getitem__(self, index: int) -> Any: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Any]: ...

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            start, end, _ = index.indices(len(self))
            return ColumnKeys(self._rows.between(start, end), self.column)
        return self._rows.values(self.column)[index]


class KeyColumn:
    """Takes keys out of elements: by the key selector, or from a column if it reads just that.

    ``operator`` is named if the selector raises.
    """

    def __init__(self, selector: Callable[[Any], Any], operator: str) -> None:
        self._select = selector
        self._field = field_read(selector)
        self._operator = operator
        self._hashes = KeyHashes()

    def of(self, values: Sequence[Any]) -> tuple[Sequence[Any], Hashes]:
        """The keys of ``values`` and their hashes."""
        if isinstance(values, RowColumns) and self._field is not None:
            column = values.column(self._field)
            if column is not None and _has_dictionary(values.arrow(column).type):
                return ColumnKeys(values, column), self._hashes_of(values.encoded(column))
        keys = mapped(self._operator, self._select, values)
        with user_code_of(self._operator, lambda: keys):
            return keys, self._hashes.column(keys)

    def trim(self) -> None:
        """Called between batches: do not hold many keys."""
        self._hashes.trim()

    def _hashes_of(self, encoded: pa.DictionaryArray) -> Hashes:
        distinct = self._hashes.column(python_values(encoded.dictionary))
        hashes: Hashes = distinct[encoded.indices.to_numpy()]
        return hashes


def taken(values: Sequence[Any], positions: NDArray[np.intp]) -> Sequence[Any]:
    """The values at ``positions``, in that order."""
    if isinstance(values, RowColumns):
        return values.take(positions)
    if len(positions) < 2:
        return [values[i] for i in positions.tolist()]
    return list(itemgetter(*positions.tolist())(values))


def _has_dictionary(kind: pa.DataType) -> bool:
    is_of = pa.types
    return bool(
        is_of.is_integer(kind)
        or is_of.is_string(kind)
        or is_of.is_boolean(kind)
        or is_of.is_binary(kind)
        or is_of.is_date(kind)
    )
