"""CSV without options is parsed by Arrow: it must give what Spark's own reader gives."""

from __future__ import annotations

import csv
import io

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import types as spark_types

import flinkish as fl
from flinkish.api.errors import MalformedRecordError
from flinkish.spark.csv_lines import CsvLinesDecoder, csv_schema

SCHEMA = "name string, count long, small int, share double, good boolean"
TYPES = {
    "string": spark_types.StringType(),
    "long": spark_types.LongType(),
    "int": spark_types.IntegerType(),
    "double": spark_types.DoubleType(),
    "boolean": spark_types.BooleanType(),
    "timestamp": spark_types.TimestampType(),
    "date": spark_types.DateType(),
    "decimal": spark_types.DecimalType(9, 2),
}
TEXT = st.text(
    st.characters(codec="utf-8", exclude_characters="\r\n\x00", exclude_categories=("Cs",)),
    max_size=6,
)
ROWS = st.lists(
    st.tuples(
        st.none() | TEXT,
        st.none() | st.integers(-(2**63), 2**63 - 1),
        st.none() | st.integers(-(2**31), 2**31 - 1),
        st.none() | st.floats(allow_nan=False, allow_infinity=False),
        st.none() | st.booleans(),
    ),
    max_size=12,
)


def schema_of(ddl):
    fields = (field.split() for field in ddl.split(", "))
    return spark_types.StructType(
        [spark_types.StructField(name, TYPES[kind]) for name, kind in fields]
    )


def written(rows):
    """CSV as Spark's writer makes it."""
    out = io.StringIO()
    for row in rows:
        first, rest = row[0], row[1:]
        out.write("" if first is None else '"' + first.replace('"', '""') + '"')
        out.write(",")
        csv.writer(out, lineterminator="\n").writerow(
            ["" if v is None else str(v).lower() if isinstance(v, bool) else repr(v) for v in rest]
        )
    return out.getvalue()


def decoded(text):
    decoder = CsvLinesDecoder(csv_schema(schema_of(SCHEMA)))
    batch = pa.RecordBatch.from_pydict({"value": pa.array(text.split("\n")[:-1], pa.string())})
    return [tuple(row) for _, records in decoder.decode(batch) for row in records.values]


@given(ROWS)
def test_values_come_back(rows):
    assert decoded(written(rows)) == [(row[0] or None, *row[1:]) for row in rows]


def test_lines_that_are_empty_are_left_out():
    assert decoded("\na,1,2,3.0,true\n\n  \n") == [("a", 1, 2, 3.0, True)]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("a,x,2,3,true", "invalid value 'x'"),
        ("a,1,2,3", "Expected 5 columns, got 4"),
        ("a,1,2,3,true,more", "Expected 5 columns, got 6"),
        ('"a,1,2,3,true', "Expected 5 columns, got 1"),
        ("a,1,9999999999,3,true", "invalid value '9999999999'"),
        ("a,1,2,3,yes", "invalid value 'yes'"),
    ],
)
def test_a_line_that_does_not_fit_is_named(line, reason):
    with pytest.raises(MalformedRecordError) as caught:
        decoded(f"good,1,2,3,true\n{line}\ngood,1,2,3,true\n")
    assert line in str(caught.value)
    assert reason in str(caught.value)


def test_types_that_arrow_reads_in_another_way_are_left_to_spark():
    for ddl in ("at timestamp, n long", "day date, n long", "price decimal, n long", "n long"):
        assert csv_schema(schema_of(ddl)) is None


def test_both_ways_read_the_same(env, tmp_path):
    rows = [
        ('says "hi", twice', 1, 2, 2.5, True),
        (None, -(2**63), -(2**31), -1e300, False),
        ("é\\ü", 0, 0, 0.1, True),
        (" spaced ", 7, 7, float("inf"), True),
    ]
    text = written(rows[:-1]) + '" spaced ",7,7,Infinity,true\n\n"",,,,\n'
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    rows.append((None,) * 5)
    by_lines = fl.FileSource.forCsv(str(tmp_path), SCHEMA)
    by_spark = fl.FileSource.forCsv(str(tmp_path), SCHEMA, header="false")
    pairs = env.fromSource(by_lines).map(lambda row: ("lines", tuple(row)))
    others = env.fromSource(by_spark).map(lambda row: ("spark", tuple(row)))
    found = list(pairs.union(others).executeAndCollect())
    assert [row for way, row in found if way == "lines"] == rows
    assert [row for way, row in found if way == "spark"] == rows


def test_both_ways_refuse_the_same(env, tmp_path):
    (tmp_path / "a.csv").write_text("a,x,2,3,true\n", encoding="utf-8")
    source = fl.FileSource.forCsv(str(tmp_path), SCHEMA)
    with pytest.raises(MalformedRecordError, match="CSV Source: the line 'a,x,2,3,true'"):
        list(env.fromSource(source).executeAndCollect())
    source = fl.FileSource.forCsv(str(tmp_path), SCHEMA, header="false")
    with pytest.raises(MalformedRecordError, match=r"Spark says: Malformed .*\[a,null,2"):
        list(env.fromSource(source).executeAndCollect())
