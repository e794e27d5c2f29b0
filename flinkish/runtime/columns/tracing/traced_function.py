"""``TracedFunction``: what all functions over columns have in common, and ``ElementwiseFunction``:
those called for one element after the other, which have a signature, effects, and a check of these."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic

import pyarrow as pa

from flinkish.runtime.columns.tracing.checks import Positions, chosen, difference_of, elements_at
from flinkish.runtime.columns.tracing.column_runs import ColumnRuns
from flinkish.runtime.columns.tracing.symbolic_elements import Signature
from flinkish.runtime.columns.tracing.symbols import Symbol
from flinkish.runtime.columns.tracing.trace import Trace
from flinkish.runtime.columns.tracing.trace_cache import G, TraceCache
from flinkish.runtime.columns.tracing.unsupported import why_unsupported
from flinkish.runtime.records.rows import RowColumns, python_values


class TracedFunction(ABC, Generic[G]):
    """A function that is traced at the first run of each schema.

    Wherever a result could differ from the function's own, methods return None, and the caller
    calls the function for each element.
    """

    def __init__(self, function: object) -> None:
        self.runs = ColumnRuns(type(self).__name__, function)
        self._traces = TraceCache(self._trace, self.runs)

    @property
    def reason(self) -> str | None:
        """Why the function is not traced; None if it can be, as far as known without input."""
        return self._traces.reason or why_unsupported(self._explore)

    @abstractmethod
    def _trace(self, elements: RowColumns, *content: Any) -> G:
        """The trace for elements like ``elements``, and for states that hold ``content``. Raises
        Unsupported if there is none."""

    @abstractmethod
    def _explore(self) -> None:
        """Raises Unsupported if the function cannot be traced, whatever its input."""


class ElementwiseFunction(TracedFunction[G]):
    """A function whose effects depend on the element alone. ``signature`` says which of its arguments
    are symbols."""

    signature = Signature()

    @abstractmethod
    def _follow(self, trace: Trace, element: Any, extra: Sequence[Symbol]) -> G:
        """The trace of the function for symbols. Raises Unsupported if there is none."""

    @abstractmethod
    def _call(self, element: Any, *extra: Any) -> Any:
        """Call the function with Python values, and return its effects."""

    def _trace(self, elements: RowColumns, *content: Any) -> G:
        trace = Trace()
        return self._follow(trace, *self.signature.symbols(trace, elements))

    def _explore(self) -> None:
        trace = Trace(exploring=True)
        self._follow(trace, *self.signature.symbols(trace, None))

    def raisesFor(self, elements: RowColumns) -> bool:
        """Whether the function, which is called, raises an exception for some of ``elements``."""
        extra = [0] * self.signature.extra
        try:
            for element in elements.rows():
                self._call(element, *extra)
        except Exception:
            return True
        return False

    def _difference(
        self,
        effects: Callable[[Positions], Sequence[Any]],
        elements: RowColumns,
        extra: Iterable[Any] = (),
        read: set[int] | None = None,
        call: Callable[..., Any] | None = None,
    ) -> str | None:
        """The first difference between a run over ``elements``, whose ``effects`` at some positions are
        known, and calls of the function; None if there is none. ``extra``: the columns behind those of
        the elements; ``read``: the columns that matter, None: all. ``call`` gives what has to be
        equal; None: ``_call``."""
        positions = chosen(elements, self.runs.checks, self.runs.seed, read)
        arguments = elements_at(elements, positions, read)
        others = [python_values(pa.array(column).take(pa.array(positions))) for column in extra]
        over, call = effects(positions), call or self._call
        return difference_of(
            positions,
            arguments.__getitem__,
            over.__getitem__,
            lambda number: call(arguments[number], *(column[number] for column in others)),
        )
