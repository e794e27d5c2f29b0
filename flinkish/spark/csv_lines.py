"""CSV files as lines of text, parsed in the worker.

Spark's CSV reader makes values of a line and hands them to Python column by column. One column of
lines crosses in a third of the time, and Arrow parses it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from flinkish.api.errors import MalformedRecordError, said_by, shown
from flinkish.runtime.elements import Records, no_timestamps
from flinkish.runtime.row_columns import RowColumns
from flinkish.spark.arrow_decoding import ArrowDecoder

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


_TYPES = {
    "string": pa.string(),
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
}


def csv_schema(schema: StructType) -> pa.Schema | None:
    """The schema that Arrow's reader of CSV parses ``schema`` by, None if it would read one of the
    types in another way than Spark (dates, times, decimals), or if an empty line could be a row."""
    types = [(field.name, _TYPES.get(field.dataType.simpleString())) for field in schema]
    if len(types) < 2 or any(kind is None for _, kind in types):
        return None
    return pa.schema(types)


@dataclass(frozen=True)
class CsvLinesDecoder(ArrowDecoder):
    """Lines of CSV, in the column ``value``, as Rows. An empty field is None."""

    schema: pa.Schema

    def decode(self, batch: pa.RecordBatch) -> Iterator[tuple[int | None, Records]]:
        rows = self._rows(batch.column(batch.schema.get_field_index("value")))
        yield None, Records(RowColumns(rows), no_timestamps(rows.num_rows))

    def _rows(self, lines: pa.Array) -> pa.RecordBatch:
        try:
            rows = self._parsed(lines)
        except pa.ArrowInvalid:
            rows = None
        # A quote that is not closed makes one row of two lines.
        if rows is not None and rows.num_rows == len(lines):
            return rows
        return self._line_by_line(lines)

    def _line_by_line(self, lines: pa.Array) -> pa.RecordBatch:
        """Where something is amiss: leave empty lines out, and name the line that does not fit."""
        batches = [pa.RecordBatch.from_pylist([], self.schema)]
        for line in lines:
            text = line.as_py()
            if text.strip():
                try:
                    batches.append(self._parsed(pa.array([text])))
                except pa.ArrowInvalid as error:
                    raise MalformedRecordError(
                        f"CSV Source: the line {shown(text)} does not fit the schema"
                        f" {', '.join(f'{field.name} {field.type}' for field in self.schema)}:"
                        f" {said_by(error)}. Mend the file or the schema, or pass mode='PERMISSIVE' to"
                        " FileSource.forCsv, which reads None where a value does not fit."
                    ) from error
        return pa.concat_batches(batches)

    def _parsed(self, lines: pa.Array) -> pa.RecordBatch:
        whole = pa.ListArray.from_arrays(pa.array([0, len(lines)], pa.int32()), lines)
        text = pc.binary_join(whole, "\n")[0].as_buffer()
        table = csv.read_csv(
            pa.BufferReader(text),
            csv.ReadOptions(
                column_names=self.schema.names, use_threads=False, block_size=len(text) + 1
            ),
            convert_options=csv.ConvertOptions(
                column_types=self.schema,
                null_values=[""],
                true_values=["true"],
                false_values=["false"],
                strings_can_be_null=True,
            ),
        )
        return table.combine_chunks().to_batches()[0]
