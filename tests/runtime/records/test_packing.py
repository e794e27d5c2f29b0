"""Integers are packed to the width their span needs, and come back as they were."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish.runtime.records.packing import packed, unpacked

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
    received = unpacked(packed(batch))
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
    assert packed(pa.record_batch({"n": values})).schema.field("n").type == kind


def test_a_packed_column_keeps_what_its_schema_says():
    field = pa.field("n", pa.int64(), nullable=False, metadata={"unit": "ms"})
    batch = pa.record_batch([[1, 2]], schema=pa.schema([field]))
    assert packed(batch).nbytes < batch.nbytes
    assert unpacked(packed(batch)).schema.equals(batch.schema, check_metadata=True)
