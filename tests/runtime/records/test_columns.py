"""Python values as Arrow columns: values that fit are stored unchanged, others are named in an
error."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish import Row
from flinkish.api.stored_values import pickled, unpickled
from flinkish.runtime.records import rows as of_rows
from flinkish.runtime.records.columns import ElementColumns, FieldsWriter, Misfit, column_writer
from flinkish.runtime.records.rows import RowColumns, concatenated, joined, python_values
from flinkish.runtime.records.shapes import VALUE, Shape, row_shape, tuple_shape

INNER = pa.struct([("a", pa.int64()), ("b", pa.string())])
NESTED = pa.struct([("l", pa.list_(INNER)), ("m", pa.map_(pa.string(), pa.list_(pa.float64())))])

inner = st.none() | st.tuples(st.none() | st.integers(-(2**63), 2**63 - 1), st.text(max_size=3))
nested = st.none() | st.tuples(
    st.none() | st.lists(inner, max_size=3),
    st.none()
    | st.dictionaries(st.text(max_size=3), st.lists(st.floats(allow_nan=False)), max_size=3),
)


@given(st.lists(nested, max_size=6), st.integers(0, 3), st.integers(0, 6))
def test_nested_values_come_back(values, start, length):
    column = column_writer(NESTED).array(values).slice(start, length)
    assert python_values(column) == values[start : start + length]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (pa.int64(), 1.5),
        (pa.int64(), True),
        (pa.int64(), "1"),
        (pa.int8(), 200),
        (pa.int64(), 2**63),
        (pa.float64(), "1"),
        (pa.string(), 1),
        (pa.string(), b"a"),
        (pa.binary(), "a"),
        (pa.bool_(), 1),
        (pa.timestamp("us", "UTC"), 1000),
        (pa.date32(), datetime.datetime(2024, 1, 1)),
        (pa.decimal128(38, 18), 1.5),
        (pa.decimal128(5, 2), Decimal("1.234")),
        (pa.list_(pa.int64()), "12"),
        (pa.list_(pa.int64()), 12),
        (pa.map_(pa.string(), pa.int64()), [1]),
        (INNER, (1, "a", 2)),
        (INNER, 3),
    ],
)
def test_what_does_not_fit_is_named(kind, value):
    with pytest.raises(Misfit) as caught:
        column_writer(kind).array([None, value])
    assert caught.value.position == 1


def test_a_misfit_tells_the_way_to_it():
    schema = pa.schema([("n", pa.int64()), ("s", NESTED)])
    good = (1, ([(1, "a")], {}))
    bad = (2, ([(1, "a"), (2, 3)], {}))
    with pytest.raises(Misfit, match=r"its s\.l\.element\.b 3 is not of type string") as caught:
        FieldsWriter(schema).columns([good, good, bad])
    assert caught.value.position == 2


@pytest.mark.parametrize("value", [7, 7.0])
def test_whole_numbers_fit_columns_of_integers(value):
    assert column_writer(pa.int64()).array([value]).to_pylist() == [7]


class Named(NamedTuple):
    """An element whose fields are in another order than the columns of a sink."""

    y: int
    x: int


@pytest.mark.parametrize(
    "shape",
    [
        None,
        tuple_shape([VALUE, VALUE]),
        Shape(Named, ("y", "x"), (VALUE, VALUE)),
        tuple_shape([tuple_shape([VALUE, VALUE])]),
    ],
)
@pytest.mark.parametrize("names", [["x", "y"], ["y", "x"]])
def test_columns_go_to_a_sink_as_their_elements_would(shape, names):
    values = RowColumns(pa.record_batch({"x": [1, 2], "y": [3, 4]}), shape)
    columns = ElementColumns("sink", pa.schema([(name, pa.int64()) for name in names]))
    try:
        expected = columns.of(list(values)).batch
    except Exception as error:
        with pytest.raises(type(error)):
            columns.of(values)
    else:
        assert columns.of(values).batch.equals(expected)


def test_single_values_go_to_the_one_column_of_a_sink():
    values = RowColumns(pa.record_batch({"value": [1, 2]}), VALUE)
    columns = ElementColumns("sink", pa.schema([("value", pa.int64())]), whole=True)
    assert columns.of(values).batch.equals(columns.of([1, 2]).batch)


def test_the_bytes_of_a_shape_do_not_depend_on_what_was_asked_of_it():
    shape = tuple_shape([VALUE, row_shape(["a", "b"])])
    before = pickled(shape)
    assert (shape.width, shape.flat, shape.columnNames) == (3, False, ("f0", "f1.a", "f1.b"))
    assert pickled(shape) == before
    assert unpickled(before) == shape


def test_a_column_of_codes_has_nulls():
    coded = pa.array(["a", None, "b", "a"]).dictionary_encode()
    assert python_values(coded) == ["a", None, "b", "a"]
    nulls = pa.nulls(2, pa.dictionary(pa.int32(), pa.string()))
    assert python_values(nulls) == [None, None]


@pytest.mark.thorough("four GB of text")
def test_more_text_than_arrow_holds_in_one_piece_is_not_lost():
    bounds = np.linspace(0, 2**31 - 10, 4).astype(np.int32)
    text = np.zeros(2**31, dtype=np.int8)
    column = pa.StringArray.from_buffers(3, pa.py_buffer(bounds), pa.py_buffer(text))
    run = pa.RecordBatch.from_arrays([column], ["text"])
    with pytest.raises(pa.ArrowCapacityError, match="let batches be smaller"):
        concatenated([run, run])


def test_runs_with_more_text_than_one_piece_holds_become_objects(monkeypatch):
    def too_much(runs):
        raise pa.ArrowCapacityError("more than 2 GiB")

    monkeypatch.setattr(of_rows, "concatenated", too_much)
    runs = [RowColumns(pa.RecordBatch.from_pydict({"text": [text]})) for text in "ab"]
    assert joined(runs) == [Row(text="a"), Row(text="b")]
