"""Queries behind PyFlink's names."""

from __future__ import annotations

import pytest

from flinkish.api.absent import AbsentNameError
from flinkish.api.errors import NotSupportedError
from flinkish.pyflink.common import Row, Types, WatermarkStrategy
from flinkish.pyflink.common.time import Instant
from flinkish.pyflink.common.watermark_strategy import TimestampAssigner
from flinkish.pyflink.datastream import ProcessFunction, StreamExecutionEnvironment
from flinkish.pyflink.table import (
    DataTypes,
    EnvironmentSettings,
    ScalarFunction,
    Schema,
    StreamTableEnvironment,
)
from flinkish.pyflink.table.udf import udf

EVENTS = Types.ROW_NAMED(["ts", "name"], [Types.LONG(), Types.STRING()])


class OfField(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value.ts


class WithTimestamp(ProcessFunction):
    def process_element(self, value, ctx):
        yield value.name, ctx.timestamp()


@pytest.fixture
def environment():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.core.setLocalExecution()
    return env


@pytest.fixture
def tables(environment):
    return StreamTableEnvironment.create(
        environment, environment_settings=EnvironmentSettings.in_streaming_mode()
    )


def events(environment):
    rows = [Row(1000, "a"), Row(5000, "b")]
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(OfField())
    return environment.from_collection(rows, EVENTS).assign_timestamps_and_watermarks(strategy)


def test_a_stream_as_a_table_and_back(environment, tables):
    schema = (
        Schema.new_builder()
        .column("ts", DataTypes.BIGINT())
        .column("name", "STRING")
        .column_by_metadata("rowtime", DataTypes.TIMESTAMP_LTZ(3))
        .watermark("rowtime", "SOURCE_WATERMARK()")
        .build()
    )
    tables.create_temporary_view("events", events(environment), schema)
    table = tables.sql_query("SELECT UPPER(name) AS name, rowtime FROM events WHERE ts > 1000")
    stream = tables.to_data_stream(table)
    with stream.execute_and_collect() as rows:
        assert list(rows) == [Row(name="B", rowtime=Instant(5, 0))]
    with stream.process(WithTimestamp()).execute_and_collect() as found:
        assert list(found) == [("B", 5000)]


def test_results_are_rows_and_print_as_in_flink(environment, tables, capsys):
    tables.create_temporary_view("events", tables.from_data_stream(events(environment)))
    tables.create_temporary_view("names", tables.from_elements([("a", 1), ("z", 2)], ["name", "n"]))
    query = "SELECT e.name, n.n FROM events AS e JOIN names AS n ON e.name = n.name"
    assert list(tables.execute_sql(query).collect()) == [Row(name="a", n=1)]
    tables.execute_sql(query).print()
    assert capsys.readouterr().out.splitlines()[3] == (
        "| +I |                              a |                    1 |"
    )
    assert tables.sql_query(query).to_pandas().to_dict("records") == [{"name": "a", "n": 1}]


def test_user_functions(environment, tables):
    @udf(result_type=DataTypes.STRING(), input_types=[DataTypes.STRING()])
    def doubled(text):
        return text * 2

    class Prefixed(ScalarFunction):
        def open(self, function_context):
            self.prefix = ">"

        def eval(self, text):
            return self.prefix + text

    tables.create_temporary_function("doubled", doubled)
    tables.create_temporary_system_function("prefixed", udf(Prefixed(), result_type="STRING"))
    tables.create_temporary_view("events", events(environment))
    found = tables.sql_query("SELECT prefixed(doubled(name)) AS t FROM events")
    assert [row.t for row in found.execute().collect()] == [">aa", ">bb"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("to_changelog_stream", "to_data_stream|toDataStream"),
        ("create_statement_set", "sinkTo"),
        ("create_table", "fromSource"),
    ],
)
def test_what_is_not_there_says_what_to_write(tables, name, said):
    with pytest.raises(NotSupportedError, match=f"{name} is not supported.*({said})"):
        getattr(tables, name)


def test_expressions_of_the_table_api_say_to_write_a_query(environment, tables):
    with pytest.raises(NotSupportedError, match=r"Table.group_by is not supported.*window"):
        tables.from_data_stream(events(environment)).group_by("name")
    with pytest.raises(NotSupportedError, match=r"Table.select is not supported.*sqlQuery"):
        tables.from_data_stream(events(environment)).select("name")


def test_a_name_of_the_module_that_is_not_there_says_so():
    with pytest.raises(AbsentNameError, match=r"has no TableDescriptor.*create_temporary_view"):
        exec("from flinkish.pyflink.table import TableDescriptor", {})
