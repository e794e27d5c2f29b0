"""Elements as the columns that a sink writes, made where the elements are, so that they need not be
pickled on their way to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from flinkish.api.errors import UnfitElementError, shown
from flinkish.runtime.column_arrays import FieldsWriter, Misfit
from flinkish.runtime.row_columns import RowColumns
from flinkish.runtime.user_code import user_code_of


@dataclass(frozen=True)
class ElementColumns:
    """The columns of a sink's elements; ``sink`` is its name, for errors.

    ``whole``: the elements have no fields, and are the one column themselves.
    """

    sink: str
    schema: pa.Schema
    whole: bool = False

    def of(self, values: Sequence[Any]) -> RowColumns:
        """``values`` as columns. Raises UnfitElementError, which names the element and the field, for
        one that does not fit."""
        if isinstance(values, RowColumns) and values.batch.schema.types == self.schema.types:
            # A table's rows that nobody has touched on the way are columns still.
            return RowColumns(self._batch(values.batch.columns))
        with user_code_of(self.sink, lambda: values):
            try:
                return RowColumns(self._batch(self._writer.columns(values)))
            except Misfit as misfit:
                raise self._error(values[misfit.position], misfit) from None

    @cached_property
    def _writer(self) -> FieldsWriter:
        return FieldsWriter(self.schema, self.whole)

    def _batch(self, columns: Sequence[pa.Array]) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _error(self, element: Any, misfit: Misfit) -> UnfitElementError:
        if misfit.field:
            return UnfitElementError(
                f"the element {shown(element)} does not fit the schema: its {misfit}. Map the"
                " elements to the type of the field, or say another type with returns(Types...) or"
                " a schema.",
                self.sink,
            )
        names = self.schema.names
        return UnfitElementError(
            f"the element {shown(element)} does not fit the schema, which has {len(names)} fields:"
            f" {', '.join(names)}. Map the elements to tuples of those fields.",
            self.sink,
        )
