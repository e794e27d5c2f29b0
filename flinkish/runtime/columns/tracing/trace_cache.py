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
"""A function whose external constants change is traced at most this often, and once more each
``_RUNS_OF_A_TRACE`` runs."""

_RUNS_OF_A_TRACE = 8


class Guarded(Protocol):
    """A trace, or what was made of one."""

    def changed(self) -> bool:
        """Whether a guard fails."""


G = TypeVar("G", bound=Guarded)


class TraceCache(Generic[G]):
    """The traces of a function, by the schema of its input."""

    def __init__(
        self,
        trace: Callable[[RowColumns], G],
        runs: ColumnRuns,
        version: Callable[[], object] | None = None,
    ) -> None:
        """``version``: when it gives another value, a function that could not be traced is tried
        again. None: it is not."""
        self._trace = trace
        self._runs = runs
        self._version = version or (lambda: None)
        self._found: list[tuple[Shape, list[pa.DataType], G | None, object]] = []
        self._count = 0
        self._keeps_changing = False
        self._reason: str | None = None

    @property
    def reason(self) -> str | None:
        """Why the function is called for each element; None if no reason is known."""
        if self._keeps_changing:
            return "has external constants that keep changing"
        return self._runs.difference or self._reason

    def of(self, values: RowColumns) -> G | None:
        """The trace for the schema of ``values``; None if the function cannot be traced."""
        if self._runs.difference is not None:
            return None
        shape, types, version = values.shape, values.schema.types, self._version()
        for number, (other_shape, other_types, traced, of_version) in enumerate(self._found):
            if other_types == types and other_shape == shape:
                if of_version == version if traced is None else not traced.changed():
                    return traced
                del self._found[number]
                break
        runs = self._runs.taken + self._runs.elements
        self._keeps_changing = self._count >= _MOST_TRACES + runs // _RUNS_OF_A_TRACE
        if self._keeps_changing:
            return None
        traced = self._traced(values)
        self._found.append((shape, types, traced, version))
        return traced

    def all(self) -> list[G]:
        """All traces, the latest first."""
        return [traced for _, _, traced, _ in reversed(self._found) if traced is not None]

    def _traced(self, values: RowColumns) -> G | None:
        self._count += 1
        found: list[G] = []
        reason = why_unsupported(lambda: found.append(self._trace(values)))
        if reason is not None:
            self._reason = reason
        return found[0] if found else None
