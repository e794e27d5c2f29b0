"""Planned tables: branches of streams with the steps of their queries, or static rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from flinkish.api.streams.data_stream import DataStream
from flinkish.table.analysis import Column
from flinkish.table.cells import InputColumns
from flinkish.table.expressions import ColumnRead
from flinkish.table.steps import Projection, StaticRows, Step, run_steps


@dataclass(frozen=True)
class Branch:
    """A stream whose elements are read as columns, and the steps of the queries over it."""

    stream: DataStream[Any]
    input: InputColumns
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True)
class Relation:
    """A table: the union of its branches, or static rows if it has none."""

    columns: tuple[Column, ...]
    branches: tuple[Branch, ...] = ()
    rows: StaticRows | None = None

    @property
    def isStatic(self) -> bool:
        """Whether the table has static rows."""
        return self.rows is not None

    def then(self, step: Step, columns: Sequence[Column]) -> Relation:
        """The table after one more step."""
        if self.rows is None:
            branches = tuple(replace(b, steps=(*b.steps, step)) for b in self.branches)
            return Relation(tuple(columns), branches)
        found = run_steps([step], self.rows.rows)
        return Relation(tuple(columns), rows=StaticRows(tuple(found.columns), found.count))

    def named(self, table: str | None) -> Relation:
        """The table with its columns belonging to a table of that name."""
        return replace(self, columns=tuple(replace(c, table=table) for c in self.columns))

    def reordered(self, order: Sequence[int]) -> Relation:
        """The table with the columns in another order."""
        reads = tuple(ColumnRead(self.columns[number].type, number) for number in order)
        return self.then(Projection(reads), [self.columns[number] for number in order])
