"""``Row``: an element with named fields, as sources of tables (CSV, Parquet, DataFrames) emit
it."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, ClassVar

from flinkish.api.arguments import text, whole_number
from flinkish.api.errors import IllegalArgumentError
from flinkish.api.stored_names import at_top_level


class Row(tuple[Any, ...]):
    """A tuple whose fields have names (Flink: ``Row``); without names they are ``f0``, ``f1``, ...

    >>> row = Row(origin="JFK", delay=7)
    >>> row.delay, row["origin"], row[0], row.getField("delay")
    (7, 'JFK', 'JFK', 7)
    >>> Row("JFK", 7)
    Row(f0='JFK', f1=7)
    """

    __slots__ = ()
    _fields: ClassVar[tuple[str, ...]] = ()

    def __new__(cls, /, *values: Any, **fields: Any) -> Row:
        if fields and not values:
            return row_type(tuple(fields)).make(fields.values())
        if not fields and not cls._fields:
            return row_type(tuple(f"f{position}" for position in range(len(values)))).make(values)
        if fields or len(values) != len(cls._fields):
            raise IllegalArgumentError(
                "Row: name every field, as in Row(origin='JFK', delay=7), or none, or make a type of"
                " rows first with rowType('origin', 'delay')."
            )
        return cls.make(values)

    @staticmethod
    def of(*values: Any) -> Row:
        """A row of those values, whose names are ``f0``, ``f1`` and so on."""
        return Row(*values)

    @classmethod
    def make(cls, values: Any) -> Row:
        """A row of this type from its values in order."""
        return tuple.__new__(cls, values)

    def getField(self, field: int | str) -> Any:
        """The field of that name or position."""
        if not isinstance(field, str):
            whole_number("Row.getField: position", field, highest=len(self) - 1)
        return self[field]

    def getFieldNames(self) -> tuple[str, ...]:
        """The names of the fields, in order."""
        return self._fields

    def getArity(self) -> int:
        """The number of fields."""
        return len(self)

    def asDict(self) -> dict[str, Any]:
        """The fields by name."""
        return dict(zip(self._fields, self))

    def _replace(self, **fields: Any) -> Row:
        return self.make({**self.asDict(), **fields}.values())

    def __getitem__(self, field: Any) -> Any:
        if isinstance(field, str):
            try:
                return tuple.__getitem__(self, self._fields.index(field))
            except ValueError:
                raise KeyError(self._no_field(field)) from None
        return tuple.__getitem__(self, field)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(self._no_field(name))

    def _no_field(self, name: str) -> str:
        return f"the row has no field {name!r}; its fields are {', '.join(self._fields)}"

    def __reduce__(self) -> Any:
        return row_of, (self._fields, tuple(self))

    def __repr__(self) -> str:
        return f"Row({', '.join(f'{name}={value!r}' for name, value in zip(self._fields, self))})"

    def __iter__(self) -> Iterator[Any]:
        return tuple.__iter__(self)


def rowType(*fields: str) -> type[Row]:
    """The type of rows with fields of those names.

    >>> Delay = rowType("origin", "delay")
    >>> Delay("JFK", 7)
    Row(origin='JFK', delay=7)
    """
    for name in fields:
        text("rowType", name)
    return row_type(fields)


@lru_cache(maxsize=1024)
def row_type(fields: tuple[str, ...]) -> type[Row]:
    """The type of rows with those fields, cached: there is one class for each tuple of names."""
    # namedtuple's accessors are in C, and five times as fast as an itemgetter on a subclass of
    # tuple
    named = namedtuple("Row", fields, rename=True)  # type: ignore[misc]
    return type("Row", (named, Row), {"__slots__": (), "_fields": fields, **_ROW_METHODS})


@at_top_level
def row_of(fields: tuple[str, ...], values: tuple[Any, ...]) -> Row:
    """Rebuilds a Row from its pickled form."""
    return row_type(fields).make(values)


_ROW_METHODS = {
    name: member
    for name, member in vars(Row).items()
    if callable(member) or isinstance(member, classmethod)
}
