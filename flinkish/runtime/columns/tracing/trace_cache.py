"""``TraceCache``: the traces of a function, each until a guard fails.

A trace is a *specialization*: it is made for the schema of the input, and for functions with state
also for what the states of a key contain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from typing import Any, Generic, Protocol, TypeVar

import pyarrow as pa

from flinkish.runtime.columns.tracing.column_runs import ColumnRuns
from flinkish.runtime.columns.tracing.unsupported import why_unsupported
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.records.shapes import Shape

_MOST_TRACES = 50
"""A function is traced at most this often for the same content of its states, as its external constants
change."""


class Guarded(Protocol):
    """A trace, or what was made of one."""

    def changed(self) -> bool:
        """Whether a guard fails."""


G = TypeVar("G", bound=Guarded)


class TraceCache(Generic[G]):
    """The traces of a function, by the schema of its input and by what its states hold."""

    def __init__(self, trace: Callable[..., G], runs: ColumnRuns) -> None:
        self._trace = trace
        self._runs = runs
        self._found: list[tuple[tuple[Any, ...], Shape, list[pa.DataType], G | None]] = []
        self._counts: Counter[tuple[Any, ...]] = Counter()
        self._reason: str | None = None

    @property
    def reason(self) -> str | None:
        """Why the function is called for each element; None if no reason is known."""
        return self._runs.difference or self._reason

    def of(self, values: RowColumns, *content: Hashable) -> G | None:
        """The trace for the schema of ``values``, and for states that hold ``content``; None if the
        function cannot be traced."""
        if self._runs.difference is not None:
            return None
        shape, types = values.shape, values.schema.types
        for number, (held, other_shape, other_types, traced) in enumerate(self._found):
            if held == content and other_types == types and other_shape == shape:
                if traced is None or not traced.changed():
                    return traced
                del self._found[number]
                break
        traced = self._traced(values, content)
        self._found.append((content, shape, types, traced))
        return traced

    def all(self) -> list[G]:
        """All traces, the latest first."""
        return [traced for *_, traced in reversed(self._found) if traced is not None]

    def _traced(self, values: RowColumns, content: tuple[Hashable, ...]) -> G | None:
        if self._counts[content] >= _MOST_TRACES:
            self._reason = "has external constants that keep changing"
            return None
        self._counts[content] += 1
        found: list[G] = []
        reason = why_unsupported(lambda: found.append(self._trace(values, *content)))
        if reason is not None:
            self._reason = reason
        return found[0] if found else None
