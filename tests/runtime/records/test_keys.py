"""The key groups of keys, the cache of their hashes, and the hashes of columns."""

import datetime
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish import Row
from flinkish.api.errors import IncompatibleCheckpointError, UnfitElementError, UnstableKeyError
from flinkish.api.types.fields import NamedField
from flinkish.runtime.columns.tracing.checks import same
from flinkish.runtime.columns.tracing.column_function import ColumnFunction
from flinkish.runtime.records.frames import NO_MARKS, Frame, decode_frame, encode_frame
from flinkish.runtime.records.keys import (
    ComputedKeys,
    KeyColumn,
    KeyHashes,
    joined_keys,
    key_group_of,
    records_at,
)
from flinkish.runtime.records.records import Records
from flinkish.runtime.records.rows import RowColumns, python_values, tuples
from flinkish.runtime.records.shapes import VALUE, Shape
from flinkish.runtime.records.stable_hashes import stable_hash


class Name(str):
    """Equal to a text in any letters."""

    def __eq__(self, other):
        return self.lower() == other.lower()

    def __hash__(self):
        return hash(self.lower())


@pytest.mark.parametrize("keys", [range(10_000), [f"key-{i}" for i in range(10_000)]])
@pytest.mark.parametrize("groups", [1, 4, 16, 128])
def test_keys_spread_over_the_key_groups(keys, groups):
    counts = [0] * groups
    for key in keys:
        counts[key_group_of(stable_hash(key), groups)] += 1
    mean = len(keys) / groups
    assert min(counts) > 0.5 * mean
    assert max(counts) < 1.6 * mean


def test_remembered_hashes_are_bounded(monkeypatch):
    monkeypatch.setattr(KeyHashes, "MOST", 10)
    hashes = KeyHashes()
    assert hashes.column(list(range(100))).tolist() == [stable_hash(i) for i in range(100)]
    assert len(hashes) <= 10


def test_a_cached_key_hides_no_type_that_is_refused():
    hashes = KeyHashes()
    hashes.column(["a", "b"])
    with pytest.raises(UnstableKeyError, match="'A' of type Name cannot be hashed"):
        hashes.column(["b", Name("A")])


def test_keys_that_an_earlier_version_kept_elsewhere_are_refused():
    hashes = KeyHashes(earlier=True)
    noon = datetime.datetime(2024, 2, 29, 12)
    assert hashes.column(["a", (1, noon)]).tolist() == [stable_hash("a"), stable_hash((1, noon))]
    with pytest.raises(IncompatibleCheckpointError, match=r"the key \(1, Timestamp.*setSavepoint"):
        hashes.column([(1, pd.Timestamp(noon, unit="s").as_unit("ns") + pd.Timedelta(1))])
    with pytest.raises(IncompatibleCheckpointError, match="the key Timestamp"):
        hashes.column([noon, pd.Timestamp(noon)])


KINDS = [getattr(pa, f"{sign}int{bits}")() for sign in ("", "u") for bits in (8, 16, 32, 64)]
NUMBERS = st.one_of(st.integers(-300, 300), st.integers(-(2**63), 2**64 - 1))


@given(st.sampled_from(KINDS), st.lists(st.one_of(NUMBERS, st.none())))
def test_a_column_of_integers_hashes_as_its_keys_do(kind, keys):
    least, width = (-1, kind.bit_width - 1) if str(kind).startswith("i") else (0, kind.bit_width)
    keys = [k for k in keys if k is None or least << width <= k < 1 << width]
    assert KeyHashes().ofColumn(pa.array(keys, kind)).tolist() == list(map(stable_hash, keys))


def forgot(row):
    row.name  # noqa: B018


def keys_of(selector, *names, columns=False):
    rows = [Row(name=name, n=n) for n, name in enumerate(names)]
    batch = pa.RecordBatch.from_pylist([row.asDict() for row in rows])
    return KeyColumn(selector, "keyBy after Map", ColumnFunction(selector)).of(
        RowColumns(batch) if columns else rows
    )


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize(
    ("selector", "words"),
    [
        (forgot, r"forgot in .*test_keys.py, line \d+,"),
        (lambda row: row.name, r"the lambda in .*test_keys.py, line \d+,"),
        (lambda row: row.name and row.name.upper(), "the lambda .*"),
        (NamedField("name"), r"keyBy\('name'\)"),
    ],
)
def test_none_is_no_key(selector, words, columns):
    first, names = ("n=0", [None, None]) if selector is forgot else ("n=1", ["a", None])
    reason = (
        rf"{words} returned None as the key of the element Row\(name=None, {first}\).*allowNull"
    )
    with pytest.raises(UnfitElementError, match=f"keyBy after Map: {reason}"):
        keys_of(selector, *names, columns=columns)


