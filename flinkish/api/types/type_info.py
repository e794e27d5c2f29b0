"""Types of elements. A stream works without one; a known type names columns and checks fields."""

from __future__ import annotations

import collections.abc
import dataclasses
import types
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from inspect import isroutine
from itertools import islice
from typing import (
    Annotated,
    Any,
    Generic,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)
from typing import is_typeddict as is_typed_dict

from flinkish.api.arguments import instance, text
from flinkish.api.errors import IllegalArgumentError, shown
from flinkish.api.type_variables import T
from flinkish.api.types.row import Row

A = TypeVar("A")
B = TypeVar("B")
E = TypeVar("E", bound=Enum)


PICKLED = "Pickled"


_COMPOSITE = {"Tuple", "Row", "NamedTuple", "Dataclass"}


_NOT_BASIC = {*_COMPOSITE, "List", "Array", "Map", PICKLED}


@dataclass(frozen=True)
class TypeInformation(Generic[T]):
    """Says what the elements of a stream or a state are (Flink: ``TypeInformation``).

    ``kind`` is the type's name, ``children`` the types of its parts, ``fields`` their names, and
    ``typeClass`` the class of the elements if it is one of the user's. None is a value of every
    type.

    >>> print(TypeInformation.of(tuple[str, list[int]]))
    Tuple<String, List<Long>>
    """

    kind: str
    children: tuple[TypeInformation[Any], ...] = ()
    fields: tuple[str, ...] = ()
    typeClass: type[Any] | None = None

    def __post_init__(self) -> None:
        text("TypeInformation: kind", self.kind)
        fix = "Pass a tuple of types, or make the type with TypeInformation.of(...)."
        instance("TypeInformation: children", self.children, tuple, fix)
        for child in self.children:
            fix = "Pass one, such as Types.STRING(), or TypeInformation.of(str)."
            instance(f"Types: {self.kind}", child, TypeInformation, fix)

    @staticmethod
    def of(typeHint: type[A] | TypeInformation[A]) -> TypeInformation[A]:
        """The type that an annotation stands for: ``int`` is LONG, ``float`` DOUBLE, ``list[str]`` a
        LIST; a dataclass or NamedTuple has the types of its fields. Anything else is
        PICKLED_BYTE_ARRAY."""

        if not _is_type_hint(typeHint):
            raise IllegalArgumentError(
                f"TypeInformation: {shown(typeHint)} is not a type. Pass one, such as Types.STRING()"
                " (a call), str or list[int]."
            )
        return type_of_annotation(typeHint) or Types.PICKLED_BYTE_ARRAY()

    def isBasicType(self) -> bool:
        """Whether an element is one value, such as a number or a text."""
        return self.kind not in _NOT_BASIC

    def isTupleType(self) -> bool:
        """Whether an element is a tuple, named or not."""
        return self.kind in ("Tuple", "NamedTuple")

    def isComposite(self) -> bool:
        """Whether an element has fields: tuples, rows and dataclasses have."""
        return self.kind in _COMPOSITE

    def getArity(self) -> int:
        """The number of fields of an element; 1 if it is not composite."""
        return len(self.children) if self.isComposite() else 1

    def getFieldNames(self) -> tuple[str, ...]:
        """The names of the fields; those of a tuple are ``f0``, ``f1`` and so on, as in Flink."""
        if not self.isComposite():
            return ()
        return self.fields or tuple(f"f{position}" for position in range(len(self.children)))

    def getFieldTypes(self) -> tuple[TypeInformation[Any], ...]:
        """The types of the fields."""
        return self.children if self.isComposite() else ()

    def getTypeClass(self) -> type[Any] | None:
        """The class of the elements, if it is one of the user's."""
        return self.typeClass

    def __str__(self) -> str:
        kind = self.kind if self.typeClass is None else self.typeClass.__qualname__
        if not self.children:
            return kind
        parts = [
            f"{name}: {child}" if name else str(child)
            for name, child in zip(self.fields or [""] * len(self.children), self.children)
        ]
        return f"{kind}<{', '.join(parts)}>"


