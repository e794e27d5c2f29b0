"""Serializes a whole run of elements at once, if the schema is one of flinkish's."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from flinkish.api.connectors.kafka.serialization import (
    BuiltSerialization,
    KafkaRecordSerializationSchema,
)
from flinkish.api.connectors.schemas import (
    ByteArraySchema,
    JsonSerializationSchema,
    SerializationSchema,
    SimpleStringSchema,
)
from flinkish.api.errors import FlinkishError
from flinkish.api.types.row import Row
from flinkish.runtime.formats.json_lines import JsonLine, json_lines
from flinkish.runtime.records.rows import RowColumns

FEW_DICTS = 256
"""Fewer dicts are written one by one, as columns of them would take longer."""

_OF_TYPES = {
    frozenset({str}): pa.string(),
    frozenset({int}): pa.int64(),
    frozenset({float}): pa.float64(),
    frozenset({bool}): pa.bool_(),
}
"""The column type for values of one type or None."""


class RunOfRecords(NamedTuple):
    """The records of a run of elements, all for one topic."""

    topic: str
    keys: Sequence[bytes | None]
    values: Sequence[bytes]


@dataclass(frozen=True)
class RunSerialization:
    """Serializes the records of a whole run. Partitions are left to librdkafka's partitioner:
    compared with its other work for a record, the cost of hashing the key cannot be measured
    (decision 55)."""

    topic: str
    key: SerializationSchema[Any] | None
    value: SerializationSchema[Any]
    line: JsonLine

    @staticmethod
    def of(schema: KafkaRecordSerializationSchema[Any], timeZone: str) -> RunSerialization | None:
        """The serialization for ``schema``; None if it must be called for each element."""
        if type(schema) is not BuiltSerialization or schema.topic is None:
            return None
        if schema.partitioner is not None or schema.headerProvider is not None:
            return None
        known = (JsonSerializationSchema, SimpleStringSchema, ByteArraySchema)
        parts = [part for part in (schema.valueSchema, schema.keySchema) if part is not None]
        if any(type(part) not in known for part in parts):
            return None
        line = JsonLine(timeZone)
        return RunSerialization(schema.topic, schema.keySchema, schema.valueSchema, line)

    def records(self, elements: Sequence[Any]) -> RunOfRecords | None:
        """The records of ``elements``; None if an element does not, or may not, fit."""
        values = self._serialized(self.value, elements)
        keys: Sequence[bytes | None] | None = [None] * len(elements)
        if self.key is not None and values is not None:
            keys = self._serialized(self.key, elements)
        if values is None or keys is None:
            return None
        return RunOfRecords(self.topic, keys, values)

    def _serialized(
        self, schema: SerializationSchema[Any], elements: Sequence[Any]
    ) -> Sequence[bytes] | None:
        if isinstance(schema, JsonSerializationSchema):
            return self._json(elements)
        kinds = set(map(type, elements))
        if isinstance(schema, SimpleStringSchema):
            charset = schema.charset
            return [e.encode(charset, "replace") for e in elements] if kinds <= {str} else None
        return list(elements) if kinds <= {bytes} else None

    def _json(self, elements: Sequence[Any]) -> Sequence[bytes] | None:
        if isinstance(elements, RowColumns) and not elements.mayDiffer:
            lines = _json_of_columns(elements)
            if lines is not None:
                return lines
        elif len(elements) >= FEW_DICTS and set(map(type, elements)) == {dict}:
            lines = _json_of_dicts(elements)
            if lines is not None:
                return lines
        line = self.line
        try:
            return [line(element).encode("utf-8", "replace") for element in elements]
        except (FlinkishError, RecursionError):
            # Raised again, with the element, when elements are written one by one
            return None


def _json_of_columns(elements: RowColumns) -> Sequence[bytes] | None:
    """The elements as JSON; None unless their columns give the text that they give singly."""
    shape = elements.shape
    if not shape.flat or not _is_object(shape.kind, shape.names):
        return None
    columns = [_decoded(column) for column in elements.batch.columns]
    if not all(_is_plain(column.type) for column in columns):
        return None
    batch = pa.RecordBatch.from_arrays(columns, names=list(shape.names))
    lines: list[bytes] = json_lines(batch).cast(pa.binary()).to_pylist()
    return lines


def _json_of_dicts(elements: Sequence[dict[Any, Any]]) -> Sequence[bytes] | None:
    """The dicts as JSON; None unless all have the same names, of one type each, in order."""
    names = tuple(elements[0])
    if not names or any(type(name) is not str for name in names):
        return None
    if any(tuple(element) != names for element in elements):
        return None
    columns = []
    for name in names:
        values = [element[name] for element in elements]
        kind = _OF_TYPES.get(frozenset(map(type, values)) - {type(None)})
        if kind is None:
            return None
        try:
            columns.append(pa.array(values, kind))
        except (pa.ArrowException, UnicodeError, OverflowError):
            # Half of a surrogate pair, or a number beyond 64 bits
            return None
    lines: list[bytes] = (
        json_lines(pa.RecordBatch.from_arrays(columns, names=list(names)))
        .cast(pa.binary())
        .to_pylist()
    )
    return lines


def _is_object(kind: type[Any] | None, names: tuple[str, ...]) -> bool:
    """Whether elements of ``kind`` are JSON objects with these names."""
    if kind is Row:
        return True
    if kind is None:
        return False
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind)) == names
    return getattr(kind, "_fields", None) == names


def _decoded(column: pa.Array) -> pa.Array:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _is_plain(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_integer(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_float64(kind)
    )
