"""``RowColumns``: elements that stay Arrow columns until a function needs one of them.

A run of such elements crosses a shuffle as Arrow, and a key or timestamp that is a field is read as
a whole column. The columns are converted to objects once, when a function first needs one. The
elements are Rows of a table, or the results of traced functions: tuples, dataclasses, single
values.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import chain, compress, pairwise, repeat
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from flinkish.api.errors import MalformedRecordError
from flinkish.api.stored_values import pickled, unpickled
from flinkish.api.types.fields import Field
from flinkish.api.types.row import Row, row_type
from flinkish.runtime.records.packing import packed, repeats, short_codes, unpacked, with_texts
from flinkish.runtime.records.partly_read import Columns, PartlyRead
from flinkish.runtime.records.shapes import VALUE, Shape, row_shape, tuple_shape

_SAMPLE = 1 << 13
"""The number of texts of a column that are examined to decide whether its texts repeat."""

_OBJECTS_AT_ONCE = 1 << 8

_OF_TUPLE = "flinkish.tuple."
"""Before the number of each field of a struct that is a key of several values, not a Row of a table."""


class RowColumns(Sequence[Any]):
    """The rows of an Arrow batch as a sequence of elements of ``shape``, by default Rows. If the
    rows are read in part, ``columns`` gives single columns, and ``batch`` reads the rest."""

    __slots__ = ("_codes", "_encoded", "_lists", "_rows", "_shape", "columns")

    def __init__(
        self,
        columns: Columns,
        shape: Shape | None = None,
        codes: dict[int, pa.DictionaryArray] | None = None,
    ) -> None:
        self.columns = columns
        self._shape = shape
        self._encoded: dict[int, pa.DictionaryArray] = {}
        self._codes = {} if codes is None else codes
        """The columns of texts that are known to repeat; frames contain their codes."""
        self._lists: dict[int, list[Any]] = {}
        self._rows: list[Any] | None = None

    @classmethod
    def ofBytes(cls, data: bytes | memoryview, shape: Shape | None = None) -> RowColumns:
        """The elements that ``toBytes`` encoded."""
        with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
            columns, codes = unpacked(reader.read_next_batch())
        return cls(columns, shape, codes)

    def toBytes(self) -> bytes:
        """The columns in Arrow's format."""
        batch = packed(self.columns, self._codes)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        return bytes(sink.getvalue().to_pybytes())

    @property
    def batch(self) -> pa.RecordBatch:
        columns = self.columns
        return columns.whole() if isinstance(columns, PartlyRead) else columns

    @property
    def schema(self) -> pa.Schema:
        return self.columns.schema

    @property
    def shape(self) -> Shape:
        if self._shape is None:
            self._shape = row_shape(self.schema.names)
        return self._shape

    @property
    def ofRows(self) -> bool:
        """Whether the elements are Rows with the columns as fields."""
        return self._shape is None or (self._shape.kind is Row and self._shape.flat)

    @property
    def nested(self) -> bool:
        """Whether elements are mutable: objects that are, or have lists, maps or structs."""
        mutable = self._shape is not None and self._shape.mutable
        return mutable or any(map(pa.types.is_nested, self.schema.types))

    @property
    def mayDiffer(self) -> bool:
        """Whether a function may have changed an object, so that it differs from its columns."""
        return self._rows is not None and self.nested

    def anew(self) -> RowColumns:
        """The same elements, with new objects."""
        return RowColumns(self.columns, self._shape)

    def shaped(self, shape: Shape) -> RowColumns:
        """The same columns as elements of another shape."""
        return RowColumns(self.columns, shape, dict(self._codes))

    def column(self, field: Field) -> int | None:
        """The index of the column that holds ``field`` of an element; None if there is none, or if
        that depends on the element."""
        names = self.schema.names
        if not self.ofRows:
            shape = self.shape
            positioned = isinstance(field, int) and 0 <= field < len(shape.parts) and shape.flat
            tuples = shape.kind is not None and issubclass(shape.kind, tuple)
            return int(field) if positioned and tuples else None
        if isinstance(field, int):
            return field if 0 <= field < len(names) else None
        # A name such as asDict is a method of Row and not a field
        return names.index(field) if field in names and field not in vars(Row) else None

    def arrow(self, column: int) -> pa.Array:
        """A column as an Arrow array."""
        return self.columns.column(column)

    def encoded(self, column: int) -> pa.DictionaryArray:
        """A column as a dictionary array: its distinct values, and each row's index in them."""
        values = self._codes.get(column, self._encoded.get(column))
        if values is None:
            values = self._encoded[column] = encoded(self.columns.column(column))
        return values

    def withEncoded(self, column: int) -> RowColumns:
        """The same rows with ``column`` dictionary-encoded, which takes less space."""
        values = short_codes(self.encoded(column))
        schema = self.schema.set(column, pa.field(self.schema.names[column], values.type))
        codes = {number: texts for number, texts in self._codes.items() if number != column}
        columns = {**self._besides({*codes, column}), column: values}
        return RowColumns(with_texts(schema, len(self), columns, codes), self._shape, codes)

    def encodeTexts(self) -> None:
        """Encode the columns whose texts repeat, for smaller frames that are read faster."""
        for number, kind in enumerate(self.schema.types):
            if pa.types.is_string(kind) and number not in self._codes:
                sample = self.arrow(number).slice(0, _SAMPLE)
                if pc.count_distinct(sample).as_py() * 8 <= len(sample) * 7:
                    codes = self.encoded(number)
                    if repeats(codes):
                        self._codes[number] = codes

    def values(self, column: int) -> list[Any]:
        values = self._lists.get(column)
        if values is None:
            values = self._lists[column] = self._python_values(column)
        return values

    def _python_values(self, column: int) -> list[Any]:
        try:
            codes = self._codes.get(column)
            return python_values(self.columns.column(column) if codes is None else codes)
        except (ValueError, OverflowError, pa.ArrowException) as error:
            raise MalformedRecordError(
                f"the column {self.schema.names[column]!r} has a value that Python cannot represent:"
                f" {error}. Python's dates are of the years 1 to 9999: filter or convert such rows"
                " before they are read."
            ) from None

    def rows(self) -> list[Any]:
        """The objects, created once and kept."""
        if self._rows is None:
            self._rows = list(self.passing())
        return self._rows

    def passing(self) -> Iterator[Any]:
        """The objects, created one by one and not kept, for a reader that needs them only once."""
        if self._rows is not None:
            return iter(self._rows)
        columns = [self.values(i) for i in range(len(self.schema))]
        return iter(self.shape.made(columns))

    def parts(self, bounds: Sequence[int]) -> Iterator[list[Any]]:
        """The objects between each bound and the next, created a few at a time and not kept, so
        that they stay in the processor's cache."""
        columns = [self.values(i) for i in range(len(self.schema))]
        made: list[Any] = []
        begin = end = bounds[0]
        for first, last in pairwise(bounds):
            if last > end:
                # Create the objects of several small parts at once
                begin, end = first, max(last, min(first + _OBJECTS_AT_ONCE, bounds[-1]))
                made = list(self.shape.made([column[begin:end] for column in columns]))
            yield made[first - begin : last - begin]

    def take(self, positions: NDArray[np.intp]) -> RowColumns:
        """The elements at ``positions``, in that order."""
        indices = pa.array(positions)
        return self._part(lambda columns: columns.take(indices))

    def kept(self, kept: NDArray[np.bool_]) -> RowColumns:
        """The elements for which ``kept`` is true, with their objects if they have been created."""
        mask = pa.array(kept)
        part = self._part(lambda columns: columns.filter(mask))
        if self._rows is not None:
            part._rows = list(compress(self._rows, kept))
        return part

    def between(self, start: int, end: int) -> RowColumns:
        """The elements from ``start`` to before ``end``."""
        return self._part(lambda columns: columns.slice(start, end - start))

    def _part(self, of: Callable[[Any], Any]) -> RowColumns:
        """The elements that ``of`` selects from all columns, or from one; codes stay codes."""
        columns, codes = self.columns, self._codes
        if codes and not isinstance(columns, PartlyRead):
            columns = with_texts(self.schema, len(self), self._besides(codes), codes)
        taken = {number: of(column) for number, column in codes.items()}
        return RowColumns(of(columns), self._shape, taken)

    def _besides(self, numbers: Container[int]) -> dict[int, pa.Array]:
        """All columns except ``numbers``."""
        return {n: self.arrow(n) for n in range(len(self.schema)) if n not in numbers}

    def __len__(self) -> int:
        return int(self.columns.num_rows)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.rows())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            start, end, step = index.indices(len(self))
            if step == 1:
                return self.between(start, max(start, end))
        return self.rows()[index]