class Pair(NamedTuple):
    name: Any
    number: Any


@dataclass(frozen=True)
class Place:
    name: str
    number: int


SELECTORS: dict[str, Callable[[Any], Any]] = {
    "two fields": lambda row: (row.name, row.number),
    "computed": lambda row: (row.number % 3, row.name + "x", row.flag),
    "all kinds": lambda row: (row.data, row.day, row.flag, row.small),
    "one field": lambda row: (row.name,),
    "nested": lambda row: (row.name, (row.number, row.flag)),
    "NamedTuple": lambda row: Pair(row.name, row.number),
    "Row": lambda row: Row(name=row.name, number=row.number),
    "of all": lambda row: Pair(Row(name=row.name), (row.number, Pair(row.flag, row.day))),
    "dataclass": lambda row: Place(row.name, row.number),
    "with a constant": lambda row: (row.name, "a"),
}
AS_COLUMN = {*SELECTORS} - {"dataclass"}
TYPES = {
    "name": (pa.string(), st.one_of(st.none(), st.sampled_from(["", "a", "b", "aa"]))),
    "number": (pa.int64(), st.integers(-4, 4)),
    "small": (pa.int16(), st.one_of(st.none(), st.integers(0, 2))),
    "flag": (pa.bool_(), st.booleans()),
    "data": (pa.binary(), st.sampled_from([b"", b"a", b"\0"])),
    "day": (pa.date32(), st.dates(datetime.date(2024, 1, 1), datetime.date(2024, 1, 3))),
}


def test_keys_are_of_the_class_that_was_defined_last(monkeypatch):
    shape = Shape(Pair, Pair._fields, (VALUE, VALUE))
    keys = tuples([pa.array(["a"]), pa.array([1])], shape)
    assert [type(key) for key in python_values(keys)] == [Pair]

    class Again(NamedTuple):
        name: Any
        number: Any

    monkeypatch.setattr(sys.modules[__name__], "Pair", Again)
    assert [type(key) for key in python_values(keys)] == [Again]


@pytest.mark.parametrize("name", SELECTORS)
@given(st.lists(st.tuples(*(values for _, values in TYPES.values())), min_size=1))
def test_tuples_are_the_keys_that_the_selector_returns(name, rows):
    selector, arrays = SELECTORS[name], zip(zip(*rows), TYPES.values())
    if name == "computed":
        rows = [(each[0] or "", *each[1:]) for each in rows]
        arrays = zip(zip(*rows), TYPES.values())
    columns = [pa.array(column, kind) for column, (kind, _) in arrays]
    values = RowColumns(pa.RecordBatch.from_arrays(columns, names=list(TYPES)))
    keys, hashes = KeyColumn(selector, "keyBy after Map", ColumnFunction(selector)).of(values)
    expected = list(map(selector, values))
    assert isinstance(keys, ComputedKeys) == (name in AS_COLUMN)
    records = Records(values, np.arange(len(rows)), keys, hashes)
    for each in (records, decode_frame(encode_frame(Frame(records, NO_MARKS), "op")).records):
        assert each.keys is not None
        assert each.hashes is not None
        assert isinstance(each.keys, ComputedKeys) == isinstance(keys, ComputedKeys)
        assert all(map(same, each.keys, expected))
        assert each.hashes.tolist() == list(map(stable_hash, expected))
    if isinstance(keys, ComputedKeys):
        parts = [records.slice(0, len(rows) // 2), records.slice(len(rows) // 2, len(rows))]
        together = joined_keys(values, [part.keys for part in parts])
        assert isinstance(together, ComputedKeys)
        assert all(map(same, together, expected))
        backwards = records_at(records, np.arange(len(rows))[::-1])
        assert list(backwards.keys or ()) == expected[::-1]
