"""Fields of elements by position, name or path, whatever the element is: tuple, Row, dict, dataclass.

As in Flink ``f0`` is the first field of a tuple, ``airport.code`` the field of a field, and ``*`` the
element itself.
"""

from __future__ import annotations

import copy
import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter, itemgetter
from types import CodeType, FunctionType
from typing import Any, Union

from flinkish.api.bytecode import Does, steps
from flinkish.api.errors import IllegalArgumentError, InvalidProgramError, UnfitElementError, shown
from flinkish.api.types.row import Row
from flinkish.api.types.type_info import TypeInformation

Field = Union[int, str]


WHOLE = ("*", "_")
"""The names of the element itself."""


_POSITION = re.compile(r"f?(\d+)")


@dataclasses.dataclass(frozen=True)
class NamedField:
    """Reads the field ``name``: an item of a mapping, an attribute of anything else, or of a tuple
    without names the position that ``f0`` and so on stand for."""

    name: str

    def __call__(self, element: Any) -> Any:
        try:
            if isinstance(element, dict):
                return element[self.name]
            return getattr(element, self.name)
        except (AttributeError, KeyError):
            position = position_of(self.name)
            single = self.name == "0" and field_names(element) == ["*"]
            if position is None or not (single or isinstance(element, (tuple, list))):
                raise no_such_field(element, self.name) from None
            return PositionedField(position)(element)


@dataclasses.dataclass(frozen=True)
class PositionedField:
    """Reads the field at ``position`` of a tuple, a list or a dataclass; the field 0 of a single
    value, such as a number, is the value."""

    position: int

    def __call__(self, element: Any) -> Any:
        try:
            if isinstance(element, (tuple, list)):
                return element[self.position]
            if dataclasses.is_dataclass(element):
                return getattr(element, dataclasses.fields(element)[self.position].name)
            if isinstance(element, (Mapping, Sequence)) and not isinstance(element, str):
                return element[self.position]
        except (IndexError, KeyError):
            raise no_such_field(element, self.position) from None
        if self.position == 0 and not hasattr(element, "__dict__"):
            return element
        raise no_such_field(element, self.position)


@dataclasses.dataclass(frozen=True)
class NestedField:
    """Reads a field of a field, along ``path``."""

    path: tuple[str, ...]

    def __call__(self, element: Any) -> Any:
        name = ".".join(self.path)
        if isinstance(element, dict) and name in element:
            return element[name]
        value = element
        for part in self.path:
            value = NamedField(part)(value)
        return value


@dataclasses.dataclass(frozen=True)
class ShadowedField:
    """Reads a field of Rows that has the name of one of their methods, such as ``of``."""

    name: str

    def __call__(self, element: Any) -> Any:
        if isinstance(element, Row) and self.name in element.getFieldNames():
            return element[self.name]
        return NamedField(self.name)(element)


class WholeElement:
    """Reads the element itself."""

    def __call__(self, element: Any) -> Any:
        return element


@dataclasses.dataclass(frozen=True)
class TupleOfFields:
    """Takes the fields at ``positions`` as a tuple."""

    positions: tuple[Field, ...]

    def __call__(self, element: Any) -> tuple[Any, ...]:
        return tuple(field_getter(position)(element) for position in self.positions)


def field_getter(field: Field) -> Callable[[Any], Any]:
    """A function that reads ``field`` of an element, or raises InvalidProgramError, which lists the
    fields there are.

    >>> field_getter("f1.name")(("a", {"name": "b"}))
    'b'
    """
    if isinstance(field, int):
        return PositionedField(field)
    if field in WHOLE:
        return WholeElement()
    path = tuple(field.split("."))
    if field in vars(Row):
        return ShadowedField(field)
    return NamedField(field) if len(path) == 1 else NestedField(path)


def checked_field(method: str, field: Field) -> Field:
    """``field``; raises IllegalArgumentError, which names ``method``, if it is no field."""
    named = isinstance(field, str) and field != ""
    if named or (isinstance(field, int) and not isinstance(field, bool) and field >= 0):
        return field
    raise IllegalArgumentError(
        f"{method}: {shown(field)} is not a field. Pass a position from 0 on, or the name of a field."
    )


def position_of(name: str) -> int | None:
    """The position that a name such as ``f0`` stands for in a tuple without names."""
    match = _POSITION.fullmatch(name)
    return None if match is None else int(match[1])


def with_field(element: Any, field: Field, value: Any) -> Any:
    """A copy of ``element`` with ``field`` set to ``value``."""
    if isinstance(field, str):
        if field in WHOLE:
            return value
        if "." in field and not (isinstance(element, dict) and field in element):
            outer, _, inner = field.partition(".")
            return with_field(
                element, outer, with_field(field_getter(outer)(element), inner, value)
            )
        return _with_named_field(element, field, value)
    return _with_positioned_field(element, field, value)


def _with_named_field(element: Any, name: str, value: Any) -> Any:
    if isinstance(element, dict):
        return {**element, name: value}
    names = field_names(element)
    if hasattr(element, "_replace") and name in names:
        return element._replace(**{name: value})
    if dataclasses.is_dataclass(element) and not isinstance(element, type):
        return dataclasses.replace(element, **{name: value})
    if name in names:
        return _with_positioned_field(element, names.index(name), value)
    if name in getattr(element, "__dict__", ()):
        changed = copy.copy(element)
        setattr(changed, name, value)
        return changed
    position = position_of(name)
    if position is None:
        raise _no_settable_field(element, name)
    return _with_positioned_field(element, position, value)


