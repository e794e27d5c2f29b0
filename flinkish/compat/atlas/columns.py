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
    """A ``$group`` over columns, as functions of a row ``r``."""

    isTimed: Callable[[Any], bool]
    """Whether a row has an event time: a ``long`` that is a date."""
    isUntimed: Callable[[Any], bool]
    timestamp: Callable[[Any, int], int]
    matches: Callable[[Any], bool] | None
    """Whether ``$match`` lets a row through, if there is one."""
    key: Callable[[Any], Any]
    document: Callable[[Any, tuple[int, ...]], Document]
    """The document of a key and its numbers."""
    folds: tuple[ColumnFold, ...]
    """The numbers of all fields."""


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
    if event_time is None or identity is None:
        return None
    conditions: list[str] = []
    for stage in prefix:
        found = _conditions(stage["$match"], types) if set(stage) == {"$match"} else None
        if found is None:
            return None
        conditions += found
    key, document = identity
    parts, numbers = [f"'_id': {document}"], list[ColumnFold]()
    for name, field in group.items():
        if name != "_id":
            ((accumulator, argument),) = field.items()
            folds = _folds(accumulator, argument, types)
            if not folds:
                return None
            parts.append(f"{name!r}: {_result(accumulator, len(numbers), len(folds))}")
            numbers += folds
    if not numbers:
        return None
    at = f"r[{event_time!r}]"
    timed = (
        f"{at} is not None and {_FIRST_DATE} <= {at} and {at} <= {_LAST_DATE}"
        f" and ({at} >= {INT32} or {at} < {-INT32})"
    )
    return ColumnGroup(
        isTimed=_function(timed),
        isUntimed=_function(f"not ({timed})"),
        timestamp=_function(at, "r, timestamp"),
        matches=_function(" and ".join(conditions)) if conditions else None,
        key=_function(key),
        document=_function(f"{{{', '.join(parts)}}}", "key, numbers"),
        folds=tuple(numbers),
    )


def _result(accumulator: str, position: int, count: int) -> str:
    """The value of an accumulator of so many numbers from ``position`` on, as a Python expression."""
    value, number = f"numbers[{position}]", f"numbers[{position + 1}]"
    if count == 1:
        # As a double where 64 bits do not hold it
        return f"{value} if {LOWEST} <= {value} <= {HIGHEST} else float({value})"
    return f"{f'{value} / {number}' if accumulator == '$avg' else value} if {number} else None"


def _field(path: Any, types: Mapping[str, str], kinds: Sequence[str]) -> str | None:
    if not isinstance(path, str) or not path.startswith("$") or types.get(path[1:]) not in kinds:
        return None
    return path[1:]


def _identity(identity: Any, types: Mapping[str, str]) -> tuple[str, str] | None:
    """The key of a row's group, and the ``_id`` of a ``key``, as Python expressions; None if neither can be."""
    kinds = ("String", "Boolean", *WHOLE)
    if identity is None:
        return "0", "None"
    if isinstance(identity, str):
        field = _field(identity, types, kinds)
        return None if field is None else (f"r[{field!r}]", "key")
    if not isinstance(identity, Mapping) or not identity:
        return None
    fields = [_field(path, types, kinds) for path in identity.values()]
    if None in fields:
        return None
    document = ", ".join(f"{name!r}: key[{i}]" for i, name in enumerate(identity))
    return f"({', '.join(f'r[{field!r}]' for field in fields)},)", f"{{{document}}}"


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
