"""The steps of a query over a run of rows: computing columns, filtering, joining a static table,
unnesting arrays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from flinkish.runtime.records.rows import python_values
from flinkish.table.data_types import INT, DataType
from flinkish.table.expressions import Expression, Rows, truth_values


class Step(ABC):
    """One step of a query."""

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """The expressions of the step."""
        return ()

    @abstractmethod
    def run(self, rows: Rows) -> Rows:
        """The rows after the step, with their positions in the input run."""


def run_steps(steps: Sequence[Step], rows: Rows) -> Rows:
    """The rows after all steps."""
    for step in steps:
        rows = step.run(rows)
    return rows


@dataclass(frozen=True)
class Projection(Step):
    """Computes columns."""

    computed: tuple[Expression, ...]

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return self.computed

    def run(self, rows: Rows) -> Rows:
        columns = [rows.column(found.evaluate(rows), found.type) for found in self.computed]
        return Rows(columns, rows.count, rows.positions)


@dataclass(frozen=True)
class Selection(Step):
    """Keeps the rows for which a condition is true."""

    condition: Expression

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return (self.condition,)

    def run(self, rows: Rows) -> Rows:
        kept = truth_values(self.condition.evaluate(rows), rows.count)
        return rows if kept.all() else rows.where(kept)


@dataclass(frozen=True)
class StaticJoin(Step):
    """Joins the rows of a static table, whose columns are appended. ``keys`` are computed from the
    rows, ``tableKeys`` from the table; the ``condition`` reads columns of both. ``outer``: rows
    without a partner are kept."""

    table: StaticRows
    keys: tuple[Expression, ...]
    tableKeys: tuple[Expression, ...]
    condition: Expression | None
    outer: bool

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return (*self.keys, *(() if self.condition is None else (self.condition,)))

    @cached_property
    def _partners(self) -> dict[tuple[Any, ...], list[int]]:
        rows = self.table.rows
        found: dict[tuple[Any, ...], list[int]] = {}
        for number, key in enumerate(self._keys(self.tableKeys, rows)):
            if None not in key:
                found.setdefault(key, []).append(number)
        return found

    def _keys(self, keys: Sequence[Expression], rows: Rows) -> list[tuple[Any, ...]]:
        if not keys:
            return [()] * rows.count
        return list(zip(*(python_values(rows.column(k.evaluate(rows), k.type)) for k in keys)))

    def run(self, rows: Rows) -> Rows:
        left: list[int] = []
        right: list[int] = []
        for number, key in enumerate(self._keys(self.keys, rows)):
            for partner in self._partners.get(key, ()):
                left.append(number)
                right.append(partner)
        lefts, rights = np.array(left, np.intp), np.array(right, np.intp)
        if self.condition is not None and len(left):
            kept = truth_values(
                self.condition.evaluate(self._paired(rows, lefts, rights)), len(left)
            )
            lefts, rights = lefts[kept], rights[kept]
        if self.outer:
            alone = np.setdiff1d(np.arange(rows.count), lefts)
            lefts = np.concatenate([lefts, alone])
            rights = np.concatenate([rights, np.full(len(alone), -1, np.intp)])
            order = np.argsort(lefts, kind="stable")
            lefts, rights = lefts[order], rights[order]
        return self._paired(rows, lefts, rights)

    def _paired(self, rows: Rows, lefts: Any, rights: Any) -> Rows:
        taken = rows.take(lefts)
        chosen = pa.array(rights, mask=rights < 0)
        columns = [column.take(chosen) for column in self.table.columns]
        return Rows([*taken.columns, *columns], len(lefts), taken.positions)


@dataclass(frozen=True)
class StaticRows:
    """The rows of a static table, as columns."""

    columns: tuple[pa.Array, ...]
    count: int

    @property
    def rows(self) -> Rows:
        """The rows for the evaluation of expressions."""
        return Rows(self.columns, self.count)


@dataclass(frozen=True)
class Unnesting(Step):
    """Emits a row for each element of an array or map, whose columns are appended. ``outer``: rows
    without elements are kept."""

    collection: Expression
    types: tuple[DataType, ...]
    ordinality: bool
    outer: bool

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return (self.collection,)

    def run(self, rows: Rows) -> Rows:
        values = python_values(rows.column(self.collection.evaluate(rows), self.collection.type))
        left: list[int] = []
        elements: list[tuple[Any, ...]] = []
        for number, value in enumerate(values):
            parts = list(value.items() if isinstance(value, dict) else value or ())
            for place, part in enumerate(parts, 1):
                left.append(number)
                elements.append((*self._cells(part), *([place] if self.ordinality else [])))
            if not parts and self.outer:
                left.append(number)
                elements.append((None,) * (len(self.types) + self.ordinality))
        taken = rows.take(np.array(left, np.intp))
        types = [*self.types, *([INT] if self.ordinality else [])]
        lists = list(zip(*elements)) or [()] * len(types)
        columns = [pa.array(list(cells), kind.arrow) for cells, kind in zip(lists, types)]
        return Rows([*taken.columns, *columns], len(left), taken.positions)

    def _cells(self, part: Any) -> tuple[Any, ...]:
        if self.collection.type.name == "MAP":
            return tuple(part)
        if self.collection.type.children[0].name == "ROW":
            return (None,) * len(self.types) if part is None else tuple(part)
        return (part,)