class Types:
    """All types, under Flink's and PyFlink's names (Flink: ``Types``).

    >>> str(Types.TUPLE([Types.STRING(), Types.LONG()]))
    'Tuple<String, Long>'
    """

    @staticmethod
    def STRING() -> TypeInformation[str]:
        """``str``."""
        return TypeInformation("String")

    @staticmethod
    def CHAR() -> TypeInformation[str]:
        """``str`` of one character."""
        return TypeInformation("Character")

    @staticmethod
    def BOOLEAN() -> TypeInformation[bool]:
        """``bool``."""
        return TypeInformation("Boolean")

    @staticmethod
    def BYTE() -> TypeInformation[int]:
        """``int`` of 8 bits."""
        return TypeInformation("Byte")

    @staticmethod
    def SHORT() -> TypeInformation[int]:
        """``int`` of 16 bits."""
        return TypeInformation("Short")

    @staticmethod
    def INT() -> TypeInformation[int]:
        """``int`` of 32 bits."""
        return TypeInformation("Integer")

    @staticmethod
    def LONG() -> TypeInformation[int]:
        """``int`` of 64 bits."""
        return TypeInformation("Long")

    @staticmethod
    def FLOAT() -> TypeInformation[float]:
        """``float`` of 32 bits."""
        return TypeInformation("Float")

    @staticmethod
    def DOUBLE() -> TypeInformation[float]:
        """``float`` of 64 bits."""
        return TypeInformation("Double")

    @staticmethod
    def BIG_INT() -> TypeInformation[int]:
        """``int`` of any size; a column of it holds 38 digits."""
        return TypeInformation("BigInteger")

    @staticmethod
    def BIG_DEC() -> TypeInformation[Decimal]:
        """``Decimal``; a column of it holds 38 digits, 18 of them after the point."""
        return TypeInformation("BigDecimal")

    @staticmethod
    def INSTANT() -> TypeInformation[datetime]:
        """``datetime`` with a time zone: a point in time."""
        return TypeInformation("Instant")

    @staticmethod
    def SQL_TIMESTAMP() -> TypeInformation[datetime]:
        """``datetime`` with a time zone, or without one and then in UTC."""
        return TypeInformation("Timestamp")

    @staticmethod
    def LOCAL_DATE_TIME() -> TypeInformation[datetime]:
        """``datetime`` without a time zone: what a clock on the wall shows."""
        return TypeInformation("LocalDateTime")

    @staticmethod
    def SQL_DATE() -> TypeInformation[date]:
        """``date``."""
        return TypeInformation("Date")

    @staticmethod
    def LOCAL_DATE() -> TypeInformation[date]:
        """``date``, by Flink's other name."""
        return Types.SQL_DATE()

    @staticmethod
    def SQL_TIME() -> TypeInformation[time]:
        """``time`` of a day."""
        return TypeInformation("Time")

    @staticmethod
    def LOCAL_TIME() -> TypeInformation[time]:
        """``time`` of a day, by Flink's other name."""
        return Types.SQL_TIME()

    @staticmethod
    def DURATION() -> TypeInformation[timedelta]:
        """``timedelta``."""
        return TypeInformation("Duration")

    @staticmethod
    def ENUM(enumClass: type[E]) -> TypeInformation[E]:
        """Members of ``enumClass``; a column of it holds their names."""
        if not (isinstance(enumClass, type) and issubclass(enumClass, Enum)):
            raise IllegalArgumentError(
                f"Types.ENUM: {shown(enumClass)} is not an Enum. Derive the class from enum.Enum."
            )
        return TypeInformation("Enum", typeClass=enumClass)

    @staticmethod
    def PICKLED_BYTE_ARRAY() -> TypeInformation[Any]:
        """Any Python object; also the type of a stream whose type is unknown."""
        return TypeInformation(PICKLED)

    @staticmethod
    def GENERIC(genericClass: type[A]) -> TypeInformation[A]:
        """Objects of ``genericClass``, which travel pickled."""
        return TypeInformation(PICKLED, typeClass=genericClass)

    @staticmethod
    def PRIMITIVE_ARRAY(element: TypeInformation[A]) -> TypeInformation[Sequence[A]]:
        """A list or tuple of numbers; of BYTE it is ``bytes``."""
        return _array(element)

    @staticmethod
    def BASIC_ARRAY(element: TypeInformation[A]) -> TypeInformation[Sequence[A]]:
        """A list or tuple of a basic type."""
        return _array(element)

    @staticmethod
    def OBJECT_ARRAY(element: TypeInformation[A]) -> TypeInformation[Sequence[A]]:
        """A list or tuple of any type."""
        return _array(element)

    @staticmethod
    def TUPLE(
        *fields: TypeInformation[Any] | Sequence[TypeInformation[Any]],
    ) -> TypeInformation[tuple[Any, ...]]:
        """A tuple of those fields, one by one or in a list, whose names are ``f0``, ``f1`` and so
        on."""
        return TypeInformation("Tuple", _listed("TUPLE", fields))

    @staticmethod
    def ROW(
        *fields: TypeInformation[Any] | Sequence[TypeInformation[Any]],
    ) -> TypeInformation[Any]:
        """A row of those fields, one by one or in a list, named ``f0``, ``f1`` and so on."""
        types = _listed("ROW", fields)
        return Types.ROW_NAMED([f"f{position}" for position in range(len(types))], types)

    @staticmethod
    def ROW_NAMED(
        names: Sequence[str], types: Sequence[TypeInformation[Any]]
    ) -> TypeInformation[Any]:
        """A row of named fields: a ``Row``, or a dict of those keys."""
        for given in (names, types):
            instance("Types.ROW_NAMED", given, Sequence, "Pass a list of names and one of types.")
        if len(names) != len(types):
            raise IllegalArgumentError(
                f"Types.ROW_NAMED: there are {len(names)} names and {len(types)} types. Pass a type"
                " for each name."
            )
        return TypeInformation("Row", tuple(types), tuple(names))

    @staticmethod
    def DATACLASS(dataClass: type[A]) -> TypeInformation[A]:
        """Elements of a dataclass, with the types that its fields are annotated with (Flink:
        ``Types.POJO``)."""
        if not (isinstance(dataClass, type) and is_dataclass(dataClass)):
            raise IllegalArgumentError(
                f"Types.DATACLASS: {shown(dataClass)} is not a dataclass. Decorate the class with"
                " @dataclass, or say the type with Types.GENERIC(...)."
            )
        return TypeInformation.of(dataClass)

    @staticmethod
    def NAMED_TUPLE(tupleClass: type[A]) -> TypeInformation[A]:
        """Elements of a NamedTuple, with the types that its fields are annotated with."""
        names = getattr(tupleClass, "_fields", None)
        if not (isinstance(tupleClass, type) and issubclass(tupleClass, tuple) and names):
            raise IllegalArgumentError(
                f"Types.NAMED_TUPLE: {shown(tupleClass)} is not a NamedTuple. Derive the class from"
                " typing.NamedTuple, or say the type with Types.TUPLE([...])."
            )
        return TypeInformation.of(tupleClass)

    @staticmethod
    def LIST(element: TypeInformation[A]) -> TypeInformation[list[A]]:
        """A list of that element type."""
        return TypeInformation("List", (element,))

    @staticmethod
    def MAP(key: TypeInformation[A], value: TypeInformation[B]) -> TypeInformation[dict[A, B]]:
        """A dict of those key and value types."""
        return TypeInformation("Map", (key, value))


