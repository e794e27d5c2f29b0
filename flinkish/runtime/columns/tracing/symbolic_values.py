"""Symbolic values: symbols, and what is made of them; how they are put together and taken apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import pyarrow as pa

from flinkish.api.types.fields import WHOLE, Field, position_of
from flinkish.runtime.columns.tracing.expressions import Expression
from flinkish.runtime.columns.tracing.objects import Made
from flinkish.runtime.columns.tracing.record_classes import Record
from flinkish.runtime.columns.tracing.symbols import Symbol
from flinkish.runtime.columns.tracing.texts import has_tokens
from flinkish.runtime.columns.tracing.unsupported import Unsupported
from flinkish.runtime.columns.tracing.values import kind_of, plain
from flinkish.runtime.records.rows import RowColumns, leaves_of, tuple_shape_of
from flinkish.runtime.records.shapes import (
    VALUE,
    ConstantShape,
    Shape,
    is_mutable,
    positional_shape,
)

if TYPE_CHECKING:
    from flinkish.runtime.columns.tracing.trace import Trace

MOST_ITEMS = 8
"""Longer lists are not followed: such a list rather grows than has a place for each thing."""


class _Unwritable:
    """First base class of a dict or list with symbols that may be read and copied, and not changed."""

    _traced_trace: Trace

    def _traced_unsupported(self, *arguments: Any, **named: Any) -> NoReturn:
        kind = "dict" if isinstance(self, dict) else "list"
        raise self._traced_trace.unsupported(f"writes into a {kind} that it did not make")

    __setitem__ = __delitem__ = clear = pop = _traced_unsupported


class TracedDict(_Unwritable, dict[str, Any]):
    """A dict that may be read."""

    def __init__(self, trace: Trace, items: Mapping[str, Any]) -> None:
        self._traced_trace = trace
        super().__init__(items)

    __ior__ = popitem = setdefault = update = _Unwritable._traced_unsupported

    def __repr__(self) -> str:
        return self._traced_trace.text_of("a dict")

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return repr(self)


class TracedList(_Unwritable, list[Any]):
    """A list that may be read."""

    def __init__(self, trace: Trace, items: Iterable[Any]) -> None:
        self._traced_trace = trace
        super().__init__(items)

    __iadd__ = __imul__ = append = extend = insert = _Unwritable._traced_unsupported
    remove = reverse = sort = _Unwritable._traced_unsupported


def kept(trace: Trace, value: Any, taken: list[Any] | None = None) -> Any:
    """Return ``value``, which a function hands over, in its current state: the function may change
    a dict or list later. ``taken``: the dicts and lists found in it so far."""
    taken = [] if taken is None else taken
    if isinstance(value, (dict, list)) and not took(value, taken):
        name = "dict" if isinstance(value, dict) else "list"
        raise trace.unsupported(f"hands over a {name} twice, which can change")
    if isinstance(value, dict):
        return TracedDict(trace, {name: kept(trace, part, taken) for name, part in value.items()})
    if isinstance(value, list):
        return TracedList(trace, [kept(trace, part, taken) for part in value])
    if has_tokens(value):
        return Symbol(trace, trace.expression(value))
    return tuple(kept(trace, part, taken) for part in value) if type(value) is tuple else value


def took(value: Any, taken: list[Any]) -> bool:
    """Add a mutable object to those that are ``taken``. False if it is among them: what changes one
    would change the other."""
    if any(value is other for other in taken):
        return False
    taken.append(value)
    return True


def own(value: Any) -> Any:
    """Copy ``value`` with its dicts and lists, so that a function may change them."""
    if isinstance(value, dict):
        return {name: own(part) for name, part in value.items()}
    if isinstance(value, list):
        return list(map(own, value))
    return tuple(map(own, value)) if type(value) is tuple else value


def symbolic(trace: Trace, shape: Shape, parts: list[Symbol]) -> Any:
    """A symbolic value of ``shape`` with the columns ``parts``."""
    if shape.kind is None:
        return parts[0]
    if isinstance(shape, ConstantShape):
        return shape.value
    made: list[Any] = []
    start = 0
    for part in shape.parts:
        made.append(symbolic(trace, part, parts[start : start + part.width]))
        start += part.width
    if shape.kind is tuple:
        return tuple(made)
    if shape.kind is dict:
        return TracedDict(trace, dict(zip(shape.names, made)))
    if shape.kind is list:
        return TracedList(trace, made)
    return Record(trace, shape.kind, shape.names, tuple(made))


def taken_apart(
    trace: Trace, value: Any, taken: list[Any] | None = None, *, lists: bool = False
) -> tuple[Shape, list[Expression]]:
    """The shape of a returned value, and an expression for each of its columns. ``taken``: the
    mutable objects returned so far, of which none may be returned twice. ``lists``: it may be
    a list, or have lists in it."""
    taken = [] if taken is None else taken
    if isinstance(value, Record):
        kind, names, parts = value._traced_unpacked()
    elif type(value) is tuple:
        kind, names, parts = tuple, (), value
    elif isinstance(value, dict):
        keys = dict_names(value)
        if keys is None:
            raise trace.unsupported(
                "returns a dict that is empty or has other keys than plain names"
            )
        kind, names, parts = dict, keys, tuple(value.values())
    elif lists and isinstance(value, list) and 0 < len(value) <= MOST_ITEMS:
        kind, names, parts = list, (), tuple(value)
    elif isinstance(value, (list, Iterator)):
        raise trace.unsupported(f"returns a {type(value).__name__}, which can change")
    else:
        return VALUE, [trace.expression(value)]
    if is_mutable(kind) and not took(value, taken):
        raise trace.unsupported(f"returns a {kind.__name__} twice, which can change")
    if not parts:
        raise trace.unsupported("returns an empty tuple")
    shapes, expressions = [], []
    for part in parts:
        shape, inner = taken_apart(trace, part, taken, lists=lists)
        shapes.append(shape)
        expressions.extend(inner)
    if kind in (tuple, list):
        return positional_shape(kind, shapes), expressions
    return Shape(kind, names, tuple(shapes)), expressions


def dict_names(value: dict[Any, Any]) -> tuple[str, ...] | None:
    """The keys of ``value``; None unless they can be the names of columns."""
    for name in value:
        # A path to a part of a part has points
        if type(name) is not str or "." in name or not name.isprintable():
            return None
    return tuple(value) or None


class Signature(NamedTuple):
    """The arguments of a function that are symbols: an element, or one of ``pairs``, and the values of
    ``extra`` columns behind those of the element."""

    extra: int = 0
    pairs: bool = False

    def symbols(self, trace: Trace, elements: RowColumns | None) -> tuple[Any, list[Any]]:
        """A symbolic element of ``elements``, which are ``beside`` the extra columns, and a symbolic value
        for each of these. None: nothing is known of the elements."""
        if elements is not None:
            width = elements.shape.width
            types = enumerate(elements.schema.types)
            symbols = [_column_symbol(trace, number, kind) for number, kind in types]
            extra, parts = symbols[width : width + self.extra], iter(symbols[width + self.extra :])
            shapes = map(_tuple_shape, elements.schema.types[width:])
            arguments = [
                symbol
                if shape is None
                else symbolic(trace, shape, list(islice(parts, shape.width)))
                for symbol, shape in zip(extra, shapes)
            ]
            return symbolic(trace, elements.shape, symbols[:width]), arguments
        width = 2 if self.pairs else 1
        symbols = [
            Symbol(trace, trace.expressions.column(number, "unknown"))
            for number in range(width + self.extra)
        ]
        return tuple(symbols[:2]) if self.pairs else symbols[0], symbols[width:]


def beside(elements: RowColumns, extra: Sequence[pa.Array]) -> RowColumns:
    """``elements`` with ``extra`` columns behind theirs, and behind these the parts of those that
    hold tuples."""
    batch = elements.batch
    tuples = [plain(column) for column in extra if _tuple_shape(column.type) is not None]
    parts = [part for column in tuples for part in leaves_of(column)]
    for number, column in enumerate([*extra, *parts]):
        batch = batch.append_column(f"extra {number}", column)
    return RowColumns(batch, elements.shape)


def _tuple_shape(kind: pa.DataType) -> Shape | None:
    """The shape of a column of tuples; None if it holds others."""
    return tuple_shape_of(kind.value_type if pa.types.is_dictionary(kind) else kind)


def _column_symbol(trace: Trace, number: int, kind: pa.DataType) -> Symbol:
    column = trace.expressions.column(number, kind_of(kind))
    made = _class_of_column(kind)
    return Symbol(trace, column) if made is None else Made(trace, column, made)


def _class_of_column(kind: pa.DataType) -> type[Any] | None:
    """The class of the values that ``python_values`` makes of a column, if it is one of those."""
    types = pa.types
    if types.is_decimal(kind):
        return Decimal
    if types.is_date(kind):
        return date
    for is_kind, made in (
        (types.is_timestamp, datetime),
        (types.is_duration, timedelta),
        (types.is_time, time),
    ):
        if is_kind(kind):
            return None if kind.unit == "ns" else made  # pandas has classes of its own for those
    return None


def column_of(shape: Shape, field: Field | None) -> int:
    """The index of the column that holds ``field`` of an element of ``shape``. Raises Unsupported
    if none does."""
    if shape.kind is None:
        if field in (*WHOLE, 0, "0"):
            return 0
        raise Unsupported("reads a field of a single value")
    if field is None or (shape.kind is dict and field not in shape.names):
        raise Unsupported("reads something that is not a field of the element")
    position: int | None
    if isinstance(field, str) and field in shape.names and shape.kind is not tuple:
        position = shape.names.index(field)
    else:
        position = position_of(field) if isinstance(field, str) else field
        there = position is not None and 0 <= position < len(shape.parts)
        if not there or (isinstance(field, str) and not issubclass(shape.kind, tuple)):
            raise Unsupported(f"reads the field {field!r}, which the elements do not have")
    assert position is not None
    if shape.parts[position].kind is not None:
        raise Unsupported("reads something that is not a field of the element")
    return sum(part.width for part in shape.parts[:position])
