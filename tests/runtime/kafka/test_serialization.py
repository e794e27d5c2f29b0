"""Records of a whole run are those of its elements one by one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish import (
    JsonSerializationSchema,
    KafkaRecordSerializationSchema,
    Row,
    SimpleStringSchema,
)
from flinkish.api.connectors.schemas import ByteArraySchema, SerializationSchema
from flinkish.runtime.formats.json_lines import JsonLine
from flinkish.runtime.kafka import serialization
from flinkish.runtime.kafka.serialization import RunSerialization
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.records.shapes import VALUE, Shape


class Sale(NamedTuple):
    user: str | None
    amount: int | None
    price: float | None
    paid: bool | None


@dataclass(frozen=True)
class Order:
    user: str | None
    amount: int | None
    price: float | None
    paid: bool | None


class Upper(SimpleStringSchema):
    """A user-defined schema, which is called for each element."""

    def serialize(self, element: str) -> bytes:
        return super().serialize(element.upper())


def serialization_of(
    value: SerializationSchema[Any], key: SerializationSchema[Any] | None = None
) -> RunSerialization | None:
    builder = KafkaRecordSerializationSchema.builder().setTopic("t")
    builder.setValueSerializationSchema(value)
    if key is not None:
        builder.setKeySerializationSchema(key)
    return RunSerialization.of(builder.build(), "UTC")


def none_or(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


ROWS = st.lists(
    st.tuples(
        none_or(st.text(st.characters(codec="utf-8"))),
        none_or(st.integers(-(2**63), 2**63 - 1)),
        none_or(st.floats()),
        none_or(st.booleans()),
    ),
    max_size=20,
)
NAMES = ("user", "amount", "price", "paid")
TYPES = pa.schema(
    [("user", pa.string()), ("amount", pa.int64()), ("price", pa.float64()), ("paid", pa.bool_())]
)


@pytest.mark.parametrize("kind", [Row, Sale, Order])
@given(ROWS, st.booleans())
def test_json_of_columns(kind, rows, encoded):
    columns = list(zip(*rows)) if rows else [()] * 4
    arrays = [pa.array(column, field.type) for column, field in zip(columns, TYPES)]
    if encoded:
        arrays[0] = arrays[0].dictionary_encode()
    batch = pa.RecordBatch.from_arrays(arrays, names=list(NAMES))
    elements = RowColumns(batch, None if kind is Row else Shape(kind, NAMES, (VALUE,) * 4))
    assert serialization._json_of_columns(elements) is not None  # the quick way was taken
    found = serialization_of(JsonSerializationSchema()).records(elements)
    line = JsonLine("UTC")
    assert found.values == [line(element).encode() for element in elements.rows()]


@given(st.sets(st.text(), min_size=1, max_size=4), ROWS, st.booleans())
def test_json_of_dicts(names, rows, oneType):
    """Elements of one type are written as columns, others one by one: the same bytes."""
    chosen = list(enumerate(names))
    elements = [{n: row[0 if oneType else i] for i, n in chosen} for row in rows]
    line = JsonLine("UTC")
    expected = [line(element).encode("utf-8", "replace") for element in elements]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(serialization, "FEW_DICTS", 1)
        found = serialization_of(JsonSerializationSchema()).records(elements)
    assert found.values == expected


DICT = {"user": "ü", "amount": 1, "price": 1e16, "paid": True}


def test_dicts_are_written_as_columns():
    line = JsonLine("UTC")
    elements = [DICT, {**DICT, "price": math.nan}, DICT | {"user": None}]
    found = serialization._json_of_dicts(elements)
    assert found == [line(element).encode() for element in elements]


@pytest.mark.parametrize(
    "other",
    [
        {"user": "a", "price": 1.0, "amount": 1, "paid": True},
        {**DICT, "amount": 1.0},
        {**DICT, "amount": True},
        {**DICT, "amount": 2**63},
        {**DICT, "user": "\ud800"},
        {**DICT, "more": 1},
        {1: 2},
        {},
    ],
)
def test_dicts_that_differ_are_written_one_by_one(other):
    assert serialization._json_of_dicts([DICT, other]) is None
    assert serialization._json_of_dicts([other, DICT]) is None
    found = serialization_of(JsonSerializationSchema()).records([DICT, other] * 200)
    line = JsonLine("UTC")
    pair = [line(element).encode("utf-8", "replace") for element in (DICT, other)]
    assert found.values == pair * 200


@given(st.lists(st.tuples(st.text(), st.integers())))
def test_json_of_objects_and_keys(pairs):
    found = serialization_of(JsonSerializationSchema(), JsonSerializationSchema()).records(pairs)
    line = JsonLine("UTC")
    expected = [line(pair).encode("utf-8", "replace") for pair in pairs]
    assert (found.keys, found.values) == (expected, expected)


@pytest.mark.parametrize("charset", ["UTF-8", "latin-1"])
@given(texts=st.lists(st.text()))
def test_texts(charset, texts):
    schema = SimpleStringSchema(charset)
    found = serialization_of(schema).records(texts)
    assert found.values == [schema.serialize(text) for text in texts]
    assert found.keys == [None] * len(texts)


@pytest.mark.parametrize(
    ("value", "elements"),
    [
        (SimpleStringSchema(), ["a", 1]),
        (ByteArraySchema(), [b"a", "b"]),
        (JsonSerializationSchema(), [{"a": object()}]),
    ],
)
def test_what_does_not_fit_is_left_to_the_general_way(value, elements):
    """The general way names the element in its error."""
    assert serialization_of(value).records(elements) is None


def test_tuples_are_arrays_and_not_objects():
    columns = pa.RecordBatch.from_pydict({"f0": ["a"], "f1": [1]})
    pairs = RowColumns(columns, Shape(tuple, ("f0", "f1"), (VALUE, VALUE)))
    assert serialization_of(JsonSerializationSchema()).records(pairs).values == [b'["a",1]']


def test_what_is_called_for_each_element_has_no_runs():
    assert serialization_of(Upper()) is None
    builder = KafkaRecordSerializationSchema.builder().setTopic("t")
    builder.setValueSerializationSchema(SimpleStringSchema())
    builder.setHeaderProvider(lambda element: [])
    assert RunSerialization.of(builder.build(), "UTC") is None