def _listed(method: str, fields: tuple[Any, ...]) -> tuple[TypeInformation[Any], ...]:
    """The types of fields, which come one by one as in Java, or in a list as in PyFlink."""
    if len(fields) == 1 and isinstance(fields[0], Sequence):
        fields = tuple(fields[0])
    fix = f"Pass types, as in Types.{method}(Types.STRING(), Types.LONG())."
    for each in fields:
        instance(f"Types.{method}", each, TypeInformation, fix)
    return fields


def _array(element: TypeInformation[A]) -> TypeInformation[Sequence[A]]:
    return TypeInformation("Array", (element,))


def _is_type_hint(value: object) -> bool:
    """Whether ``value`` stands for a type in an annotation: a class, ``list[int]``, a type variable."""
    typing_modules = ("types", "typing", "typing_extensions")
    return (
        isinstance(value, (type, TypeInformation))
        or get_origin(value) is not None
        or (type(value).__module__ in typing_modules and not isroutine(value))
    )


SAMPLES = 1_000
"""The number of elements of a collection that are examined."""


_Type: TypeAlias = "TypeInformation[Any] | None"


_BASIC: dict[Any, TypeInformation[Any]] = {
    str: Types.STRING(),
    bool: Types.BOOLEAN(),
    int: Types.LONG(),
    float: Types.DOUBLE(),
    bytes: Types.PRIMITIVE_ARRAY(Types.BYTE()),
    Decimal: Types.BIG_DEC(),
    datetime: Types.SQL_TIMESTAMP(),
    date: Types.SQL_DATE(),
    time: Types.SQL_TIME(),
    timedelta: Types.DURATION(),
}


_NOTHING: TypeInformation[Any] = TypeInformation("Nothing")
"""The type of what is None in all samples so far: every other type takes its place."""


_LISTS = (list, collections.abc.Sequence, collections.abc.MutableSequence)


_MAPS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)


_ITERABLES = (
    *_LISTS,
    tuple,
    set,
    frozenset,
    collections.abc.Iterable,
    collections.abc.Iterator,
    collections.abc.Generator,
    collections.abc.Collection,
    collections.abc.Set,
)


# ---------------------------------------------------------------------- annotations


def type_of_annotation(annotation: Any, within: tuple[type[Any], ...] = ()) -> _Type:
    """The type that ``annotation`` stands for. ``within``: the classes it was found in, as a class
    may have fields of its own type.

    >>> print(type_of_annotation(dict[str, int | None]))
    Map<String, Long>
    """
    if isinstance(annotation, TypeInformation):
        return annotation
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return type_of_annotation(arguments[0], within)
    if origin in (Union, types.UnionType):
        parts = [part for part in arguments if part is not type(None)]
        return type_of_annotation(parts[0], within) if len(parts) == 1 else None
    if origin is not None:
        return _type_of_generic(origin, arguments, within)
    if not isinstance(annotation, type):
        return None
    return _BASIC.get(annotation) or _type_of_class(annotation, within)


