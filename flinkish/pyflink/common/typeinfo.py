"""Types: they convert the results of functions, and say how Flink prints values.

PyFlink's functions run in a worker whose results are encoded by their type on the way to the JVM
and back: 32-bit whole numbers wrap, and a tuple becomes a Row where the type says so. ``converted``
does the same without the encoding.
"""

from __future__ import annotations

import datetime
import struct
from abc import ABC, abstractmethod
from collections.abc import Sequence
from decimal import Decimal
from enum import Enum
from operator import index
from typing import Any, Never, TypeAlias

from flinkish.api.arguments import instance
from flinkish.api.errors import InvalidProgramError, UnfitElementError, shown
from flinkish.api.types.type_info import TypeInformation as CoreType
from flinkish.api.types.type_info import Types as CoreTypes
from flinkish.pyflink.absent import AbsentMethods, absent_names
from flinkish.pyflink.common.time import Instant
from flinkish.pyflink.common.types import Row, created_row
from flinkish.runtime.formats.basic_texts import double_text, float_text

__all__ = ["TypeInformation", "Types"]


class TypeInformation(AbsentMethods, ABC):
    """The type of elements, keys or state (PyFlink: ``TypeInformation``)."""

    def converted(self, value: Any) -> Any:
        """``value`` as a value of this type; None stays None.

        Raises UnfitElementError if it cannot be converted.
        """
        if value is None:
            return None
        try:
            return self._converted(value)
        except UnfitElementError:
            raise
        except Exception as error:
            raise UnfitElementError(
                f"{shown(value)} of type {type(value).__name__} is no value of {self!r} ({error}). Return"
                " a value of that type, or declare another type."
            ) from error

    def text_of(self, value: Any) -> str:
        """The text of a value, as Flink's ``print`` shows it."""
        return "null" if value is None else self._text(value)

    @property
    def core(self) -> CoreType[Any] | None:
        """The type as flinkish's own, for columns; None if there is no such type."""
        return None

    @abstractmethod
    def _converted(self, value: Any) -> Any: ...

    @abstractmethod
    def _text(self, value: Any) -> str: ...

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypeInformation) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        return type(self).__name__


class PickledBytesTypeInfo(TypeInformation):
    """Any Python value: the type of streams without a declared type."""

    def converted(self, value: Any) -> Any:
        return value

    def _converted(self, value: Any) -> Any:
        return value

    def _text(self, value: Any) -> str:
        if isinstance(value, (bytes, bytearray)):
            return _text_of_bytes(value)
        return str(value)

    def __repr__(self) -> str:
        return "PickledByteArrayTypeInfo"


_Types: TypeAlias = Sequence[TypeInformation]


