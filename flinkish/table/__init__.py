"""Stateless queries over streams, with the names of Flink's Table API. Needs ``pip install
'flinkish[table]'``.

>>> from flinkish.table import StreamTableEnvironment

docs/table.md explains it.
"""

from flinkish.api.errors import InvalidProgramError

try:
    import sqlglot  # noqa: F401
except ModuleNotFoundError:
    raise InvalidProgramError(
        "flinkish.table: sqlglot, which parses queries, is not installed. Run pip install 'flinkish[table]'."
    ) from None

import flinkish.table.operator  # noqa: F401  # registers the operator
from flinkish.table.data_types import DataType as DataType
from flinkish.table.data_types import DataTypes as DataTypes
from flinkish.table.environment import StreamTableEnvironment as StreamTableEnvironment
from flinkish.table.environment import Table as Table
from flinkish.table.result import TableResult as TableResult
from flinkish.table.schema import ResolvedSchema as ResolvedSchema
from flinkish.table.schema import Schema as Schema
from flinkish.table.user_functions import UserFunction as UserFunction
