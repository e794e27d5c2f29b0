"""``Row``: PyFlink's, whose fields can be set, with a kind of change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any

from flinkish.pyflink.absent import AbsentMethods

__all__ = ["Row", "RowKind"]


class RowKind(AbsentMethods, Enum):
    """The kind of change that a row makes to a table (PyFlink: ``RowKind``)."""

    INSERT = 0
    UPDATE_BEFORE = 1
    UPDATE_AFTER = 2
    DELETE = 3

    def __str__(self) -> str:
        return ("+I", "-U", "+U", "-D")[self.value]


class Row:
    """Values with or without names (PyFlink: ``Row``).

    >>> row = Row(name="JFK", delay=7)
    >>> row.name, row["delay"], row[1]
    ('JFK', 7, 7)
    >>> row["delay"] = 8
    >>> row, Row("JFK", 7)
    (Row(name='JFK', delay=8), <Row('JFK', 7)>)
    """

    __slots__ = ("_fields", "_row_kind", "_values")

    _fields: list[str] | None
    _values: list[Any]
    _row_kind: RowKind

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError("Row: name all fields or none.")
        _set(
            self, list(kwargs) if kwargs else None, list(kwargs.values()) if kwargs else list(args)
        )

    @staticmethod
    def of_kind(row_kind: RowKind, *args: Any, **kwargs: Any) -> Row:
        """A row of that kind."""
        row = Row(*args, **kwargs)
        row.set_row_kind(row_kind)
        return row

    def as_dict(self, recursive: bool = False) -> dict[str, Any]:
        """The fields by name; with ``recursive`` also those of nested rows."""
        if self._fields is None:
            raise TypeError("Row.as_dict: the row has no names.")
        return {
            name: _as_dicts(value) if recursive else value
            for name, value in zip(self._fields, self._values)
        }

    def get_row_kind(self) -> RowKind:
        """The kind of change."""
        return self._row_kind

    def set_row_kind(self, row_kind: RowKind) -> None:
        """Set the kind of change."""
        object.__setattr__(self, "_row_kind", row_kind)

    def set_field_names(self, field_names: Sequence[str]) -> None:
        """Set the names of the fields."""
        object.__setattr__(self, "_fields", list(field_names))

    def get_fields_by_names(self, names: Sequence[str]) -> list[Any]:
        """The values of the fields of those names."""
        return [self[name] for name in names]

    def __contains__(self, item: object) -> bool:
        return item in (self._values if self._fields is None else self._fields)

    def __call__(self, *args: Any) -> Row:
        if len(args) > len(self):
            raise ValueError(f"Row: {self!r} has {len(self)} fields, and {len(args)} values came.")
        return created_row([str(value) for value in self._values], args, self._row_kind)

    def __getitem__(self, item: Any) -> Any:
        return self._values[item if isinstance(item, (int, slice)) else self._position(item)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._values[key if isinstance(key, (int, slice)) else self._position(key)] = value

    def _position(self, name: Any) -> int:
        if self._fields is None or name not in self._fields:
            raise KeyError(f"the row has no field {name!r}; its fields are {self._fields}")
        return self._fields.index(name)

    def __getattr__(self, item: str) -> Any:
        if item.startswith("_"):
            raise AttributeError(item)
        try:
            return self._values[self._position(item)]
        except KeyError as error:
            raise AttributeError(error.args[0]) from None

    def __setattr__(self, key: str, value: Any) -> None:
        raise AttributeError(f"Row: write row[{key!r}] = ... to set a field.")

    def __reduce__(self) -> Any:
        return created_row, (self._fields, tuple(self._values), self._row_kind)

    def __repr__(self) -> str:
        if self._fields is None:
            return f"<Row({', '.join(map(repr, self._values))})>"
        fields = (f"{name}={value!r}" for name, value in zip(self._fields, self._values))
        return f"Row({', '.join(fields)})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Row) or self._row_kind != other._row_kind:
            return False
        if self._fields is None or other._fields is None:
            return self._fields is other._fields and self._values == other._values
        return self.as_dict() == other.as_dict()

    def __hash__(self) -> int:
        return hash(tuple(self._values))

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def created_row(
    fields: Sequence[str] | None, values: Sequence[Any], row_kind: RowKind = RowKind.INSERT
) -> Row:
    """A row of those names and values; Rows are pickled as a call of this function."""
    row = Row.__new__(Row)
    _set(row, None if fields is None else list(fields), list(values), row_kind)
    return row


def _set(
    row: Row, fields: list[str] | None, values: list[Any], kind: RowKind = RowKind.INSERT
) -> None:
    object.__setattr__(row, "_fields", fields)
    object.__setattr__(row, "_values", values)
    object.__setattr__(row, "_row_kind", kind)


def _as_dicts(value: Any) -> Any:
    if isinstance(value, Row):
        return value.as_dict(recursive=True)
    if isinstance(value, list):
        return [_as_dicts(part) for part in value]
    if isinstance(value, dict):
        return {key: _as_dicts(part) for key, part in value.items()}
    return value