class Types:
    """Creates types (PyFlink: ``Types``)."""

    @staticmethod
    def STRING() -> TypeInformation:
        """Texts."""
        return StringTypeInfo()

    @staticmethod
    def BYTE() -> TypeInformation:
        """Whole numbers of 8 bits."""
        return IntegerTypeInfo("Byte", 8)

    @staticmethod
    def BOOLEAN() -> TypeInformation:
        """Booleans."""
        return BooleanTypeInfo()

    @staticmethod
    def SHORT() -> TypeInformation:
        """Whole numbers of 16 bits."""
        return IntegerTypeInfo("Short", 16)

    @staticmethod
    def INT() -> TypeInformation:
        """Whole numbers of 32 bits."""
        return IntegerTypeInfo("Integer", 32)

    @staticmethod
    def LONG() -> TypeInformation:
        """Whole numbers of 64 bits."""
        return IntegerTypeInfo("Long", 64)

    @staticmethod
    def FLOAT() -> TypeInformation:
        """Floating-point numbers of 32 bits."""
        return FloatTypeInfo()

    @staticmethod
    def DOUBLE() -> TypeInformation:
        """Floating-point numbers of 64 bits."""
        return DoubleTypeInfo()

    @staticmethod
    def CHAR() -> TypeInformation:
        """Single characters."""
        return CharTypeInfo()

    @staticmethod
    def BIG_INT() -> TypeInformation:
        """Whole numbers of any size."""
        return BigIntegerTypeInfo()

    @staticmethod
    def BIG_DEC() -> TypeInformation:
        """Decimals."""
        return BigDecimalTypeInfo()

    @staticmethod
    def INSTANT() -> TypeInformation:
        """Instants."""
        return InstantTypeInfo()

    @staticmethod
    def SQL_DATE() -> TypeInformation:
        """Dates: ``datetime.date``."""
        return DateTypeInfo()

    @staticmethod
    def SQL_TIME() -> TypeInformation:
        """Times of day: ``datetime.time``."""
        return TimeTypeInfo()

    @staticmethod
    def SQL_TIMESTAMP() -> TypeInformation:
        """Dates with a time: ``datetime.datetime``."""
        return TimestampTypeInfo()

    @staticmethod
    def PICKLED_BYTE_ARRAY() -> TypeInformation:
        """Any Python value."""
        return PickledBytesTypeInfo()

    @staticmethod
    def ROW(field_types: _Types, *others: Never) -> RowTypeInfo:
        """Rows with the names ``f0``, ``f1`` and so on."""
        _check_list("ROW", field_types, others)
        return RowTypeInfo(field_types)

    @staticmethod
    def ROW_NAMED(field_names: Sequence[str], field_types: _Types) -> RowTypeInfo:
        """Rows with those names."""
        return RowTypeInfo(field_types, field_names)

    @staticmethod
    def TUPLE(field_types: _Types, *others: Never) -> TupleTypeInfo:
        """Tuples."""
        _check_list("TUPLE", field_types, others)
        return TupleTypeInfo(field_types)

    @staticmethod
    def PRIMITIVE_ARRAY(element_type: TypeInformation) -> TypeInformation:
        """Lists of numbers or booleans."""
        return PrimitiveArrayTypeInfo(element_type)

    @staticmethod
    def BASIC_ARRAY(element_type: TypeInformation) -> TypeInformation:
        """Lists of plain values."""
        return BasicArrayTypeInfo(element_type)

    @staticmethod
    def OBJECT_ARRAY(element_type: TypeInformation) -> TypeInformation:
        """Lists of values of any type."""
        return ObjectArrayTypeInfo(element_type)

    @staticmethod
    def MAP(key_type_info: TypeInformation, value_type_info: TypeInformation) -> TypeInformation:
        """Dicts."""
        return MapTypeInfo(key_type_info, value_type_info)

    @staticmethod
    def LIST(element_type_info: TypeInformation) -> TypeInformation:
        """Lists."""
        return ListTypeInfo(element_type_info)


class BasicType(Enum):
    """The types of plain values (PyFlink: ``BasicType``)."""

    STRING = "String"
    BYTE = "Byte"
    BOOLEAN = "Boolean"
    SHORT = "Short"
    INT = "Integer"
    LONG = "Long"
    FLOAT = "Float"
    DOUBLE = "Double"
    CHAR = "Char"
    BIG_INT = "BigInteger"
    BIG_DEC = "BigDecimal"
    INSTANT = "Instant"


class BasicTypeInfo(TypeInformation, ABC):
    """A type of plain values."""

    name: str

    STRING_TYPE_INFO = staticmethod(Types.STRING)
    BOOLEAN_TYPE_INFO = staticmethod(Types.BOOLEAN)
    BYTE_TYPE_INFO = staticmethod(Types.BYTE)
    SHORT_TYPE_INFO = staticmethod(Types.SHORT)
    INT_TYPE_INFO = staticmethod(Types.INT)
    LONG_TYPE_INFO = staticmethod(Types.LONG)
    FLOAT_TYPE_INFO = staticmethod(Types.FLOAT)
    DOUBLE_TYPE_INFO = staticmethod(Types.DOUBLE)
    CHAR_TYPE_INFO = staticmethod(Types.CHAR)
    BIG_INT_TYPE_INFO = staticmethod(Types.BIG_INT)
    BIG_DEC_TYPE_INFO = staticmethod(Types.BIG_DEC)
    INSTANT_TYPE_INFO = staticmethod(Types.INSTANT)

    def __repr__(self) -> str:
        return self.name

    def _text(self, value: Any) -> str:
        return str(value)

    @property
    def core(self) -> CoreType[Any] | None:
        return _CORE.get(self.name)