def _type_of_generic(
    origin: Any, arguments: tuple[Any, ...], within: tuple[type[Any], ...]
) -> _Type:
    if origin is tuple:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return Types.OBJECT_ARRAY(_known(arguments[0], within))
        return Types.TUPLE([_known(argument, within) for argument in arguments])
    if origin in _LISTS:
        return Types.LIST(_known(arguments[0], within))
    if origin in _MAPS:
        return Types.MAP(_known(arguments[0], within), _known(arguments[1], within))
    # The fields of a generic dataclass or NamedTuple have type variables for types.
    return _type_of_class(origin, within)


def _type_of_class(annotation: Any, within: tuple[type[Any], ...]) -> _Type:
    if not isinstance(annotation, type) or annotation in within:
        return None
    if issubclass(annotation, Enum):
        return Types.ENUM(annotation)
    if dataclasses.is_dataclass(annotation):
        names = tuple(field.name for field in dataclasses.fields(annotation))
        return _type_with_fields("Dataclass", annotation, names, annotation, within)
    if issubclass(annotation, tuple) and hasattr(annotation, "_fields"):
        names = tuple(annotation._fields)
        return _type_with_fields("NamedTuple", annotation, names, annotation, within)
    if is_typed_dict(annotation):
        return _type_with_fields("Row", annotation, tuple(annotation.__annotations__), None, within)
    return None


def _type_with_fields(
    kind: str,
    annotated: type[Any],
    names: tuple[str, ...],
    typeClass: type[Any] | None,
    within: tuple[type[Any], ...],
) -> TypeInformation[Any]:
    try:
        hints = get_type_hints(annotated)
    except Exception:  # such as names that are imported for type checkers only
        hints = {}
    children = tuple(_known(hints.get(name), (*within, annotated)) for name in names)
    return TypeInformation(kind, children, names, typeClass)


def _known(annotation: Any, within: tuple[type[Any], ...]) -> TypeInformation[Any]:
    return type_of_annotation(annotation, within) or Types.PICKLED_BYTE_ARRAY()


# ---------------------------------------------------------------------- samples


def type_of_samples(values: Iterable[Any]) -> _Type:
    """The type of the first ``SAMPLES`` of ``values``, if they have one in common.

    >>> print(type_of_samples([("JFK", 7), ("LGA", None)]))
    Tuple<String, Long>
    """
    found = _merged_samples(values)
    return None if found is None else _settled(found)


def _merged_samples(values: Iterable[Any]) -> _Type:
    found: _Type = _NOTHING
    for value in islice(values, SAMPLES):
        found = _merged(found, _known_value(value))
        if found is None:
            return None
    return found


def _settled(found: TypeInformation[Any]) -> TypeInformation[Any]:
    """``found``, in which fields that were None in all samples may be of any type."""
    if found == _NOTHING:
        return Types.PICKLED_BYTE_ARRAY()
    return dataclasses.replace(found, children=tuple(map(_settled, found.children)))


def _type_of_value(value: Any) -> _Type:
    kind = type(value)
    if kind is int:
        return Types.LONG() if -(2**63) <= value < 2**63 else Types.BIG_INT()
    if kind is tuple:
        return Types.TUPLE([_known_value(part) for part in value])
    if isinstance(value, Row):
        return Types.ROW_NAMED(value.getFieldNames(), [_known_value(part) for part in value])
    if kind is list:
        element = _merged_samples(value)
        return None if element is None else Types.LIST(element)
    if kind is dict:
        key, item = _merged_samples(value), _merged_samples(value.values())
        return None if key is None or item is None else Types.MAP(key, item)
    return type_of_annotation(kind)


def _known_value(value: Any) -> TypeInformation[Any]:
    if value is None:
        return _NOTHING
    return _type_of_value(value) or Types.PICKLED_BYTE_ARRAY()


_WIDENINGS: dict[frozenset[str], TypeInformation[Any]] = {
    frozenset(("Long", "Double")): Types.DOUBLE(),
    frozenset(("Long", "BigInteger")): Types.BIG_INT(),
}


def _merged(one: _Type, other: _Type) -> _Type:
    """The type of elements of both types."""
    if one is None or other is None:
        return None
    if one == other or other == _NOTHING:
        return one
    if one == _NOTHING:
        return other
    if (one.kind, one.fields, one.typeClass) == (other.kind, other.fields, other.typeClass):
        if len(one.children) != len(other.children):
            return None
        children = tuple(
            _merged(a, b) or Types.PICKLED_BYTE_ARRAY()
            for a, b in zip(one.children, other.children)
        )
        return dataclasses.replace(one, children=children) if children else None
    return _WIDENINGS.get(frozenset((one.kind, other.kind)))
