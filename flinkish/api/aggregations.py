"""The reduce functions behind ``sum``, ``min``, ``max``, ``minBy`` and ``maxBy``."""

from __future__ import annotations

from typing import Any, Literal, TypeVar

from flinkish.api.errors import InvalidProgramError, shown
from flinkish.api.fields import Field, checked_field, field_getter, position_of, with_field
from flinkish.api.functions import ReduceFunction

T = TypeVar("T")

AggregationKind = Literal["min", "max", "minBy", "maxBy"]


class FieldAggregator(ReduceFunction[T]):
    """Base of both: reads and sets one field (Flink: ``AggregationFunction``).

    ``field``: a position from 0 in tuples, lists, Rows and dataclasses; a name in dicts, Rows,
    NamedTuples and dataclasses; ``f0`` and so on in tuples; a path such as ``airport.delay``; 0 or
    ``*`` for elements that are single values.
    """

    def __init__(self, field: Field) -> None:
        self.field = checked_field("aggregation", field)
        self._getter = field_getter(field)
        self._position = field if isinstance(field, int) else position_of(field)

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
            changed = with_field(changed, self.field, value)
        result: T = changed
        return result


class SumAggregator(FieldAggregator[T]):
    """Adds the field up; the other fields stay those of the first element (Flink: the same name).

    >>> SumAggregator(1).reduce(("a", 2, "first"), ("a", 3, "second"))
    ('a', 5, 'first')
    """

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
    """Keeps the lowest or highest value of the field (Flink: the same name).

    ``min`` and ``max`` keep the first element and only change its field; ``minBy`` and ``maxBy``
    keep the whole element, and of equal ones the first or, with ``first`` false, the last.

    >>> ComparableAggregator(1, "max").reduce(("a", 2, "first"), ("a", 3, "second"))
    ('a', 3, 'first')
    >>> ComparableAggregator(1, "maxBy").reduce(("a", 2, "first"), ("a", 3, "second"))
    ('a', 3, 'second')
    """

    def __init__(self, field: Field, kind: AggregationKind, first: bool = True) -> None:
        super().__init__(field)
        self._highest = kind in ("max", "maxBy")
        self._by = kind in ("minBy", "maxBy")
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