class StringTypeInfo(BasicTypeInfo):
    name = "String"

    def _converted(self, value: Any) -> Any:
        if not isinstance(value, str):
            raise TypeError("it is no text")
        return value


class CharTypeInfo(StringTypeInfo):
    name = "Char"


class BooleanTypeInfo(BasicTypeInfo):
    name = "Boolean"

    def _converted(self, value: Any) -> Any:
        return bool(value)

    def _text(self, value: Any) -> str:
        return "true" if value else "false"


class IntegerTypeInfo(BasicTypeInfo):
    """Whole numbers of ``bits`` bits, which wrap as in Java."""

    def __init__(self, name: str, bits: int) -> None:
        self.name = name
        self._half = 1 << (bits - 1)

    def _converted(self, value: Any) -> Any:
        number, half = index(value), self._half
        return number if -half <= number < half else (number + half) % (2 * half) - half


class BigIntegerTypeInfo(BasicTypeInfo):
    name = "BigInteger"

    def _converted(self, value: Any) -> Any:
        return index(value)


class FloatTypeInfo(BasicTypeInfo):
    name = "Float"

    def _converted(self, value: Any) -> Any:
        return struct.unpack("f", struct.pack("f", value))[0]

    def _text(self, value: Any) -> str:
        return float_text(value)


class DoubleTypeInfo(BasicTypeInfo):
    name = "Double"

    def _converted(self, value: Any) -> Any:
        return value if type(value) is float else struct.unpack("d", struct.pack("d", value))[0]

    def _text(self, value: Any) -> str:
        return double_text(float(value))


class BigDecimalTypeInfo(BasicTypeInfo):
    name = "BigDecimal"

    def _converted(self, value: Any) -> Any:
        return value if isinstance(value, Decimal) else Decimal(value)


class InstantTypeInfo(BasicTypeInfo):
    """Instants."""

    name = "Instant"

    def _converted(self, value: Any) -> Any:
        if not isinstance(value, Instant):
            raise TypeError("it is no Instant")
        return value

    def _text(self, value: Any) -> str:
        moment = datetime.datetime.fromtimestamp(value.seconds, datetime.UTC)
        fraction = f".{value.nanos:09}".rstrip("0") if value.nanos else ""
        return f"{moment:%Y-%m-%dT%H:%M:%S}{fraction}Z"


class DateTypeInfo(TypeInformation):
    """Dates."""

    def _converted(self, value: Any) -> Any:
        if isinstance(value, datetime.datetime) or not isinstance(value, datetime.date):
            raise TypeError("it is no datetime.date")
        return value

    def _text(self, value: Any) -> str:
        return str(value.isoformat())

    @property
    def core(self) -> CoreType[Any] | None:
        return CoreTypes.SQL_DATE()


