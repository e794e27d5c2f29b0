"""Tuples whose values have names and that know which component emitted them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import Any, ClassVar, NamedTuple

from flinkish.api.arguments import instance, text, whole_number
from flinkish.api.errors import IllegalArgumentError, InvalidProgramError, shown
from flinkish.api.stored_names import stored_as
from flinkish.api.types.fields import named_values

DEFAULT_STREAM = "default"
"""The stream of what is emitted without a stream id (Storm: ``Utils.DEFAULT_STREAM_ID``)."""


class Fields(tuple[str, ...]):
    """Names of the values of a tuple (Storm: ``Fields``).

    >>> Fields("word", "count").fieldIndex("count")
    1
    """

    __slots__ = ()

    def __new__(cls, *names: str) -> Fields:
        """Raises IllegalArgumentError for a name that is not a text, and for a duplicate name."""
        for name in names:
            text("Fields", name)
        if len(set(names)) < len(names):
            raise IllegalArgumentError(
                f"Fields: a name comes twice in {', '.join(names)}. Give each field a different name."
            )
        return tuple.__new__(cls, names)

    def __reduce__(self) -> Any:
        return Fields, tuple(self)

    def get(self, index: int) -> str:
        """The name at a position."""
        return self[whole_number("Fields.get: index", index, highest=len(self) - 1)]

    def size(self) -> int:
        """The number of fields."""
        return len(self)

    def toList(self) -> list[str]:
        """The names."""
        return list(self)

    def contains(self, field: str) -> bool:
        """Whether the name is among them."""
        return field in self

    def fieldIndex(self, field: str) -> int:
        """The position of a name. Raises IllegalArgumentError if it is not among them."""
        if field not in self:
            raise IllegalArgumentError(
                f"Fields: there is no {shown(field)}; the fields are {', '.join(self) or 'none'}."
            )
        return self.index(field)


@stored_as("storm.GlobalStreamId")
class GlobalStreamId(NamedTuple):
    """A stream of a component (Storm: ``GlobalStreamId``)."""

    componentId: str
    streamId: str = DEFAULT_STREAM

    def get_componentId(self) -> str:
        """The id of the spout or bolt that emits to it."""
        return self.componentId

    def get_streamId(self) -> str:
        """The id that the component declares it by."""
        return self.streamId


@dataclass(frozen=True)
class Grouping:
    """A bolt's subscription to a stream: the tuples with the same ``fields`` together, or, without
    fields, all of them; ``spread``: wherever there is room (Storm: ``Grouping``)."""

    source: GlobalStreamId
    fields: Fields | None = None
    spread: bool = False


def Values(*values: object) -> list[object]:
    """The values of a tuple to emit (Storm: ``new Values(...)``)."""
    return list(values)


class Tuple(tuple[Any, ...]):
    """The input of a bolt in a topology (Storm: ``Tuple``): a Python tuple, equal to a plain one,
    with Storm's accessors. Named values are also read as ``input.word`` and ``input["word"]``.

    >>> word = TupleSchema(("word", "count"), "split", "default").of(("the", 2))
    >>> word.getStringByField("word"), word.getInteger(1), word.count, word == ("the", 2)
    ('the', 2, 2, True)
    """

    __slots__ = ()
    _schema: ClassVar[TupleSchema]

    def __reduce__(self) -> Any:
        return self._schema.of, (tuple(self),)

    def __getitem__(self, field: Any) -> Any:
        if isinstance(field, str):
            return self.getValueByField(field)
        return tuple.__getitem__(self, field)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(self._no_field(name))

    def _no_field(self, name: object) -> str:
        names = ", ".join(self._schema.fields) or "none, as the component declares none"
        fix = "Declare it with declarer.declare(Fields(...)), or for a spout with setSpout(..., fields=Fields(...))."
        if name == "late_tuple":
            fix = "A late tuple stream has the late tuples themselves: read their own fields."
        return (
            f"a tuple of {self._schema.component!r} has no field {name!r}; its fields are {names}."
            f" {fix}"
        )

    def getValue(self, i: int) -> Any:
        """The value at a position. Raises IllegalArgumentError if there is none."""
        return self[whole_number("Tuple.getValue", i, highest=len(self) - 1)]

    def getValueByField(self, field: str) -> Any:
        """The value of that name. Raises IllegalArgumentError if there is none."""
        if field not in self._schema.fields:
            raise IllegalArgumentError(self._no_field(field))
        return tuple.__getitem__(self, self._schema.fields.index(field))

    # Storm has one accessor for each Java type; Python's values need no cast
    getString = getInteger = getLong = getDouble = getFloat = getBoolean = getValue
    getShort = getByte = getBinary = getValue
    getStringByField = getIntegerByField = getLongByField = getDoubleByField = getValueByField
    getFloatByField = getBooleanByField = getShortByField = getByteByField = getValueByField
    getBinaryByField = getValueByField

    def contains(self, field: str) -> bool:
        """Whether there is a value of that name."""
        return field in self._schema.fields

    def size(self) -> int:
        """The number of values."""
        return len(self)

    def getFields(self) -> Fields:
        """The names."""
        return Fields(*self._schema.fields)

    def getValues(self) -> list[Any]:
        """The values."""
        return list(self)

    def fieldIndex(self, field: str) -> int:
        """The position of a name."""
        return self.getFields().fieldIndex(field)

    def select(self, selector: Fields) -> list[Any]:
        """The values of those names."""
        instance("Tuple.select", selector, Fields, 'Pass Fields("word", "count").')
        return [self.getValueByField(field) for field in selector]

    def getSourceComponent(self) -> str:
        """The id of the spout or bolt that emitted the tuple."""
        return self._schema.component

    def getSourceStreamId(self) -> str:
        """The id of the stream it was emitted to."""
        return self._schema.stream

    def getSourceGlobalStreamId(self) -> GlobalStreamId:
        """Both of them."""
        return GlobalStreamId(self._schema.component, self._schema.stream)


@stored_as("storm.TupleSchema")
@dataclass(frozen=True)
class TupleSchema:
    """The names of a component's tuples on one stream, empty if it declares none."""

    fields: tuple[str, ...]
    component: str
    stream: str

    def of(self, values: tuple[Any, ...]) -> Tuple:
        """The tuple of those values."""
        return tuple.__new__(_tuple_type(self), values)

    def comes_from(self, component: str, stream: str) -> bool:
        """Whether the tuples are of that stream of that component."""
        return self.component == component and self.stream == stream

    def emitted(self, value: object) -> Any:
        """``value`` as a tuple with the declared names; ``value`` itself if none are declared.

        Raises InvalidProgramError if there are more or fewer values than names.
        """
        if not self.fields:
            return value
        values = self._values(value)
        if len(values) != len(self.fields):
            raise InvalidProgramError(
                f"{self.component}: {shown(value)} has {len(values)} values, but the stream"
                f" {self.stream!r} has the fields {', '.join(self.fields)}. Emit one value for each field."
            )
        return self.of(values)

    def _values(self, value: object) -> tuple[Any, ...]:
        named = _named_values(value)
        if named is not None and all(field in named for field in self.fields):
            return tuple(named[field] for field in self.fields)
        return tuple(value) if isinstance(value, (tuple, list)) else (value,)


