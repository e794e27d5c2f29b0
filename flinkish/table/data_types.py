"""``DataType``: the types of columns by their SQL names, with their types in Arrow and as
elements."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import pyarrow as pa

from flinkish.api.arguments import instance, whole_number
from flinkish.api.errors import IllegalArgumentError, InvalidProgramError
from flinkish.api.types.type_info import TypeInformation, Types

INTEGERS = ("TINYINT", "SMALLINT", "INT", "BIGINT")
"""From the narrowest to the widest."""
APPROXIMATE = ("FLOAT", "DOUBLE")
TEXTS = ("CHAR", "VARCHAR")
TIMESTAMPS = ("TIMESTAMP", "TIMESTAMP_LTZ")
UNBOUNDED = 2147483647
"""The length of STRING, which is a VARCHAR, and of BYTES, which is a VARBINARY."""
MAX_PRECISION = 38
_MICROSECONDS = 6


@dataclass(frozen=True)
class DataType:
    """The type of a column (Flink: ``DataType``). Create it with ``DataTypes``.

    ``name`` is the type's name in SQL; ``precision`` the number of digits of a DECIMAL, of digits
    of a second, or the length of a string; ``scale`` the digits of a DECIMAL after the point.
    ``children`` are the types of elements, of keys and values, or of fields, and ``fields`` the
    names of the fields.
    """

    name: str
    precision: int = 0
    scale: int = 0
    nullable: bool = True
    children: tuple[DataType, ...] = ()
    fields: tuple[str, ...] = ()

    def notNull(self) -> DataType:
        """The same type without NULL."""
        return replace(self, nullable=False)

    def nullableIf(self, nullable: bool) -> DataType:
        """The same type, with NULL if ``nullable``."""
        return self if self.nullable == nullable else replace(self, nullable=nullable)

    @property
    def isInteger(self) -> bool:
        """Whether values are integers of some number of bits."""
        return self.name in INTEGERS

    @property
    def isDecimal(self) -> bool:
        """Whether values are decimal numbers."""
        return self.name == "DECIMAL"

    @property
    def isApproximate(self) -> bool:
        """Whether values are binary floating point numbers."""
        return self.name in APPROXIMATE

    @property
    def isNumeric(self) -> bool:
        """Whether values are numbers."""
        return self.isInteger or self.isDecimal or self.isApproximate

    @property
    def isText(self) -> bool:
        """Whether values are strings."""
        return self.name in TEXTS

    @property
    def isTimestamp(self) -> bool:
        """Whether values are dates with a time of day."""
        return self.name in TIMESTAMPS

    @property
    def isInterval(self) -> bool:
        """Whether values are intervals."""
        return self.name.startswith("INTERVAL")

    @property
    def arrow(self) -> pa.DataType:
        """The Arrow type of a column of such values."""
        simple = _ARROW.get(self.name)
        if simple is not None:
            return simple
        if self.isDecimal:
            return pa.decimal128(self.precision, self.scale)
        if self.name == "ARRAY":
            return pa.list_(self.children[0].arrow)
        if self.name == "MAP":
            return pa.map_(self.children[0].arrow, self.children[1].arrow)
        return pa.struct([(n, child.arrow) for n, child in zip(self.fields, self.children)])

    @property
    def elements(self) -> TypeInformation[Any]:
        """The type of such values as elements of a stream."""
        if self.name == "ARRAY":
            return Types.LIST(self.children[0].elements)
        if self.name == "MAP":
            return Types.MAP(self.children[0].elements, self.children[1].elements)
        if self.name == "ROW":
            return Types.ROW_NAMED(self.fields, [child.elements for child in self.children])
        return _ELEMENTS[self.name]

    def __str__(self) -> str:
        return self._text() if self.nullable else f"{self._text()} NOT NULL"

    def _text(self) -> str:
        if self.name in ("VARCHAR", "VARBINARY") and self.precision == UNBOUNDED:
            return "STRING" if self.name == "VARCHAR" else "BYTES"
        if self.isDecimal:
            return f"DECIMAL({self.precision}, {self.scale})"
        if self.name in (*TEXTS, "VARBINARY", "BINARY", "TIME", *TIMESTAMPS):
            return f"{self.name}({self.precision})"
        if self.name == "ROW":
            fields = (f"`{n}` {child}" for n, child in zip(self.fields, self.children))
            return f"ROW<{', '.join(fields)}>"
        if self.children:
            return f"{self.name}<{', '.join(map(str, self.children))}>"
        return self.name


_ARROW = {
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "CHAR": pa.string(),
    "VARCHAR": pa.string(),
    "BINARY": pa.binary(),
    "VARBINARY": pa.binary(),
    "DATE": pa.date32(),
    "TIME": pa.time64("us"),
    "TIMESTAMP": pa.timestamp("us"),
    "TIMESTAMP_LTZ": pa.timestamp("us", "UTC"),
    "NULL": pa.null(),
    "INTERVAL MONTH": pa.int32(),
    "INTERVAL SECOND": pa.int64(),
}

_ELEMENTS: dict[str, TypeInformation[Any]] = {
    "BOOLEAN": Types.BOOLEAN(),
    "TINYINT": Types.BYTE(),
    "SMALLINT": Types.SHORT(),
    "INT": Types.INT(),
    "BIGINT": Types.LONG(),
    "FLOAT": Types.FLOAT(),
    "DOUBLE": Types.DOUBLE(),
    "DECIMAL": Types.BIG_DEC(),
    "CHAR": Types.STRING(),
    "VARCHAR": Types.STRING(),
    "BINARY": Types.PRIMITIVE_ARRAY(Types.BYTE()),
    "VARBINARY": Types.PRIMITIVE_ARRAY(Types.BYTE()),
    "DATE": Types.SQL_DATE(),
    "TIME": Types.SQL_TIME(),
    "TIMESTAMP": Types.LOCAL_DATE_TIME(),
    "TIMESTAMP_LTZ": Types.INSTANT(),
}


class DataTypes:
    """The types of columns (Flink: ``DataTypes``).

    >>> print(DataTypes.ROW(DataTypes.FIELD("user", DataTypes.STRING().notNull()), DataTypes.FIELD("amount", DataTypes.DECIMAL(10, 2))))
    ROW<`user` STRING NOT NULL, `amount` DECIMAL(10, 2)>
    """

    @staticmethod
    def BOOLEAN() -> DataType:
        """``bool``."""
        return DataType("BOOLEAN")

    @staticmethod
    def TINYINT() -> DataType:
        """``int`` of 8 bits."""
        return DataType("TINYINT")

    @staticmethod
    def SMALLINT() -> DataType:
        """``int`` of 16 bits."""
        return DataType("SMALLINT")

    @staticmethod
    def INT() -> DataType:
        """``int`` of 32 bits."""
        return DataType("INT")

    @staticmethod
    def BIGINT() -> DataType:
        """``int`` of 64 bits."""
        return DataType("BIGINT")

    @staticmethod
    def FLOAT() -> DataType:
        """``float`` of 32 bits."""
        return DataType("FLOAT")

    @staticmethod
    def DOUBLE() -> DataType:
        """``float`` of 64 bits."""
        return DataType("DOUBLE")

    @staticmethod
    def DECIMAL(precision: int, scale: int) -> DataType:
        """``Decimal`` of ``precision`` digits, 38 at most, with ``scale`` of them after the
        point."""
        whole_number("DataTypes.DECIMAL: precision", precision, highest=MAX_PRECISION)
        whole_number("DataTypes.DECIMAL: scale", scale, highest=precision)
        return DataType("DECIMAL", precision, scale)

    @staticmethod
    def STRING() -> DataType:
        """``str`` of any length."""
        return DataType("VARCHAR", UNBOUNDED)

    @staticmethod
    def VARCHAR(n: int) -> DataType:
        """``str`` of up to ``n`` characters."""
        return DataType("VARCHAR", n)

    @staticmethod
    def CHAR(n: int) -> DataType:
        """``str`` of ``n`` characters."""
        return DataType("CHAR", n)

    @staticmethod
    def BYTES() -> DataType:
        """``bytes`` of any length."""
        return DataType("VARBINARY", UNBOUNDED)

    @staticmethod
    def DATE() -> DataType:
        """``date``."""
        return DataType("DATE")

    @staticmethod
    def TIME(precision: int = 0) -> DataType:
        """``time`` of a day."""
        return DataType("TIME", _fraction("TIME", precision, 3))

    @staticmethod
    def TIMESTAMP(precision: int = 6) -> DataType:
        """``datetime`` without a time zone, with ``precision`` digits of a second, 6 at most."""
        return DataType("TIMESTAMP", _fraction("TIMESTAMP", precision))

    @staticmethod
    def TIMESTAMP_LTZ(precision: int = 6) -> DataType:
        """``datetime`` with a time zone: a point in time."""
        return DataType("TIMESTAMP_LTZ", _fraction("TIMESTAMP_LTZ", precision))

    @staticmethod
    def TIMESTAMP_WITH_LOCAL_TIME_ZONE(precision: int = 6) -> DataType:
        """``TIMESTAMP_LTZ`` by its long name."""
        return DataTypes.TIMESTAMP_LTZ(precision)

    @staticmethod
    def ARRAY(elementType: DataType) -> DataType:
        """A list."""
        return DataType("ARRAY", children=(_checked("ARRAY", elementType),))

    @staticmethod
    def MAP(keyType: DataType, valueType: DataType) -> DataType:
        """A dict."""
        return DataType("MAP", children=(_checked("MAP", keyType), _checked("MAP", valueType)))

    @staticmethod
    def ROW(*fields: tuple[str, DataType]) -> DataType:
        """A Row of those fields, each created with ``FIELD``."""
        names, types = [name for name, _ in fields], [kind for _, kind in fields]
        return DataType("ROW", children=tuple(types), fields=tuple(names))

    @staticmethod
    def FIELD(name: str, dataType: DataType) -> tuple[str, DataType]:
        """A field of a row."""
        return name, _checked("FIELD", dataType)

    @staticmethod
    def of(text: str) -> DataType:
        """The type that ``text`` names in SQL.

        >>> print(DataTypes.of("ARRAY<DECIMAL(4, 1) NOT NULL>"))
        ARRAY<DECIMAL(4, 1) NOT NULL>
        """
        return _TypeReader(text).read()


def _fraction(name: str, precision: int, highest: int = _MICROSECONDS) -> int:
    if not 0 <= precision <= highest:
        raise IllegalArgumentError(
            f"{name}({precision}): times have up to {highest} digits of a second here. Write {name}({highest})."
        )
    return precision


def _checked(method: str, kind: DataType) -> DataType:
    return instance(f"DataTypes.{method}", kind, DataType, "Pass one, such as DataTypes.INT().")


INT, BIGINT, DOUBLE, FLOAT = (
    DataType("INT"),
    DataType("BIGINT"),
    DataType("DOUBLE"),
    DataType("FLOAT"),
)
BOOLEAN, STRING, DATE = DataType("BOOLEAN"), DataType("VARCHAR", UNBOUNDED), DataType("DATE")
NULL = DataType("NULL")
MONTHS, MILLISECONDS = DataType("INTERVAL MONTH"), DataType("INTERVAL SECOND")
ROWTIME = DataType("TIMESTAMP_LTZ", 3)


# ---------------------------------------------------------------------- from a text

_PLAIN = {"INTEGER": "INT", "BOOL": "BOOLEAN", "NUMERIC": "DECIMAL", "DEC": "DECIMAL"}
_TOKEN = re.compile(r"\s*(`[^`]*`|\w+|[^\w\s])")


class _TypeReader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[str] = [*_TOKEN.findall(text), ""]
        self._next = 0

    def read(self) -> DataType:
        kind = self._type()
        if self._peek():
            self._fail()
        return kind

    def _type(self) -> DataType:
        word = self._take().upper()
        name = _PLAIN.get(word, word)
        if name == "ARRAY":
            [element] = self._children(1)
            kind = DataTypes.ARRAY(element)
        elif name == "MAP":
            kind = DataTypes.MAP(*self._children(2))
        elif name == "ROW":
            kind = self._row()
        else:
            kind = self._plain(name, self._numbers())
        if self._accept("NOT"):
            self._expect("NULL")
            return kind.notNull()
        self._accept("NULL")
        return kind

    def _plain(self, name: str, numbers: list[int]) -> DataType:
        if name == "DOUBLE":
            self._accept("PRECISION")
        if name == "DECIMAL":
            precision, scale = [*numbers, *(10, 0)[len(numbers) :]]
            return DataTypes.DECIMAL(precision, scale)
        if name in TIMESTAMPS:
            if self._accept("WITH"):
                for part in ("LOCAL", "TIME", "ZONE"):
                    self._expect(part)
                name = "TIMESTAMP_LTZ"
            return (
                DataTypes.TIMESTAMP(*numbers)
                if name == "TIMESTAMP"
                else DataTypes.TIMESTAMP_LTZ(*numbers)
            )
        if name == "TIME":
            return DataTypes.TIME(*numbers)
        if name in ("CHAR", "VARCHAR"):
            return DataType(name, numbers[0] if numbers else 1)
        if name in ("STRING", "BYTES"):
            return DataType("VARCHAR" if name == "STRING" else "VARBINARY", UNBOUNDED)
        if numbers or name not in _ELEMENTS or name in ("BINARY", "VARBINARY"):
            self._fail()
        return DataType(name)

    def _row(self) -> DataType:
        close = ">" if self._accept("<") else ")"
        if close == ")":
            self._expect("(")
        fields = []
        while not self._accept(close):
            fields.append((self._take().strip("`"), self._type()))
            self._accept(",")
        return DataTypes.ROW(*fields)

    def _children(self, count: int) -> list[DataType]:
        self._expect("<")
        children = [self._type()]
        for _ in range(count - 1):
            self._expect(",")
            children.append(self._type())
        self._expect(">")
        return children

    def _numbers(self) -> list[int]:
        numbers: list[int] = []
        if self._accept("("):
            while not self._accept(")"):
                word = self._take()
                if not word.isdigit():
                    self._fail()
                numbers.append(int(word))
                self._accept(",")
        return numbers

    def _peek(self) -> str:
        return self._tokens[self._next]

    def _take(self) -> str:
        token = self._peek()
        if not token:
            self._fail()
        self._next += 1
        return token

    def _accept(self, word: str) -> bool:
        accepted = self._peek().upper() == word
        self._next += accepted
        return accepted

    def _expect(self, word: str) -> None:
        if not self._accept(word):
            self._fail()

    def _fail(self) -> NoReturn:
        raise IllegalArgumentError(
            f"the type {self._text!r} cannot be read. Write one such as BIGINT, DECIMAL(10, 2), TIMESTAMP_LTZ(3) or"
            " ARRAY<STRING>."
        )


# ---------------------------------------------------------------------- from types of elements

_OF_ELEMENTS = {
    "Boolean": BOOLEAN,
    "Byte": DataType("TINYINT"),
    "Short": DataType("SMALLINT"),
    "Integer": INT,
    "Long": BIGINT,
    "Float": FLOAT,
    "Double": DOUBLE,
    "BigDecimal": DataType("DECIMAL", 38, 18),
    "String": STRING,
    "Date": DATE,
    "Time": DataType("TIME", 0),
    "LocalDateTime": DataType("TIMESTAMP", 6),
    "Timestamp": DataType("TIMESTAMP", 6),
    "Instant": DataType("TIMESTAMP_LTZ", 6),
}


def type_of_elements(elements: TypeInformation[Any], field: str, method: str) -> DataType:
    """The type of a column of such values. Raises InvalidProgramError, which names ``method`` and
    ``field``, if the type is unknown."""
    if elements.kind == "Array" and elements.children[0].kind == "Byte":
        return DataType("VARBINARY", UNBOUNDED)
    if elements.kind in ("List", "Array"):
        return DataTypes.ARRAY(type_of_elements(elements.children[0], field, method))
    if elements.kind == "Map":
        key, value = (type_of_elements(child, field, method) for child in elements.children)
        return DataTypes.MAP(key, value)
    if elements.isComposite():
        return DataTypes.ROW(*columns_of_elements(elements, method, f"{field}."))
    found = _OF_ELEMENTS.get(elements.kind)
    if found is None:
        raise InvalidProgramError(
            f"{method}: the type of the column {field!r} is not known ({elements}). Pass a schema, such as"
            f" Schema.newBuilder().column({field!r}, DataTypes.STRING())...build(), or say the type of the stream with"
            " returns(Types...)."
        )
    return found


def columns_of_elements(
    elements: TypeInformation[Any], method: str, prefix: str = ""
) -> Sequence[tuple[str, DataType]]:
    """The columns of elements of that type: their fields, or ``f0`` if they have no fields."""
    if not elements.isComposite():
        return [("f0", type_of_elements(elements, f"{prefix}f0", method))]
    return [
        (name, type_of_elements(child, prefix + name, method))
        for name, child in zip(elements.getFieldNames(), elements.getFieldTypes())
    ]
