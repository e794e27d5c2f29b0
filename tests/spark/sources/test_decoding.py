"""Lines that Spark reads, of files that the workers cannot open, are as strict as files."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql.types import IntegerType, StringType, StructType

import flinkish as fl
from flinkish.api.errors import MalformedRecordError
from flinkish.api.types.table_schema import table_schema
from flinkish.runtime.formats.file_formats import file_format
from flinkish.spark.sources.decoding import LinesDecoder

SCHEMA = StructType().add("name", StringType()).add("count", IntegerType())


def decoded(make, lines):
    found = file_format(make("in", SCHEMA), table_schema(SCHEMA))
    lines = pa.array(lines, pa.binary()).view(pa.string())
    batch = pa.RecordBatch.from_pydict({"value": lines})
    results = LinesDecoder(found, "hdfs://in").decode(batch)
    return [tuple(row) for _, records in results for row in records.values]


def test_rows():
    lines = [b"a,1", b"", b'"b ""c""",+2']
    assert decoded(fl.FileSource.forCsv, lines) == [("a", 1), ('b "c"', 2)]
    lines = [b'{"name":"a"}', b'[{"count":1},{"count":2}]']
    assert decoded(fl.FileSource.forJson, lines) == [("a", None), (None, 1), (None, 2)]
    assert decoded(fl.FileSource.forCsv, []) == []


@pytest.mark.parametrize(
    ("make", "line"),
    [
        (fl.FileSource.forCsv, b'"a"b,1'),
        (fl.FileSource.forCsv, b"a,0x1F"),
        (fl.FileSource.forCsv, b"caf\xe9,1"),
        (fl.FileSource.forJson, b'{"count":1}{"count":2}'),
    ],
)
def test_what_does_not_fit_names_the_directory(make, line):
    with pytest.raises(MalformedRecordError, match="of a file in hdfs://in does not fit"):
        decoded(make, [b"a,1" if make == fl.FileSource.forCsv else b"{}", line])
