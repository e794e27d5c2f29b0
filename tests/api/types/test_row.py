"""Rows: tuples with names, made in every way that Flink and PyFlink have."""

from __future__ import annotations

import pickle

import pytest

from flinkish import Row, rowType
from flinkish.api.errors import IllegalArgumentError


def test_rows_with_names():
    row = Row(origin="JFK", delay=7)
    assert (row.origin, row["delay"], row[0], row.getField("delay")) == ("JFK", 7, "JFK", 7)
    assert (row.getArity(), row.getFieldNames()) == (2, ("origin", "delay"))
    assert row == ("JFK", 7)
    assert row.asDict() == {"origin": "JFK", "delay": 7}  # type: ignore[attr-defined]
    assert rowType("origin", "delay")("JFK", 7) == row


@pytest.mark.parametrize("row", [Row("JFK", 7), Row.of("JFK", 7)])
def test_rows_without_names(row):
    assert (row.f0, row.f1, row[1]) == ("JFK", 7, 7)
    assert pickle.loads(pickle.dumps(row)) == row
    assert type(pickle.loads(pickle.dumps(row))) is type(row)


def test_an_empty_row():
    assert Row() == ()
    assert Row().getFieldNames() == ()


def test_half_a_name_is_refused():
    with pytest.raises(IllegalArgumentError, match="name every field"):
        Row("JFK", delay=7)
    with pytest.raises(IllegalArgumentError, match="name every field"):
        rowType("origin", "delay")("JFK")
    with pytest.raises(AttributeError, match="no field 'dealy'; its fields are delay"):
        _ = Row(delay=7).dealy


def test_the_names_of_a_type_of_rows_are_texts():
    with pytest.raises(IllegalArgumentError, match=r"rowType: \('a', 'b'\) will not do"):
        rowType(("a", "b"))
