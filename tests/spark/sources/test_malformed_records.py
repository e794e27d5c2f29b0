"""Malformed records on Spark: an error that names file and line, or a dead letter."""

from __future__ import annotations

import gzip

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import flinkish as fl
from flinkish import MalformedRecord, OutputTag
from flinkish.api.errors import MalformedRecordError, NotSupportedError
from flinkish.api.types.table_schema import table_schema
from flinkish.runtime.formats.file_formats import file_format
from flinkish.runtime.records.rows import RowColumns
from tests.runtime.formats.reading import read, whole

BROKEN = OutputTag[MalformedRecord]("broken")


def csv(path):
    return fl.FileSource.forCsv(path, "a string, b int")


def csv_with_a_header(path):
    return fl.FileSource.forCsv(path, "a string, b int", header="true")


def json_rows(path):
    return fl.FileSource.forJson(path, "a int")


def parquet(path):
    return fl.FileSource.forParquet(path, "a int")


MALFORMED = [
    (fl.FileSource.forLines, b"one\ncaf\xe9\n", "line 2 of"),
    (csv, b'x,1\n"a"b,2\n', "line 2 of"),
    (csv, b"x,0x1F\n", "line 1 of"),
    (csv_with_a_header, b"a,b\nx,1.5\n", "line 2 of"),
    (json_rows, b'{"a":1}\n{"a":2}{"a":3}', "line 2 of"),
    (json_rows, b'{"a":1} junk\n', "line 1 of"),
    (parquet, b"", "it is empty"),
]


def error_of(env, source):
    with pytest.raises(MalformedRecordError) as caught:
        list(env.fromSource(source, None, "in").executeAndCollect())
    return str(caught.value)


def test_an_error_of_a_worker_names_file_and_line(env, tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b'x,1\n"a"b,2\n')
    said = error_of(env, csv(str(tmp_path)))
    assert "line 2 of" in said
    assert str(path) in said


def test_an_error_names_file_and_line(tmp_path):
    path = tmp_path / "a.data"
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    for make, content, where in MALFORMED:
        path.write_bytes(content)
        said = error_of(env, make(str(tmp_path)))
        assert where in said, content
        assert str(path) in said, content


def test_a_compressed_file_that_is_cut_off(tmp_path):
    data = gzip.compress(bytes(range(256)) * 100)
    (tmp_path / "a.txt.gz").write_bytes(data[:-20])
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    said = error_of(env, fl.FileSource.forLines(str(tmp_path)))
    assert "a.txt.gz cannot be decompressed as .gz" in said


def test_parquet_without_a_column(tmp_path):
    pq.write_table(pa.table({"other": [1]}), tmp_path / "a.parquet")
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    assert "no column 'a'; there are other" in error_of(env, parquet(str(tmp_path)))


def test_dead_letters(env, tmp_path):
    (tmp_path / "a.csv").write_bytes(b'ada,1000\nbob,x\n"a"b,1\ncaf\xe9,2\neve,61000\n')
    strategy = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(
        lambda row, timestamp: row.at
    )
    source = fl.FileSource.forCsv(str(tmp_path), "name string, at long").withMalformedRecords(
        BROKEN
    )
    rows = env.fromSource(source, strategy, "clicks")
    windows = (
        rows.keyBy("name")
        .window(fl.TumblingEventTimeWindows.of(fl.Duration.ofMinutes(1)))
        .reduce(lambda a, b: a)
    )
    letters = rows.getSideOutput(BROKEN)
    found = {"rows": [], "letters": []}
    windows.map(tuple).forEachBatch(lambda elements, batch: found["rows"].extend(elements))
    letters.forEachBatch(lambda elements, batch: found["letters"].extend(elements))
    result = env.execute()
    assert sorted(found["rows"]) == [("ada", 1000), ("eve", 61000)]
    path = str(tmp_path / "a.csv")
    assert [(bad.path, bad.line, bad.offset, bad.raw) for bad in found["letters"]] == [
        (path, 2, 9, b"bob,x"),
        (path, 3, 15, b'"a"b,1'),
        (path, 4, 22, b"caf\xe9,2"),
    ]
    assert found["letters"][0].reason == "the column 'at': 'x' is no bigint"
    metrics = result.getMetrics()["Source: clicks"]
    assert metrics.user == {"numRecordsInErrors": 3}


def test_dead_letters_where_spark_reads_are_refused(env, tmp_path):
    source = fl.FileSource.forCsv(str(tmp_path), "a int", comment="#").withMalformedRecords(BROKEN)
    with pytest.raises(NotSupportedError, match="withMalformedRecords: with comment='#'"):
        list(env.fromSource(source).executeAndCollect())


# ---------------------------------------------------------------------- the same as Spark

