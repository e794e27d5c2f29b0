"""Schemas: messages become elements, and elements messages."""

from __future__ import annotations

import pytest

from flinkish import ByteArraySchema, IllegalArgumentError, SimpleStringSchema, Types
from flinkish.pyflink import common


@pytest.mark.parametrize(
    ("charset", "message"),
    [("UTF-8", b"\xc3\xa4"), ("ISO-8859-1", b"\xe4"), ("UTF-16LE", b"\xe4\x00")],
)
def test_texts(charset: str, message: bytes) -> None:
    schema = SimpleStringSchema(charset)
    assert schema.deserialize(message) == "ä"
    assert schema.serialize("ä") == message
    assert schema.getProducedType() == Types.STRING()


def test_a_charset_that_is_none_is_named() -> None:
    with pytest.raises(IllegalArgumentError, match="there is no charset 'klingon'"):
        SimpleStringSchema("klingon")


def test_bytes_as_they_are() -> None:
    schema = ByteArraySchema()
    assert schema.deserialize(b"\x00\xff") == schema.serialize(b"\x00\xff") == b"\x00\xff"


def test_pyflinks_are_the_same() -> None:
    schema = common.SimpleStringSchema("ISO-8859-1")
    assert schema.serializer.serialize("ä") == b"\xe4"
    assert schema.deserializer.deserialize(b"\xe4") == "ä"
    assert common.ByteArraySchema().deserializer.deserialize(b"\xe4") == b"\xe4"
