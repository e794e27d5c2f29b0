"""JSON in messages, as Rows."""

from __future__ import annotations

from typing import Any

from flinkish.api.connectors.schemas import DeserializationSchema as CoreDeserializationSchema
from flinkish.api.connectors.schemas import JsonDeserializationSchema
from flinkish.api.connectors.schemas import SerializationSchema as CoreSerializationSchema
from flinkish.api.errors import IllegalArgumentError, NotSupportedError, shown
from flinkish.pyflink.absent import AbsentMethods
from flinkish.pyflink.common.serialization import DeserializationSchema, SerializationSchema
from flinkish.pyflink.common.typeinfo import RowTypeInfo, TypeInformation
from flinkish.runtime.formats.json_lines import JsonLine

__all__ = ["JsonRowDeserializationSchema", "JsonRowSerializationSchema"]


class _Rows(JsonDeserializationSchema[Any]):
    """PyFlink's Rows of a type."""

    def __init__(self, type_info: RowTypeInfo, ignoresParseErrors: bool) -> None:
        core = type_info.core
        if core is None:
            raise NotSupportedError(
                f"JsonRowDeserializationSchema: {type_info!r} has fields that JSON is not read as. Use texts,"
                " numbers, booleans, times, lists, maps and rows of these."
            )
        super().__init__(core)
        self.made = type_info.converted
        self.ignoresParseErrors = ignoresParseErrors


class JsonRowDeserializationSchema(DeserializationSchema):
    """Reads a JSON object as a Row (PyFlink: ``JsonRowDeserializationSchema``). Created by
    ``builder()``."""

    def __init__(self, rows: CoreDeserializationSchema[Any]) -> None:
        self._rows = rows

    @property
    def deserializer(self) -> CoreDeserializationSchema[Any]:
        return self._rows

    @staticmethod
    def builder() -> JsonRowDeserializationSchema.Builder:
        """A builder."""
        return JsonRowDeserializationSchema.Builder()

    class Builder(AbsentMethods):
        """Builds a ``JsonRowDeserializationSchema``."""

        def __init__(self) -> None:
            self._type_info: RowTypeInfo | None = None
            self._ignores = False

        def type_info(self, type_info: TypeInformation) -> JsonRowDeserializationSchema.Builder:
            """Set the type of the Rows, whose field names are those of the objects."""
            self._type_info = _row_type("type_info", type_info)
            return self

        def ignore_parse_errors(self) -> JsonRowDeserializationSchema.Builder:
            """Skip messages that do not fit."""
            self._ignores = True
            return self

        def build(self) -> JsonRowDeserializationSchema:
            """The schema."""
            declared = _declared("JsonRowDeserializationSchema", "type_info", self._type_info)
            return JsonRowDeserializationSchema(_Rows(declared, self._ignores))


class _JsonOfRows(CoreSerializationSchema[Any]):
    def __init__(self, type_info: RowTypeInfo) -> None:
        self._type = type_info
        self._line = JsonLine("UTC")

    def serialize(self, element: Any) -> bytes:
        return self._line(self._type.converted(element).as_dict(True)).encode("utf-8", "replace")


class JsonRowSerializationSchema(SerializationSchema):
    """Writes a Row as a JSON object (PyFlink: ``JsonRowSerializationSchema``). Created by
    ``builder()``."""

    def __init__(self, rows: CoreSerializationSchema[Any]) -> None:
        self._rows = rows

    @property
    def serializer(self) -> CoreSerializationSchema[Any]:
        return self._rows

    @staticmethod
    def builder() -> JsonRowSerializationSchema.Builder:
        """A builder."""
        return JsonRowSerializationSchema.Builder()

    class Builder:
        """Builds a ``JsonRowSerializationSchema``."""

        def __init__(self) -> None:
            self._type_info: RowTypeInfo | None = None

        def with_type_info(self, type_info: TypeInformation) -> JsonRowSerializationSchema.Builder:
            """Set the type of the Rows."""
            self._type_info = _row_type("with_type_info", type_info)
            return self

        def build(self) -> JsonRowSerializationSchema:
            """The schema."""
            declared = _declared("JsonRowSerializationSchema", "with_type_info", self._type_info)
            return JsonRowSerializationSchema(_JsonOfRows(declared))


def _row_type(method: str, type_info: TypeInformation) -> RowTypeInfo:
    if not isinstance(type_info, RowTypeInfo):
        raise IllegalArgumentError(
            f"{method}: {shown(type_info)} is no type of Rows. Pass Types.ROW_NAMED(names, types)."
        )
    return type_info


def _declared(schema: str, method: str, type_info: RowTypeInfo | None) -> RowTypeInfo:
    if type_info is None:
        raise IllegalArgumentError(
            f"{schema}.builder: the type is missing. Call"
            f" {method}(Types.ROW_NAMED(names, types)) before build()."
        )
    return type_info
