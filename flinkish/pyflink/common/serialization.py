"""The serialization of elements in files and in messages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from flinkish.api.arguments import whole_number
from flinkish.api.connectors.bulk_format import BulkWriterFactory as CoreBulkWriterFactory
from flinkish.api.connectors.schemas import ByteArraySchema as CoreByteArraySchema
from flinkish.api.connectors.schemas import DeserializationSchema as CoreDeserializationSchema
from flinkish.api.connectors.schemas import SerializationSchema as CoreSerializationSchema
from flinkish.api.connectors.schemas import SimpleStringSchema as CoreStringSchema
from flinkish.api.errors import IllegalArgumentError, shown
from flinkish.pyflink.absent import absent_names
from flinkish.pyflink.common.typeinfo import RowTypeInfo

__all__ = [
    "BulkWriterFactory",
    "ByteArraySchema",
    "DeserializationSchema",
    "Encoder",
    "RowDataBulkWriterFactory",
    "RowFieldExtractorSchema",
    "SerializationSchema",
    "SimpleStringSchema",
]


class SerializationSchema(ABC):
    """Serializes elements to bytes (PyFlink: ``SerializationSchema``)."""

    @property
    @abstractmethod
    def serializer(self) -> CoreSerializationSchema[Any]:
        """The schema for flinkish's own sinks."""


class DeserializationSchema(ABC):
    """Deserializes elements from bytes (PyFlink: ``DeserializationSchema``)."""

    @property
    @abstractmethod
    def deserializer(self) -> CoreDeserializationSchema[Any]:
        """The schema for flinkish's own sources."""


class SimpleStringSchema(SerializationSchema, DeserializationSchema):
    """Texts (PyFlink: ``SimpleStringSchema``)."""

    def __init__(self, charset: str = "UTF-8") -> None:
        self.charset = charset
        self._core = CoreStringSchema(charset)

    @property
    def serializer(self) -> CoreSerializationSchema[Any]:
        return self._core

    @property
    def deserializer(self) -> CoreDeserializationSchema[Any]:
        return self._core


class ByteArraySchema(SerializationSchema, DeserializationSchema):
    """Bytes, unchanged (PyFlink: ``ByteArraySchema``)."""

    @property
    def serializer(self) -> CoreSerializationSchema[Any]:
        return CoreByteArraySchema()

    @property
    def deserializer(self) -> CoreDeserializationSchema[Any]:
        return CoreByteArraySchema()


class BulkWriterFactory:
    """A columnar format for ``FileSink.for_bulk_format`` (PyFlink: ``BulkWriterFactory``)."""

    def __init__(self, core: CoreBulkWriterFactory) -> None:
        self.core = core


class RowDataBulkWriterFactory(BulkWriterFactory):
    """A columnar format with the type of its rows (PyFlink: ``RowDataBulkWriterFactory``)."""

    def __init__(self, core: CoreBulkWriterFactory, row_type: RowTypeInfo) -> None:
        super().__init__(core)
        self._row_type = row_type

    def get_row_type(self) -> RowTypeInfo:
        """The type of the rows."""
        return self._row_type


class RowFieldExtractorSchema(SerializationSchema):
    """The bytes in a field of a Row (PyFlink: ``RowFieldExtractorSchema``)."""

    def __init__(self, field_index: int) -> None:
        self._field = whole_number("RowFieldExtractorSchema: field_index", field_index)

    @property
    def serializer(self) -> CoreSerializationSchema[Any]:
        return _FieldOfBytes(self._field)


class _FieldOfBytes(CoreSerializationSchema[Any]):
    def __init__(self, field: int) -> None:
        self._field = field

    def serialize(self, element: Any) -> bytes:
        value = element[self._field]
        if not isinstance(value, (bytes, bytearray)):
            raise IllegalArgumentError(
                f"RowFieldExtractorSchema: the field {self._field} is {shown(value)}, and must be bytes."
                " Encode it before the sink."
            )
        return bytes(value)


class Encoder:
    """Writes elements into files (PyFlink: ``Encoder``): as lines of their text."""

    def __init__(self, charset_name: str = "UTF-8") -> None:
        self.charset = charset_name

    @staticmethod
    def simple_string_encoder(charset_name: str = "UTF-8") -> Encoder:
        """Writes the text of each element as a line."""
        return Encoder(charset_name)


__getattr__ = absent_names(__name__)
