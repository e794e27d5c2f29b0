"""The reduce functions behind ``sum``, ``min``, ``max``, ``minBy`` and ``maxBy``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Union

from flinkish.api.errors import InvalidProgramError, shown
from flinkish.api.functions.adapt import checked_callable
from flinkish.api.functions.functions import ReduceFunction
from flinkish.api.type_variables import T
from flinkish.api.types.fields import (
    Field,
    checked_field,
    field_getter,
    field_read,
    field_type,
    position_of,
    with_field,
)
from flinkish.api.types.type_info import TypeInformation

AggregationKind = Literal["min", "max", "minBy", "maxBy"]


FieldLike = Union[Field, Callable[[T], Any]]
"""A field, or a function of the element. For ``sum``, ``min`` and ``max``, which set the field, the
function reads one, such as ``lambda flight: flight.delay``."""


class FieldAggregator(ReduceFunction[T]):
    """The base of the aggregators, which read and set one field (Flink: ``AggregationFunction``).

    ``field``: a position from 0 in tuples, lists, Rows and dataclasses; a name in dicts, Rows,
    NamedTuples, dataclasses and objects; ``f0`` and so on in tuples; a path such as
    ``airport.delay``; 0 or ``*`` for elements that are single values; or a function.
    """

    def __init__(self, method: str, field: FieldLike[T], setsField: bool = True) -> None:
        self.method = method
        if not callable(field):
            self.field: Field | None = checked_field(method, field)
        else:
            checked_callable(method, field, "a field or f(value)", 1)
            self.field = field_read(field)
            if self.field is None and setsField:
                raise InvalidProgramError(
                    f"{method}: {shown(field)} does more than read a field of the element, so there is"
                    f" no field to put the result in. Name the field, such as {method}('delay'), or"
                    " use map(f) before it, or reduce(f) or aggregate(f) in its place."
                )
            self._getter: Callable[[Any], Any] = field
        if self.field is not None:
            self._getter = field_getter(self.field)
        self._position = position_of(self.field) if isinstance(self.field, str) else self.field

    def checkType(self, elements: TypeInformation[Any]) -> None:
        """Raises InvalidProgramError if elements of that type lack the field, or if its type does not
        support the aggregation."""
        if self.field is not None:
            self.checkFieldType(field_type(elements, self.field, self.method))

    def checkFieldType(self, kind: TypeInformation[Any] | None) -> None:
        """Raises InvalidProgramError if ``kind`` does not support the aggregation; None: unknown."""

    def fieldsOf(self, value1: T, value2: T) -> tuple[Any, Any]:
        """The field's values in both elements."""
        one: Any = value1
        other: Any = value2
        if type(one) is tuple is type(other) and self._position is not None:
            try:
                return one[self._position], other[self._position]
            except IndexError:
                pass  # the getter names the element
        return self._getter(one), self._getter(other)

    def withField(self, element: T, value: Any) -> T:
        """A copy of ``element`` in which the field is ``value``."""
        changed: Any = element
        if type(changed) is tuple and self._position is not None:
            items = list(changed)
            items[self._position] = value
            changed = tuple(items)
        else:
            assert self.field is not None  # else nothing is set
            changed = with_field(changed, self.field, value)
        result: T = changed
        return result


class SumAggregator(FieldAggregator[T]):
    """Sums up the field; the other fields are those of the first element (Flink: ``SumAggregator``).

    >>> SumAggregator(1).reduce(("a", 2, "first"), ("a", 3, "second"))
    ('a', 5, 'first')
    """

    def __init__(self, field: FieldLike[T]) -> None:
        super().__init__("sum", field)

    def checkFieldType(self, kind: TypeInformation[Any] | None) -> None:
        if kind is not None and kind.kind in _WITHOUT_SUM:
            raise InvalidProgramError(
                f"sum: field {self.field!r} is of type {kind}, which has no sum. Name a field of"
                " numbers, or use reduce(f) to join such values."
            )

    def reduce(self, value1: T, value2: T) -> T:
        field1, field2 = self.fieldsOf(value1, value2)
        total = field1 + field2
        if isinstance(total, _NOT_NUMBERS):
            raise InvalidProgramError(
                f"sum: field {self.field!r} of {shown(value2)} is no number, so there is no sum."
                " Use reduce(f) to join such values."
            )
        return self.withField(value1, total)


class ComparableAggregator(FieldAggregator[T]):
    """Keeps the lowest or highest value of the field (Flink: ``ComparableAggregator``).

    ``min`` and ``max`` keep the first element and only change its field; ``minBy`` and ``maxBy``
    keep the whole element, and of equal ones the first or, with ``first`` false, the last.

    >>> ComparableAggregator(1, "max").reduce(("a", 2, "first"), ("a", 3, "second"))
    ('a', 3, 'first')
    >>> ComparableAggregator(1, "maxBy").reduce(("a", 2, "first"), ("a", 3, "second"))
    ('a', 3, 'second')
    """

    def __init__(self, field: FieldLike[T], kind: AggregationKind, first: bool = True) -> None:
        self._highest = kind in ("max", "maxBy")
        self._by = kind in ("minBy", "maxBy")
        super().__init__(kind, field, setsField=not self._by)
        self._first = first

    def reduce(self, value1: T, value2: T) -> T:
        field1, field2 = self.fieldsOf(value1, value2)
        more, less = (field1, field2) if self._highest else (field2, field1)
        if _greater(more, less):
            return value1
        if not self._by:
            return self.withField(value1, field2)
        return value1 if self._first and not _greater(less, more) else value2


def _greater(a: Any, b: Any) -> bool:
    """Whether a > b; NaN is above all numbers, as in Java."""
    return a > b or (a != a and b == b)  # type: ignore[no-any-return]


_NOT_NUMBERS = (str, bytes, bytearray, tuple, list)


_WITHOUT_SUM = {
    *("String", "Character", "Boolean", "Enum", "List", "Array", "Map"),
    *("Tuple", "NamedTuple", "Row", "Dataclass"),
    *("Instant", "Timestamp", "LocalDateTime", "Date", "Time"),
}
