"""``QueryOperator``: runs a query over the elements of a stream, a run of elements at a time."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flinkish.api.errors import FlinkishError, UnfitElementError, shown
from flinkish.runtime.operators.base import OneInputOperator, OperatorContext
from flinkish.runtime.records.records import Records, Timestamps, no_timestamps
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.records.user_code import user_method_of
from flinkish.runtime.registry import register_operator
from flinkish.table.description import QueryDescription
from flinkish.table.expressions import EvaluationError, Rows
from flinkish.table.steps import run_steps


class QueryOperator(OneInputOperator):
    """Reads elements as columns, runs the steps of the query, and emits Rows."""

    def __init__(self, context: OperatorContext, description: QueryDescription) -> None:
        super().__init__(context)
        self._query = description
        fields = [(name, kind.arrow) for name, kind in zip(description.names, description.types)]
        self._schema = pa.schema(fields)

    def open(self) -> None:
        for function in self._query.userFunctions:
            if hasattr(function, "openOnce"):
                with user_method_of(self.name, "open()"):
                    function.openOnce()

    def processRecords(self, records: Records) -> None:
        self.metrics.numRecordsIn += len(records)
        query = self._query
        try:
            rows = run_steps(query.steps, query.input.read(records, self.name))
        except EvaluationError as error:
            raise self._failed(error, records) from None
        if rows.count:
            columns = [
                column if column.type == kind else column.cast(kind)
                for column, kind in zip(rows.columns, self._schema.types)
            ]
            batch = pa.RecordBatch.from_arrays(columns, schema=self._schema)
            self.output.emitRecords(Records(RowColumns(batch), self._timestamps(rows, records)))

    def _timestamps(self, rows: Rows, records: Records) -> Timestamps:
        query = self._query
        if query.rowtime is None:
            keeps = not query.steps and not query.input.timestamps
            return records.timestamps if keeps else no_timestamps(rows.count)
        column = rows.columns[query.rowtime]
        if column.null_count:
            at = int(rows.positions[pc.index(column.is_null(), True).as_py()])
            raise UnfitElementError(
                f"the rowtime of {shown(records.values[at])} is NULL. Filter such rows, or write COALESCE."
            ).at(self.name)
        micros = column.cast(pa.int64()).to_numpy(zero_copy_only=False)
        return np.asarray(micros // 1000, dtype=np.int64)

    def _failed(self, error: EvaluationError, records: Records) -> FlinkishError:
        where = "" if error.place is None else f"{error.place}, at {error.place.text!r}: "
        element = shown(records.values[error.position])
        return UnfitElementError(f"{where}{error.message}. The element was {element}.").at(
            self.name
        )


register_operator(QueryDescription, QueryOperator)
