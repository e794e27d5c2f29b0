"""``PartlyRead``: rows of which only some columns have been read, in place of an Arrow batch.

A source reads the columns that the job uses, which are known before the job runs if its functions
can be traced. If other code needs an element, such as an error that shows it, the element still has
all columns: the rest is read at the first access.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

Arrays = Mapping[int, pa.Array]
"""Columns by index."""


class Columns(Protocol):
    """The columns of rows: an Arrow batch, or ``PartlyRead``."""

    @property
    def schema(self) -> pa.Schema: ...
    @property
    def num_rows(self) -> int: ...
    @property
    def num_columns(self) -> int: ...
    def column(self, i: int) -> pa.Array: ...
    def take(self, indices: pa.Array) -> Any: ...
    def filter(self, mask: pa.Array) -> Any: ...
    def slice(self, offset: int, length: int) -> Any: ...


@dataclass(eq=False, repr=False, slots=True)
class PartlyRead:
    """Rows of ``schema``, of which the columns ``_read`` have been read. ``_rest`` reads all other
    columns of these rows; it is called once, when one of them is needed."""

    schema: pa.Schema
    num_rows: int
    _read: Arrays
    _rest: Callable[[], Arrays]
    _rest_read: Arrays | None = None

    @property
    def num_columns(self) -> int:
        return len(self.schema)

    def column(self, i: int) -> pa.Array:
        """A column, which is read now if it has not been yet."""
        known = self._read.get(i)
        return self._others()[i] if known is None else known

    def whole(self) -> pa.RecordBatch:
        arrays = [self.column(number) for number in range(self.num_columns)]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def take(self, indices: pa.Array) -> PartlyRead:
        return self._part(len(indices), lambda column: column.take(indices))

    def filter(self, mask: pa.Array) -> PartlyRead:
        return self._part(mask.true_count, lambda column: column.filter(mask))

    def slice(self, offset: int, length: int) -> PartlyRead:
        length = max(0, min(length, self.num_rows - offset))
        return self._part(length, lambda column: column.slice(offset, length))

    @staticmethod
    def joined(parts: Sequence[PartlyRead]) -> PartlyRead | None:
        """The rows of all ``parts`` in order; None if these have not read the same columns."""
        first = parts[0]
        if any(p.schema != first.schema or p._read.keys() != first._read.keys() for p in parts):
            return None
        return PartlyRead(
            first.schema,
            sum(part.num_rows for part in parts),
            concatenated_arrays([part._read for part in parts]),
            lambda: concatenated_arrays([part._others() for part in parts]),
        )

    def _part(self, count: int, of: Callable[[pa.Array], pa.Array]) -> PartlyRead:
        read = {number: of(column) for number, column in self._read.items()}
        return PartlyRead(
            self.schema,
            count,
            read,
            lambda: {number: of(column) for number, column in self._others().items()},
        )

    def _others(self) -> Arrays:
        if self._rest_read is None:
            self._rest_read = self._rest()
        return self._rest_read

    def __reduce__(self) -> Any:
        return _itself, (self.whole(),)


def concatenated_arrays(parts: Sequence[Arrays]) -> Arrays:
    return {number: pa.concat_arrays([part[number] for part in parts]) for number in parts[0]}


def _itself(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch
