"""The columns that sinks write: those of their schema, or else of the elements' type."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from flinkish.api.connectors.file_sink import FileSink
from flinkish.api.connectors.sink import DataFrameSink, ForEachBatchDataFrameSink
from flinkish.api.errors import InvalidProgramError
from flinkish.api.types.columns import columns_of, have_columns
from flinkish.api.types.table_schema import table_schema
from flinkish.graph.stream_graph import StreamNode
from flinkish.runtime.formats.arrow_types import arrow_schema
from flinkish.runtime.formats.csv_lines import check_csv
from flinkish.runtime.formats.json_lines import check_json
from flinkish.runtime.records.columns import ElementColumns
from flinkish.runtime.sinks.buckets import BUCKET, Buckets
from flinkish.runtime.sinks.lines import LineWriter
from flinkish.runtime.sinks.part_files import PartFiles


def sink_columns(node: StreamNode) -> ElementColumns | None:
    """The conversion of elements for a sink that writes columns; None for any other sink."""
    schema = written_schema(node)
    if schema is None:
        return None
    given = getattr(node.content, "schema", None) is not None
    whole = not given and not node.elementType.isComposite()
    columns = ElementColumns(node.name, arrow_schema(table_schema(schema)), whole)
    if isinstance(node.content, FileSink):
        _check_columns(node.name, node.content.format, columns.schema)
    if sink_buckets(node) is not None and BUCKET in columns.schema.names:
        raise InvalidProgramError(
            f"{node.name}: the elements have a field {BUCKET!r}, and so are the directories named that a"
            " BucketAssigner makes. Give the field another name."
        )
    return columns


def sink_buckets(node: StreamNode) -> Buckets | None:
    """The ``Buckets`` of a sink with a BucketAssigner; None for any other sink."""
    sink = node.content
    if not isinstance(sink, FileSink) or sink.bucketAssigner is None:
        return None
    return Buckets(node.name, sink.bucketAssigner)


def line_writer(node: StreamNode, timeZone: str = "UTC") -> LineWriter | None:
    """The ``LineWriter`` of a FileSink; None for Parquet, or with options that only Spark knows."""
    sink = node.content
    if not isinstance(sink, FileSink) or sink.format == "parquet":
        return None
    columns = sink_columns(node)
    options = {name.lower(): value for name, value in sink.options.items()}
    separator, header = ",", "false"
    if sink.format == "csv" and columns is not None:
        separator = options.pop("sep", options.pop("delimiter", ","))
        separator = "\t" if separator == "\\t" else separator
        header = options.pop("header", "false").lower()
    single = len(separator) == 1 and separator not in '"\r\n'
    if options or not single or header not in ("true", "false"):
        return None
    names = None if columns is None else tuple(columns.schema.names)
    return LineWriter(
        sink=node.name,
        format=sink.format,
        columns=names,
        timeZone=timeZone,
        separator=separator,
        header=header == "true",
        encoder=sink.encoder,
    )


def part_files(node: StreamNode, directory: str, timeZone: str) -> PartFiles | None:
    """The ``PartFiles`` with which tasks write the files of a sink in ``directory``; None if tasks
    cannot, as for a sink with buckets, or with options or types that only Spark knows."""
    sink = node.content
    if not isinstance(sink, FileSink) or sink.bucketAssigner is not None:
        return None
    writer = line_writer(node, timeZone)
    if writer is None:
        columns = sink_columns(node)
        if sink.format != "parquet" or sink.options or columns is None:
            return None
        if any(map(_has_durations, columns.schema.types)):
            return None
    return PartFiles(directory, "txt" if sink.format == "text" else sink.format, node.name, writer)


def _has_durations(kind: pa.DataType) -> bool:
    """Whether there are intervals in ``kind``, which only files of Spark's tell from numbers."""
    parts = (kind.field(number).type for number in range(kind.num_fields))
    return pa.types.is_duration(kind) or any(map(_has_durations, parts))


def _check_columns(sink: str, format_: str, schema: pa.Schema) -> None:
    """Raises InvalidProgramError if files of the format cannot hold columns of ``schema``."""
    twice = next((name for name in schema.names if schema.names.count(name) > 1), None)
    if twice is not None:
        raise InvalidProgramError(
            f"{sink}: the schema names the column {twice!r} twice. Give each column a different name."
        )
    if format_ == "csv":
        check_csv(schema, sink)
    elif format_ == "json":
        check_json(schema, sink)


def written_schema(node: StreamNode) -> Any:
    """The columns that a sink writes, as a DDL string or a StructType; None if it writes no
    columns. Raises InvalidProgramError if it needs columns and the elements' type does not give
    them."""
    sink, elements = node.content, node.elementType
    if isinstance(sink, (DataFrameSink, ForEachBatchDataFrameSink)):
        return columns_of(elements, node.name) if sink.schema is None else sink.schema
    if not isinstance(sink, FileSink) or sink.format == "text":
        return None
    if sink.schema is not None:
        return sink.schema
    if sink.format == "parquet" or sink.options:
        return columns_of(elements, node.name)
    # The fields of a JSON object have names
    fits = elements.isComposite() if sink.format == "csv" else bool(elements.fields)
    return columns_of(elements, node.name) if fits and have_columns(elements) else None