def joined(runs: Sequence[RowColumns]) -> Sequence[Any]:
    """Runs of one schema as one run; of columns if the runs have one shape too."""
    shape = runs[0].shape
    if any(run.shape != shape for run in runs):
        return list(chain.from_iterable(runs))
    parts = [run.columns for run in runs if isinstance(run.columns, PartlyRead)]
    together = PartlyRead.joined(parts) if len(parts) == len(runs) else None
    if together is not None:
        return RowColumns(together, shape)
    try:
        return RowColumns(concatenated([run.batch for run in runs]), shape)
    except pa.ArrowCapacityError:
        return list(chain.from_iterable(runs))


def encoded(column: pa.Array) -> pa.DictionaryArray:
    """``column`` as a dictionary array: its distinct values, and each row's index in them."""
    if pa.types.is_dictionary(column.type):
        return column
    shape = tuple_shape_of(column.type)
    if shape is not None:
        return encoded_tuples(list(map(encoded, column.flatten())), shape)
    return column.dictionary_encode(null_encoding="encode")


def encoded_tuples(
    parts: Sequence[pa.DictionaryArray], shape: Shape | None = None
) -> pa.DictionaryArray:
    """A column of tuples, or of Rows or NamedTuples of ``shape``, of whose ``parts`` each is a column,
    as a dictionary array."""
    first, *others = parts
    codes = first.indices.to_numpy().astype(np.intp)
    of_parts = [np.arange(len(first.dictionary))]
    for part in others:
        count = len(part.dictionary)
        codes, distinct = grouped(pa.array(codes * count + part.indices.to_numpy()))
        before, last = np.divmod(distinct.to_numpy(), max(count, 1))
        of_parts = [*(numbers[before] for numbers in of_parts), last]
    columns = [part.dictionary.take(pa.array(numbers)) for part, numbers in zip(parts, of_parts)]
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), tuples(columns, shape))


