"""The functions that queries may call, with the types of their arguments and results, and their
kernels. Each is tested against real Flink."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from flinkish.table import arithmetic as number
from flinkish.table import collection_functions as collection
from flinkish.table import text_functions as text
from flinkish.table import time_functions as times
from flinkish.table.data_types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    STRING,
    DataType,
    DataTypes,
)
from flinkish.table.expressions import Kernel, RowByRow

Result = Callable[[Sequence[DataType]], DataType]

TEXT, NUMBER, INTEGER, EXACT, ANY, TIME, DAY, ARRAY, MAP, COLLECTION = (
    "text",
    "number",
    "whole number",
    "exact number",
    "value",
    "time",
    "date or timestamp",
    "array",
    "map",
    "array or map",
)


@dataclass(frozen=True)
class Function:
    """A function. ``takes`` has the kind of each argument; the last may be repeated if ``repeats``;
    the arguments after the first ``least`` are optional. ``nullable``: whether the result may be
    NULL although no argument is; None: it is NULL only if an argument is."""

    takes: tuple[str, ...]
    result: Result
    kernel: Kernel
    least: int = -1
    repeats: bool = False
    nullable: bool | None = None
    fails: bool = False

    def accepts(self, count: int) -> bool:
        """Whether the function takes ``count`` arguments."""
        least = len(self.takes) if self.least < 0 else self.least
        return count >= least and (self.repeats or count <= len(self.takes))


def accepts(what: str, kind: DataType) -> bool:
    """Whether a value of type ``kind`` is of the argument kind ``what``."""
    if kind.name == "NULL":
        return True
    return {
        TEXT: kind.isText,
        NUMBER: kind.isNumeric,
        INTEGER: kind.isInteger,
        EXACT: kind.isInteger or kind.isDecimal,
        ANY: True,
        TIME: kind.isTimestamp or kind.name in ("DATE", "TIME"),
        DAY: kind.isTimestamp or kind.name == "DATE",
        ARRAY: kind.name == "ARRAY",
        MAP: kind.name == "MAP",
        COLLECTION: kind.name in ("ARRAY", "MAP"),
    }[what]


def _always(kind: DataType) -> Result:
    def result(arguments: Sequence[DataType]) -> DataType:
        return kind

    return result


def _first(arguments: Sequence[DataType]) -> DataType:
    return arguments[0]


def _varying(arguments: Sequence[DataType]) -> DataType:
    first = arguments[0]
    return DataType("VARCHAR", first.precision, nullable=first.nullable) if first.isText else STRING


def _rounded(arguments: Sequence[DataType]) -> DataType:
    first = arguments[0]
    return DataType("DECIMAL", first.precision, 0, first.nullable) if first.isDecimal else first


def _element(arguments: Sequence[DataType]) -> DataType:
    return arguments[0].children[0]


def _keys(arguments: Sequence[DataType]) -> DataType:
    return DataTypes.ARRAY(arguments[0].children[0])


def _items(arguments: Sequence[DataType]) -> DataType:
    return DataTypes.ARRAY(arguments[0].children[1])


def _of(
    takes: str | Sequence[str],
    result: DataType | Result,
    function: Callable[..., Any] | Kernel,
    **more: Any,
) -> Function:
    takes = (takes,) if isinstance(takes, str) else tuple(takes)
    return Function(
        takes, _always(result) if isinstance(result, DataType) else result, function, **more
    )


def _rows(
    takes: str | Sequence[str], result: DataType | Result, function: Callable[..., Any], **more: Any
) -> Function:
    return _of(takes, result, RowByRow(function), **more)


def _part(unit: str) -> Function:
    kernel = times.part_kernel(unit)
    assert kernel is not None
    return _of(TIME, BIGINT, kernel)


STRINGS = DataTypes.ARRAY(STRING)

FUNCTIONS: dict[str, Function] = {
    # Strings
    "UPPER": _of(TEXT, _first, text.upper),
    "LOWER": _of(TEXT, _first, text.lower),
    "CHAR_LENGTH": _of(TEXT, INT, text.char_length),
    "CHARACTER_LENGTH": _of(TEXT, INT, text.char_length),
    "LTRIM": _rows((TEXT, TEXT), STRING, text.ltrim, least=1),
    "RTRIM": _rows((TEXT, TEXT), STRING, text.rtrim, least=1),
    "BTRIM": _rows((TEXT, TEXT), STRING, text.trim, least=1),
    "SUBSTRING": _rows((TEXT, INTEGER, INTEGER), STRING, text.substring, least=2),
    "SUBSTR": _rows((TEXT, INTEGER, INTEGER), STRING, text.substring, least=2),
    "LOCATE": _rows((TEXT, TEXT, INTEGER), INT, text.position, least=2),
    "INSTR": _rows((TEXT, TEXT), INT, text.instr),
    "LEFT": _rows((TEXT, INTEGER), STRING, text.left),
    "RIGHT": _rows((TEXT, INTEGER), STRING, text.right),
    "REPLACE": _rows((TEXT, TEXT, TEXT), STRING, text.replace),
    "REVERSE": _rows(TEXT, STRING, text.reverse, nullable=True),
    "REPEAT": _rows((TEXT, INTEGER), STRING, text.repeat),
    "LPAD": _rows((TEXT, INTEGER, TEXT), STRING, text.lpad, nullable=True),
    "RPAD": _rows((TEXT, INTEGER, TEXT), STRING, text.rpad, nullable=True),
    "INITCAP": _rows(TEXT, _first, text.initcap),
    "ASCII": _rows(TEXT, INT, text.ascii_code),
    "CHR": _rows(INTEGER, STRING, text.character, nullable=True),
    "CONCAT": _of(TEXT, STRING, text.concat, repeats=True),
    "CONCAT_WS": _of((TEXT, TEXT), STRING, RowByRow(text.concat_ws, nulls=True), repeats=True),
    "SPLIT_INDEX": _rows((TEXT, TEXT, INTEGER), STRING, text.split_index, nullable=True),
    "STARTSWITH": _rows((TEXT, TEXT), BOOLEAN, text.starts_with),
    "ENDSWITH": _rows((TEXT, TEXT), BOOLEAN, text.ends_with),
    "TO_BASE64": _rows(TEXT, STRING, text.to_base64),
    "FROM_BASE64": _rows(TEXT, STRING, text.from_base64, fails=True),
    "MD5": _rows(TEXT, DataTypes.CHAR(32), text.md5),
    "SHA1": _rows(TEXT, DataTypes.CHAR(40), text.sha1),
    "SHA224": _rows(TEXT, DataTypes.CHAR(56), text.sha224),
    "SHA256": _rows(TEXT, DataTypes.CHAR(64), text.sha256),
    "SHA384": _rows(TEXT, DataTypes.CHAR(96), text.sha384),
    "SHA512": _rows(TEXT, DataTypes.CHAR(128), text.sha512),
    "URL_ENCODE": _rows(TEXT, STRING, text.url_encode),
    "URL_DECODE": _rows(TEXT, STRING, text.url_decode, nullable=True),
    "PARSE_URL": _rows((TEXT, TEXT, TEXT), STRING, text.parse_url, least=2, nullable=True),
    "REGEXP": _rows((TEXT, TEXT), BOOLEAN, text.regexp, fails=True),
    "REGEXP_REPLACE": _rows(
        (TEXT, TEXT, TEXT), STRING, text.regexp_replace, nullable=True, fails=True
    ),
    "REGEXP_EXTRACT": _rows(
        (TEXT, TEXT, INTEGER), STRING, text.regexp_extract, least=2, nullable=True, fails=True
    ),
    "IS_DECIMAL": _of(TEXT, BOOLEAN, RowByRow(text.is_decimal, nulls=True), nullable=False),
    "IS_DIGIT": _of(TEXT, BOOLEAN, RowByRow(text.is_digit, nulls=True), nullable=False),
    "IS_ALPHA": _of(TEXT, BOOLEAN, RowByRow(text.is_alpha, nulls=True), nullable=False),
    "SPLIT": _rows((TEXT, TEXT), STRINGS, collection.split),
    # Numbers
    "ABS": _of(NUMBER, _first, number.ABS),
    "CEIL": _of(NUMBER, _rounded, number.CEIL),
    "CEILING": _of(NUMBER, _rounded, number.CEIL),
    "FLOOR": _of(NUMBER, _rounded, number.FLOOR),
    "SIGN": _of(NUMBER, _first, number.SIGN),
    "BIN": _of(INTEGER, STRING, number.BIN),
    **{name: _of(NUMBER, DOUBLE, number.OfDoubles(name)) for name in sorted(number.OF_DOUBLES)},
    "POWER": _of((NUMBER, NUMBER), DOUBLE, number.OfDoubles("POWER")),
    "ATAN2": _of((NUMBER, NUMBER), DOUBLE, number.OfDoubles("ATAN2")),
    "LOG": _of((NUMBER, NUMBER), DOUBLE, number.OfDoubles("LOG"), least=1),
    # Times
    "YEAR": _part("YEAR"),
    "QUARTER": _part("QUARTER"),
    "MONTH": _part("MONTH"),
    "WEEK": _part("WEEK"),
    "DAYOFYEAR": _part("DOY"),
    "DAYOFMONTH": _part("DAY"),
    "DAYOFWEEK": _part("DOW"),
    "HOUR": _part("HOUR"),
    "MINUTE": _part("MINUTE"),
    "SECOND": _part("SECOND"),
    "DATE_FORMAT": _rows((ANY, TEXT), STRING, times.date_format, nullable=True),
    "TO_DATE": _rows((TEXT, TEXT), DATE, times.to_date, least=1, nullable=True),
    "TO_TIMESTAMP": _rows(
        (TEXT, TEXT), DataTypes.TIMESTAMP(3), times.to_timestamp, least=1, nullable=True
    ),
    "TO_TIMESTAMP_LTZ": _rows(
        (INTEGER, INTEGER),
        DataTypes.TIMESTAMP_LTZ(3),
        times.to_timestamp_ltz,
        least=1,
        nullable=True,
    ),
    "FROM_UNIXTIME": _rows((INTEGER, TEXT), STRING, times.from_unixtime, least=1, nullable=True),
    "UNIX_TIMESTAMP": _rows((TEXT, TEXT), BIGINT, times.unix_timestamp, least=1),
    "CONVERT_TZ": _rows((TEXT, TEXT, TEXT), STRING, times.convert_tz, nullable=True),
    # Arrays and maps
    "CARDINALITY": _rows(COLLECTION, INT, collection.cardinality),
    "ELEMENT": _rows(ARRAY, _element, collection.only_element, fails=True),
    "ARRAY_CONTAINS": _of((ARRAY, ANY), BOOLEAN, RowByRow(collection.array_contains, nulls=True)),
    "ARRAY_JOIN": _rows((ARRAY, TEXT, TEXT), STRING, collection.array_join, least=2),
    "ARRAY_DISTINCT": _rows(ARRAY, _first, collection.array_distinct),
    "ARRAY_REVERSE": _rows(ARRAY, _first, collection.array_reverse),
    "ARRAY_CONCAT": _rows(ARRAY, _first, collection.array_concat, repeats=True),
    "ARRAY_APPEND": _of((ARRAY, ANY), _first, RowByRow(collection.array_append, nulls=True)),
    "ARRAY_PREPEND": _of((ARRAY, ANY), _first, RowByRow(collection.array_prepend, nulls=True)),
    "ARRAY_POSITION": _rows((ARRAY, ANY), INT, collection.array_position),
    "ARRAY_REMOVE": _of((ARRAY, ANY), _first, RowByRow(collection.array_remove, nulls=True)),
    "ARRAY_MAX": _rows(ARRAY, _element, collection.array_max, nullable=True),
    "ARRAY_MIN": _rows(ARRAY, _element, collection.array_min, nullable=True),
    "MAP_KEYS": _rows(MAP, _keys, collection.map_keys),
    "MAP_VALUES": _rows(MAP, _items, collection.map_values),
}
"""The functions whose arguments are values only, by name."""
