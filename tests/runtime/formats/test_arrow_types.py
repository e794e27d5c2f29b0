"""Spark's types as Arrow's are those that Spark itself has for its columns."""

from __future__ import annotations

import pytest

from flinkish.api.errors import NotSupportedError
from flinkish.api.types.table_schema import table_schema
from flinkish.runtime.formats.arrow_types import arrow_schema

DDL = (
    "a boolean, b tinyint, c smallint, d int, e bigint, f float, g double, h string, i binary,"
    " j date, k timestamp, l timestamp_ntz, m decimal(10,2), n interval day to second,"
    " o array<map<string, struct<x: int, y: date>>>"
)


def test_types_are_those_of_sparks_own_columns(spark):
    frame = spark.createDataFrame([], DDL)
    assert arrow_schema(table_schema(frame.schema)).types == frame.toArrow().schema.types


def test_a_type_that_has_no_values_is_named(spark):
    with pytest.raises(NotSupportedError, match="column 'v' is of type variant"):
        arrow_schema(table_schema("v variant"))
