"""``EventFold``: traces a watermark generator's ``onEvent``, and runs it over the columns of a
run."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from types import FunctionType
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flinkish.api.eventtime.watermarks import WatermarkGenerator, WatermarkOutput
from flinkish.api.time.elements import Watermark
from flinkish.runtime.columns.tracing.checks import chosen, difference_of, elements_at
from flinkish.runtime.columns.tracing.column_fold import forms_of
from flinkish.runtime.columns.tracing.column_function import (
    Traces,
    has_nulls,
    refusal_of,
    run_of,
    symbolic_element,
)
from flinkish.runtime.columns.tracing.column_runs import ColumnRuns, counting
from flinkish.runtime.columns.tracing.expressions import Kind
from flinkish.runtime.columns.tracing.folding import ARROW_TYPES, Folding, folded_field
from flinkish.runtime.columns.tracing.forms import Form
from flinkish.runtime.columns.tracing.kernels import NOT_EXACT, to_arrow
from flinkish.runtime.columns.tracing.purity import impurity, written_attributes
from flinkish.runtime.columns.tracing.symbols import Refusal, Symbol, kind_of_constant
from flinkish.runtime.columns.tracing.trace import Outside, Trace, Traced
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.records.shapes import VALUE, tuple_shape


def _attributes_differ(
    self: EventFold, after: list[Any], values: Sequence[Any], timestamps: NDArray[np.int64]
) -> str | None:
    """The first difference in the attributes after a few elements of a run; None if there is
    none."""
    start = self._attributes()
    if start is None:
        return None
    count, rows = self.runs.checks, len(timestamps)
    if isinstance(values, RowColumns):
        positions = chosen(values, count, self.runs.seed)
        part: Sequence[Any] = values.take(positions)
        elements = elements_at(values, positions)
    else:
        positions = np.unique(np.linspace(0, rows - 1, min(count, rows)).astype(np.intp))
        part = elements = [values[place] for place in positions.tolist()]
    times = timestamps[positions]
    noted = after if len(positions) == rows else self.afterUnchecked(part, times, start)
    if noted is None:
        return None

    def called(_: int) -> list[Any]:
        generator = copy(self._generator)
        for element, time in zip(elements, times.tolist()):
            generator.onEvent(element, time, _NoOutput())
        return [getattr(generator, name) for name in self._names]

    return difference_of(positions[:1], lambda _: elements, lambda _: noted, called)


class _NoOutput(WatermarkOutput):
    """The output of a check: a generator that is run over columns emits nothing in ``onEvent``."""

    def emitWatermark(self, watermark: Watermark) -> None:
        raise AssertionError("emits a watermark")

    def markIdle(self) -> None:
        raise AssertionError("emits that it is idle")

    def markActive(self) -> None:
        raise AssertionError("emits that it is active")


class EventFold:
    """Updates the attributes of a generator as ``onEvent`` does, for a run of elements at once.

    A generator that emits in ``onEvent``, or keeps more than sums, counts, extremes, first and last
    values, is called for each element.
    """

    def __init__(self, generator: WatermarkGenerator[Any]) -> None:
        self._generator = generator
        self.runs = ColumnRuns("EventFold", generator.onEvent)
        method = getattr(generator.onEvent, "__func__", None)
        self._on_event = method if isinstance(method, FunctionType) else None
        self._code = code = None if self._on_event is None else self._on_event.__code__
        self._names = () if code is None else written_attributes(code)
        self.possible = bool(self._names) and code is not None and impurity(code, True) is None
        """Whether ``note`` can ever succeed."""
        self._traces: dict[tuple[bool, tuple[Kind, ...]], Traces] = {}

    @property
    def reason(self) -> str | None:
        """Why ``onEvent`` is not traced; None if it can be, as far as known without input."""
        return next(
            (t.reason for t in self._traces.values() if t.reason), refusal_of(self._explore)
        )

    def note(self, values: Sequence[Any], timestamps: NDArray[np.int64]) -> bool:
        """Update the attributes for ``values``. False, with nothing done, if ``onEvent`` has to be
        called for each of them."""
        after = self._after(values, timestamps)
        if after is None:
            return False
        for name, value in zip(self._names, after):
            setattr(self._generator, name, value)
        return True

    @counting(_attributes_differ)
    def _after(self, values: Sequence[Any], timestamps: NDArray[np.int64]) -> list[Any] | None:
        """The attributes after ``values``."""
        start = self._attributes()
        return None if start is None else self.afterUnchecked(values, timestamps, start)

    def afterUnchecked(
        self, values: Sequence[Any], timestamps: NDArray[np.int64], start: Sequence[Any]
    ) -> list[Any] | None:
        """The attributes after ``values``, from ``start`` on, without a check: for the checks
        themselves."""
        if not len(timestamps):
            return None
        kinds = tuple(_kind(value) for value in start)
        columns = isinstance(values, RowColumns) and not values.mayDiffer
        times = pa.array(timestamps, pa.int64())
        if isinstance(values, RowColumns) and columns:
            elements = RowColumns(values.batch.append_column("timestamp", times), values.shape)
        else:
            elements = RowColumns(pa.RecordBatch.from_arrays([times], ["timestamp"]), VALUE)
        traces = self._traces.get((columns, kinds))
        if traces is None:
            traces = Traces(lambda elements: self._plan(elements, columns, kinds), self.runs)
            self._traces[columns, kinds] = traces
        plan: _Plan | None = traces.of(elements)
        if plan is None or (plan.testsNone and (not columns or has_nulls(elements.batch))):
            return None
        return plan.after(elements.batch, start)

    def _attributes(self) -> list[Any] | None:
        """The values of the attributes that ``onEvent`` writes; None if one of them cannot be
        folded."""
        known = getattr(self._generator, "__dict__", {})
        kind = type(self._generator)
        if not self.possible or kind.__setattr__ is not object.__setattr__:
            return None
        method: Any = getattr(self._generator.onEvent, "__func__", None)
        if method is not self._on_event or getattr(method, "__code__", None) is not self._code:
            return None  # onEvent has been replaced
        values = []
        for name in self._names:
            described = hasattr(getattr(kind, name, None), "__set__")
            if described or name not in known or _kind(known[name]) not in ARROW_TYPES:
                return None
            values.append(known[name])
        return values

    def _plan(self, elements: RowColumns, columns: bool, kinds: tuple[Kind, ...]) -> _Plan:
        trace = Trace()
        last = elements.batch.num_columns - 1
        timestamp = Symbol(trace, trace.expressions.column(last, "int"))
        element: Any = Outside(trace, None, "event")
        if columns:
            batch = elements.batch.select(range(last))
            element = symbolic_element(trace, RowColumns(batch, elements.shape))
        traced = self._followed(trace, element, timestamp, kinds)
        forms = forms_of(trace, traced)
        if [column.kind for column in traced.columns] != list(kinds):
            raise Refusal("changes the type of an attribute, or may do so")
        return _Plan(kinds, forms, traced)

    def _followed(
        self, trace: Trace, element: Any, timestamp: Symbol, kinds: Sequence[Kind]
    ) -> Traced:
        assert self._on_event is not None
        written = {
            name: Symbol(trace, trace.expressions.accumulated(number, kind))
            for number, (name, kind) in enumerate(zip(self._names, kinds))
        }
        output = Outside(trace, None, "output")
        traced = trace.follow_writes(
            self._on_event, self._generator, written, element, timestamp, output
        )
        if traced.shape != tuple_shape([VALUE] * len(kinds)):
            raise Refusal("stores something that is not a number or text")
        return traced

    def _explore(self) -> None:
        """Raises Refusal if ``onEvent`` cannot be traced, whatever the elements are."""
        start = self._attributes()
        if start is None:
            raise Refusal("keeps its values elsewhere than in plain attributes")
        trace = Trace(exploring=True)
        element, timestamp = (
            Symbol(trace, trace.expressions.column(number, "unknown")) for number in range(2)
        )
        self._followed(trace, element, timestamp, [_kind(value) for value in start])


class _Plan:
    """How the attributes of a generator change with a run of elements."""

    def __init__(self, kinds: Sequence[Kind], forms: Sequence[Form], traced: Traced) -> None:
        self._kinds = kinds
        self._forms = forms
        self._traced = traced
        self.testsNone = traced.testsNone
        """Whether ``onEvent`` tests a value for None."""

    def changed(self) -> bool:
        """Whether a value that ``onEvent`` reads from its surroundings has changed."""
        return self._traced.changed()

    def after(self, batch: pa.RecordBatch, start: Sequence[Any]) -> list[Any] | None:
        """The attributes after the elements of ``batch``; None if Python's could differ."""
        run = run_of(batch)
        everyone = np.zeros(batch.num_rows, dtype=np.intp)
        folding = Folding(run, batch, everyone, 1, False)
        try:
            run.check(self._traced.steps)
            first = [pa.array([v], ARROW_TYPES[kind]) for v, kind in zip(start, self._kinds)]
            names = [str(number) for number in range(len(first))]
            folding.begin(pa.RecordBatch.from_arrays(first, names=names), None)
            return [
                to_arrow(folded_field(folding, self._forms, self._kinds, start, number))[0].as_py()
                for number in range(len(self._forms))
            ]
        except NOT_EXACT:
            return None


def _kind(value: Any) -> Kind:
    return kind_of_constant(value) or "opaque"
