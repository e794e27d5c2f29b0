"""``DataTypes``: the types of columns under PyFlink's names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from flinkish.pyflink.absent import AbsentMethods
from flinkish.pyflink.common.typeinfo import TypeInformation, Types
from flinkish.table.data_types import DataType as CoreDataType
from flinkish.table.data_types import DataTypes as CoreDataTypes

__all__ = ["DataType", "DataTypes"]


@dataclass(frozen=True)
class DataType(AbsentMethods, CoreDataType):
    """The type of a column (PyFlink: ``DataType``)."""

    def not_null(self) -> CoreDataType:
        """The same type without NULL."""
        return self.notNull()


def own(kind: CoreDataType, nullable: bool = True) -> DataType:
    """A type of flinkish as one of PyFlink's."""
    found = {field.name: getattr(kind, field.name) for field in fields(CoreDataType)}
    return DataType(**{**found, "nullable": nullable and kind.nullable})


class DataTypes(AbsentMethods):
    """The types of columns (PyFlink: ``DataTypes``).

    >>> print(DataTypes.ROW([DataTypes.FIELD("user", DataTypes.STRING(False)), DataTypes.FIELD("tags", DataTypes.ARRAY(DataTypes.INT()))]))
    ROW<`user` STRING NOT NULL, `tags` ARRAY<INT>>
    """

    @staticmethod
    def BOOLEAN(nullable: bool = True) -> DataType:
        """``bool``."""
        return own(CoreDataTypes.BOOLEAN(), nullable)

    @staticmethod
    def TINYINT(nullable: bool = True) -> DataType:
        """``int`` of 8 bits."""
        return own(CoreDataTypes.TINYINT(), nullable)

    @staticmethod
    def SMALLINT(nullable: bool = True) -> DataType:
        """``int`` of 16 bits."""
        return own(CoreDataTypes.SMALLINT(), nullable)

    @staticmethod
    def INT(nullable: bool = True) -> DataType:
        """``int`` of 32 bits."""
        return own(CoreDataTypes.INT(), nullable)

    @staticmethod
    def BIGINT(nullable: bool = True) -> DataType:
        """``int`` of 64 bits."""
        return own(CoreDataTypes.BIGINT(), nullable)

    @staticmethod
    def FLOAT(nullable: bool = True) -> DataType:
        """``float`` of 32 bits."""
        return own(CoreDataTypes.FLOAT(), nullable)

    @staticmethod
    def DOUBLE(nullable: bool = True) -> DataType:
        """``float`` of 64 bits."""
        return own(CoreDataTypes.DOUBLE(), nullable)

    @staticmethod
    def DECIMAL(precision: int, scale: int, nullable: bool = True) -> DataType:
        """``Decimal`` of ``precision`` digits, of which ``scale`` are after the point."""
        return own(CoreDataTypes.DECIMAL(precision, scale), nullable)

    @staticmethod
    def STRING(nullable: bool = True) -> DataType:
        """``str`` of any length."""
        return own(CoreDataTypes.STRING(), nullable)

    @staticmethod
    def VARCHAR(length: int, nullable: bool = True) -> DataType:
        """``str`` of up to ``length`` characters."""
        return own(CoreDataTypes.VARCHAR(length), nullable)

    @staticmethod
    def CHAR(length: int, nullable: bool = True) -> DataType:
        """``str`` of ``length`` characters."""
        return own(CoreDataTypes.CHAR(length), nullable)

    @staticmethod
    def BYTES(nullable: bool = True) -> DataType:
        """``bytes`` of any length."""
        return own(CoreDataTypes.BYTES(), nullable)

    @staticmethod
    def DATE(nullable: bool = True) -> DataType:
        """``date``."""
        return own(CoreDataTypes.DATE(), nullable)

    @staticmethod
    def TIME(precision: int = 0, nullable: bool = True) -> DataType:
        """``time`` of a day."""
        return own(CoreDataTypes.TIME(precision), nullable)

    @staticmethod
    def TIMESTAMP(precision: int = 6, nullable: bool = True) -> DataType:
        """``datetime`` without a time zone."""
        return own(CoreDataTypes.TIMESTAMP(precision), nullable)

    @staticmethod
    def TIMESTAMP_LTZ(precision: int = 6, nullable: bool = True) -> DataType:
        """An ``Instant``: a point in time."""
        return own(CoreDataTypes.TIMESTAMP_LTZ(precision), nullable)

    TIMESTAMP_WITH_LOCAL_TIME_ZONE = TIMESTAMP_LTZ

    @staticmethod
    def ARRAY(element_type: CoreDataType, nullable: bool = True) -> DataType:
        """A list."""
        return own(CoreDataTypes.ARRAY(element_type), nullable)

    @staticmethod
    def MAP(key_type: CoreDataType, value_type: CoreDataType, nullable: bool = True) -> DataType:
        """A dict."""
        return own(CoreDataTypes.MAP(key_type, value_type), nullable)

    @staticmethod
    def FIELD(
        name: str, data_type: CoreDataType, description: str | None = None
    ) -> tuple[str, CoreDataType]:
        """A field of a row."""
        return CoreDataTypes.FIELD(name, data_type)

    @staticmethod
    def ROW(row_fields: Sequence[tuple[str, CoreDataType]] = (), nullable: bool = True) -> DataType:
        """A Row of those fields."""
        return own(CoreDataTypes.ROW(*row_fields), nullable)


_PLAIN: dict[str, Callable[[], TypeInformation]] = {
    "BOOLEAN": Types.BOOLEAN,
    "TINYINT": Types.BYTE,
    "SMALLINT": Types.SHORT,
    "INT": Types.INT,
    "BIGINT": Types.LONG,
    "FLOAT": Types.FLOAT,
    "DOUBLE": Types.DOUBLE,
    "DECIMAL": Types.BIG_DEC,
    "CHAR": Types.STRING,
    "VARCHAR": Types.STRING,
    "DATE": Types.SQL_DATE,
    "TIME": Types.SQL_TIME,
    "TIMESTAMP": Types.SQL_TIMESTAMP,
    "TIMESTAMP_LTZ": Types.INSTANT,
}


def type_information(kind: CoreDataType) -> TypeInformation:
    """The type of values of ``kind`` as elements of a stream."""
    if kind.name == "ROW":
        return Types.ROW_NAMED(
            list(kind.fields), [type_information(child) for child in kind.children]
        )
    if kind.name == "ARRAY":
        return Types.LIST(type_information(kind.children[0]))
    if kind.name == "MAP":
        return Types.MAP(*(type_information(child) for child in kind.children))
    found = _PLAIN.get(kind.name)
    return Types.PICKLED_BYTE_ARRAY() if found is None else found()


def as_core(value: Any) -> Any:
    """A type, or its name in SQL, as one of flinkish's types."""
    return CoreDataTypes.of(value) if isinstance(value, str) else value
