"""Folds of whole numbers, which run over the columns of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flinkish.api.connectors.file_source import FileSource
from flinkish.api.functions.functions import AggregateFunction
from flinkish.api.plan.operators import TimestampsAndWatermarksDescription
from flinkish.api.plan.transformations import OneInputTransformation, SourceTransformation
from flinkish.api.streams.data_stream import DataStream

WHOLE = ("Byte", "Short", "Integer", "Long")
"""The kinds of columns of whole numbers."""
LOWEST, HIGHEST = -(1 << 63), (1 << 63) - 1
"""The range of a whole number of 64 bits."""


@dataclass(frozen=True)
class ColumnFold:
    """``sum``, ``min`` or ``max`` of the whole numbers that are not null, or their ``count``; of a constant its sum
    over all elements."""

    kind: str
    value: str | int
    """A Python expression over the element ``r``, or a constant."""

    @property
    def start(self) -> int:
        """The number before any element."""
        return {"min": HIGHEST, "max": LOWEST}.get(self.kind, 0)

    def expression(self, position: int) -> str:
        """The number after the element ``r``, as a Python expression."""
        before = f"a[{position}]"
        if isinstance(self.value, int):
            return f"{before} + {self.value}"
        if self.kind in ("sum", "count"):
            added = self.value if self.kind == "sum" else 1
            return f"{before} + (0 if {self.value} is None else {added})"
        return f"{self.kind}({before}, {self.start} if {self.value} is None else {self.value})"


class FoldColumns(AggregateFunction[Any, "tuple[int, ...]", "tuple[int, ...]"]):
    """Folds the numbers of elements."""

    def __init__(self, folds: Sequence[ColumnFold]) -> None:
        self.folds = folds

    def createAccumulator(self) -> tuple[int, ...]:
        raise NotImplementedError

    def add(self, value: Any, accumulator: tuple[int, ...]) -> tuple[int, ...]:
        raise NotImplementedError

    def getResult(self, accumulator: tuple[int, ...]) -> tuple[int, ...]:
        return accumulator

    def __reduce__(self) -> Any:
        return fold_columns, (self.folds,)


def fold_columns(folds: Sequence[ColumnFold]) -> FoldColumns:
    """The function of the folds. Each has a separate class, whose ``add`` is one expression."""
    start = tuple(fold.start for fold in folds)
    parts = ", ".join(fold.expression(i) for i, fold in enumerate(folds))
    add = eval(f"lambda self, r, a: ({parts},)")
    methods = {"createAccumulator": lambda self: start, "add": add}
    made: FoldColumns = type("FoldColumns", (FoldColumns,), methods)(folds)
    return made


def column_types(stream: DataStream[Any]) -> dict[str, str]:
    """The kinds of the columns of a table that is read from files; none of any other stream."""
    transformation = stream.getTransformation()
    while isinstance(transformation, OneInputTransformation) and isinstance(
        transformation.operator, TimestampsAndWatermarksDescription
    ):
        transformation = transformation.inputs[0]
    if not isinstance(transformation, SourceTransformation):
        return {}
    source = transformation.source
    if not isinstance(source, FileSource) or source.schema is None:
        return {}
    found = stream.getType()
    return {name: kind.kind for name, kind in zip(found.getFieldNames(), found.getFieldTypes())}
