"""The columns that sinks write, as types of Spark."""

from __future__ import annotations

from pyspark.sql.types import StringType, StructField, StructType

from flinkish.deployment.sink_columns import sink_buckets, written_schema
from flinkish.graph.stream_graph import StreamNode
from flinkish.runtime.sinks.buckets import BUCKET


def sink_schema(node: StreamNode) -> StructType | None:
    """The columns that a sink writes, including that of its buckets; None if it writes no columns.
    Raises InvalidProgramError if it needs columns and the elements' type does not give them."""
    schema = written_schema(node)
    struct = StructType.fromDDL(schema) if isinstance(schema, str) else schema
    assert struct is None or isinstance(struct, StructType)
    if struct is None or sink_buckets(node) is None:
        return struct
    return StructType([*struct.fields, StructField(BUCKET, StringType())])
