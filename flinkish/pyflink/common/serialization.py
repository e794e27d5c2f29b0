"""How elements are written to files and read from messages."""

from __future__ import annotations

from flinkish.pyflink.absent import absent_names

__all__ = [
    "ByteArraySchema",
    "DeserializationSchema",
    "Encoder",
    "SerializationSchema",
    "SimpleStringSchema",
]


class SerializationSchema:
    """How elements become bytes (PyFlink: ``SerializationSchema``)."""


class DeserializationSchema:
    """How bytes become elements (PyFlink: ``DeserializationSchema``)."""


class SimpleStringSchema(SerializationSchema, DeserializationSchema):
    """Texts (PyFlink: ``SimpleStringSchema``)."""

    def __init__(self, charset: str = "UTF-8") -> None:
        self.charset = charset


class ByteArraySchema(SerializationSchema, DeserializationSchema):
    """Bytes as they are (PyFlink: ``ByteArraySchema``)."""


class Encoder:
    """How elements are written into files (PyFlink: ``Encoder``): as lines of their text."""

    def __init__(self, charset_name: str = "UTF-8") -> None:
        self.charset = charset_name

    @staticmethod
    def simple_string_encoder(charset_name: str = "UTF-8") -> Encoder:
        """A line of the text of each element."""
        return Encoder(charset_name)


__getattr__ = absent_names(__name__)
