"""Computes a SELECT list from a row, or from the rows of a group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from flinkish.compat.stream_analytics.aggregates import Aggregate
from flinkish.compat.stream_analytics.values import Environment, Evaluate, Record


@dataclass(frozen=True)
class Item:
    """An item of a SELECT list: a value with its name, or, without a name, all fields of a record."""

    name: str | None
    value: Evaluate


@dataclass(frozen=True)
class GroupResults:
    """Computes the result of a SELECT with GROUP BY for a group."""

    keys: list[Evaluate]
    aggregates: list[tuple[str, Aggregate]]
    items: list[Item]
    condition: Callable[[Environment], bool] | None

    def of(self, rows: list[Environment], end: int, window: str | None) -> Record | None:
        """The record of a group, None if HAVING is not true."""
        found: Environment = {"@": end, "@window": window}
        for position, key in enumerate(self.keys):
            found[f"#key{position}"] = key(rows[0])
        for slot, aggregate in self.aggregates:
            found[slot] = aggregate(rows)
        record = record_from(self.items, found)
        if self.condition is not None:
            for position, item in enumerate(self.items):
                if item.name is not None:
                    found[f"#item{position}"] = record[item.name]
            if not self.condition(found):
                return None
        return record


def record_from(items: Sequence[Item], row: Environment) -> Record:
    """The record that a SELECT list computes from a row."""
    record: Record = {}
    for item in items:
        value = item.value(row)
        if item.name is not None:
            record[item.name] = value
        elif isinstance(value, dict):
            record.update(value)
    return record
