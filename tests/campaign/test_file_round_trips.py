"""Values of every type go through every file sink and come back as they were, or the sink names what its
format cannot hold; and both engines write the same bytes."""

from __future__ import annotations

import datetime
import math
import os
from decimal import Context, Decimal
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import flinkish as fl
from flinkish.api.errors import UnfitElementError

pytestmark = pytest.mark.slow("writes and reads files of each format")

UTC = datetime.UTC
QUICK = (Phase.explicit, Phase.reuse, Phase.generate)
"""Shrinking rows of so many columns takes minutes."""
TEXT = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cs",))
    | st.sampled_from('\r\n",\\ \t\0\ufeff\u2028\x85\x0b'),
    max_size=5,
)


def decimals(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    most = 10**precision - 1
    return st.integers(-most, most).map(
        lambda number: Decimal(number).scaleb(-scale, Context(prec=60))
    )


VALUES: dict[str, st.SearchStrategy[object]] = {
    "string": TEXT,
    "boolean": st.booleans(),
    "tinyint": st.integers(-128, 127),
    "smallint": st.integers(-(2**15), 2**15 - 1),
    "int": st.integers(-(2**31), 2**31 - 1),
    "bigint": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(width=32),
    "double": st.floats(),
    "decimal(12,4)": decimals(12, 4),
    "decimal(38,18)": decimals(38, 18),
    "date": st.dates(),
    "timestamp": st.datetimes(timezones=st.just(UTC)),
    "timestamp_ntz": st.datetimes(),
    "interval day to second": st.timedeltas(
        datetime.timedelta(-100_000_000), datetime.timedelta(100_000_000)
    ),
    "binary": st.binary(max_size=5),
}
NESTED: dict[str, st.SearchStrategy[object]] = {
    "array<string>": st.lists(st.none() | TEXT, max_size=3),
    "array<array<double>>": st.lists(st.none() | st.lists(st.floats(), max_size=2), max_size=2),
    "map<string, timestamp>": st.dictionaries(
        TEXT, st.none() | st.datetimes(timezones=st.just(UTC)), max_size=3
    ),
    "map<int, array<float>>": st.dictionaries(
        st.integers(-9, 9), st.lists(st.floats(width=32), max_size=2), max_size=2
    ),
    "map<date, binary>": st.dictionaries(st.dates(), st.binary(max_size=3), max_size=2),
    "struct<a: string, b: struct<c: decimal(12,4), d: boolean>>": st.fixed_dictionaries(
        {
            "a": st.none() | TEXT,
            "b": st.none()
            | st.fixed_dictionaries({"c": st.none() | decimals(12, 4), "d": st.booleans()}),
        }
    ),
}


def rows_of(values: dict[str, st.SearchStrategy[object]]):
    return st.lists(st.tuples(*(st.none() | each for each in values.values())), max_size=6)


def schema_of(values) -> str:
    return ", ".join(f"c{place} {kind}" for place, kind in enumerate(values))


FLAT, ALL = schema_of(VALUES), schema_of({**VALUES, **NESTED})
CSV, JSON, PARQUET = "forCsv", "forJson", "forParquet"


def sink(kind, path, schema, **options):
    return getattr(fl.FileSink, kind)(str(path), schema, **options)


def plain(value):
    """A value in a form that can be compared exactly: also NaN, -0.0 and the zone of a time."""
    if isinstance(value, dict):
        return {"fields": sorted((repr(k), plain(v)) for k, v in value.items())}
    if isinstance(value, fl.Row):
        return plain(value.asDict())
    if isinstance(value, list):
        return list(map(plain, value))
    if isinstance(value, float):
        return "nan" if math.isnan(value) else repr(value)
    if isinstance(value, datetime.datetime):
        value = value.replace(fold=0)
        return repr(value.astimezone(UTC) if value.tzinfo else value)
    return value


def environment(local):
    made = fl.StreamExecutionEnvironment.getExecutionEnvironment()
    return made.setLocalExecution() if local else made


def written(path) -> bytes:
    files = sorted(Path(path).glob("batch=*/part-*"))
    return b"".join(file.read_bytes() for file in files)


def come_back(kind, path, schema, **options):
    source = getattr(fl.FileSource, kind)(str(path), schema, **options)
    return [
        list(map(plain, row)) for row in environment(True).fromSource(source).executeAndCollect()
    ]


@pytest.fixture(scope="module")
def directories(tmp_path_factory):
    root = tmp_path_factory.mktemp("round-trips")
    return (root / str(number) for number in count())


CASES = [
    (CSV, VALUES, {}),
    (CSV, VALUES, {"header": "true", "sep": "\t"}),
    (CSV, VALUES, {"sep": ";"}),
    (JSON, {**VALUES, **NESTED}, {}),
    (PARQUET, {**VALUES, **NESTED}, {}),
]


@pytest.mark.parametrize(("kind", "values", "options"), CASES)
@settings(suppress_health_check=[HealthCheck.too_slow], phases=QUICK)
@given(data=st.data())
def test_values_come_back_from_files(directories, kind, values, options, data):
    rows, schema = data.draw(rows_of(values)), schema_of(values)
    path = next(directories)
    env = environment(True)
    env.fromCollection(rows).sinkTo(sink(kind, path, schema, **options))
    env.execute()
    if rows:
        assert come_back(kind, path, schema, **options) == [list(map(plain, row)) for row in rows]


@given(texts=st.lists(TEXT, max_size=5))
def test_a_text_comes_back_as_a_line_or_is_named(directories, texts):
    path = next(directories)
    env = environment(True)
    env.fromCollection(texts).sinkTo(fl.FileSink.forText(str(path)))
    if any("\n" in text or "\r" in text or text.startswith("\ufeff") for text in texts):
        with pytest.raises(UnfitElementError, match="has a line break in it"):
            env.execute()
        return
    env.execute()
    if texts:
        lines = environment(True).fromSource(fl.FileSource.forLines(str(path)))
        assert list(lines.executeAndCollect()) == texts


@given(texts=st.lists(TEXT, min_size=1, max_size=8), ranges=st.integers(1, 40))
def test_texts_with_line_breaks_come_back_from_any_ranges(directories, texts, ranges):
    """However a large file is cut, no line within a text becomes a record."""
    from flinkish.api.types.table_schema import table_schema
    from flinkish.runtime.formats.base import FileSplit
    from flinkish.runtime.formats.file_formats import file_format

    path = next(directories)
    env = environment(True)
    env.fromCollection([(text, 1) for text in texts]).sinkTo(sink(CSV, path, "t string, n int"))
    env.execute()
    [file] = path.glob("batch=*/part-*")
    size = os.path.getsize(file)
    schema = "t string, n int"
    format_ = file_format(fl.FileSource.forCsv(str(path), schema), table_schema(schema))
    found = [
        tuple(row)
        for start in range(0, size, ranges)
        for records in format_.read(FileSplit(str(file), start, min(ranges, size - start), size))
        for row in records.values
    ]
    assert found == [(text, 1) for text in texts]


def samples(values: dict[str, st.SearchStrategy[object]], seed: int):
    """Rows of odd values of each type, the same at each call."""
    odd: dict[str, list[object]] = {
        "string": [" a ", "", "a\r\nb\n", 'say "hi"', "a,b\\", "\ufeffx", "\0", None],
        "double": [1e22, 0.1, math.inf, -math.inf, math.nan, -0.0, 5e-324, None],
        "float": [
            *map(float, np.float32([1e22, 0.1, 1e-45, 16777216.0])),
            math.inf,
            math.nan,
            None,
        ],
        "bigint": [-(2**63), 2**63 - 1, 0, None],
        "boolean": [True, False, None],
        "decimal(38,18)": [Decimal("1E-18"), Decimal("-1E+3"), Decimal(0), None],
        "date": [datetime.date.min, datetime.date.max, None],
        "timestamp": [
            datetime.datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC),
            datetime.datetime(2024, 1, 1, tzinfo=UTC),
            None,
        ],
        "timestamp_ntz": [datetime.datetime.min, datetime.datetime.max, None],
        "interval day to second": [datetime.timedelta(-1, microseconds=5), None],
        "binary": [b"\xff\0", b"", None],
        "array<string>": [["a", None, '"'], [], None],
        "map<int, array<float>>": [{1: [0.5], -2: []}, {}, None],
        "struct<a: string, b: struct<c: decimal(12,4), d: boolean>>": [
            {"a": "x", "b": {"c": Decimal("1.5"), "d": True}},
            {"a": None, "b": None},
            None,
        ],
    }
    kinds = [kind for kind in odd if kind in values]
    rows = [tuple(odd[kind][(n + seed) % len(odd[kind])] for kind in kinds) for n in range(16)]
    return rows, ", ".join(f"c{place} {kind}" for place, kind in enumerate(kinds))


