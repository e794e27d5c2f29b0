"""Fields of elements by position or name, whatever the element is: tuple, Row, dict, dataclass."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import itemgetter
from typing import Any, Union

Field = Union[int, str]


@dataclasses.dataclass(frozen=True)
class NamedField:
    """Reads the field ``name``: an item of a mapping, an attribute of anything else."""

    name: str

    def __call__(self, element: Any) -> Any:
        if isinstance(element, dict):
            return element[self.name]
        return getattr(element, self.name)


@dataclasses.dataclass(frozen=True)
class TupleOfFields:
    """Takes the fields at ``positions`` as a tuple."""

    positions: tuple[int, ...]

    def __call__(self, element: Any) -> tuple[Any, ...]:
        return tuple(element[position] for position in self.positions)


def field_getter(field: Field) -> Callable[[Any], Any]:
    """A function that reads ``field`` of an element."""
    return itemgetter(field) if isinstance(field, int) else NamedField(field)


def with_field(element: Any, field: Field, value: Any) -> Any:
    """A copy of ``element`` with ``field`` set to ``value``."""
    if isinstance(element, dict):
        return {**element, field: value}
    if hasattr(element, "_replace"):
        name = element._fields[field] if isinstance(field, int) else field
        return element._replace(**{name: value})
    if hasattr(element, "__fields__"):
        return _row_with(element, field, value)
    if isinstance(element, (tuple, list)) and isinstance(field, int):
        items = list(element)
        items[field] = value
        return type(element)(items)
    if dataclasses.is_dataclass(element) and not isinstance(element, type):
        name = dataclasses.fields(element)[field].name if isinstance(field, int) else field
        return dataclasses.replace(element, **{name: value})
    raise TypeError(
        f"cannot set field {field!r} of {element!r}: elements must be tuples, NamedTuples, Rows,"
        " lists, dicts or dataclasses."
    )


def _row_with(row: Any, field: Field, value: Any) -> Any:
    """A Spark ``Row`` is a tuple that carries the names of its fields."""
    items = list(row)
    items[field if isinstance(field, int) else row.__fields__.index(field)] = value
    changed = type(row)(*items)
    changed.__fields__ = row.__fields__
    return changed
