"""Parquet: row groups in ranges, and columns that have to be those of the schema."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from flinkish.api.errors import MalformedRecordError
from flinkish.runtime.formats.parquet_format import MOST_ROWS, ParquetFormat
from flinkish.runtime.records.rows import RowColumns, joined
from tests.runtime.formats.parquet_files import damage, undamaged, write
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


USED = frozenset({2})
"""The column "struct" of NESTED."""


def runs_of(format_, *splits):
    return [records.values for split in splits for records in format_.read(split)]


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A file of three row groups, in which a run of records ends where none of these does."""
    path = tmp_path_factory.mktemp("parquet") / "large.parquet"
    count = 2 * MOST_ROWS + 10_000
    numbers = pa.array(range(count))
    texts = pa.array([None if n % 7 == 0 else f"t{n}" for n in range(count)])
    lists = pa.array([[n, None][: n % 3] for n in range(count)], pa.list_(pa.int64()))
    table = pa.table({"number": numbers, "text": texts, "list": lists})
    write(path, table, row_group_size=40_000)
    return path, table


LARGE = pa.schema([("number", pa.int64()), ("text", pa.string()), ("list", pa.list_(pa.int64()))])


@pytest.mark.parametrize("step", [13, 50, 10_000])
def test_what_is_not_read_at_once_is_there_all_the_same(tmp_path, step):
    path = tmp_path / "a.parquet"
    parquet.write_table(TABLE, path, row_group_size=1)
    splits = ranges(path, range(0, 10_000, step))
    assert read(ParquetFormat(NESTED, USED), *splits) == read(ParquetFormat(NESTED), *splits)


@pytest.mark.slow("a file of more than one run")
@settings(max_examples=12)
@given(data=st.data())
def test_parts_of_runs_have_the_columns_that_are_read_later(large, data):
    path, table = large
    runs = runs_of(ParquetFormat(LARGE, frozenset({0})), whole(path))
    bounds = np.cumsum([0, *map(len, runs)])
    parts, expected = [], []
    for number in data.draw(st.lists(st.integers(0, len(runs) - 1), min_size=1, max_size=4)):
        run, rows = runs[number], np.arange(bounds[number], bounds[number + 1])
        start = data.draw(st.integers(0, len(run) - 1))
        end = data.draw(st.integers(start, len(run)))
        part, rows = run.between(start, end), rows[start:end]
        if len(part) and data.draw(st.booleans()):
            positions = np.array(
                data.draw(st.lists(st.integers(0, len(part) - 1), max_size=9)), int
            )
            part, rows = part.take(positions), rows[positions]
        mask = rows % data.draw(st.integers(1, 3)) == 0
        parts.append(part.kept(mask))
        expected.append(rows[mask])
    together = joined(parts)
    assert isinstance(together, RowColumns)
    assert together.batch.to_pylist() == table.take(np.concatenate(expected)).to_pylist()


def test_only_the_columns_used_are_decoded(tmp_path):
    path, names = tmp_path / "a.parquet", [f"c{n}" for n in range(50)]
    table = pa.table({name: range(n, n + 1_000) for n, name in enumerate(names)})
    write(path, table, row_group_size=300)
    damage(path, *({*names} - {"c7", "c31"}))
    assert undamaged(path, names) == ["c7", "c31"]
    schema = pa.schema([(name, pa.int64()) for name in names])
    (run,) = runs_of(ParquetFormat(schema, frozenset({7, 31})), whole(path))
    assert run.arrow(7).to_pylist() == list(range(7, 1_007))
    assert run.arrow(31).to_pylist() == list(range(31, 1_031))
    with pytest.raises(MalformedRecordError, match=r"a\.parquet cannot be read as .*[Cc][Rr][Cc]"):
        run.rows()
    with pytest.raises(MalformedRecordError, match=r"a\.parquet cannot be read as .*[Cc][Rr][Cc]"):
        runs_of(ParquetFormat(schema, frozenset({7, 8})), whole(path))


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"a": [1]}),
        pa.table({"a": [1], "b": [1]}),
        pa.table({"a": ["x"], "b": [1.5]}),
        pa.table({"a": pa.array([300], pa.int32()), "b": ["x"]}),
        pa.table({"a": [1], "b": ["x"], "B": ["y"], "c": [1]}),
        pa.table({"a": [1], "C": pa.array([{"y": 1}]), "b": ["x"]}),
        pa.table({"a": [1], "b": pa.array(["x"]).dictionary_encode(), "c": [[1]]}),
        pa.table({"a": pa.array([], pa.int8()), "b": pa.array([], pa.float16())}),
    ],
    ids=str,
)
@pytest.mark.parametrize("used", [{0}, set(), {1}, {1, 2}])
def test_columns_that_are_not_used_have_to_be_there_with_their_type(tmp_path, table, used):
    path = tmp_path / "a.parquet"
    parquet.write_table(table, path)
    kinds = [("a", pa.int8()), ("b", pa.string()), ("c", pa.struct([("x", pa.int64())]))]
    outcomes = []
    for format_ in (
        ParquetFormat(pa.schema(kinds)),
        ParquetFormat(pa.schema(kinds), frozenset(used)),
    ):
        with pytest.raises(MalformedRecordError) as caught:
            runs_of(format_, whole(path))
        outcomes.append(str(caught.value))
    assert outcomes[0] == outcomes[1]


@pytest.mark.slow("a file of more than one run")
def test_a_run_reads_the_rest_after_the_file_was_closed(large):
    path, table = large
    runs = runs_of(ParquetFormat(LARGE, frozenset({1})), whole(path))
    assert runs[1][5] == runs[1].rows()[5]
    assert runs[1].batch.column(0)[5].as_py() == MOST_ROWS + 5
    assert runs[0].batch.to_pylist() == table.slice(0, MOST_ROWS).to_pylist()
