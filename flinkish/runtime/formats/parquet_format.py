"""The Parquet format. Whole row groups are read, as columns with the types of the schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from flinkish.api.errors import MalformedRecordError
from flinkish.runtime.formats.base import FileFormat, FileSplit, ReadResult
from flinkish.runtime.formats.files import opened
from flinkish.runtime.records.partly_read import Arrays, Columns, PartlyRead, concatenated_arrays
from flinkish.runtime.records.records import Records, no_timestamps
from flinkish.runtime.records.rows import RowColumns

MOST_ROWS = 50_000


class _Unfit(Exception):
    """The file does not fit the schema."""


@dataclass(frozen=True)
class ParquetFormat(FileFormat):
    """Parquet files that have all columns of ``schema``; further columns are not read. A range has
    the row groups whose middle is in it.

    ``used`` are the numbers of the columns that are read at once; None: all. The other columns must
    be there too, with the type in the schema. But their values are read only on demand, and only
    then found malformed.
    """

    schema: pa.Schema
    used: frozenset[int] | None = None

    def splits(self, path: str) -> bool:
        return True

    def read(self, split: FileSplit) -> Iterator[ReadResult]:
        with self.naming(split), opened(split.path) as source:
            if split.size == 0:
                raise _Unfit("it is empty, so that it has not even Parquet's footer")
            yield from self._rows(source, split)

    @contextmanager
    def naming(self, split: FileSplit) -> Iterator[None]:
        """Names the file in an error raised in the block."""
        try:
            yield
        except (_Unfit, pa.ArrowException, OSError, UnicodeDecodeError) as error:
            if isinstance(error, FileNotFoundError):
                raise
            reason = str(error).rstrip(".")
            raise MalformedRecordError(
                f"Parquet Source: the file {split.path} cannot be read as {_shown(self.schema)}:"
                f" {reason}. Fix the file or the schema, or take the file out of the directory."
            ) from error

    def _rows(self, source: Any, split: FileSplit) -> Iterator[ReadResult]:
        file = _file(source)
        groups = list(_row_groups(file.metadata, split))
        names = file.schema_arrow.names
        found = [_found(field.name, names, "column") for field in self.schema]
        if not groups:
            return
        sizes = [file.metadata.row_group(group).num_rows for group in groups]
        at_once = self._at_once()
        others = sorted({*range(len(self.schema))} - {*at_once})
        rest = _RestOfColumns(self, split, found, dict(zip(groups, sizes)), others)
        start = 0
        for batch in self.batches(file, found, groups, at_once):
            if start == 0:
                self._check_types(file, found, batch, at_once)
            count, columns = batch.num_rows, self.fitted(batch, found, at_once)
            if count:
                rows: Columns = (
                    PartlyRead(self.schema, count, columns, partial(rest.rows, start, count))
                    if len(columns) < len(self.schema)
                    else pa.RecordBatch.from_arrays(list(columns.values()), schema=self.schema)
                )
                yield Records(RowColumns(rows), no_timestamps(count))
            start += count
        missing = sum(sizes) - start
        if missing:
            raise _Unfit(f"its footer counts {missing} more rows than there are")

    def _at_once(self) -> Sequence[int]:
        """The numbers of the columns that are read at once."""
        everything = range(len(self.schema))
        # Without any column Arrow does not say how many rows there are
        return everything if self.used is None else sorted(self.used) or everything[:1]

    def _check_types(
        self, file: Any, found: Sequence[str], batch: pa.RecordBatch, atOnce: Sequence[int]
    ) -> None:
        """Raises _Unfit for the first column that does not fit. Those in ``batch``, the first
        batch, are checked by their values too, others by their type."""
        if len(atOnce) == len(self.schema):
            return
        empty = file.schema_arrow.empty_table()
        for number, (name, field) in enumerate(zip(found, self.schema)):
            column = batch.column(name) if number in atOnce else empty[name].combine_chunks()
            _fitted(column, field.type, _shown_column(field))

    def batches(
        self, file: Any, found: Sequence[str], groups: Sequence[int], numbers: Sequence[int]
    ) -> Iterator[pa.RecordBatch]:
        """The columns ``numbers`` of row groups, as they are in the file. ``found`` are the file's
        names for the columns of the schema."""
        names = [found[number] for number in numbers]
        batches: Iterator[pa.RecordBatch] = file.iter_batches(
            MOST_ROWS, row_groups=groups, columns=names, use_threads=False
        )
        return batches

    def fitted(self, batch: pa.RecordBatch, found: Sequence[str], numbers: Sequence[int]) -> Arrays:
        """The columns ``numbers`` of ``batch``, in the types of the schema. Raises _Unfit."""
        columns = {}
        for number in numbers:
            field = self.schema.field(number)
            column = batch.column(found[number])
            columns[number] = _fitted(column, field.type, _shown_column(field))
        return columns


@dataclass(eq=False, repr=False)
class _RestOfColumns:
    """The columns of a split that are not read at once. Reading begins at the row group of the
    first row asked for and continues with each request, so that requests for all rows in order take
    one pass."""

    format: ParquetFormat
    split: FileSplit
    found: Sequence[str]
    groups: Mapping[int, int]
    """The number of rows of each row group."""
    numbers: Sequence[int]
    """The numbers of the columns."""

    def __post_init__(self) -> None:
        self._source: Any = None
        self._batches: Iterator[pa.RecordBatch] = iter(())
        self._columns: Arrays = {}
        self._first = self._next = 0
        """The number of the first row of ``_columns``, and that of the first row after them."""

    def rows(self, start: int, count: int) -> Arrays:
        with self.format.naming(self.split):
            if self._source is None or start < self._first:
                self._open(start)
            parts: list[Arrays] = []
            end = start + count
            while start < end:
                self._read_to(start)
                first, length = start - self._first, min(end, self._next) - start
                parts.append({n: c.slice(first, length) for n, c in self._columns.items()})
                start += length
            return concatenated_arrays(parts)

    def __del__(self) -> None:
        # Rows may be asked for after the file has been read, as long as a run of it exists
        self._close()

    def _close(self) -> None:
        if self._source is not None:
            self._source.close()

    def _open(self, start: int) -> None:
        """Open the file at the row group with the row ``start``."""
        self._close()
        self._source = opened(self.split.path)
        groups, passed = list(self.groups), 0
        while passed + self.groups[groups[0]] <= start:
            passed += self.groups[groups.pop(0)]
        file = _file(self._source)
        self._batches = self.format.batches(file, self.found, groups, self.numbers)
        self._first = self._next = passed

    def _read_to(self, start: int) -> None:
        """Read up to row ``start``, which is not before the rows read last."""
        while self._next <= start:
            batch = next(self._batches, None)
            if batch is None:
                raise _Unfit("some of its columns have fewer rows than others")
            self._columns = self.format.fitted(batch, self.found, self.numbers)
            self._first, self._next = self._next, self._next + batch.num_rows


def _file(source: Any) -> Any:
    return parquet.ParquetFile(
        source, coerce_int96_timestamp_unit="us", page_checksum_verification=True
    )


def _shown_column(field: pa.Field) -> str:
    return f"the column {field.name!r}"


def _row_groups(metadata: Any, split: FileSplit) -> Iterator[int]:
    if split.whole:
        # Arrow ends the process if a damaged footer describes a column in a way that it does not
        # expect, so column metadata is read only where it is needed
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
        # The last range also takes row groups that a damaged footer places after the end of the
        # file
        if split.start <= middle and (middle < end or end >= split.size):
            yield number


def _found(name: str, names: Sequence[str], what: str) -> str:
    """The member of ``names`` that Spark finds for ``name``, ignoring case."""
    if name in names:
        return name
    alike = [other for other in names if other.lower() == name.lower()]
    if len(alike) != 1:
        there = f"there is no {what} {name!r}; there are {', '.join(names)}"
        raise _Unfit(there if not alike else f"{name!r} may be {' or '.join(alike)}")
    return alike[0]


def _fitted(values: pa.Array, wanted: pa.DataType, what: str) -> pa.Array:
    """``values`` as the type ``wanted``. Raises _Unfit if their type cannot be converted without
    loss, or if a value is out of range."""
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
    """The positions at which the lists begin; null for a list that is null."""
    if not values.null_count:
        return values.offsets
    last = pa.array([False])
    missing = pa.concat_arrays([values.is_null(), last])
    return pc.if_else(missing, pa.scalar(None, pa.int32()), values.offsets)


def _widens(kind: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether values of ``kind`` are values of ``wanted`` too; the cast checks their range."""
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
        # Spark reads a timestamp without a zone as UTC, but none with a zone as one without
        return (is_in.is_timestamp(kind) and (wanted.tz is not None or kind.tz is None)) or (
            is_in.is_date(kind) and wanted.tz is None
        )
    return bool(kind == wanted)


def _shown(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema)
