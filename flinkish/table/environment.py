"""``StreamTableEnvironment`` and ``Table``: convert streams to tables and back, and run queries
over tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from sqlglot import exp

from flinkish.api.absent import AbsentMethodError
from flinkish.api.arguments import instance, text
from flinkish.api.errors import IllegalArgumentError, InvalidProgramError, NotSupportedError
from flinkish.api.eventtime.watermarks import WatermarkStrategy
from flinkish.api.execution.client import CloseableIterator
from flinkish.api.plan.transformations import OneInputTransformation
from flinkish.api.streams.data_stream import DataStream, SingleOutputStreamOperator
from flinkish.api.types.row import Row, row_type
from flinkish.api.types.type_info import TypeInformation, Types, type_of_samples
from flinkish.runtime.records.rows import python_values
from flinkish.table import refusals
from flinkish.table.analysis import Analyser, Column, Scope
from flinkish.table.cells import InputColumns, cell, field_of
from flinkish.table.data_types import ROWTIME, DataType, DataTypes, columns_of_elements
from flinkish.table.description import QueryDescription
from flinkish.table.expressions import ColumnRead, Expression
from flinkish.table.planner import Catalogue, Planner
from flinkish.table.relations import Branch, Relation
from flinkish.table.result import TableResult
from flinkish.table.schema import SOURCE_WATERMARK, ResolvedSchema, Schema
from flinkish.table.steps import Projection, StaticRows
from flinkish.table.text import Text
from flinkish.table.user_functions import UserFunction

if TYPE_CHECKING:
    import pandas as pd

    from flinkish.api.environment.environment import StreamExecutionEnvironment


class Table:
    """A table or query that has not run yet (Flink: ``Table``)."""

    def __init__(self, environment: StreamTableEnvironment, relation: Relation, query: str) -> None:
        self._environment = environment
        self.relation = relation
        """The branches and columns of the table."""
        self.query = query
        """The text of the query, empty if there is none."""

    def getResolvedSchema(self) -> ResolvedSchema:
        """The columns with their types."""
        columns = self.relation.columns
        return ResolvedSchema(
            tuple(column.name for column in columns),
            tuple(column.type for column in columns),
            tuple(column.rowtime for column in columns),
        )

    def getSchema(self) -> ResolvedSchema:
        """``getResolvedSchema`` by its older name."""
        return self.getResolvedSchema()

    def printSchema(self) -> None:
        """Print the columns with their types."""
        print(self.getResolvedSchema())

    def execute(self) -> TableResult:
        """Run the query. ``print()`` prints the rows of the result, ``collect()`` returns them."""
        return TableResult(self.getResolvedSchema(), self._collected)

    def _collected(self) -> CloseableIterator[Row]:
        return self._environment.toDataStream(self).executeAndCollect()

    if not TYPE_CHECKING:  # type checkers must see that the method is absent

        def __getattr__(self, name: str) -> object:
            raise _absent("Table", name, TABLE_METHODS)


def _absent(owner: str, name: str, fixes: Mapping[str, str]) -> AttributeError:
    """The error of a look-up of ``name``, with its fix if there is one."""
    if name in fixes:
        return AbsentMethodError(f"{owner}.{name} is not supported. {fixes[name]}")
    return AttributeError(f"{owner!r} object has no attribute {name!r}")


_EXPRESSIONS = (
    "Write a query: createTemporaryView(name, table) and sqlQuery('SELECT ... FROM name')."
)
TABLE_METHODS = {
    **dict.fromkeys(
        (
            "select",
            "where",
            "filter",
            "addColumns",
            "addOrReplaceColumns",
            "renameColumns",
            "dropColumns",
            "map",
            "unionAll",
            "as_",
            "alias",
        ),
        _EXPRESSIONS,
    ),
    **dict.fromkeys(("groupBy", "window", "aggregate", "flatAggregate"), refusals.GROUP),
    **dict.fromkeys(
        ("distinct", "intersect", "intersectAll", "minus", "minusAll", "union"), refusals.DISTINCT
    ),
    **dict.fromkeys(("join", "leftOuterJoin", "rightOuterJoin", "fullOuterJoin"), refusals.JOIN),
    **dict.fromkeys(("joinLateral", "leftOuterJoinLateral", "flatMap"), refusals.FUNCTION_TABLE),
    **dict.fromkeys(("orderBy", "fetch", "limit", "offset"), refusals.ORDER),
    **dict.fromkeys(("insertInto", "executeInsert"), refusals.INSERT),
    "explain": "Call env.explain().",
}


class StreamTableEnvironment:
    """Converts streams to tables and back, and runs queries over tables (Flink:
    ``StreamTableEnvironment``)."""

    def __init__(self, environment: StreamExecutionEnvironment) -> None:
        self._environment = environment
        self._views: dict[str, Table] = {}
        self._functions: dict[str, UserFunction] = {}

    @staticmethod
    def create(executionEnvironment: StreamExecutionEnvironment) -> StreamTableEnvironment:
        """A table environment for the streams of that environment."""
        return StreamTableEnvironment(executionEnvironment)

    # ------------------------------------------------------------------ streams as tables

    def fromDataStream(self, dataStream: DataStream[Any], schema: Schema | None = None) -> Table:
        """The elements of a stream as rows: fields are columns, and a value without fields is the column ``f0``.

        ``schema`` sets column types that the type of the stream lacks, computes columns, and names
        the time attribute. Without a time attribute a query drops timestamps and watermarks, as in
        Flink. Raises InvalidProgramError if the type of a column is unknown.
        """
        method = "fromDataStream"
        instance(method, dataStream, DataStream, "Pass a stream.")
        if schema is not None:
            instance(f"{method}: schema", schema, Schema, "Pass Schema.newBuilder()...build().")
        schema = schema or Schema()
        elements = dataStream.getType()
        physical = self._physical(elements, schema, method)
        metadata = [column for column in schema.columns if column.metadata]
        columns = [Column(name, kind) for name, kind in physical]
        columns += [Column(column.name, ROWTIME) for column in metadata[:1]]
        read = InputColumns(
            tuple(name for name, _ in physical),
            tuple(kind for _, kind in physical),
            whole=not elements.isComposite() and _is_one_value(elements),
            timestamps=bool(metadata),
        )
        relation = Relation(tuple(columns), (Branch(dataStream, read),))
        return Table(self, self._timed(self._computed(relation, schema), schema, dataStream), "")

    def _physical(
        self, elements: TypeInformation[Any], schema: Schema, method: str
    ) -> Sequence[tuple[str, DataType]]:
        given = {
            column.name: column.type
            for column in schema.columns
            if column.type and not column.metadata
        }
        names = list(elements.getFieldNames()) if elements.isComposite() else []
        if not given:
            return columns_of_elements(elements, method)
        for name in given:
            if names and name not in names:
                raise InvalidProgramError(
                    f"{method}: the elements have no field {name!r}. Their fields are {', '.join(names)}."
                )
        return [(name, kind) for name, kind in given.items() if kind is not None]

    def _computed(self, relation: Relation, schema: Schema) -> Relation:
        if not any(column.expression for column in schema.columns):
            order = {column.name: number for number, column in enumerate(schema.columns)}
            columns = relation.columns
            wanted = sorted(range(len(columns)), key=lambda n: order.get(columns[n].name, n))
            same = wanted == list(range(len(columns)))
            return relation if same else relation.reordered(wanted)
        known = {column.name: number for number, column in enumerate(relation.columns)}
        declared = {column.name for column in schema.columns}
        reads: list[Expression] = []
        columns_: list[Column] = []
        for column in relation.columns:
            if column.name not in declared:
                reads.append(ColumnRead(column.type, known[column.name]))
                columns_.append(column)
        for part in schema.columns:
            if part.expression is None:
                column = relation.columns[known[part.name]]
                reads.append(ColumnRead(column.type, known[part.name]))
            else:
                expression = self._expression(
                    part.expression, relation.columns, f"columnByExpression({part.name!r})"
                )
                reads.append(expression)
                column = Column(part.name, expression.type)
            columns_.append(column)
        return relation.then(Projection(tuple(reads)), columns_)

    def _expression(self, written: str, columns: Sequence[Column], method: str) -> Expression:
        found = Text(f"SELECT {written}", method)
        part = found.query.expressions[0]
        return Analyser(Scope(found, tuple(columns), self._functions)).expression(part)

    def _timed(self, relation: Relation, schema: Schema, stream: DataStream[Any]) -> Relation:
        """The table with its time attribute and its watermarks."""
        [branch] = relation.branches
        if schema.watermarkColumn is None:
            quiet = stream.assignTimestampsAndWatermarks(WatermarkStrategy.noWatermarks())
            return replace(
                relation, branches=(replace(branch, stream=quiet.name("Stream To Table")),)
            )
        names = [column.name for column in relation.columns]
        if schema.watermarkColumn not in names:
            raise InvalidProgramError(
                f"watermark: there is no column {schema.watermarkColumn!r}. The columns are {', '.join(names)}."
            )
        index = names.index(schema.watermarkColumn)
        if not relation.columns[index].type.isTimestamp:
            raise InvalidProgramError(
                f"watermark: the column {schema.watermarkColumn!r} is {relation.columns[index].type}, and not a TIMESTAMP(3)"
                " or TIMESTAMP_LTZ(3). Write columnByExpression('rowtime', 'TO_TIMESTAMP_LTZ(millis, 3)')."
            )
        columns = tuple(
            replace(column, rowtime=number == index)
            for number, column in enumerate(relation.columns)
        )
        relation = replace(relation, columns=columns)
        written = schema.watermark or ""
        if re.sub(r"\s", "", written).upper() == SOURCE_WATERMARK:
            return relation
        strategy = WatermarkStrategy.forBoundedOutOfOrderness(
            _delay(written, schema.watermarkColumn)
        )
        timed = self._stream(relation, "").assignTimestampsAndWatermarks(strategy)
        read = InputColumns(tuple(names), tuple(column.type for column in columns))
        return replace(relation, branches=(Branch(timed, read),))

    def fromValues(self, *values: Any) -> Table:
        """A static table of rows, each a tuple, a list or a Row; the columns are ``f0``, ``f1`` and
        so on, or the fields of the Rows."""
        rows = list(values[0]) if len(values) == 1 and isinstance(values[0], list) else list(values)
        return self.fromElements(rows)

    def fromElements(
        self, elements: Iterable[Any], schema: Sequence[str] | DataType | Schema | None = None
    ) -> Table:
        """A static table of rows (PyFlink: ``from_elements``). ``schema``: names of columns, or a ROW type."""
        rows = list(elements)
        if isinstance(schema, Schema):
            fields = [
                (column.name, column.type) for column in schema.columns if column.type is not None
            ]
        elif isinstance(schema, DataType):
            fields = list(zip(schema.fields, schema.children))
        else:
            found = type_of_samples(rows)
            if found is None:
                raise InvalidProgramError(
                    "fromValues: the rows are not all of one type. Pass tuples of equal length, or a schema:"
                    " DataTypes.ROW(DataTypes.FIELD('name', DataTypes.STRING()), ...)."
                )
            fields = list(columns_of_elements(found, "fromValues"))
            if schema is not None:
                if len(schema) != len(fields):
                    raise IllegalArgumentError(
                        f"fromValues: the rows have {len(fields)} fields, but the schema has {len(schema)} names."
                    )
                fields = [(name, kind) for name, (_, kind) in zip(schema, fields)]
        columns = []
        for number, (name, kind) in enumerate(fields):
            cells = [
                cell(field_of(row, name, number) if _has_fields(row) else row, kind) for row in rows
            ]
            try:
                columns.append(pa.array(cells, kind.arrow))
            except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
                raise IllegalArgumentError(
                    f"fromValues: the column {name!r} is {kind}: {error}."
                ) from None
        there = tuple(Column(name, kind) for name, kind in fields)
        return Table(self, Relation(there, rows=StaticRows(tuple(columns), len(rows))), "")

    def fromPandas(
        self, frame: pd.DataFrame, schema: Sequence[str] | DataType | None = None
    ) -> Table:
        """A static table with the rows of a pandas DataFrame (PyFlink: ``from_pandas``)."""
        table = pa.Table.from_pandas(frame, preserve_index=False)
        if isinstance(schema, DataType):
            return self.fromElements(table.to_pylist(), schema)
        names = list(schema) if schema is not None else table.column_names
        return self.fromArrow(table.rename_columns(names))

    def fromArrow(self, table: pa.Table) -> Table:
        """A static table with the rows of an Arrow table."""
        columns, arrays = [], []
        for name, column in zip(table.column_names, table.columns):
            kind = _of_arrow(column.type, name)
            columns.append(Column(name, kind))
            arrays.append(
                pa.concat_arrays(column.cast(kind.arrow).chunks)
                if column.num_chunks
                else pa.nulls(0, kind.arrow)
            )
        return Table(
            self, Relation(tuple(columns), rows=StaticRows(tuple(arrays), table.num_rows)), ""
        )

    # ------------------------------------------------------------------ views and queries

    def createTemporaryView(
        self, path: str, view: Table | DataStream[Any], schema: Schema | None = None
    ) -> None:
        """Give a name to a table, or to a stream, which ``fromDataStream`` converts to a table."""
        name = text("createTemporaryView", path).strip("`")
        if name in self._views:
            raise InvalidProgramError(
                f"createTemporaryView: there is a view {name!r} already. Call dropTemporaryView({name!r}) before."
            )
        self._views[name] = view if isinstance(view, Table) else self.fromDataStream(view, schema)

    def dropTemporaryView(self, path: str) -> bool:
        """Drop a view; False if there was none."""
        return self._views.pop(path.strip("`"), None) is not None

    def listViews(self) -> list[str]:
        """The names of the views."""
        return sorted(self._views)

    def listTemporaryViews(self) -> list[str]:
        """The same as ``listViews``: all views are temporary."""
        return self.listViews()

    def from_(self, path: str) -> Table:
        """The table of a view (Flink: ``from``)."""
        found = self._views.get(path.strip("`"))
        if found is None:
            raise InvalidProgramError(
                f"from_: there is no view {path!r}. Call createTemporaryView({path!r}, table)."
            )
        return found

    def createTemporaryFunction(
        self,
        path: str,
        function: Callable[..., Any] | UserFunction,
        resultType: DataType | str | None = None,
        inputTypes: Sequence[DataType | str] | None = None,
    ) -> None:
        """Let queries call a Python function, row by row; None stands for NULL.

        ``resultType``: the type of the results; ``inputTypes``: the types of the arguments, which
        are cast to them.
        """
        if not isinstance(function, UserFunction):
            if not callable(function) or resultType is None:
                raise IllegalArgumentError(
                    "createTemporaryFunction: pass a function and the type of its results, such as 'STRING'."
                )
            function = UserFunction(
                function,
                _type(resultType),
                None if inputTypes is None else tuple(map(_type, inputTypes)),
            )
        self._functions[text("createTemporaryFunction", path).lower()] = function

    createTemporarySystemFunction = createTemporaryFunction

    def dropTemporaryFunction(self, path: str) -> bool:
        """Drop a function; False if there was none."""
        return self._functions.pop(path.lower(), None) is not None

    def sqlQuery(self, query: str) -> Table:
        """The table of a ``SELECT``. Queries that need state are refused, with what to write
        instead.

        Raises InvalidProgramError for a wrong query and NotSupportedError for one that is not
        supported, with line and column.
        """
        return self._planned(query, "sqlQuery")

    def executeSql(self, statement: str) -> TableResult:
        """Run a ``SELECT``. Other statements are refused, with what to write instead."""
        return self._planned(statement, "executeSql").execute()

    def _planned(self, query: str, method: str) -> Table:
        read = Text(instance(f"{method}: query", query, str, "Pass the text of a query."), method)
        catalogue = Catalogue(self._relation, self._functions)
        return Table(self, Planner(read, catalogue).plan(), query)

    def _relation(self, name: str) -> Relation | None:
        found = self._views.get(name)
        return None if found is None else found.relation

    # ------------------------------------------------------------------ tables as streams

    def toDataStream(self, table: Table) -> DataStream[Row]:
        """The rows of a table as a stream of Rows.

        The time attribute becomes the timestamp of the rows; without one they have no timestamp, as
        in Flink.
        """
        instance("toDataStream", table, Table, "Pass a table.")
        return self._stream(table.relation, table.query)

    def _stream(self, relation: Relation, query: str) -> DataStream[Row]:
        names = tuple(column.name for column in relation.columns)
        if relation.rows is not None:
            return self._static_stream(relation, names)
        rowtimes = [number for number, column in enumerate(relation.columns) if column.rowtime]
        if len(rowtimes) > 1:
            listed = ", ".join(names[number] for number in rowtimes)
            raise InvalidProgramError(
                f"toDataStream: the table has more than one time attribute ({listed}). Cast all but one to TIMESTAMP or"
                " TIMESTAMP_LTZ."
            )
        types = tuple(column.type for column in relation.columns)
        streams: list[DataStream[Row]] = []
        for branch in relation.branches:
            description = QueryDescription(
                branch.input, branch.steps, names, types, rowtimes[0] if rowtimes else None, query
            )
            transformation = OneInputTransformation(description, branch.stream.getTransformation())
            transformation.outputType = _row_type(names, types)
            streams.append(SingleOutputStreamOperator(self._environment, transformation))
        return streams[0].union(*streams[1:]) if len(streams) > 1 else streams[0]

    def _static_stream(self, relation: Relation, names: tuple[str, ...]) -> DataStream[Row]:
        assert relation.rows is not None
        types = [column.type for column in relation.columns]
        lists = [python_values(column) for column in relation.rows.columns]
        make = row_type(names).make
        rows = [make(values) for values in zip(*lists)]
        return self._environment.fromCollection(rows).returns(_row_type(names, types))

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            raise _absent("StreamTableEnvironment", name, ENVIRONMENT_METHODS)


_CHANGES = (
    "Rows here do not change: write toDataStream(table), or keyBy(...).process(...) on streams."
)
ENVIRONMENT_METHODS = {
    **dict.fromkeys(("toChangelogStream", "fromChangelogStream", "toRetractStream"), _CHANGES),
    "toAppendStream": "Write toDataStream(table).",
    **dict.fromkeys(
        ("createTable", "createTemporaryTable", "executePlan", "loadPlan", "compilePlanSql"),
        refusals.DDL,
    ),
    **dict.fromkeys(("createStatementSet", "insertInto", "executeInsert"), refusals.INSERT),
    **dict.fromkeys(
        ("useCatalog", "useDatabase", "registerCatalog", "createCatalog", "getCatalog"),
        "Leave it out: views have no catalogue.",
    ),
    "explainSql": "Call env.explain().",
    "getConfig": "Set options of the StreamExecutionEnvironment; times of queries are in UTC.",
}


def _type(kind: DataType | str) -> DataType:
    return DataTypes.of(kind) if isinstance(kind, str) else kind


def _row_type(names: Sequence[str], types: Sequence[DataType]) -> TypeInformation[Any]:
    return Types.ROW_NAMED(names, [kind.elements for kind in types])


def _is_one_value(elements: TypeInformation[Any]) -> bool:
    return elements.kind != Types.PICKLED_BYTE_ARRAY().kind


def _has_fields(row: Any) -> bool:
    return (
        isinstance(row, (tuple, list, dict))
        or hasattr(row, "__dataclass_fields__")
        or hasattr(row, "_fields")
    )


def _delay(written: str, column: str) -> timedelta:
    """How far the watermark is behind the highest time; a WatermarkStrategy sets it one millisecond
    lower."""
    found = Text(f"SELECT {written}", "watermark").query.expressions[0]
    names = [part.name for part in found.find_all(exp.Column)]
    if (
        isinstance(found, exp.Sub)
        and isinstance(found.expression, exp.Interval)
        and names == [column]
    ):
        length = Analyser(Scope(Text("SELECT 1", "watermark"), ())).interval(found.expression)
        if length.type.name == "INTERVAL SECOND" and length.value > 0:
            return timedelta(milliseconds=length.value - 1)
    raise NotSupportedError(
        f"watermark: {written!r} is not supported. Write SOURCE_WATERMARK() for the watermarks of the stream, or"
        f" {column} - INTERVAL '5' SECOND."
    )


_OF_ARROW = (
    (pa.types.is_boolean, "BOOLEAN"),
    (pa.types.is_int8, "TINYINT"),
    (pa.types.is_int16, "SMALLINT"),
    (pa.types.is_int32, "INT"),
    (pa.types.is_int64, "BIGINT"),
    (pa.types.is_float32, "FLOAT"),
    (pa.types.is_float64, "DOUBLE"),
    (pa.types.is_date32, "DATE"),
    (pa.types.is_string, "STRING"),
    (pa.types.is_large_string, "STRING"),
    (pa.types.is_binary, "BYTES"),
    (pa.types.is_time, "TIME(3)"),
)


def _of_arrow(kind: pa.DataType, name: str) -> DataType:
    for fits, found in _OF_ARROW:
        if fits(kind):
            return DataTypes.of(found)
    if pa.types.is_decimal(kind) and kind.precision <= 38:
        return DataTypes.DECIMAL(kind.precision, kind.scale)
    if pa.types.is_timestamp(kind):
        return DataTypes.TIMESTAMP_LTZ(6) if kind.tz else DataTypes.TIMESTAMP(6)
    if pa.types.is_list(kind):
        return DataTypes.ARRAY(_of_arrow(kind.value_type, name))
    raise IllegalArgumentError(
        f"fromArrow: the column {name!r} is {kind}, which has no type in SQL here. Cast it before."
    )