Tuple._schema = TupleSchema((), "", DEFAULT_STREAM)


def _named_values(value: object) -> Mapping[str, Any] | None:
    if isinstance(value, Tuple):
        return dict(zip(value._schema.fields, value)) if value._schema.fields else None
    return named_values(value)


def delivered(value: object, component: str, stream: str, named: bool = False) -> Any:
    """``value`` as a bolt gets it: tuples, lists and Rows as a ``Tuple``, others as they are. With
    ``named`` dicts and dataclasses become one as well."""
    if isinstance(value, Tuple) and value._schema.comes_from(component, stream):
        return value
    is_tuple = isinstance(value, (tuple, list))
    if not is_tuple and not named:
        return value
    by_name = _named_values(value)
    if by_name is not None:
        return TupleSchema(tuple(by_name), component, stream).of(tuple(by_name.values()))
    if isinstance(value, (tuple, list)):
        return TupleSchema((), component, stream).of(tuple(value))
    raise InvalidProgramError(
        f"{component}: {shown(value)} has no fields to group or join by. Name them: setSpout(...,"
        " fields=Fields(...)), or declarer.declare(Fields(...)) in the bolt."
    )


@lru_cache(maxsize=1024)
def _tuple_type(schema: TupleSchema) -> type[Tuple]:
    getters = {name: property(itemgetter(i)) for i, name in enumerate(schema.fields)}
    return type("Tuple", (Tuple,), {**getters, "__slots__": (), "_schema": schema})