def test_both_engines_write_the_same_bytes(spark, tmp_path):
    """One job of each engine writes all sinks."""
    flat, flat_schema = samples(VALUES, 0)
    rows, schema = samples({**VALUES, **NESTED}, 1)
    sinks = {
        "csv": (flat, CSV, flat_schema, {}),
        "header": (flat, CSV, flat_schema, {"header": "true", "sep": ";"}),
        "json": (rows, JSON, schema, {}),
        "lines of csv": (flat, CSV, None, {}),
    }
    for engine in ("local", "spark"):
        env = environment(engine == "local")
        env.setParallelism(1)
        for name, (elements, kind, columns, options) in sinks.items():
            stream = env.fromCollection(elements)
            # Without a type that tells the columns
            stream = stream if columns else stream.map(lambda row: row)
            stream.sinkTo(sink(kind, tmp_path / engine / name, columns, **options))
        buckets = env.fromCollection(flat).sinkTo(
            sink(CSV, tmp_path / engine / "buckets", flat_schema, header="true").withBucketAssigner(
                fl.DateTimeBucketAssigner("yyyy")
            )
        )
        assert buckets is not None
        env.execute()
    for name, (elements, kind, columns, options) in sinks.items():
        assert written(tmp_path / "local" / name) == written(tmp_path / "spark" / name), name
        assert written(tmp_path / "local" / name) != b""
        if columns:
            back = come_back(kind, tmp_path / "spark" / name, columns, **options)
            assert back == [list(map(plain, row)) for row in elements], name
    local, spark_ = (
        b"".join(
            file.read_bytes()
            for file in sorted((tmp_path / engine / "buckets").glob("batch=*/bucket=*/part-*"))
        )
        for engine in ("local", "spark")
    )
    assert local == spark_ != b""
