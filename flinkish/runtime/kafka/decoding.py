"""Converts messages of Kafka to runs of records, by their schema."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from flinkish.api.connectors.kafka.avro import ConfluentRegistryAvroDeserializationSchema
from flinkish.api.connectors.kafka.deserialization import (
    KafkaRecordDeserializationSchema,
    ValueOnlyDeserialization,
)
from flinkish.api.connectors.kafka.records import ConsumerRecord, MalformedKafkaRecord
from flinkish.api.connectors.schemas import JsonDeserializationSchema, SimpleStringSchema
from flinkish.api.errors import NotSupportedError, said_by
from flinkish.api.functions.functions import Collector
from flinkish.api.types.row import Row
from flinkish.api.types.table_schema import table_schema
from flinkish.api.types.type_info import TypeInformation
from flinkish.runtime.formats.base import ReadResult
from flinkish.runtime.formats.json_format import JsonFormat
from flinkish.runtime.formats.json_values import JsonReader, NotJson, json_object
from flinkish.runtime.formats.lines import NOT_UTF8, LineBlock
from flinkish.runtime.formats.text_values import NotOfType
from flinkish.runtime.kafka.avro import AvroDecoder
from flinkish.runtime.kafka.messages import Maker, MessageDecoder, Messages, maker
from flinkish.runtime.records.copies import copied, immutable
from flinkish.runtime.records.records import Records, timestamps_of
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.records.shapes import VALUE, Shape
from flinkish.runtime.records.user_code import user_code_of

FEW_MESSAGES = 16
"""Up to this many messages are parsed one by one if one of them does not fit."""


def message_decoder(
    schema: KafkaRecordDeserializationSchema[Any], timeZone: str, malformedGoOut: bool
) -> MessageDecoder:
    """The decoder of a schema. ``timeZone`` is for timestamps in JSON that name none. With
    ``malformedGoOut`` a message for which the user's schema raises an error counts as malformed."""
    if isinstance(schema, ValueOnlyDeserialization):
        values = schema.schema
        if type(values) is SimpleStringSchema:
            return StringDecoder(values.charset)
        if isinstance(values, JsonDeserializationSchema):
            return json_decoder(values, timeZone)
        if isinstance(values, ConfluentRegistryAvroDeserializationSchema):
            return AvroDecoder(values)
    return SchemaDecoder(schema, malformedGoOut)


@dataclass(frozen=True)
class StringDecoder(MessageDecoder):
    charset: str

    def decode(self, messages: Messages) -> Iterator[ReadResult]:
        messages = messages.withValues()
        values = messages.values()
        charset = self.charset
        texts = [value.decode(charset, "replace") for value in values]
        yield Records(texts, timestamps_of(messages.timestamps()))


def json_decoder(schema: JsonDeserializationSchema[Any], timeZone: str) -> MessageDecoder:
    """The decoder of JSON objects. Raises NotSupportedError for types that are not in JSON."""
    columns = table_schema(schema.columns)
    root = json_object(columns, timeZone)
    if root is None:
        raise NotSupportedError(
            f"JsonDeserializationSchema: JSON is not read as all types of {schema.columns}. Use texts, numbers,"
            " booleans, dates, timestamps, lists, maps and objects of these."
        )
    return JsonDecoder(JsonFormat(root), schema.type, schema.made, schema.ignoresParseErrors)


