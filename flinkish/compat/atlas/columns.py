"""A tumbling or hopping ``$group`` over the columns of a table: the same in functions that run over columns.

It is taken where the values are sure to be as exact: whole numbers are summed, counted and compared, and the
event time is a whole number of ms. All else goes document by document.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from flinkish.compat.atlas.bson.values import INT32, Document, is_number
from flinkish.compat.atlas.queries import is_operators
from flinkish.compat.folds import HIGHEST, LOWEST, WHOLE, ColumnFold

_FIRST_DATE, _LAST_DATE = -62_135_596_800_000, 253_402_300_799_999
"""The range of Python's dates in ms: from year 1 to year 9999."""


@dataclass(frozen=True)
class ColumnGroup:
    eventTime: str
    """The field of the event time in ms."""
    conditions: tuple[str, ...]
    """The condition of ``$match``, as a Python expression over the row ``r``."""
    identity: str | tuple[tuple[str, str], ...] | None
    """The ``_id``: null, a field, or a document of fields."""
    fields: tuple[tuple[str, str, tuple[ColumnFold, ...]], ...]
    """The name and accumulator of each field, and its numbers."""

    @property
    def folds(self) -> tuple[ColumnFold, ...]:
        return tuple(fold for _, _, folds in self.fields for fold in folds)

    def isTimed(self) -> Callable[[Any], bool]:
        """Whether a row has an event time: a ``long`` that is a date."""
        return _function(self._timed)

    def isUntimed(self) -> Callable[[Any], bool]:
        return _function(f"not ({self._timed})")

    @property
    def _timed(self) -> str:
        at = f"r[{self.eventTime!r}]"
        return (
            f"{at} is not None and {_FIRST_DATE} <= {at} and {at} <= {_LAST_DATE}"
            f" and ({at} >= {INT32} or {at} < {-INT32})"
        )

    def timestamp(self) -> Callable[[Any, int], int]:
        name = self.eventTime
        return lambda row, timestamp: row[name]

    def matches(self) -> Callable[[Any], bool] | None:
        """Whether ``$match`` lets a row through."""
        return _function(" and ".join(self.conditions)) if self.conditions else None

    def key(self) -> Callable[[Any], Any]:
        if self.identity is None:
            return lambda row: 0
        if isinstance(self.identity, str):
            name = self.identity
            return lambda row: row[name]
        return _function(f"({', '.join(f'r[{field!r}]' for _, field in self.identity)},)")

    def document(self) -> Callable[[Any, tuple[int, ...]], Document]:
        identity = "key"
        if self.identity is None:
            identity = "None"
        elif not isinstance(self.identity, str):
            names = enumerate(name for name, _ in self.identity)
            identity = f"{{{', '.join(f'{name!r}: key[{i}]' for i, name in names)}}}"
        parts, position = [f"'_id': {identity}"], 0
        for name, accumulator, folds in self.fields:
            value, count = f"numbers[{position}]", f"numbers[{position + 1}]"
            position += len(folds)
            if len(folds) == 1:
                # As a double where 64 bits do not hold it
                result = f"{value} if {LOWEST} <= {value} <= {HIGHEST} else float({value})"
            else:
                result = f"{f'{value} / {count}' if accumulator == '$avg' else value} if {count} else None"
            parts.append(f"{name!r}: {result}")
        return _function(f"{{{', '.join(parts)}}}", "key, numbers")


def _function(expression: str, parameters: str = "r") -> Callable[..., Any]:
    """``lambda r: expression``. Field names are in it as literals only."""
    function: Callable[..., Any] = eval(f"lambda {parameters}: {expression}")
    return function


# ---------------------------------------------------------------------- what can be


def column_group(
    types: Mapping[str, str], timeField: Any, prefix: Sequence[Any], group: Mapping[str, Any]
) -> ColumnGroup | None:
    """The group over columns of these types; None if it must go document by document."""
    if not isinstance(timeField, Mapping) or set(timeField) != {"$toDate"}:
        return None
    event_time = _field(timeField["$toDate"], types, ("Long",))
    identity = _identity(group.get("_id"), types)
    if event_time is None or identity is _NONE:
        return None
    conditions: list[str] = []
    for stage in prefix:
        found = _conditions(stage["$match"], types) if set(stage) == {"$match"} else None
        if found is None:
            return None
        conditions += found
    fields = []
    for name, field in group.items():
        if name != "_id":
            ((accumulator, argument),) = field.items()
            fields.append((name, accumulator, _folds(accumulator, argument, types)))
    if not fields or not all(folds for _, _, folds in fields):
        return None
    return ColumnGroup(event_time, tuple(conditions), identity, tuple(fields))


_NONE = object()


def _field(path: Any, types: Mapping[str, str], kinds: Sequence[str]) -> str | None:
    if not isinstance(path, str) or not path.startswith("$") or types.get(path[1:]) not in kinds:
        return None
    return path[1:]


def _identity(identity: Any, types: Mapping[str, str]) -> Any:
    kinds = ("String", "Boolean", *WHOLE)
    if identity is None:
        return None
    if isinstance(identity, str):
        return _field(identity, types, kinds) or _NONE
    if not isinstance(identity, Mapping) or not identity:
        return _NONE
    fields = [(name, _field(path, types, kinds)) for name, path in identity.items()]
    return _NONE if any(field is None for _, field in fields) else tuple(fields)


def _folds(accumulator: str, argument: Any, types: Mapping[str, str]) -> tuple[ColumnFold, ...]:
    """The numbers of an accumulator; none if it must go document by document."""
    if accumulator == "$count":
        return (ColumnFold("sum", 1),)
    if accumulator == "$sum" and type(argument) is int and abs(argument) < INT32:
        return (ColumnFold("sum", argument),)
    field = _field(argument, types, WHOLE)
    kind = {"$sum": "sum", "$avg": "sum", "$min": "min", "$max": "max"}.get(accumulator)
    if field is None or kind is None:
        return ()
    value = ColumnFold(kind, f"r[{field!r}]")
    return (value,) if accumulator == "$sum" else (value, replace(value, kind="count"))


_COMPARISONS = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<=", "$eq": "=="}


def _conditions(query: Any, types: Mapping[str, str]) -> list[str] | None:
    """A query that only compares with numbers and texts, as a Python expression; None for any other."""
    conditions: list[str] = []
    for name, inner in query.items():
        kind = types.get(name)
        operators = inner if is_operators(inner) else {"$eq": inner}
        for operator, wanted in operators.items():
            is_text = kind == "String" and isinstance(wanted, str)
            is_same = is_text or (kind in (*WHOLE, "Double") and _is_finite(wanted))
            if not is_same or operator not in _COMPARISONS or (is_text and operator != "$eq"):
                return None
            field = f"r[{name!r}]"
            conditions.append(
                f"{field} is not None and {field} {_COMPARISONS[operator]} {wanted!r}"
            )
    return conditions


def _is_finite(value: Any) -> bool:
    return is_number(value) and type(value) in (int, float) and abs(value) < 1 << 62
