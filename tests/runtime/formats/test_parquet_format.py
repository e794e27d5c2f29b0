"""Parquet: row groups in ranges, and columns that have to be those of the schema."""

from __future__ import annotations

import datetime

import pyarrow as pa
import pytest
from pyarrow import parquet

from flinkish.api.errors import MalformedRecordError
from flinkish.runtime.formats.parquet_format import ParquetFormat
from tests.runtime.formats.reading import ranges, read, whole

NOON = datetime.datetime(2024, 1, 1, 12)
NESTED = pa.schema(
    [
        ("number", pa.int64()),
        ("list", pa.list_(pa.int64())),
        ("struct", pa.struct([("text", pa.string()), ("number", pa.int64())])),
        ("map", pa.map_(pa.string(), pa.int64())),
    ]
)
TABLE = pa.table(
    {
        "number": [1, 2, None],
        "list": [[1], None, [2, None]],
        "struct": [{"number": 1, "text": "x"}, None, {"number": None, "text": "z"}],
        "map": pa.array([[("k", 1)], None, []], pa.map_(pa.string(), pa.int64())),
        "other": ["not", "read", "at all"],
    }
)


def rows(path, schema, table=None):
    if table is not None:
        parquet.write_table(table, path)
    values, malformed = read(ParquetFormat(pa.schema(schema)), whole(path))
    assert not malformed
    return [tuple(value) for value in values]


@pytest.mark.parametrize("step", [1, 50, 400, 10_000])
def test_ranges_give_each_row_group_once(tmp_path, step):
    path = tmp_path / "a.parquet"
    parquet.write_table(TABLE, path, row_group_size=1)
    values, _ = read(ParquetFormat(NESTED), *ranges(path, range(0, 10_000, step)))
    assert values == read(ParquetFormat(NESTED), whole(path))[0]
    assert [tuple(value) for value in values] == [
        (1, [1], ("x", 1), {"k": 1}),
        (2, None, None, None),
        (None, [2, None], ("z", None), {}),
    ]


@pytest.mark.parametrize(
    ("column", "wanted", "values"),
    [
        (pa.array([1, None], pa.int32()), pa.int64(), [1, None]),
        (pa.array([1, 300], pa.int32()), pa.int16(), [1, 300]),
        (pa.array([1], pa.int32()), pa.float64(), [1.0]),
        (pa.array([1.5], pa.float32()), pa.float64(), [1.5]),
        (pa.array([b"\xc3\xa9"]), pa.string(), ["é"]),
        (pa.array(["a", "a"]).dictionary_encode(), pa.string(), ["a", "a"]),
        (pa.array(["a"], pa.large_string()), pa.string(), ["a"]),
        (pa.array([NOON]), pa.timestamp("us", "UTC"), [NOON.replace(tzinfo=datetime.UTC)]),
        (pa.array([NOON], pa.timestamp("ns")), pa.timestamp("us"), [NOON]),
        (pa.array([[1]], pa.large_list(pa.int32())), pa.list_(pa.int64()), [[1]]),
    ],
    ids=str,
)
def test_types_that_widen(tmp_path, column, wanted, values):
    found = rows(tmp_path / "a.parquet", [("a", wanted)], pa.table({"a": column}))
    assert found == [(value,) for value in values]


def test_names_are_found_in_upper_and_lower_case(tmp_path):
    table = pa.table({"A.b": [1], "x": [2], "X": [3]})
    assert rows(tmp_path / "a.parquet", [("a.B", pa.int64()), ("X", pa.int64())], table) == [(1, 3)]


@pytest.mark.parametrize(
    ("column", "wanted", "reason"),
    [
        (pa.array([1]), pa.int32(), "'a' is of type int64 there, and of int32 in the schema"),
        (pa.array([1]), pa.string(), "'a' is of type int64 there, and of string in the schema"),
        (pa.array(["1"]), pa.int64(), "'a' is of type string there, and of int64 in the schema"),
        (pa.array([1.5]), pa.int64(), "'a' is of type double there, and of int64 in the schema"),
        (pa.array([300], pa.int32()), pa.int8(), "Integer value 300 not in range"),
        (pa.array([1], pa.timestamp("ns")), pa.timestamp("us"), "would lose data"),
        (pa.array([b"\xff"]), pa.string(), "Invalid UTF8"),
        (pa.array([[1]]), pa.list_(pa.string()), "an element of the column 'a' is of type int64"),
        (pa.array([{"x": 1}]), pa.struct([("y", pa.int64())]), "field of the column 'a' 'y'"),
    ],
    ids=str,
)
def test_another_type_is_an_error_that_names_file_and_column(tmp_path, column, wanted, reason):
    path = tmp_path / "a.parquet"
    with pytest.raises(MalformedRecordError) as caught:
        rows(path, [("a", wanted)], pa.table({"a": column}))
    assert str(path) in str(caught.value)
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (["b"], "there is no column 'a'; there are b"),
        (["A", "Ä", "AA"], None),
        (["b", "c"], "there is no column 'a'; there are b, c"),
    ],
)
def test_a_column_that_is_not_there(tmp_path, names, reason):
    table = pa.table({name: [1] for name in names})
    if reason is None:
        assert rows(tmp_path / "a.parquet", [("a", pa.int64())], table) == [(1,)]
        return
    with pytest.raises(MalformedRecordError, match=reason):
        rows(tmp_path / "a.parquet", [("a", pa.int64())], table)


@pytest.mark.parametrize(
    ("keep", "reason"), [(0, "it is empty"), (-50, "magic bytes"), (9, "footer")]
)
def test_a_file_that_is_cut_off(tmp_path, keep, reason):
    path = tmp_path / "a.parquet"
    parquet.write_table(TABLE, path)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(MalformedRecordError, match=f"{path} cannot be read as .*: .*{reason}"):
        rows(path, NESTED)


def test_damaged_pages_are_an_error(tmp_path):
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"a": ["text"] * 1_000}), path, compression="gzip")
    data = bytearray(path.read_bytes())
    data[4:60] = bytes(56)
    path.write_bytes(data)
    with pytest.raises(MalformedRecordError, match=r"a\.parquet cannot be read"):
        rows(path, [("a", pa.string())])
