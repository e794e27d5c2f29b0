"""Computes a SELECT list from a row, or from the rows of a group."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from flinkish.compat.stream_analytics.aggregates import Aggregate
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
    ) -> None:
        inputs: dict[str, Evaluate] = {}
        for _, aggregate in aggregates:
            inputs.update(aggregate.inputs)
        self.keys = keys
        self.contributions = (*keys, *inputs.values())
        """What a row contributes, behind the key of its window: its keys, and each input of the aggregates once."""
        places = {text: place for place, text in enumerate(inputs, 1 + len(keys))}
        self._aggregates = [
            (slot, aggregate.finish, [places[text] for text in aggregate.inputs])
            for slot, aggregate in aggregates
        ]
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
        found: Environment = {"@": end, "@window": window}
        for position, value in enumerate(rows[0][1 : 1 + len(self.keys)]):
            found[f"#key{position}"] = value
        columns = list(zip(*rows))
        for slot, finish, places in self._aggregates:
            found[slot] = finish(len(rows), [columns[place] for place in places])
        record = record_from(self._items, found)
        if self._condition is not None:
            for position, item in enumerate(self._items):
                if item.name is not None:
                    found[f"#item{position}"] = record[item.name]
            if not self._condition(found):
                return None
        return record


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