def tuples(parts: Sequence[pa.Array], shape: Shape | None = None) -> pa.StructArray:
    """A column of tuples, or of Rows or NamedTuples of ``shape``."""
    prefix = _OF_TUPLE
    if shape is not None and shape.kind is not tuple:
        flat = Shape(shape.kind, shape.names, (VALUE,) * len(parts))
        prefix = f"{_OF_TUPLE}{pickled(flat).hex()}."
    names = [f"{prefix}{number}" for number in range(len(parts))]
    return pa.StructArray.from_arrays(parts, names=names)


def tuple_shape_of(kind: pa.DataType) -> Shape | None:
    """The shape of the keys of several values that a column of type ``kind`` holds; None if it holds
    others."""
    if not (pa.types.is_struct(kind) and kind.num_fields and kind[0].name.startswith(_OF_TUPLE)):
        return None
    stored = kind[0].name[len(_OF_TUPLE) :].partition(".")[0]
    inner = tuple(tuple_shape_of(field.type) or VALUE for field in kind)
    if stored == "0":
        return tuple_shape(inner)
    flat: Shape = unpickled(bytes.fromhex(stored))  # not cached: a notebook defines classes anew
    return Shape(flat.kind, flat.names, inner)


def leaves_of(column: pa.Array) -> list[pa.Array]:
    """The columns of the parts of tuples, and of the parts of these."""
    if tuple_shape_of(column.type) is None:
        return [column]
    return [leaf for part in column.flatten() for leaf in leaves_of(part)]


def grouped(keys: pa.Array) -> tuple[NDArray[np.intp], pa.Array]:
    """The number of each key, and the distinct keys in the order of their numbers."""
    codes = encoded(keys)
    return codes.indices.to_numpy().astype(np.intp), codes.dictionary


