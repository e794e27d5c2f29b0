"""The columns that sinks write: of their schema, or else of the type of the elements."""

from __future__ import annotations

from typing import Any

from flinkish.api.connectors.file_sink import FileSink
from flinkish.api.connectors.sink import DataFrameSink, ForEachBatchDataFrameSink
from flinkish.api.errors import InvalidProgramError
from flinkish.api.types.columns import columns_of, has_basic_fields, have_columns
from flinkish.api.types.table_schema import table_schema
from flinkish.graph.stream_graph import StreamNode
from flinkish.runtime.formats.arrow_types import arrow_schema
from flinkish.runtime.formats.csv_lines import csv_fits
from flinkish.runtime.records.columns import ElementColumns
from flinkish.runtime.sinks.buckets import BUCKET, Buckets
from flinkish.runtime.sinks.lines import element_line
from flinkish.runtime.sinks.part_files import PartFiles


def sink_columns(node: StreamNode) -> ElementColumns | None:
    """The conversion of elements for a sink that writes columns; None for any other sink."""
    schema = written_schema(node)
    if schema is None:
        return None
    given = getattr(node.content, "schema", None) is not None
    whole = not given and not node.elementType.isComposite()
    columns = ElementColumns(node.name, arrow_schema(table_schema(schema)), whole)
    if sink_buckets(node) is not None and BUCKET in columns.schema.names:
        raise InvalidProgramError(
            f"{node.name}: the elements have a field {BUCKET!r}, and so are the directories named that a"
            " BucketAssigner makes. Give the field another name."
        )
    return columns


def sink_buckets(node: StreamNode) -> Buckets | None:
    """What finds the buckets of the elements for a sink that has a BucketAssigner."""
    sink = node.content
    if not isinstance(sink, FileSink) or sink.bucketAssigner is None:
        return None
    return Buckets(node.name, sink.bucketAssigner)


def part_files(node: StreamNode, directory: str, timeZone: str) -> PartFiles | None:
    """What lets the tasks before a sink write its files in ``directory``; None for a sink of which they do not
    know how, as of one with buckets, or with options that are Spark's."""
    sink = node.content
    if not isinstance(sink, FileSink) or sink.options or sink.bucketAssigner is not None:
        return None
    columns = sink_columns(node)
    if columns is None:
        # Spark names files of lines so
        return PartFiles(node.name, directory, "txt", element_line(sink.format, timeZone))
    if sink.format == "csv" and csv_fits(columns.schema):
        return PartFiles(node.name, directory, "csv", None)
    return None


def written_schema(node: StreamNode) -> Any:
    """The columns that a sink writes, as a DDL string or a StructType; None if it writes none.

    Raises InvalidProgramError if it needs columns and the elements' type does not give them.
    """
    sink, elements = node.content, node.elementType
    if isinstance(sink, (DataFrameSink, ForEachBatchDataFrameSink)):
        return columns_of(elements, node.name) if sink.schema is None else sink.schema
    if not isinstance(sink, FileSink) or sink.format == "text":
        return None
    if sink.schema is not None:
        return sink.schema
    if sink.format == "parquet" or sink.options:
        return columns_of(elements, node.name)
    # A line of CSV has no place for a list, and the fields of a JSON object have names.
    fits = has_basic_fields(elements) if sink.format == "csv" else bool(elements.fields)
    return columns_of(elements, node.name) if fits and have_columns(elements) else None
