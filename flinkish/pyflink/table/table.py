"""``Table`` and ``TableResult`` under PyFlink's names."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from flinkish.api.errors import NotSupportedError
from flinkish.pyflink.absent import AbsentMethods
from flinkish.pyflink.common.time import Instant
from flinkish.pyflink.common.types import Row, created_row
from flinkish.pyflink.datastream.data_stream import CloseableIterator
from flinkish.table.data_types import DataType
from flinkish.table.environment import TABLE_METHODS
from flinkish.table.environment import Table as CoreTable
from flinkish.table.result import TableResult as CoreResult
from flinkish.table.schema import ResolvedSchema as CoreSchema

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Table", "TableResult"]


class ResolvedSchema(AbsentMethods):
    """The columns of a table with their types (PyFlink: ``ResolvedSchema``)."""

    def __init__(self, core: CoreSchema) -> None:
        self._core = core

    def get_column_names(self) -> list[str]:
        """The names of the columns."""
        return self._core.getColumnNames()

    get_field_names = get_column_names

    def get_column_data_types(self) -> list[DataType]:
        """The types of the columns."""
        return self._core.getColumnDataTypes()

    get_field_data_types = get_column_data_types

    def get_column_count(self) -> int:
        """The number of columns."""
        return self._core.getColumnCount()

    get_field_count = get_column_count

    def __str__(self) -> str:
        return str(self._core)


class TableResult(AbsentMethods):
    """The result of a query (PyFlink: ``TableResult``)."""

    def __init__(self, core: CoreResult) -> None:
        self._core = core

    def print(self) -> None:
        """Print the rows, each with its kind of change."""
        self._core.print()

    def collect(self) -> CloseableIterator:
        """The rows, as they arrive."""
        rows = self._core.collect()
        convert = RowConversion(self._core.getResolvedSchema().types)
        return CloseableIterator(map(convert, rows), rows.close)

    def wait(self, timeout_ms: int | None = None) -> None:
        """Run the job to its end."""
        self._core.wait()

    def get_resolved_schema(self) -> ResolvedSchema:
        """The columns and their types."""
        return ResolvedSchema(self._core.getResolvedSchema())

    get_table_schema = get_resolved_schema

    def get_job_client(self) -> None:
        """None: a query whose rows are collected ends with them."""


class Table:
    """A query that has not run yet (PyFlink: ``Table``)."""

    def __init__(self, core: CoreTable) -> None:
        self.core = core
        """The table as flinkish's own."""

    def get_schema(self) -> ResolvedSchema:
        """The columns with their types."""
        return ResolvedSchema(self.core.getResolvedSchema())

    get_resolved_schema = get_schema

    def print_schema(self) -> None:
        """Print the columns with their types."""
        self.core.printSchema()

    def execute(self) -> TableResult:
        """Run the query."""
        return TableResult(self.core.execute())

    def to_pandas(self) -> pd.DataFrame:
        """The rows as a DataFrame of pandas."""
        import pandas as pd

        names = self.core.getResolvedSchema().getColumnNames()
        with self.core.execute().collect() as rows:
            return pd.DataFrame.from_records([tuple(row) for row in rows], columns=names)

    def __getattr__(self, name: str) -> Any:
        fix = TABLE_METHODS.get(_camel(name))
        if fix is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        raise NotSupportedError(f"Table.{name} is not supported. {fix}")


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


class RowConversion:
    """Converts rows of flinkish to those of PyFlink."""

    def __init__(self, types: tuple[DataType, ...]) -> None:
        self._parts = [_conversion(kind) for kind in types]

    def __call__(self, row: Any) -> Row:
        return created_row(
            row.getFieldNames(),
            [
                value if part is None or value is None else part(value)
                for part, value in zip(self._parts, row)
            ],
        )


def _conversion(kind: DataType) -> Callable[[Any], Any] | None:
    if kind.name == "TIMESTAMP_LTZ":
        return _instant
    if kind.name == "ROW":
        return RowConversion(kind.children)
    if kind.name == "ARRAY":
        part = _conversion(kind.children[0])
        return None if part is None else _Parts(part)
    return None


class _Parts:
    def __init__(self, part: Callable[[Any], Any]) -> None:
        self._part = part

    def __call__(self, values: list[Any]) -> list[Any]:
        return [None if value is None else self._part(value) for value in values]


def _instant(value: datetime) -> Instant:
    return Instant(int(value.timestamp() // 1), value.microsecond * 1000)
