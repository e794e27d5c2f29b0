"""Computes a SELECT list from a row, or from the rows of a group."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from flinkish.compat.folds import ColumnFold
from flinkish.compat.stream_analytics.aggregates import SUM_OF_FLOATS, Aggregate
from flinkish.compat.stream_analytics.values import Environment, Evaluate, Record, frozen


@dataclass(frozen=True)
class Item:
    """An item of a SELECT list: a value with its name, or, without a name, all fields of a record."""

    name: str | None
    value: Evaluate


Contribution = tuple[Any, ...]
"""What a row contributes to its group, behind the key of its window."""


class GroupResults:
    """Computes the results of a SELECT with GROUP BY: first what a row contributes to its group, then the record
    of a group."""

    def __init__(
        self,
        keys: tuple[Evaluate, ...],
        aggregates: Sequence[tuple[str, Aggregate]],
        items: tuple[Item, ...],
        condition: Callable[[Environment], bool] | None,
        plainKeys: bool = False,
    ) -> None:
        """``plainKeys``: the keys are whole numbers, texts or NULL."""
        inputs: dict[str, Evaluate] = {}
        for _, aggregate in aggregates:
            inputs.update(aggregate.inputs)
        self.keys = keys
        self.contributions = (*keys, *inputs.values())
        """What a row contributes, behind the key of its window: its keys, and each input of the aggregates once."""
        places = {text: place for place, text in enumerate(inputs, 1 + len(keys))}
        self._aggregates = [
            (slot, aggregate, [places[text] for text in aggregate.inputs])
            for slot, aggregate in aggregates
        ]
        folds = [_fold_of(kind, places) for _, a, places in self._aggregates for kind in a.folds]
        self.folds = tuple(folds) if plainKeys and all(a.folds for _, a in aggregates) else ()
        """What makes the values of the aggregates without the rows; nothing if they need these."""
        self._items = items
        self._condition = condition

    def groups(self, rows: Iterable[Contribution]) -> Iterable[list[Contribution]]:
        """The rows of a window that groups share, group by group."""
        groups: dict[Any, list[Contribution]] = {}
        behind = 1 + len(self.keys)
        for row in rows:
            groups.setdefault(tuple(map(frozen, row[1:behind])), []).append(row)
        return groups.values()

    def of(self, rows: Sequence[Contribution], end: int, window: str | None) -> Record | None:
        """The record of a group; None if HAVING is not true."""
        columns = list(zip(*rows))
        values = [
            aggregate.finish(len(rows), [columns[place] for place in places])
            for _, aggregate, places in self._aggregates
        ]
        return self._record(rows[0][1 : 1 + len(self.keys)], values, end, window)

    def ofFolds(
        self, keys: Sequence[Any], numbers: Sequence[int], end: int, window: str | None
    ) -> Record | None:
        """The same of what ``folds`` has given."""
        left = iter(numbers)
        values = [
            aggregate.ofFolds(list(islice(left, len(aggregate.folds))))
            for _, aggregate, _ in self._aggregates
        ]
        return self._record(keys, values, end, window)

    def _record(
        self, keys: Sequence[Any], values: Sequence[Any], end: int, window: str | None
    ) -> Record | None:
        found: Environment = {"@": end, "@window": window}
        for position, value in enumerate(keys):
            found[f"#key{position}"] = value
        for (slot, _, _), value in zip(self._aggregates, values):
            found[slot] = value
        record = record_from(self._items, found)
        if self._condition is not None:
            for position, item in enumerate(self._items):
                if item.name is not None:
                    found[f"#item{position}"] = record[item.name]
            if not self._condition(found):
                return None
        return record


def _fold_of(kind: str, places: Sequence[int]) -> ColumnFold:
    """The fold of a kind over contributions, whose input is at ``places``; none of it: of each 1."""
    if not places:
        return ColumnFold("sum", 1)
    value = f"r[{places[0]}]"
    if kind == SUM_OF_FLOATS:
        # A float beyond 2**53 is another number
        return ColumnFold("sum", f"(None if {value} is None else int(float({value})))")
    return ColumnFold(kind, value)


def record_from(items: tuple[Item, ...], row: Environment) -> Record:
    """The record that a SELECT list computes from a row."""
    record: Record = {}
    for item in items:
        value = item.value(row)
        if item.name is not None:
            record[item.name] = value
        elif isinstance(value, dict):
            record.update(value)
    return record
