"""``TraceCache``: the traces of a function, each until a guard fails.

A trace is a *specialization*: it is made for the schema of the input, and for functions with state
also for what the states of a key contain.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

import pyarrow as pa

from flinkish.runtime.columns.tracing.column_runs import ColumnRuns
from flinkish.runtime.columns.tracing.unsupported import why_unsupported
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.records.shapes import Shape

_MOST_TRACES = 50
"""A function is traced at most this often, as its external constants change."""


class Guarded(Protocol):
    """A trace, or what was made of one."""

    def changed(self) -> bool:
        """Whether a guard fails."""


G = TypeVar("G", bound=Guarded)


class TraceCache(Generic[G]):
    """The traces of a function, by the schema of its input."""

    def __init__(self, trace: Callable[[RowColumns], G], runs: ColumnRuns) -> None:
        self._trace = trace
        self._runs = runs
        self._found: list[tuple[Shape, list[pa.DataType], G | None]] = []
        self._count = 0
        self._reason: str | None = None

    @property
    def reason(self) -> str | None:
        """Why the function is called for each element; None if no reason is known."""
        return self._runs.difference or self._reason

    def of(self, values: RowColumns) -> G | None:
        """The trace for the schema of ``values``; None if the function cannot be traced."""
        if self._runs.difference is not None:
            return None
        shape, types = values.shape, values.schema.types
        for number, (other_shape, other_types, traced) in enumerate(self._found):
            if other_types == types and other_shape == shape:
                if traced is None or not traced.changed():
                    return traced
                del self._found[number]
                break
        traced = self._traced(values)
        self._found.append((shape, types, traced))
        return traced

    def all(self) -> list[G]:
        """All traces, the latest first."""
        return [traced for _, _, traced in reversed(self._found) if traced is not None]

    def _traced(self, values: RowColumns) -> G | None:
        if self._count >= _MOST_TRACES:
            self._reason = "has external constants that keep changing"
            return None
        self._count += 1
        found: list[G] = []
        reason = why_unsupported(lambda: found.append(self._trace(values)))
        if reason is not None:
            self._reason = reason
        return found[0] if found else None