NUMBERS = [
    "5",
    "+5",
    "-5",
    "007",
    "-0",
    "0x1F",
    "1.5",
    "1e2",
    "NaN",
    "nan",
    "inf",
    "Inf",
    "-Inf",
    "Infinity",
    "+Infinity",
    "-Infinity",
    "1_000",
    "1d",
    "1.5F",
    "0x1p3",
    ".5",
    "5.",
    "+.5",
    "1e400",
    "1e-400",
    "127",
    "128",
    "-128",
    "-129",
    "32768",
    "2147483648",
    "9223372036854775807",
    "9223372036854775808",
    "1,5",
    "٣",
    "-",
    "e5",
    "99999.995",
    "0.005",
    "0.015",
    "-0.005",
    "1E-2",
    "100000",
    "99999.99",
    "null",
    "true",
] + ["", " 5", "5 ", "\t1.5"]
BOOLEANS = ["true", "TRUE", "tRuE", "false", "1", "0", "yes", "T"] + [" true", ""]
DATES = [
    "2024-02-29",
    "2023-02-29",
    "2024-2-9",
    "2024",
    "2024-02",
    "2024-13-01",
    "2024-02-29T12:00:00",
    "2024/02/29",
    "0001-01-01",
    "9999-12-31",
    "2024-02-29Tx",
    "2024-02-29x",
    "1582-10-10",
    "24-01-01",
    "02024-01-01",
    "2024-2-",
] + ["2024-02-29 ", " 2024-02-29", "2024-02-29 x", ""]
TIMESTAMPS = [
    "2024-02-29T12:30:15",
    "2024-02-29T12:30:15Z",
    "2024-02-29T12:30:15.5",
    "2024-02-29T12:30:15.1234567",
    "2024-02-29T12:30:15+01:00",
    "2024-02-29T12:30:15-0130",
    "2024-02-29T12:30:15+01",
    "2024-02-29T12:30Z",
    "2024-02-29T12:30:15UTC+1",
    "2024-02-29",
    "2024-02",
    "2024",
    "2024-02-29T",
    "2024-02-29T24:00:00",
    "1700000000",
    "2024-03-31T02:30:00",
    "2024-10-27T02:30:00",
    "1850-01-01T00:00:00",
    "1582-10-10T00:00:00",
    "2024-02-29T12:30:15+19:00",
    "2024-02-29T23:59:60",
] + ["2024-02-29 12", "2024-2-9 1:2:3", "2024-02-29 12:30:15 Europe/Berlin", ""]
CSV = {
    **dict.fromkeys(["tinyint", "int", "bigint", "float", "double", "decimal(7,2)"], NUMBERS),
    "boolean": BOOLEANS,
    "date": DATES,
    "timestamp": TIMESTAMPS,
    "string": ["a", '""a""', " a ", "é", "a\\b", "a,b"],
}
JSON_NUMBERS = [
    "5",
    "-5",
    "+5",
    "05",
    "1.5",
    "1e2",
    "1E400",
    "1.50",
    "127",
    "-129",
    "2147483648",
    "9223372036854775808",
    "NaN",
    "Infinity",
    "+INF",
    "INF",
    "Inf",
    '"5"',
    '"1.5"',
    '"NaN"',
    '"-INF"',
    '"Inf"',
    '""',
    "null",
    "true",
    "True",
    "[]",
    "{}",
    "0x1F",
    "1.",
    ".5",
    "99999.995",
    '"0.005"',
    '"abc"',
    "1.0",
]
JSON = {
    **dict.fromkeys(
        ["smallint", "int", "bigint", "float", "double", "decimal(7,2)", "boolean"], JSON_NUMBERS
    ),
    "string": [
        *JSON_NUMBERS,
        *["'a'", "'a\"b'", '"a\\u00e9"', '"\\ud83d\\ude00"', '"a\\qb"', '{"x": [1,  2]}', "[1,]"],
    ],
    "date": [f'"{date}"' for date in DATES] + ["5", "null"],
    "timestamp": [f'"{timestamp}"' for timestamp in TIMESTAMPS] + ["5", "1.5", "null"],
    "struct<a:int,b:string>": [
        '{"a":1,"b":"x"}',
        "{}",
        "null",
        '{"a":"x"}',
        "[1]",
        '{"a":1,"a":2}',
    ],
    "array<int>": ["[1,2]", "[]", "null", "[null]", '["a"]', "{}", "5", "[1,]"],
    "map<string,int>": ['{"a":1}', "{}", "null", '{"a":"x"}', '{"a":null}', "[1]"],
}


def spark_reads(spark, path, schema, form):
    """Each row that Spark's reader gives, None where it calls the line corrupt."""
    reader = spark.read.schema(f"{schema}, bad string").option("columnNameOfCorruptRecord", "bad")
    table = reader.option("escape", '"').format(form).load(str(path)).toArrow()
    rows = [row for batch in table.to_batches() for row in RowColumns(batch)]
    return [None if row[-1] is not None else repr(row[:-1]) for row in rows]


def we_read(path, schema, form, zone):
    make = fl.FileSource.forCsv if form == "csv" else fl.FileSource.forJson
    reader = file_format(make(str(path), schema), table_schema(schema), zone)
    rows, malformed = read(reader, whole(path))
    found = {row[0]: repr(tuple(row)) for row in rows} | {bad.line - 1: None for bad in malformed}
    assert len(found) == len(rows) + len(malformed)
    return [found[number] for number in range(len(found))]


@pytest.mark.parametrize(("form", "texts_of"), [("csv", CSV), ("json", JSON)], ids=["csv", "json"])
def test_values_are_those_that_sparks_reader_gives(spark, tmp_path, form, texts_of):
    """A column for each type, and a line for each text, which is in the column of its type."""
    path = tmp_path / f"a.{form}"
    schema = ", ".join(f"v{at} {kind}" for at, kind in enumerate(texts_of))
    schema = f"id int, {schema}, c string"
    given = [(at, text) for at, texts in enumerate(texts_of.values()) for text in texts]
    lines = []
    for number, (at, text) in enumerate(given):
        if form == "csv":
            before, behind = "," * (at + 1), "," * (len(texts_of) - at)
            lines.append(f'{number}{before}"{text}"{behind}x')
        else:
            lines.append(f'{{"id":{number},"v{at}":{text},"c":"x"}}')
    path.write_text("\n".join(lines), encoding="utf-8")
    ours, theirs = we_read(path, schema, form, "UTC"), spark_reads(spark, path, schema, form)
    kinds = list(texts_of)
    different = {
        (kinds[at], text): (found, expected)
        for (at, text), found, expected in zip(given, ours, theirs, strict=True)
        if found != expected
    }
    assert different == {}
