"""``TracedFunction``: what all functions over columns have in common, and ``ElementwiseFunction``:
those called for one element after the other, which have a signature, effects, and a check of these.

A trace is a *specialization*: it is made for the schema of the input, and for functions with state
also for what the states of a key contain. Each is kept until a guard fails.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Generic, Protocol, TypeVar

import pyarrow as pa

from flinkish.runtime.columns.tracing.checks import Positions, chosen, difference_of, elements_at
from flinkish.runtime.columns.tracing.column_runs import ColumnRuns
from flinkish.runtime.columns.tracing.symbolic_values import Signature
from flinkish.runtime.columns.tracing.symbols import Symbol
from flinkish.runtime.columns.tracing.trace import Trace, Traced
from flinkish.runtime.columns.tracing.unsupported import why_unsupported
from flinkish.runtime.records.rows import RowColumns, python_values
from flinkish.runtime.records.shapes import Shape

_MOST_TRACES = 50
"""A function whose external constants change is traced at most this often for the same content of
its states, and once more each ``_RUNS_OF_A_TRACE`` runs."""

_RUNS_OF_A_TRACE = 8


class HasTrace(Protocol):
    """A trace, or what was made of one."""

    @property
    def traced(self) -> Traced:
        """The trace, which holds until a guard fails."""


G = TypeVar("G", bound=HasTrace)


class TracedFunction(ABC, Generic[G]):
    """A function that is traced at the first run of each schema, and keeps its traces.

    Wherever a result could differ from the function's own, methods return None, and the caller
    calls the function for each element.
    """

    def __init__(self, function: object, version: Callable[[], object] | None = None) -> None:
        """``version``: when it gives another value, a function that could not be traced is tried
        again. None: it is not."""
        self.runs = ColumnRuns(type(self).__name__, function)
        self._version = version or (lambda: None)
        self._forget()

    def _forget(self) -> None:
        """Drop all traces."""
        self._traces: list[tuple[tuple[Any, ...], Shape, list[pa.DataType], G | None, object]] = []
        self._counts: Counter[tuple[Any, ...]] = Counter()
        self._keeps_changing = False
        self._reason: str | None = None

    @property
    def reason(self) -> str | None:
        """Why the function is called for each element; None if it can be traced, as far as known
        without input."""
        if self._keeps_changing:
            return "has external constants that keep changing"
        return self.runs.difference or self._reason or why_unsupported(self._explore)

    def _traced(self, values: RowColumns, *content: Hashable) -> G | None:
        """The trace for the schema of ``values``, and for states that hold ``content``; None if the
        function cannot be traced."""
        if self.runs.difference is not None:
            return None
        shape, types, version = values.shape, values.schema.types, self._version()
        for number, (held, other_shape, other_types, plan, then) in enumerate(self._traces):
            if held == content and other_types == types and other_shape == shape:
                if then == version if plan is None else not plan.traced.changed():
                    return plan
                del self._traces[number]
                break
        runs = self.runs.taken + self.runs.elements
        self._keeps_changing = self._counts[content] >= _MOST_TRACES + runs // _RUNS_OF_A_TRACE
        if self._keeps_changing:
            return None
        self._counts[content] += 1
        made: list[G] = []
        reason = why_unsupported(lambda: made.append(self._trace(values, *content)))
        self._reason = self._reason or reason  # of several, the first is the cause
        plan = made[0] if made else None
        self._traces.append((content, shape, types, plan, version))
        return plan

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
            len(positions),
            arguments.__getitem__,
            over.__getitem__,
            lambda number: call(arguments[number], *(column[number] for column in others)),
        )