def by_code(codes: NDArray[np.intp], count: int) -> NDArray[np.intp]:
    """The positions of ``codes``, below ``count``, stably sorted by the codes."""
    # NumPy sorts 16-bit numbers in a tenth of the time
    small = codes.astype(np.uint16) if count <= 1 << 16 else codes
    return np.argsort(small, kind="stable")


def bounds_of(counts: NDArray[np.intp]) -> NDArray[np.intp]:
    """Where each of consecutive parts with these ``counts`` begins, and where the last ends."""
    return np.concatenate([[0], np.cumsum(counts)])


def decoded(batch: pa.RecordBatch) -> pa.RecordBatch:
    """``batch`` without dictionaries, which differ by run, and metadata of single fields."""
    columns = [
        column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
        for column in batch.columns
    ]
    fields = [(name, column.type) for name, column in zip(batch.schema.names, columns)]
    schema = pa.schema(fields, metadata=batch.schema.metadata)
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def concatenated(runs: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """``runs`` of one schema as one. Raises ArrowCapacityError if one column has too much text."""
    if len(runs) == 1:
        return runs[0]
    whole, *others = pa.Table.from_batches(runs).combine_chunks().to_batches()
    if others:
        raise pa.ArrowCapacityError(
            "a column of these elements has more than 2 GiB, which Arrow does not hold in one piece:"
            " let batches be smaller, or raise the parallelism"
        )
    return whole


def integer_column(values: Sequence[Any], field: Field | None) -> NDArray[np.int64] | None:
    """The column ``field`` of ``values`` if it is one of integers without nulls, else None."""
    if not isinstance(values, RowColumns) or field is None:
        return None
    number = values.column(field)
    if number is None:
        return None
    column = values.arrow(number)
    if column.null_count or not pa.types.is_integer(column.type):
        return None
    integers: NDArray[np.int64] = column.to_numpy().astype(np.int64)
    return integers


def python_values(column: pa.Array) -> list[Any]:
    kind = column.type
    plain = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    if column.null_count == 0 and (plain or pa.types.is_string(kind)):
        # to_pylist() creates a scalar object for every value first and takes five times as long
        return list(column.to_numpy(zero_copy_only=False).tolist())
    if pa.types.is_dictionary(kind):
        if column.null_count or len(column) < len(column.dictionary):
            # A null has no index, and a slice of a long column has the whole dictionary
            return python_values(column.dictionary_decode())
        values = python_values(column.dictionary)
        distinct = np.fromiter(values, dtype=object, count=len(values))
        return list(distinct[column.indices.to_numpy()].tolist())
    if pa.types.is_nested(kind):
        return nested_values(column)
    return list(column.to_pylist())


def nested_values(column: pa.Array) -> list[Any]:
    """The values of a column of structs, maps or lists as Rows, dicts and lists, as in PySpark;
    pyarrow would convert structs to dicts and maps to pairs. Those of ``encoded_tuples`` are tuples."""
    kind = column.type
    shape = tuple_shape_of(kind)
    if shape is not None:
        return list(shape.made(list(map(python_values, leaves_of(column)))))
    if pa.types.is_struct(kind):
        make = row_type(tuple(kind.field(i).name for i in range(kind.num_fields))).make
        parts = [python_values(part) for part in column.flatten()]
        rows = zip(*parts) if parts else repeat((), len(column))
        values: Iterable[Any] = map(make, rows)
    elif pa.types.is_map(kind):
        keys, items = _runs(column, column.keys), _runs(column, column.items)
        values = map(dict, map(zip, keys, items))
    elif pa.types.is_list(kind):
        values = _runs(column, column.values)
    else:
        return list(column.to_pylist())
    present = column.is_valid().to_pylist()
    return [value if there else None for there, value in zip(present, values)]


def _runs(column: pa.Array, contents: pa.Array) -> Iterator[list[Any]]:
    """``contents``, of all lists or maps of ``column``, divided into those of each."""
    offsets = column.offsets.to_pylist()
    start, end = offsets[0], offsets[-1]
    items = python_values(contents.slice(start, end - start))
    return (items[first - start : last - start] for first, last in pairwise(offsets))
