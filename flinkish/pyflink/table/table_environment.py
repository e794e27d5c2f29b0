"""``StreamTableEnvironment`` under PyFlink's names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from flinkish.api.arguments import instance
from flinkish.api.errors import IllegalArgumentError, NotSupportedError
from flinkish.pyflink.absent import AbsentMethods
from flinkish.pyflink.datastream.data_stream import DataStream
from flinkish.pyflink.datastream.stream_execution_environment import StreamExecutionEnvironment
from flinkish.pyflink.table.schema import Schema
from flinkish.pyflink.table.table import RowConversion, Table, TableResult
from flinkish.pyflink.table.types import type_information
from flinkish.table.data_types import DataType
from flinkish.table.environment import ENVIRONMENT_METHODS
from flinkish.table.environment import StreamTableEnvironment as CoreEnvironment
from flinkish.table.user_functions import UserFunction

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["EnvironmentSettings", "StreamTableEnvironment", "TableConfig"]


class EnvironmentSettings(AbsentMethods):
    """Accepted for ported jobs: the mode is that of the StreamExecutionEnvironment (PyFlink: ``EnvironmentSettings``)."""

    @staticmethod
    def in_streaming_mode() -> EnvironmentSettings:
        """The only settings there are."""
        return EnvironmentSettings()

    @staticmethod
    def new_instance() -> EnvironmentSettings.Builder:
        """A builder of settings."""
        return EnvironmentSettings.Builder()

    class Builder(AbsentMethods):
        """Builds settings (PyFlink: ``EnvironmentSettings.Builder``)."""

        def in_streaming_mode(self) -> EnvironmentSettings.Builder:
            """Accepted for ported jobs."""
            return self

        def build(self) -> EnvironmentSettings:
            """The settings."""
            return EnvironmentSettings()


class TableConfig(AbsentMethods):
    """Options of queries (PyFlink: ``TableConfig``)."""

    def __init__(self, environment: StreamExecutionEnvironment) -> None:
        self._environment = environment

    def set(self, key: str, value: str) -> TableConfig:
        """Set an option; times of queries are in UTC."""
        if key == "parallelism.default":
            self._environment.set_parallelism(int(value))
        elif key == "table.local-time-zone":
            self.set_local_timezone(value)
        elif not key.startswith(("python.", "pipeline.", "execution.", "table.exec.mini-batch")):
            raise NotSupportedError(
                f"TableConfig.set: {key} is not supported. Leave it out: queries keep no state and are not optimised."
            )
        return self

    def set_local_timezone(self, timezone_id: str) -> None:
        """Accepted if it is UTC."""
        if timezone_id not in ("UTC", "Etc/UTC", "GMT", "Z"):
            raise NotSupportedError(
                f"set_local_timezone: times of queries are in UTC, not in {timezone_id}. Convert them with CONVERT_TZ or a function of your own."
            )

    def get_local_timezone(self) -> str:
        """UTC."""
        return "UTC"


class StreamTableEnvironment:
    """Converts streams to tables, runs queries over them, and converts tables to streams (PyFlink:
    ``StreamTableEnvironment``)."""

    def __init__(self, environment: StreamExecutionEnvironment) -> None:
        self._environment = environment
        self.core = CoreEnvironment(environment.core)
        """The environment as flinkish's own."""

    @staticmethod
    def create(
        stream_execution_environment: StreamExecutionEnvironment | None = None,
        environment_settings: EnvironmentSettings | None = None,
    ) -> StreamTableEnvironment:
        """A table environment for the streams of that environment."""
        environment = (
            stream_execution_environment or StreamExecutionEnvironment.get_execution_environment()
        )
        return StreamTableEnvironment(
            instance(
                "create",
                environment,
                StreamExecutionEnvironment,
                "Pass a StreamExecutionEnvironment.",
            )
        )

    def from_data_stream(self, data_stream: DataStream, *fields_or_schema: Schema) -> Table:
        """The elements of a stream as rows."""
        return Table(
            self.core.fromDataStream(
                data_stream.core, _schema("from_data_stream", fields_or_schema)
            )
        )

    def create_temporary_view(
        self, view_path: str, table_or_data_stream: Table | DataStream, *fields_or_schema: Schema
    ) -> None:
        """Give a name to a table or a stream."""
        schema = _schema("create_temporary_view", fields_or_schema)
        self.core.createTemporaryView(view_path, table_or_data_stream.core, schema)

    def drop_temporary_view(self, view_path: str) -> bool:
        """Forget a view; False if there was none."""
        return self.core.dropTemporaryView(view_path)

    def list_views(self) -> list[str]:
        """The names of the views."""
        return self.core.listViews()

    list_temporary_views = list_views

    def from_path(self, path: str) -> Table:
        """The table of a view."""
        return Table(self.core.from_(path))

    def from_elements(
        self,
        elements: Iterable[Any],
        schema: DataType | Sequence[str] | None = None,
        verify_schema: bool = True,
    ) -> Table:
        """A static table of rows. Without names its columns are ``_1``, ``_2`` and so on."""
        rows = list(elements)
        if (
            schema is None
            and rows
            and isinstance(rows[0], (tuple, list))
            and not hasattr(rows[0], "_fields")
        ):
            schema = [f"_{number}" for number in range(1, len(rows[0]) + 1)]
        return Table(self.core.fromElements(rows, schema))

    def from_pandas(
        self, pdf: pd.DataFrame, schema: DataType | Sequence[str] | None = None, splits_num: int = 1
    ) -> Table:
        """A static table of a DataFrame of pandas."""
        return Table(self.core.fromPandas(pdf, schema))

    def sql_query(self, query: str) -> Table:
        """The table of a ``SELECT``."""
        return Table(self.core.sqlQuery(query))

    def execute_sql(self, stmt: str) -> TableResult:
        """Run a ``SELECT``."""
        return TableResult(self.core.executeSql(stmt))

    def to_data_stream(self, table: Table) -> DataStream:
        """The rows of a table as a stream of Rows."""
        schema = table.core.getResolvedSchema()
        kinds = DataType("ROW", children=schema.types, fields=schema.names)
        rows = self.core.toDataStream(table.core).map(RowConversion(schema.types)).name("Rows")
        return DataStream(self._environment, rows, type_information(kinds))

    def create_temporary_function(
        self, path: str, function: UserFunction | Callable[..., Any] | Any
    ) -> None:
        """Let queries call a function that ``udf`` returned."""
        if not isinstance(function, UserFunction):
            raise IllegalArgumentError(
                "create_temporary_function: pass what udf returns, as in udf(f, result_type=DataTypes.STRING())."
            )
        self.core.createTemporaryFunction(path, function)

    create_temporary_system_function = create_temporary_function

    def drop_temporary_function(self, path: str) -> bool:
        """Forget a function; False if there was none."""
        return self.core.dropTemporaryFunction(path)

    drop_temporary_system_function = drop_temporary_function

    def get_config(self) -> TableConfig:
        """The options of queries."""
        return TableConfig(self._environment)

    def __getattr__(self, name: str) -> Any:
        first, *rest = name.split("_")
        fix = ENVIRONMENT_METHODS.get(first + "".join(word.capitalize() for word in rest))
        if fix is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        raise NotSupportedError(f"StreamTableEnvironment.{name} is not supported. {fix}")


def _schema(method: str, given: Sequence[Any]) -> Any:
    if not given or given[0] is None:
        return None
    if len(given) > 1 or not isinstance(given[0], Schema):
        raise NotSupportedError(
            f"{method}: expressions of fields are not supported. Pass Schema.new_builder()...build()."
        )
    return given[0].core
