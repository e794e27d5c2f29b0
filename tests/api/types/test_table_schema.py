"""What is read of a DDL string is what Spark reads, without Spark."""

from __future__ import annotations

import pytest
from pyspark.sql.types import StructType

from flinkish.api.errors import IllegalArgumentError
from flinkish.api.types.table_schema import table_schema

DDL = (
    "a boolean, b byte, c short, d integer NOT NULL, e long COMMENT 'a, b', f real, g double, `h i` string,"
    " i binary, j date, k timestamp, l timestamp_ntz, m decimal(10,2), n decimal, o numeric(5),"
    " p interval day to second, q array<map<string, struct<x: int, y: varchar(3)>>>"
)


def test_a_ddl_string_and_its_struct_type_are_the_same(spark):
    assert table_schema(DDL) == table_schema(StructType.fromDDL(DDL))


def test_what_cannot_be_read_is_named():
    with pytest.raises(IllegalArgumentError, match="cannot be read"):
        table_schema("a array<>")