@dataclass(frozen=True)
class JsonDecoder(MessageDecoder):
    """Decodes JSON objects as columns. A row becomes an element by ``made``, or by ``type``."""

    format: JsonFormat
    type: TypeInformation[Any]
    made: Callable[[Any], Any] | None = None
    dropsMalformed: bool = False

    def decode(self, messages: Messages) -> Iterator[ReadResult]:
        messages = messages.withValues()
        malformed: list[MalformedKafkaRecord] = []
        batches: list[pa.RecordBatch] = []
        kept: list[Messages] = []
        for batch, those in self._parts(messages, malformed):
            batches.append(batch)
            kept.append(those)
        rows = pa.concat_batches(batches) if len(batches) > 1 else (batches or [None])[0]
        if rows is not None and rows.num_rows:
            times = [time for those in kept for time in those.timestamps()]
            yield Records(self._elements(rows), timestamps_of(times))
        if not self.dropsMalformed:
            yield from malformed

    def _elements(self, rows: pa.RecordBatch) -> Sequence[Any]:
        if self.made is not None:
            made = self.made
            return [made(row) for row in RowColumns(rows)]
        kind = self.type.typeClass
        if kind is None or kind is Row:
            return RowColumns(rows)
        nested = any(pa.types.is_nested(column) for column in rows.schema.types)
        if nested or any(child.kind == "Enum" for child in self.type.children):
            make = maker(_of_row, self.type)
            return [make(row) for row in RowColumns(rows)]
        names = tuple(rows.schema.names)
        return RowColumns(rows, Shape(kind, names, (VALUE,) * len(names)))

    def _parts(
        self, messages: Messages, malformed: list[MalformedKafkaRecord]
    ) -> Iterator[tuple[pa.RecordBatch, Messages]]:
        """The rows of messages, in batches with these, parsed in the fastest safe way."""
        if not len(messages):
            return
        values = messages.values()
        data = b"\n".join(values)
        if b"\r" not in data and data.count(b"\n") == len(values) - 1:
            rows = self.format.fast(LineBlock(messages.topic, data, 0, None))
            if rows is not None and rows.num_rows == len(values):
                yield rows, messages
                return
        if len(messages) > FEW_MESSAGES and self.format.mayBeFast:
            for half in messages.halves():
                yield from self._parts(half, malformed)
        else:
            yield self._slow(messages, values, malformed)

    def _slow(
        self, messages: Messages, values: list[bytes], malformed: list[MalformedKafkaRecord]
    ) -> tuple[pa.RecordBatch, Messages]:
        rows, kept = [], []
        root = self.format.root
        for message, value in zip(messages.messages, values):
            try:
                found = JsonReader(value.decode()).rows(root)
                if len(found) != 1:
                    raise NotJson(f"it holds {len(found)} objects, and one is expected")
                rows += found
                kept.append(message)
            except UnicodeDecodeError:
                malformed.append(messages.malformed(message, NOT_UTF8))
            except (NotJson, NotOfType) as misfit:
                malformed.append(messages.malformed(message, str(misfit)))
        return self.format.batch(rows), replace(messages, messages=kept)


def _of_row(kind: TypeInformation[Any], children: Sequence[Maker]) -> Maker:
    """The function that converts a Row to an object of ``kind``."""
    made = kind.typeClass

    def of_row(row: Any) -> Any:
        if row is None or made is None or made is Row:
            return row
        parts = zip(kind.fields, children, tuple(row))
        return made(**{name: make(part) for name, make, part in parts})

    return of_row


class _Collected(Collector[Any]):
    """Collects what a schema emits, with a copy of mutable values."""

    def __init__(self) -> None:
        self.values: list[Any] = []

    def collect(self, value: Any) -> None:
        self.values.append(value if immutable(value) else copied(value))


@dataclass(frozen=True)
class SchemaDecoder(MessageDecoder):
    """Decodes each record with a schema of the user's."""

    schema: KafkaRecordDeserializationSchema[Any]
    malformedGoOut: bool

    def decode(self, messages: Messages) -> Iterator[ReadResult]:
        out = _Collected()
        counts: list[int] = []
        malformed: list[MalformedKafkaRecord] = []
        deserialize, values = self.schema.deserialize, out.values
        record: ConsumerRecord | None = None
        with user_code_of("KafkaSource", lambda: record):
            for message in messages.messages:
                record = messages.record(message)
                before = len(values)
                try:
                    deserialize(record, out)
                except Exception as error:
                    if not self.malformedGoOut:
                        raise
                    del values[before:]
                    malformed.append(messages.malformed(message, said_by(error)))
                counts.append(len(values) - before)
        times = np.repeat(timestamps_of(messages.timestamps()), counts)
        if values:
            yield Records(values, times)
        yield from malformed