def _with_positioned_field(element: Any, position: int, value: Any) -> Any:
    if isinstance(element, dict):
        return {**element, position: value}
    if hasattr(element, "_replace"):
        return element._replace(**{element._fields[position]: value})
    if hasattr(element, "__fields__"):
        return _row_with(element, position, value)
    if isinstance(element, (tuple, list)):
        items = list(element)
        items[position] = value
        return type(element)(items)
    if dataclasses.is_dataclass(element) and not isinstance(element, type):
        return dataclasses.replace(element, **{field_names(element)[position]: value})
    if position == 0 and not hasattr(element, "__dict__"):
        return value
    raise _no_settable_field(element, position)


def _no_settable_field(element: Any, field: Field) -> UnfitElementError:
    return UnfitElementError(
        f"the field {field!r} of the element {shown(element)} cannot be set. Make the elements tuples,"
        " NamedTuples, Rows, lists, dicts, dataclasses or other objects with attributes, with map."
    )


def _row_with(row: Any, position: int, value: Any) -> Any:
    """A Spark ``Row`` is a tuple that carries the names of its fields."""
    items = list(row)
    items[position] = value
    changed = type(row)(*items)
    changed.__fields__ = row.__fields__
    return changed


def named_values(element: object) -> Mapping[str, Any] | None:
    """The fields of a mapping, NamedTuple, named Row or dataclass by name; None of any other element."""
    if isinstance(element, Mapping):
        return element
    if isinstance(element, tuple):
        names = getattr(element, "_fields", ())
        return dict(zip(names, element)) if names else None
    if dataclasses.is_dataclass(element) and not isinstance(element, type):
        return {field.name: getattr(element, field.name) for field in dataclasses.fields(element)}
    return None


def field_names(element: Any) -> list[str]:
    """The names of the fields of ``element``; ``*`` is that of a single value."""
    if isinstance(element, Mapping):
        return [str(key) for key in element]
    if dataclasses.is_dataclass(element):
        return [field.name for field in dataclasses.fields(element)]
    for names in ("_fields", "__fields__"):
        if hasattr(element, names):
            return list(getattr(element, names))
    if isinstance(element, (tuple, list)):
        return [f"f{position}" for position in range(len(element))]
    return ["*"]


def no_such_field(element: Any, field: Field) -> UnfitElementError:
    """The error of an element that lacks ``field``."""
    return UnfitElementError(
        f"the element {shown(element)} has no field {field!r}; its fields are"
        f" {', '.join(field_names(element))}. Name a field that every element has, by position or"
        " by name."
    )


# ---------------------------------------------------------------------- by type


def field_type(
    elements: TypeInformation[Any], field: Field, method: str
) -> TypeInformation[Any] | None:
    """The type of ``field`` of ``elements``, None if their type does not say.

    Raises InvalidProgramError, which names ``method``, if the type says that there is no such field.
    """
    if isinstance(field, str) and field in WHOLE:
        return elements
    path: Sequence[Field] = field.split(".") if isinstance(field, str) else [field]
    found: TypeInformation[Any] | None = elements
    for part in path:
        if found is None or not found.isComposite():
            return None
        found = _child(found, part, f"{method}: the elements are of type {elements}, which")
    return found


def _child(kind: TypeInformation[Any], part: Field, subject: str) -> TypeInformation[Any] | None:
    names, types = kind.getFieldNames(), kind.getFieldTypes()
    if part in names:
        return types[names.index(part)]
    position = part if isinstance(part, int) else position_of(part)
    named = isinstance(part, str) and kind.kind != "Tuple"
    if position is not None and not named and position < len(types):
        return types[position]
    if isinstance(part, str) and hasattr(kind.getTypeClass(), part):
        return None  # a property or the like
    raise InvalidProgramError(
        f"{subject} has no field {part!r}. Its fields are {', '.join(names)}."
    )


def field_read(function: Callable[..., Any]) -> Field | None:
    """The field that ``function`` reads of its first argument and returns, None if it does more.

    >>> field_read(lambda row: row.origin), field_read(lambda row, timestamp: row[2])
    ('origin', 2)
    >>> field_read(lambda row: row.origin.lower()) is None
    True
    """
    if isinstance(function, NamedField):
        return function.name
    if isinstance(function, PositionedField):
        return function.position
    if isinstance(function, (itemgetter, attrgetter)):
        items = function.__reduce__()[1]
        return items[0] if len(items) == 1 and _is_field(items[0]) else None
    if isinstance(function, FunctionType):
        return _read_by(function.__code__)
    return None


@lru_cache(maxsize=1024)
def _read_by(code: CodeType) -> Field | None:
    found = steps(code)
    first, middle, last = found[0], found[1:-1], found[-1]
    if first.does is not Does.LOAD_VARIABLE or last.does is not Does.RETURN:
        return None
    if code.co_argcount == 0 or first.argument != code.co_varnames[0]:
        return None
    done = [step.does for step in middle]
    if done == [Does.LOAD_ATTRIBUTE]:
        return str(middle[0].argument)
    if done == [Does.LOAD_CONSTANT, Does.LOAD_ITEM] and _is_field(middle[0].argument):
        field: Field = middle[0].argument
        return field
    return None


def _is_field(value: object) -> bool:
    # A path is not a column
    return (isinstance(value, int) and not isinstance(value, bool)) or (
        isinstance(value, str) and "." not in value
    )
