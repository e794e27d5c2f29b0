"""PyFlink's Table API for queries that need no state; its other names say what to write instead."""

from typing import NoReturn

from flinkish.api.absent import AbsentNameError
from flinkish.pyflink.table.schema import Schema as Schema
from flinkish.pyflink.table.table import Table as Table
from flinkish.pyflink.table.table import TableResult as TableResult
from flinkish.pyflink.table.table_environment import EnvironmentSettings as EnvironmentSettings
from flinkish.pyflink.table.table_environment import (
    StreamTableEnvironment as StreamTableEnvironment,
)
from flinkish.pyflink.table.table_environment import TableConfig as TableConfig
from flinkish.pyflink.table.types import DataTypes as DataTypes
from flinkish.pyflink.table.udf import ScalarFunction as ScalarFunction

_FIXES = {
    "TableEnvironment": "Write StreamTableEnvironment.create(env).",
    "TableDescriptor": "Write env.from_source(...) and create_temporary_view(name, stream).",
    "StatementSet": "Write to_data_stream(table) and sink_to(sink) for each.",
    "Module": "Leave it out.",
}


def __getattr__(name: str) -> NoReturn:
    if not name[:1].isupper():  # what Python and its tools ask every module for
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    fix = _FIXES.get(
        name,
        "StreamTableEnvironment runs queries without state; for others call key_by(...) on the stream, or"
        " continue in Spark with stream.core.toDataFrame().",
    )
    raise AbsentNameError(f"{__name__} has no {name}. {fix}")
