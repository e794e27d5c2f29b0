"""Integers are packed to the width their span needs, texts that repeat are codes, and both come back as they were."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish.runtime.records.packing import narrowed, packed, unpacked, widened
from flinkish.runtime.records.partly_read import PartlyRead
from flinkish.runtime.records.rows import RowColumns, python_values

RANGES = {pa.int32(): 2**31, pa.int64(): 2**63}


@st.composite
def columns(draw):
    """Integers close to each other or to the ends of their type's range."""
    kind = draw(st.sampled_from(list(RANGES)))
    end = RANGES[kind]
    near = draw(st.sampled_from([-end, end - 1, 0, draw(st.integers(-end, end - 1))]))
    apart = draw(st.sampled_from([0, 255, 256, 65535, 65536, 2**32 - 1, 2**32, 2**40]))
    least, most = max(-end, near - apart), min(end - 1, near + apart)
    values = st.one_of(st.integers(least, most), st.sampled_from([least, most]))
    return pa.array(draw(st.lists(values, max_size=8)), kind)


@given(columns())
def test_what_is_unpacked_is_what_was_packed(column):
    batch = pa.record_batch({"n": column, "s": ["x"] * len(column)})
    received, codes = unpacked(packed(batch, {}))
    assert not codes
    assert isinstance(received, pa.RecordBatch)
    assert received.equals(batch)
    assert received.schema.equals(batch.schema, check_metadata=True)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([5, 260], pa.uint8()),
        ([5, 261], pa.uint16()),
        ([-1, 65_534], pa.uint16()),
        ([1_700_000_000_000, 1_700_000_065_536], pa.uint32()),
        ([-(2**63), -(2**63) + 2**32 - 1], pa.uint32()),
        ([0, 2**32], pa.int64()),
        ([-(2**63), 2**63 - 1], pa.int64()),
        ([1, None], pa.int64()),
    ],
)
def test_the_width_is_the_least_that_holds_the_span(values, kind):
    assert packed(pa.record_batch({"n": values}), {}).schema.field("n").type == kind


def test_a_packed_column_keeps_what_its_schema_says():
    field = pa.field("n", pa.int64(), nullable=False, metadata={"unit": "ms"})
    batch = pa.record_batch([[1, 2]], schema=pa.schema([field]))
    assert packed(batch, {}).nbytes < batch.nbytes
    received, _ = unpacked(packed(batch, {}))
    assert received.schema.equals(batch.schema, check_metadata=True)


@given(columns().filter(len))
def test_numbers_are_widened_to_what_was_narrowed(column):
    values = column.to_numpy()
    narrow = narrowed(values)
    if narrow is not None:
        least, distances = narrow
        assert distances.itemsize < values.itemsize
        np.testing.assert_array_equal(widened(distances, least, values.dtype), values)


texts = st.lists(st.sampled_from(["", "a", "b", "ä", None]), max_size=12)


@given(texts, texts, st.data())
def test_texts_that_were_codes_are_texts_again(names, others, data):
    """Whole and in part, at once and when asked for."""
    size = min(len(names), len(others))
    field = pa.field("s", pa.string(), metadata={"of": "a"})
    schema = pa.schema([("n", pa.int64()), field, ("t", pa.string())], metadata={"by": "b"})
    batch = pa.record_batch([list(range(size)), names[:size], others[:size]], schema=schema)
    sent = RowColumns(batch)
    sent.encodeTexts()
    received = RowColumns.ofBytes(sent.toBytes())
    assert received.schema.equals(batch.schema, check_metadata=True)
    plain = RowColumns(batch)
    start, end = sorted((data.draw(st.integers(0, size)), data.draw(st.integers(0, size))))
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)), dtype=bool)
    order = np.array(data.draw(st.permutations(range(size))), dtype=np.intp)
    for part in (
        lambda rows: rows,
        lambda rows: rows.between(start, end),
        lambda rows: rows.kept(mask),
        lambda rows: rows.take(order),
        lambda rows: rows.take(order).between(start, end),
        lambda rows: RowColumns.ofBytes(rows.take(order).toBytes()),
        lambda rows: rows.withEncoded(1).take(order),
    ):
        for number in range(3):
            assert part(received).values(number) == part(plain).values(number)
        assert part(received).rows() == part(plain).rows()
        assert part(received).arrow(2).equals(part(plain).arrow(2))
        assert (
            part(received)
            .encoded(1)
            .dictionary_decode()
            .equals(part(plain).encoded(1).dictionary_decode())
        )
        assert part(received).batch.equals(part(plain).batch)


def test_texts_that_repeat_travel_as_codes_and_others_as_they_are():
    names = [f"station {n % 500}" for n in range(20_000)]
    own = [f"passenger {n}" for n in range(20_000)]
    rows = RowColumns(pa.record_batch({"name": names, "own": own}))
    plain = len(rows.toBytes())
    rows.encodeTexts()
    assert len(rows.toBytes()) < plain - 20_000 * 10
    received = RowColumns.ofBytes(rows.toBytes())
    assert isinstance(received.columns, PartlyRead)
    assert received.encoded(0).indices.type == pa.int16()
    assert received.values(0) == names
    assert received.values(1) == own


def test_a_part_shorter_than_its_dictionary_makes_no_more_than_its_own_texts():
    rows = RowColumns(pa.record_batch({"name": [f"station {n % 500}" for n in range(1_000)]}))
    rows.encodeTexts()
    received = RowColumns.ofBytes(rows.toBytes())
    assert received.kept(np.arange(1_000) > 2).between(0, 2).rows() == received.rows()[3:5]
    assert received.between(3, 5).values(0) == ["station 3", "station 4"]
    encoded = pa.array(["a", "b", "c", "a"]).dictionary_encode()
    assert python_values(encoded.slice(3)) == ["a"]
