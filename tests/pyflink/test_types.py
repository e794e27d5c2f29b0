"""Types: what values become, and their text."""

from __future__ import annotations

import datetime
import pickle
from decimal import Decimal

import pytest

from flinkish import UnfitElementError
from flinkish.pyflink.common import Instant, Row, RowKind, Types
from flinkish.pyflink.common.typeinfo import (
    BasicArrayTypeInfo,
    BasicTypeInfo,
    ObjectArrayTypeInfo,
    SqlTimeTypeInfo,
)

ROW = Types.ROW_NAMED(["name", "number"], [Types.STRING(), Types.INT()])


@pytest.mark.parametrize(
    ("kind", "value", "converted"),
    [
        (Types.BYTE(), 200, -56),
        (Types.SHORT(), 40_000, -25_536),
        (Types.INT(), 2**31, -(2**31)),
        (Types.LONG(), 2**63, -(2**63)),
        (Types.BIG_INT(), 2**70, 2**70),
        (Types.BOOLEAN(), 1, True),
        (Types.FLOAT(), 0.1, 0.10000000149011612),
        (Types.DOUBLE(), 1, 1.0),
        (Types.BIG_DEC(), 7, Decimal(7)),
        (Types.SQL_TIME(), datetime.time(1, 2, 3, 4567), datetime.time(1, 2, 3, 4000)),
        (Types.TUPLE([Types.INT(), Types.STRING()]), [1, "a"], (1, "a")),
        (Types.LIST(Types.INT()), (1, 2**31), [1, -(2**31)]),
        (Types.MAP(Types.STRING(), Types.INT()), {"a": 2**31}, {"a": -(2**31)}),
        (Types.PICKLED_BYTE_ARRAY(), {1}, {1}),
        (Types.STRING(), None, None),
        (ROW, ("a", 1), Row(name="a", number=1)),
        (ROW, {"number": 1, "name": "a"}, Row(name="a", number=1)),
        (ROW, Row(number=1, name="a"), Row(name="a", number=1)),
    ],
)
def test_values_become_values_of_the_type(kind, value, converted):
    found = kind.converted(value)
    assert found == converted
    assert type(found) is type(converted)


@pytest.mark.parametrize(
    ("kind", "value"),
    [(Types.INT(), "1"), (Types.STRING(), 1), (ROW, ("a",)), (Types.SQL_DATE(), "2020"), (ROW, 7)],
)
def test_what_is_no_value_of_the_type_is_named(kind, value):
    with pytest.raises(UnfitElementError, match=r"is no value of"):
        kind.converted(value)


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (ROW, ("a", None), "+I[a, null]"),
        (ROW, Row.of_kind(RowKind.UPDATE_BEFORE, "a", 1), "-U[a, 1]"),
        (Types.TUPLE([Types.STRING(), Types.BOOLEAN()]), ("hi", True), "(hi,true)"),
        (Types.LIST(Types.DOUBLE()), [1.0, 1e7, 1e-4], "[1.0, 1.0E7, 1.0E-4]"),
        (Types.DOUBLE(), 123456.789, "123456.789"),
        (Types.DOUBLE(), float("nan"), "NaN"),
        (Types.FLOAT(), 1.2300000190734863, "1.23"),
        (Types.SQL_TIMESTAMP(), datetime.datetime(2018, 3, 11, 3), "2018-03-11 03:00:00.0"),
        (Types.SQL_DATE(), datetime.date(2018, 3, 11), "2018-03-11"),
        (Types.INSTANT(), Instant(0, 5_000_000), "1970-01-01T00:00:00.005Z"),
        (Types.MAP(Types.STRING(), Types.INT()), {"a": 1, "b": 2}, "{a=1, b=2}"),
        (Types.PICKLED_BYTE_ARRAY(), ("a", 1), "('a', 1)"),
        (Types.PICKLED_BYTE_ARRAY(), b"\x01\xff", "[1, -1]"),
    ],
)
def test_the_text_is_flinks(kind, value, text):
    assert kind.text_of(value) == text


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        (BasicTypeInfo.STRING_TYPE_INFO(), "String"),
        (Types.CHAR(), "Char"),
        (SqlTimeTypeInfo.DATE(), "DateTypeInfo"),
        (Types.PRIMITIVE_ARRAY(Types.INT()), "PrimitiveArrayTypeInfo<Integer>"),
        (BasicArrayTypeInfo(Types.STRING()), "BasicArrayTypeInfo<String>"),
        (ROW, "RowTypeInfo(name: String, number: Integer)"),
        (
            Types.MAP(Types.STRING(), Types.LIST(Types.INT())),
            "MapTypeInfo<String, ListTypeInfo<Integer>>",
        ),
    ],
)
def test_a_type_is_shown_as_pyflink_shows_it(kind, shown):
    assert repr(kind) == shown


def test_types_are_of_pyflinks_classes():
    assert isinstance(Types.OBJECT_ARRAY(ROW), ObjectArrayTypeInfo)
    assert isinstance(Types.INT(), BasicTypeInfo)
    assert Types.INT() == BasicTypeInfo.INT_TYPE_INFO() != Types.LONG()


def test_the_type_of_a_field_is_converted_once():
    class Counted(type(Types.INT())):
        asked = 0

        @property
        def core(self):
            self.asked += 1
            return super().core

    field = Counted("Integer", 32)
    nested = Types.TUPLE([Types.ROW([Types.TUPLE([field])])])
    assert nested.core is not None
    assert field.asked == 1


def test_a_row_is_set_read_compared_and_pickled():
    row = Row(name="JFK", delay=7)
    row["delay"] = 8
    row[0] = "LAX"
    assert (row.name, row["delay"], list(row), len(row)) == ("LAX", 8, ["LAX", 8], 2)
    assert "name" in row
    assert row.as_dict() == {"name": "LAX", "delay": 8}
    assert pickle.loads(pickle.dumps(row)) == row == Row(delay=8, name="LAX")
    assert row != Row("LAX", 8)
    assert repr(row) == "Row(name='LAX', delay=8)"
    assert repr(Row("LAX", 8)) == "<Row('LAX', 8)>"
    other = Row.of_kind(RowKind.DELETE, name="LAX", delay=8)
    assert other != row
    assert str(other.get_row_kind()) == "-D"
    with pytest.raises(AttributeError, match="no field 'gate'"):
        row.gate  # noqa: B018
    with pytest.raises(KeyError):
        row["gate"]
    with pytest.raises(AttributeError, match=r"row\['delay'\]"):
        row.delay = 1
