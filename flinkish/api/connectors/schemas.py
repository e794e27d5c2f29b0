"""Schemas, which convert the bytes of messages to elements, and elements to bytes."""

from __future__ import annotations

import codecs
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, overload

from flinkish.api.arguments import text
from flinkish.api.errors import IllegalArgumentError, InvalidProgramError, NotSupportedError, shown
from flinkish.api.type_variables import T_co, T_contra
from flinkish.api.types.columns import columns_of, is_schema, type_of_columns
from flinkish.api.types.row import Row
from flinkish.api.types.type_info import TypeInformation, Types

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


class DeserializationSchema(ABC, Generic[T_co]):
    """Converts the bytes of a message to an element (Flink: ``DeserializationSchema``)."""

    @abstractmethod
    def deserialize(self, message: bytes) -> T_co | None:
        """Called with the bytes of each message that has any; None emits no element."""

    def getProducedType(self) -> TypeInformation[Any] | None:
        """The type of the elements, if it is known."""
        return None


class SerializationSchema(ABC, Generic[T_contra]):
    """Converts an element to the bytes of a message (Flink: ``SerializationSchema``)."""

    @abstractmethod
    def serialize(self, element: T_contra) -> bytes:
        """Called with each element."""


class SimpleStringSchema(DeserializationSchema[str], SerializationSchema[str]):
    """Texts (Flink: ``SimpleStringSchema``). Bytes that are not valid in the charset become U+FFFD,
    as in Java."""

    def __init__(self, charset: str = "UTF-8") -> None:
        text("SimpleStringSchema: charset", charset)
        try:
            self.charset = codecs.lookup(charset).name
        except (LookupError, ValueError):
            raise IllegalArgumentError(
                f"SimpleStringSchema: there is no charset {shown(charset)}. Pass one of Python's, such as"
                ' "UTF-8".'
            ) from None

    def deserialize(self, message: bytes) -> str:
        return message.decode(self.charset, "replace")

    def serialize(self, element: str) -> bytes:
        return element.encode(self.charset, "replace")

    def getProducedType(self) -> TypeInformation[Any]:
        return Types.STRING()


class ByteArraySchema(DeserializationSchema[bytes], SerializationSchema[bytes]):
    """Bytes, unchanged."""

    def deserialize(self, message: bytes) -> bytes:
        return message

    def serialize(self, element: bytes) -> bytes:
        return element

    def getProducedType(self) -> TypeInformation[Any]:
        return Types.PRIMITIVE_ARRAY(Types.BYTE())


class JsonDeserializationSchema(DeserializationSchema[T_co]):
    """An object of JSON in each message (Flink: ``JsonDeserializationSchema``).

    ``type`` is a dataclass, a NamedTuple, a TypeInformation, or the columns of Rows: a DDL string such
    as ``"user string, amount long"`` or a StructType. Whole batches of messages are parsed into columns.
    A message that does not fit fails the job, or goes where the source sends malformed records; fields
    that are not in the type are ignored, and fields missing in a message are None.
    """

    made: Callable[[Any], T_co] | None = None
    """Converts a Row to an element, if elements are neither Rows nor of the type's own class."""

    ignoresParseErrors: bool = False
    """Whether messages that do not fit are skipped."""

    @overload
    def __init__(self: JsonDeserializationSchema[Row], type: str | StructType) -> None: ...

    @overload
    def __init__(self, type: type[T_co] | TypeInformation[T_co]) -> None: ...

    def __init__(self, type: Any) -> None:  # noqa: A002
        self.type = _json_type(type)
        self.columns = columns_of(self.type, "JsonDeserializationSchema")

    def deserialize(self, message: bytes) -> T_co | None:
        raise NotSupportedError(
            "JsonDeserializationSchema.deserialize: messages are parsed many at a time, by the source that"
            " has this schema. In a schema of your own call json.loads(message)."
        )

    def getProducedType(self) -> TypeInformation[Any]:
        return self.type


class JsonSerializationSchema(SerializationSchema[Any]):
    """Each element as JSON (Flink: ``JsonSerializationSchema``): dicts, dataclasses, NamedTuples and Rows
    are objects, tuples and lists arrays."""

    def serialize(self, element: Any) -> bytes:
        raise NotSupportedError(
            "JsonSerializationSchema.serialize: the sink that has this schema writes JSON itself. In a"
            " schema of your own call json.dumps(element).encode()."
        )


def _json_type(given: Any) -> TypeInformation[Any]:
    if isinstance(given, str) or hasattr(given, "jsonValue"):
        if is_schema(given):
            return type_of_columns(given)
    elif isinstance(given, (type, TypeInformation)):
        found = TypeInformation.of(given)
        if found.kind in ("Row", "NamedTuple", "Dataclass") and found.fields:
            return found
    raise InvalidProgramError(
        f"JsonDeserializationSchema: {shown(given)} does not say which fields the objects have. Pass a"
        ' dataclass, a NamedTuple, or columns such as "user string, amount long".'
    )
