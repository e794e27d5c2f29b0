"""A DDL string is parsed as Spark parses it, without Spark."""

from __future__ import annotations

import pytest
from pyspark.sql.types import StructType

from flinkish import FileSink, FileSource, JsonDeserializationSchema
from flinkish.api.errors import IllegalArgumentError
from flinkish.api.types.table_schema import table_schema

DDL = (
    "a boolean, b byte, c short, d integer NOT NULL, e long COMMENT 'a, b', f real, g double, `h i` string,"
    " i binary, j date, k timestamp, l timestamp_ntz, m decimal(10,2), n decimal, o numeric(5),"
    " p interval day to second, r time(6), s variant, q array<map<string, struct<x: int, y: varchar(3)>>>"
)


def test_a_ddl_string_and_its_struct_type_are_the_same(spark):
    assert table_schema(DDL) == table_schema(StructType.fromDDL(DDL))


def test_what_cannot_be_read_is_named():
    with pytest.raises(IllegalArgumentError, match="cannot be read"):
        table_schema("a array<>")


@pytest.mark.parametrize(
    "given",
    [
        lambda schema: FileSource.forCsv("in", schema),
        lambda schema: FileSource.forJson("in", schema),
        lambda schema: FileSink.forCsv("out", schema),
        JsonDeserializationSchema,
    ],
)
def test_a_misspelt_type_is_named_where_it_is_given(given):
    with pytest.raises(IllegalArgumentError, match=r"'a INTT' has the type INTT, .* mean int\?"):
        given("a INTT")
    with pytest.raises(IllegalArgumentError, match=r"has the type STRNG, .* mean string\?"):
        given("a int, b array<strng>")
