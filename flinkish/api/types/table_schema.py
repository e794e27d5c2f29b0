"""The columns of a table, read from a DDL string or from a StructType of Spark, without Spark."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flinkish.api.errors import IllegalArgumentError
from flinkish.api.suggestions import suggestion

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


@dataclass(frozen=True)
class ColumnType:
    """The type of a column: its name in DDL with its parameters, such as ``decimal(10,2)``.

    A ``struct`` has ``fields``; an ``array`` has one of ``children``, a ``map`` two.
    """

    name: str
    fields: tuple[tuple[str, ColumnType], ...] = ()
    children: tuple[ColumnType, ...] = ()

    def __str__(self) -> str:
        if self.name == "struct":
            return f"struct<{','.join(f'{name}:{kind}' for name, kind in self.fields)}>"
        if self.children:
            return f"{self.name}<{','.join(map(str, self.children))}>"
        return self.name

    @property
    def fieldNames(self) -> list[str]:
        """The names of the fields of a struct."""
        return [name for name, _ in self.fields]


def table_schema(schema: str | StructType) -> ColumnType:
    """The columns of ``schema``, as the fields of a struct.

    >>> print(table_schema("origin string, `at` array<struct<hour: integer>>"))
    struct<origin:string,at:array<struct<hour:int>>>
    """
    return _DdlReader(schema).read() if isinstance(schema, str) else _of_json(schema.jsonValue())


def _of_json(column: Any) -> ColumnType:
    """The type of a column from the JSON form of Spark's types."""
    if isinstance(column, str):
        return _basic(column)
    if column["type"] == "struct":
        fields = tuple((field["name"], _of_json(field["type"])) for field in column["fields"])
        return ColumnType("struct", fields)
    if column["type"] == "array":
        return ColumnType("array", children=(_of_json(column["elementType"]),))
    if column["type"] == "map":
        children = _of_json(column["keyType"]), _of_json(column["valueType"])
        return ColumnType("map", children=children)
    return ColumnType(str(column["type"]))


_SYNONYMS = {
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
    "real": "float",
    "dec": "decimal",
    "numeric": "decimal",
    "decimal": "decimal(10,0)",
    "timestamp_ltz": "timestamp",
}


def _basic(name: str) -> ColumnType:
    word, parenthesis, rest = name.partition("(")
    word = _SYNONYMS.get(word, word)
    if word == "decimal" and not parenthesis:
        word = _SYNONYMS[word]
    if parenthesis and word.startswith("decimal"):
        precision, _, scale = rest.removesuffix(")").partition(",")
        return ColumnType(f"decimal({precision},{scale or 0})")
    return ColumnType(f"{word}{parenthesis}{rest}")


_TYPES = frozenset(
    [
        "boolean",
        "tinyint",
        "smallint",
        "int",
        "bigint",
        "float",
        "double",
        "decimal",
        "string",
        "char",
        "character",
        "varchar",
        "binary",
        "date",
        "time",
        "timestamp",
        "timestamp_ntz",
        "interval",
        "void",
        "variant",
        "geometry",
        "geography",
    ]
)
"""Spark's types without parameters. ``array``, ``map`` and ``struct`` have some."""


_TOKEN = re.compile(r"\s*(`(?:[^`]|``)*`|'(?:[^'\\]|\\.)*'|\w+|[^\w\s])")


_AFTER_A_TYPE = {"NOT", "NULL", "COMMENT"}


_INTERVAL = {"year", "month", "day", "hour", "minute", "second", "to"}


class _DdlReader:
    """Reads ``name type, ...`` from left to right."""

    def __init__(self, ddl: str) -> None:
        self._ddl = ddl
        self._tokens: list[str] = [*_TOKEN.findall(ddl), ""]
        self._next = 0

    def read(self) -> ColumnType:
        row = self._row("")
        self._expect("")
        return row

    def _row(self, end: str) -> ColumnType:
        names, types = [], []
        while self._peek() != end:
            names.append(self._name())
            self._accept(":")
            types.append(self._type())
            self._skip_constraints()
            if not self._accept(","):
                break
        return ColumnType("struct", tuple(zip(names, types)))

    def _type(self) -> ColumnType:
        name = self._take().lower()
        if name == "array":
            [element] = self._parameters(1)
            return ColumnType("array", children=(element,))
        if name == "map":
            return ColumnType("map", children=tuple(self._parameters(2)))
        if name == "struct":
            self._expect("<")
            row = self._row(">")
            self._expect(">")
            return row
        if not name.isidentifier():
            self._next -= 1
            raise self._unreadable()
        if _SYNONYMS.get(name, name).partition("(")[0] not in _TYPES:
            near = suggestion(name, (*_TYPES, *_SYNONYMS, "array", "map", "struct"))
            raise IllegalArgumentError(
                f"the schema {self._ddl!r} has the type {name.upper()}, which Spark does not have.{near} Write"
                ' it as "origin string, delay int".'
            )
        while name.startswith("interval") and self._peek().lower() in _INTERVAL:
            name += f" {self._take().lower()}"
        if self._accept("("):
            parameters = ""
            while not self._accept(")"):
                parameters += self._take()
            name += f"({parameters})"
        return _basic(name)

    def _parameters(self, count: int) -> list[ColumnType]:
        self._expect("<")
        types = [self._type()]
        for _ in range(count - 1):
            self._expect(",")
            types.append(self._type())
        self._expect(">")
        return types

    def _skip_constraints(self) -> None:
        while self._peek().upper() in _AFTER_A_TYPE:
            if self._take().upper() == "COMMENT":
                self._take()

    def _name(self) -> str:
        token = self._take()
        return token[1:-1].replace("``", "`") if token.startswith("`") else token

    def _peek(self) -> str:
        return self._tokens[self._next]

    def _take(self) -> str:
        token = self._peek()
        if not token:
            raise self._unreadable()
        self._next += 1
        return token

    def _accept(self, token: str) -> bool:
        accepted = self._peek() == token
        self._next += accepted
        return accepted

    def _expect(self, token: str) -> None:
        if not self._accept(token):
            raise self._unreadable()

    def _unreadable(self) -> IllegalArgumentError:
        return IllegalArgumentError(
            f"the schema {self._ddl!r} cannot be read at {self._peek() or 'its end'!r}. Write it as"
            ' "origin string, delay int".'
        )
