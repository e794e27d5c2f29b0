"""The Parquet format: whole row groups as columns of the types in the schema."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from flinkish.api.errors import MalformedRecordError
from flinkish.runtime.formats.base import FileFormat, FileSplit, ReadResult
from flinkish.runtime.formats.files import opened
from flinkish.runtime.records.records import Records, no_timestamps
from flinkish.runtime.records.rows import RowColumns

MOST_ROWS = 50_000


class _Unfit(Exception):
    """A column is not of the type that the schema says."""


@dataclass(frozen=True)
class ParquetFormat(FileFormat):
    """Files of Parquet that have all columns of ``schema``; others are not read. A range takes the row
    groups that have their middle in it."""

    splittable: ClassVar[bool] = True

    schema: pa.Schema

    def read(self, split: FileSplit) -> Iterator[ReadResult]:
        try:
            with opened(split.path) as source:
                if split.size == 0:
                    raise _Unfit("it is empty, so that it has not even Parquet's footer")
                yield from self._rows(source, split)
        except (_Unfit, pa.ArrowException, OSError, UnicodeDecodeError) as error:
            if isinstance(error, FileNotFoundError):
                raise
            reason = str(error).rstrip(".")
            raise MalformedRecordError(
                f"Parquet Source: the file {split.path} cannot be read as {_shown(self.schema)}:"
                f" {reason}. Fix the file or the schema, or take the file out of the directory."
            ) from error

    def _rows(self, source: Any, split: FileSplit) -> Iterator[ReadResult]:
        file = parquet.ParquetFile(
            source, coerce_int96_timestamp_unit="us", page_checksum_verification=True
        )
        groups = list(_row_groups(file.metadata, split))
        found = [_found(field.name, file.schema_arrow.names, "column") for field in self.schema]
        if not groups:
            return
        missing = sum(file.metadata.row_group(group).num_rows for group in groups)
        for batch in file.iter_batches(
            MOST_ROWS, row_groups=groups, columns=found, use_threads=False
        ):
            columns = [
                _fitted(batch.column(name), field.type, f"the column {field.name!r}")
                for name, field in zip(found, self.schema)
            ]
            rows = pa.RecordBatch.from_arrays(columns, schema=self.schema)
            missing -= rows.num_rows
            if rows.num_rows:
                yield Records(RowColumns(rows), no_timestamps(rows.num_rows))
        if missing:
            raise _Unfit(f"its footer counts {missing} more rows than there are")


def _row_groups(metadata: Any, split: FileSplit) -> Iterator[int]:
    if split.whole:
        # Arrow ends the process where a damaged footer describes a column in a way that it does not
        # expect, so the columns are looked at only where they tell something.
        yield from range(metadata.num_row_groups)
        return
    end = split.start + split.length
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        columns = [group.column(i) for i in range(group.num_columns)]
        starts = [
            min(c.data_page_offset, c.dictionary_page_offset or c.data_page_offset) for c in columns
        ]
        middle = min(starts) + sum(c.total_compressed_size for c in columns) // 2
        # A range that ends where the file does takes what a damaged footer says lies behind it, too.
        if split.start <= middle and (middle < end or end >= split.size):
            yield number


def _found(name: str, names: Sequence[str], what: str) -> str:
    """The member of ``names`` that Spark takes for ``name``, ignoring case."""
    if name in names:
        return name
    alike = [other for other in names if other.lower() == name.lower()]
    if len(alike) != 1:
        there = f"there is no {what} {name!r}; there are {', '.join(names)}"
        raise _Unfit(there if not alike else f"{name!r} may be {' or '.join(alike)}")
    return alike[0]


def _fitted(values: pa.Array, wanted: pa.DataType, what: str) -> pa.Array:
    """``values`` as ``wanted``. Raises _Unfit if they are of a type that does not become that without
    loss, or too great."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        values = values.dictionary_decode()
        kind = values.type
    if pa.types.is_struct(wanted) and pa.types.is_struct(kind):
        return _fitted_struct(values, wanted, what)
    if pa.types.is_map(wanted) and pa.types.is_map(kind):
        keys = _fitted(values.keys, wanted.key_type, f"a key of {what}")
        items = _fitted(values.items, wanted.item_type, f"a value of {what}")
        return pa.MapArray.from_arrays(_offsets(values), keys, items, type=wanted)
    if pa.types.is_list(wanted) and (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        values = values.cast(pa.list_(kind.value_type))
        elements = _fitted(values.values, wanted.value_type, f"an element of {what}")
        return pa.ListArray.from_arrays(_offsets(values), elements, type=wanted)
    if not _widens(kind, wanted):
        raise _Unfit(f"{what} is of type {kind} there, and of {wanted} in the schema")
    try:
        fitted = values.cast(wanted)
        if pa.types.is_string(wanted):
            fitted.validate(full=True)
    except pa.ArrowInvalid as error:
        raise _Unfit(f"{what} is of type {kind} there: {error}") from error
    return fitted


def _fitted_struct(values: pa.Array, wanted: pa.DataType, what: str) -> pa.Array:
    fields = list(wanted)
    names = [field.name for field in values.type]
    parts = values.flatten()
    columns = [
        _fitted(
            parts[names.index(_found(field.name, names, f"field of {what}"))],
            field.type,
            f"the field {field.name!r} of {what}",
        )
        for field in fields
    ]
    return pa.StructArray.from_arrays(columns, fields=fields, mask=values.is_null())


def _offsets(values: pa.Array) -> pa.Array:
    """Where each list begins, None where there is none."""
    if not values.null_count:
        return values.offsets
    last = pa.array([False])
    missing = pa.concat_arrays([values.is_null(), last])
    return pc.if_else(missing, pa.scalar(None, pa.int32()), values.offsets)


def _widens(kind: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether values of a type are values of the wanted one too; whether all are in its range, the
    cast says."""
    is_in = pa.types
    if is_in.is_null(kind):
        return True
    if is_in.is_string(wanted) or is_in.is_binary(wanted):
        texts = (is_in.is_string, is_in.is_large_string, is_in.is_binary, is_in.is_large_binary)
        return any(is_text(kind) for is_text in texts) or str(kind).endswith("_view")
    if is_in.is_integer(wanted):
        return bool(is_in.is_integer(kind) and kind.bit_width <= max(wanted.bit_width, 32))
    if is_in.is_floating(wanted):
        if is_in.is_integer(kind):
            return bool(wanted.bit_width == 64 and kind.bit_width <= 32)
        return is_in.is_floating(kind) and bool(kind.bit_width <= wanted.bit_width)
    if is_in.is_decimal(wanted):
        return bool(is_in.is_decimal(kind) or is_in.is_integer(kind))
    if is_in.is_timestamp(wanted):
        # Spark takes a timestamp without a zone for one in UTC, and none with a zone for one without.
        return (is_in.is_timestamp(kind) and (wanted.tz is not None or kind.tz is None)) or (
            is_in.is_date(kind) and wanted.tz is None
        )
    return bool(kind == wanted)


def _shown(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema)
