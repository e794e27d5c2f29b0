"""Chooses the format that reads the files of a ``FileSource`` in the worker, if there is one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from flinkish.api.connectors.file_source import FileSource
from flinkish.api.errors import NotSupportedError
from flinkish.api.types.table_schema import ColumnType
from flinkish.runtime.formats.arrow_types import arrow_schema
from flinkish.runtime.formats.base import FileFormat
from flinkish.runtime.formats.csv_format import CsvFormat
from flinkish.runtime.formats.json_format import JsonFormat
from flinkish.runtime.formats.json_values import json_object
from flinkish.runtime.formats.lines import TextFormat
from flinkish.runtime.formats.parquet_format import ParquetFormat
from flinkish.runtime.formats.text_values import value_type

_CORRUPT_RECORD = "_corrupt_record"
"""The column for malformed records of Spark's readers, if the schema has it."""


def file_format(
    source: FileSource[Any], schema: ColumnType | None, timeZone: str = "UTC"
) -> FileFormat | None:
    """The format that reads the files of ``source``, which has ``schema`` (None: lines). None if
    only Spark's reader can read them, as options or types are not known here. ``timeZone`` is the
    session's, for timestamps without a zone."""
    options = _Options(source.options)
    found: FileFormat | None = None
    if schema is None:
        found = TextFormat()
    elif not schema.fields or _CORRUPT_RECORD in schema.fieldNames:
        return None
    elif source.format == "csv":
        found = _csv(schema, timeZone, options)
    elif source.format == "json" and options.strict():
        root = json_object(schema, timeZone)
        found = None if root is None else JsonFormat(root)
    elif source.format == "parquet":
        found = _parquet(schema, timeZone)
    return found if options.known() else None


def check_dead_letters(source: FileSource[Any], format: FileFormat | None) -> None:  # noqa: A002
    """Raises NotSupportedError if Spark reads ``source`` and a side output should get misfits."""
    if source.malformedRecords is not None and format is None:
        options = ", ".join(f"{name}={value!r}" for name, value in source.options.items())
        raise NotSupportedError(
            f"FileSource.withMalformedRecords: with {options or 'this schema or path'} the"
            f" {source.format} files of {source.path} are read by Spark, which does not say what does"
            " not fit. Leave the options out, read columns of unusual types as strings and convert"
            " them in a map, and read files that every worker can open; or leave"
            " withMalformedRecords out."
        )


class _Options:
    """The options of Spark's reader, with names in any case. An option that nobody took is not
    supported here, so Spark's reader must read the files."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._values = {name.lower(): str(value) for name, value in options.items()}

    def take(self, default: str, *names: str) -> str:
        """The value of the option, by the first of its names that is given."""
        taken = [self._values.pop(name, None) for name in names]
        return next((value for value in taken if value is not None), default)

    def flag(self, name: str) -> bool | None:
        """The value of an option that is true or false, None if it is neither."""
        return {"true": True, "false": False}.get(self.take("false", name).lower())

    def strict(self) -> bool:
        """Whether the options of both CSV and JSON are those that are supported here: UTF-8, no
        multi-line mode, and an error for a record that does not fit."""
        encoding = self.take("utf-8", "encoding", "charset").lower()
        mode = self.take("FAILFAST", "mode").upper()
        multi_line = self.flag("multiline")
        return encoding in ("utf-8", "utf8") and mode == "FAILFAST" and multi_line is False

    def known(self) -> bool:
        """Whether all given options were taken."""
        return not self._values


def _csv(schema: ColumnType, timeZone: str, options: _Options) -> FileFormat | None:
    kinds = [value_type(kind, timeZone) for _, kind in schema.fields]
    separator = options.take(",", "sep", "delimiter")
    separator = "\t" if separator == "\\t" else separator
    quote = options.take('"', "quote")
    escape = options.take('"', "escape")
    null = options.take("", "nullvalue")
    header = options.flag("header")
    by_position = options.flag("enforceschema")
    characters = [separator, quote, escape]
    if (
        not options.strict()
        or header is None
        or by_position is None
        or any(len(c) != 1 or not c.isascii() or c in "\r\n\0 " for c in characters)
        or any(c.isalnum() or c in "+-." for c in characters)
        or separator in (quote, escape)
        or any(c in null for c in ("\r", "\n", separator, quote))
        or len(set(schema.fieldNames)) < len(schema.fields)
    ):
        return None
    known = tuple(kind for kind in kinds if kind is not None)
    if len(known) < len(kinds):
        return None
    names = tuple(schema.fieldNames)
    return CsvFormat(names, known, separator, quote, escape, null, header, not by_position)


def _parquet(schema: ColumnType, timeZone: str) -> FileFormat | None:
    try:
        columns = arrow_schema(schema)
    except NotSupportedError:
        return None
    kinds = [field.type for field in columns]
    return ParquetFormat(
        pa.schema([(n, _in_zone(kind, timeZone)) for n, kind in zip(columns.names, kinds)])
    )


def _in_zone(kind: pa.DataType, timeZone: str) -> pa.DataType:
    """``kind`` with its timestamps in the session's time zone, as Spark passes them."""
    if pa.types.is_struct(kind):
        return pa.struct([(part.name, _in_zone(part.type, timeZone)) for part in kind])
    if pa.types.is_map(kind):
        return pa.map_(_in_zone(kind.key_type, timeZone), _in_zone(kind.item_type, timeZone))
    if pa.types.is_list(kind):
        return pa.list_(_in_zone(kind.value_type, timeZone))
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return pa.timestamp("us", timeZone)
    return kind
