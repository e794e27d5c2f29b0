"""``TracedFunction``: what the classes for functions of one kind each have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Generic

from flinkish.runtime.columns.tracing.column_runs import ColumnRuns
from flinkish.runtime.columns.tracing.trace_cache import G, TraceCache
from flinkish.runtime.columns.tracing.unsupported import why_unsupported
from flinkish.runtime.records.rows import RowColumns


class TracedFunction(ABC, Generic[G]):
    """A function that is traced at the first run of each schema.

    Wherever a result could differ from the function's own, methods return None, and the caller
    calls the function for each element.
    """

    def __init__(self, function: object, version: Callable[[], object] | None = None) -> None:
        """``version``: that of the TraceCache."""
        self.runs = ColumnRuns(type(self).__name__, function)
        self._traces = TraceCache(self._trace, self.runs, version)

    @property
    def reason(self) -> str | None:
        """Why the function is not traced; None if it can be, as far as known without input."""
        return self._traces.reason or why_unsupported(self._explore)

    @abstractmethod
    def _trace(self, values: RowColumns) -> G:
        """The trace for elements like ``values``. Raises Unsupported if there is none."""

    @abstractmethod
    def _explore(self) -> None:
        """Raises Unsupported if the function cannot be traced, whatever its input."""
