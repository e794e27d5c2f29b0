"""The key groups of keys, the cache of their hashes, and the hashes of columns."""

import datetime

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish import Row
from flinkish.api.errors import IncompatibleCheckpointError, UnfitElementError, UnstableKeyError
from flinkish.api.types.fields import NamedField
from flinkish.runtime.columns.tracing.column_function import ColumnFunction
from flinkish.runtime.records.keys import KeyColumn, KeyHashes, key_group_of
from flinkish.runtime.records.rows import RowColumns
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