class TimeTypeInfo(TypeInformation):
    """Times of day, to the millisecond; Java's text has no fraction."""

    def _converted(self, value: Any) -> Any:
        if not isinstance(value, datetime.time):
            raise TypeError("it is no datetime.time")
        return value.replace(microsecond=value.microsecond // 1000 * 1000)

    def _text(self, value: Any) -> str:
        return str(value.strftime("%H:%M:%S"))


class TimestampTypeInfo(TypeInformation):
    """Dates with a time."""

    def _converted(self, value: Any) -> Any:
        if not isinstance(value, datetime.datetime):
            raise TypeError("it is no datetime.datetime")
        return value

    def _text(self, value: Any) -> str:
        fraction = f"{value.microsecond:06}".rstrip("0") or "0"
        return f"{value:%Y-%m-%d %H:%M:%S}.{fraction}"

    @property
    def core(self) -> CoreType[Any] | None:
        return CoreTypes.LOCAL_DATE_TIME()


class SqlTimeTypeInfo(TypeInformation, ABC):
    """Creates the types of dates and times (PyFlink: ``SqlTimeTypeInfo``)."""

    DATE = staticmethod(Types.SQL_DATE)
    TIME = staticmethod(Types.SQL_TIME)
    TIMESTAMP = staticmethod(Types.SQL_TIMESTAMP)


class ListTypeInfo(TypeInformation):
    """Lists of one type."""

    def __init__(self, element_type: TypeInformation) -> None:
        self.elem_type = element_type

    def _converted(self, value: Any) -> Any:
        if isinstance(value, (str, dict)):
            raise TypeError("it is no list")
        return [self.elem_type.converted(element) for element in value]

    def _text(self, value: Any) -> str:
        return f"[{', '.join(self.elem_type.text_of(element) for element in value)}]"

    @property
    def core(self) -> CoreType[Any] | None:
        element = self.elem_type.core
        return None if element is None else CoreTypes.LIST(element)

    def __repr__(self) -> str:
        return f"{type(self).__name__}<{self.elem_type}>"


class PrimitiveArrayTypeInfo(ListTypeInfo):
    """Lists of numbers or booleans."""


class BasicArrayTypeInfo(ListTypeInfo):
    """Lists of plain values."""


class ObjectArrayTypeInfo(ListTypeInfo):
    """Lists of values of any type."""


class MapTypeInfo(TypeInformation):
    """Dicts."""

    def __init__(self, key_type_info: TypeInformation, value_type_info: TypeInformation) -> None:
        self._key_type_info = key_type_info
        self._value_type_info = value_type_info

    def _converted(self, value: Any) -> Any:
        key, item = self._key_type_info.converted, self._value_type_info.converted
        return {key(name): item(part) for name, part in value.items()}

    def _text(self, value: Any) -> str:
        key, item = self._key_type_info.text_of, self._value_type_info.text_of
        return f"{{{', '.join(f'{key(name)}={item(part)}' for name, part in value.items())}}}"

    @property
    def core(self) -> CoreType[Any] | None:
        key, item = self._key_type_info.core, self._value_type_info.core
        return None if key is None or item is None else CoreTypes.MAP(key, item)

    def __repr__(self) -> str:
        return f"MapTypeInfo<{self._key_type_info}, {self._value_type_info}>"


class _FieldsTypeInfo(TypeInformation, ABC):
    """The base of rows and tuples."""

    def __init__(self, field_types: Sequence[TypeInformation]) -> None:
        self._field_types = list(field_types)
        for kind in self._field_types:
            if not isinstance(kind, TypeInformation):
                raise InvalidProgramError(
                    f"{type(self).__name__}: {shown(kind)} is no type. Pass types such as Types.INT(),"
                    " with the parentheses."
                )

    def get_field_types(self) -> list[TypeInformation]:
        """The types of the fields."""
        return self._field_types

    def _values(self, value: Any) -> list[Any]:
        values = [value[name] for name in value] if isinstance(value, dict) else list(value)
        if isinstance(value, str) or len(values) != len(self._field_types):
            raise TypeError(f"it has not {len(self._field_types)} fields")
        return [kind.converted(part) for kind, part in zip(self._field_types, values)]

    def _core_types(self) -> list[CoreType[Any]] | None:
        """The types of the fields as flinkish's own; None if one of them has none."""
        cores = (kind.core for kind in self._field_types)
        known = [core for core in cores if core is not None]
        return known if len(known) == len(self._field_types) else None

    def _texts(self, value: Any) -> list[str]:
        return [kind.text_of(part) for kind, part in zip(self._field_types, value)]


class RowTypeInfo(_FieldsTypeInfo):
    """Rows: tuples, lists and dicts become Rows with the names of the type."""

    def __init__(
        self, field_types: Sequence[TypeInformation], field_names: Sequence[str] | None = None
    ) -> None:
        super().__init__(field_types)
        self._field_names = list(field_names or [f"f{i}" for i in range(len(self._field_types))])
        if len(self._field_names) != len(self._field_types):
            raise InvalidProgramError(
                f"RowTypeInfo: {len(self._field_names)} names and {len(self._field_types)} types. Name each"
                " field once, and give its type."
            )

    def get_field_names(self) -> list[str]:
        """The names of the fields."""
        return self._field_names

    def get_field_index(self, field_name: str) -> int:
        """The position of the field of that name, -1 if there is none."""
        return self._field_names.index(field_name) if field_name in self._field_names else -1

    def _converted(self, value: Any) -> Any:
        kind = value.get_row_kind() if isinstance(value, Row) else None
        fields = value._fields if isinstance(value, Row) else None
        if isinstance(value, dict):
            value = [value.get(name) for name in self._field_names]
        elif (
            fields is not None
            and fields != self._field_names
            and set(fields) == set(self._field_names)
        ):
            value = value.get_fields_by_names(self._field_names)
        row = created_row(self._field_names, self._values(value))
        if kind is not None:
            row.set_row_kind(kind)
        return row

    def _text(self, value: Any) -> str:
        kind = value.get_row_kind() if isinstance(value, Row) else "+I"
        return f"{kind}[{', '.join(self._texts(value))}]"

    @property
    def core(self) -> CoreType[Any] | None:
        types = self._core_types()
        return None if types is None else CoreTypes.ROW_NAMED(self._field_names, types)

    def __repr__(self) -> str:
        fields = (f"{n}: {kind}" for n, kind in zip(self._field_names, self._field_types))
        return f"RowTypeInfo({', '.join(fields)})"


class TupleTypeInfo(_FieldsTypeInfo):
    """Tuples."""

    def _converted(self, value: Any) -> Any:
        return tuple(self._values(value))

    def _text(self, value: Any) -> str:
        return f"({','.join(self._texts(value))})"

    @property
    def core(self) -> CoreType[Any] | None:
        types = self._core_types()
        return None if types is None else CoreTypes.TUPLE(types)

    def __repr__(self) -> str:
        return f"TupleTypeInfo({', '.join(map(repr, self._field_types))})"


def _text_of_bytes(value: bytes | bytearray) -> str:
    """The text of bytes in Java, where bytes are signed."""
    return f"[{', '.join(str(byte - 256 if byte > 127 else byte) for byte in value)}]"


_CORE: dict[str, CoreType[Any]] = {
    "String": CoreTypes.STRING(),
    "Char": CoreTypes.STRING(),
    "Boolean": CoreTypes.BOOLEAN(),
    "Byte": CoreTypes.BYTE(),
    "Short": CoreTypes.SHORT(),
    "Integer": CoreTypes.INT(),
    "Long": CoreTypes.LONG(),
    "Float": CoreTypes.FLOAT(),
    "Double": CoreTypes.DOUBLE(),
    "BigDecimal": CoreTypes.BIG_DEC(),
}


__getattr__ = absent_names(__name__)


def _check_list(method: str, fields: object, others: tuple[object, ...]) -> None:
    """Raises InvalidProgramError unless one list was given; in Java the types come one by one."""
    fix = f"Pass a list of types, as in Types.{method}([Types.STRING(), Types.LONG()])."
    instance(f"Types.{method}", fields, Sequence, fix)
    if others:
        raise InvalidProgramError(
            f"Types.{method}: {shown(others[0])} is one argument too many. {fix}"
        )
