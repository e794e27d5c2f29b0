"""The columns that sinks write, as Spark has them."""

from __future__ import annotations

from pyspark.sql.types import StructType

from flinkish.deployment.sink_columns import written_schema
from flinkish.graph.stream_graph import StreamNode


def sink_schema(node: StreamNode) -> StructType | None:
    """The columns that a sink writes, None if it writes none.

    Raises InvalidProgramError if it needs columns and the elements' type does not give them.
    """
    schema = written_schema(node)
    struct = StructType.fromDDL(schema) if isinstance(schema, str) else schema
    assert struct is None or isinstance(struct, StructType)
    return struct
