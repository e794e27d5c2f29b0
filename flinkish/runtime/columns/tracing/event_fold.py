"""``EventFold``: traces a watermark generator's ``onEvent``, and runs it over the columns of a
run, with the watermarks that it emits between the elements."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from itertools import chain
from types import FunctionType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flinkish.api.eventtime.watermarks import WatermarkGenerator
from flinkish.api.time.elements import Watermark
from flinkish.runtime.columns.tracing.checks import (
    Positions,
    chosen,
    difference_of,
    elements_at,
)
from flinkish.runtime.columns.tracing.emissions import (
    Channel,
    Emission,
    EmittedColumns,
    Emitting,
    follow_emitting,
)
from flinkish.runtime.columns.tracing.expressions import Kind
from flinkish.runtime.columns.tracing.externals import External
from flinkish.runtime.columns.tracing.folding import ARROW_TYPES, Folding
from flinkish.runtime.columns.tracing.purity import impurity, written_attributes
from flinkish.runtime.columns.tracing.reduction_patterns import Reduction, matched_patterns
from flinkish.runtime.columns.tracing.running import RunningFold, accumulator_steps, asks_running
from flinkish.runtime.columns.tracing.stand_ins import StandIn
from flinkish.runtime.columns.tracing.symbolic_values import Signature, taken_apart
from flinkish.runtime.columns.tracing.symbols import Symbol, kind_of_constant
from flinkish.runtime.columns.tracing.trace import Trace, Traced
from flinkish.runtime.columns.tracing.traced_function import TracedFunction
from flinkish.runtime.columns.tracing.traced_runs import check_may_differ, run_of
from flinkish.runtime.columns.tracing.unsupported import Unsupported
from flinkish.runtime.columns.tracing.value_shapes import structure
from flinkish.runtime.columns.tracing.values import deoptimizing, of_arrow, to_arrow
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.records.shapes import VALUE, tuple_shape

_SIGNATURE = Signature(extra=1)
"""An element and its timestamp."""

_WATERMARK = structure(Watermark(0), [])


class Noted(NamedTuple):
    """The effects of ``onEvent`` for the elements of a run."""

    attributes: list[Any]
    """The values of the attributes afterwards."""
    positions: Positions
    """For each watermark that it emits the position of the element."""
    watermarks: NDArray[np.int64]


class EventFold(TracedFunction["_Plan"]):
    """Updates the attributes of a generator as ``onEvent`` does, for a run of elements at once.

    A generator that keeps more than sums, counts, extremes, first and last values, or emits more than
    watermarks that can be computed from these, is called for each element.
    """

    def __init__(self, generator: WatermarkGenerator[Any]) -> None:
        super().__init__(generator.onEvent)
        self._generator = generator
        method = getattr(generator.onEvent, "__func__", None)
        self._on_event = method if isinstance(method, FunctionType) else None
        self._code = code = None if self._on_event is None else self._on_event.__code__
        self._names = () if code is None else written_attributes(code)
        self.possible = bool(self._names) and code is not None and impurity(code, True) is None
        """Whether ``note`` can ever succeed."""

    @property
    def isUnset(self) -> bool:
        """Whether an attribute is None, as it may be before the first element."""
        known = getattr(self._generator, "__dict__", {})
        return any(name in known and known[name] is None for name in self._names)

    def note(
        self, values: Sequence[Any], timestamps: NDArray[np.int64], emits: bool = True
    ) -> Noted | None:
        """Update the attributes for ``values``. None, with nothing done, if ``onEvent`` has to be
        called for each of them; without ``emits`` also if it emits a watermark."""
        start = self._attributes()
        noted = self.runs.counted(
            values,
            lambda: None if start is None else self._noted(values, timestamps, start),
            lambda noted: self._difference(noted, values, timestamps, start or ()),
        )
        if noted is None or not (emits or not len(noted.positions)):
            return None
        for name, value in zip(self._names, noted.attributes):
            setattr(self._generator, name, value)
        return noted

    @deoptimizing
    def _noted(
        self, values: Sequence[Any], timestamps: NDArray[np.int64], start: Sequence[Any]
    ) -> Noted | None:
        """Return the effects of ``onEvent`` for ``values``, from ``start`` on."""
        if not len(timestamps):
            return None
        kinds = tuple(_kind(value) for value in start)
        columns = isinstance(values, RowColumns) and not values.mayDiffer
        times = pa.array(timestamps, pa.int64())
        if isinstance(values, RowColumns) and columns:
            elements = RowColumns(values.batch.append_column("timestamp", times), values.shape)
        else:
            elements = RowColumns(pa.RecordBatch.from_arrays([times], ["timestamp"]), VALUE)
        plan = self._traced(elements, kinds)
        if plan is None or (plan.traced.testsNone and not columns):
            return None
        batch = elements.batch
        check_may_differ(plan.traced, batch)
        run = run_of(batch)
        everyone = np.zeros(batch.num_rows, dtype=np.intp)
        types = [ARROW_TYPES[kind] for kind in plan.reduction.kinds]
        first = [pa.array([value], kind) for value, kind in zip(start, types)]
        begun = pa.RecordBatch.from_arrays(first, names=list(map(str, range(len(first)))))
        folded = Folding(run, batch, everyone, 1, plan.reduction, begun).fields()
        attributes = [to_arrow(column)[0].as_py() for column in folded]
        if plan.running:
            before = RunningFold(run, everyone, begun, plan.reduction)
            run = run.accumulating(before.field)
        run.check(plan.traced.steps)
        emitted = EmittedColumns()
        emitted.add(plan.emission, run, batch, np.arange(run.count))
        results, positions = emitted.joined()
        if results is None:
            return Noted(attributes, positions, np.zeros(0, np.int64))
        watermarks = of_arrow(results.arrow(0))
        return Noted(attributes, positions, watermarks.data) if watermarks.kind == "int" else None

    def _difference(
        self,
        noted: Noted,
        values: Sequence[Any],
        timestamps: NDArray[np.int64],
        start: Sequence[Any],
    ) -> str | None:
        """The first difference in the attributes after a few elements of a run, and in the watermarks
        that these emit; None if there is none."""
        count, rows = self.runs.checks, len(timestamps)
        if isinstance(values, RowColumns):
            positions = chosen(values, count, self.runs.seed)
            part: Sequence[Any] = values.take(positions)
            elements = elements_at(values, positions)
        else:
            positions = np.unique(np.linspace(0, rows - 1, min(count, rows)).astype(np.intp))
            part = elements = [values[place] for place in positions.tolist()]
        times = timestamps[positions]
        found = noted if len(positions) == rows else self._noted(part, times, start)
        if found is None:
            return None
        over_columns = found.attributes, found.positions.tolist(), found.watermarks.tolist()

        def called(_: int) -> Any:
            generator: Any = copy(self._generator)
            emitted: list[Watermark] = []
            positions: list[int] = []
            output: Any = SimpleNamespace(emitWatermark=emitted.append)
            for position, (element, time) in enumerate(zip(elements, times.tolist())):
                generator.onEvent(element, time, output)
                positions += [position] * (len(emitted) - len(positions))
            attributes = [getattr(generator, name) for name in self._names]
            return attributes, positions, [watermark.timestamp for watermark in emitted]

        return difference_of(1, lambda _: elements, lambda _: over_columns, called)

    def _attributes(self, unset: bool = False) -> list[Any] | None:
        """The values of the attributes that ``onEvent`` writes; None if one of them cannot be
        folded. ``unset``: they may be None."""
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
            if described or name not in known:
                return None
            kept = known[name]
            if _kind(kept) not in ARROW_TYPES and not (unset and kept is None):
                return None
            values.append(kept)
        return values

    def _trace(self, elements: RowColumns, *content: Any) -> _Plan:
        (kinds,) = content
        trace = Trace()
        element, extra = _SIGNATURE.symbols(trace, elements)
        event = element if extra else External(trace, None, "event")  # no columns
        traced, emission = self._followed(trace, event, extra[0] if extra else element, kinds)
        fields = traced.columns[: len(kinds)]
        if [field.kind for field in fields] != list(kinds):
            raise Unsupported("changes the type of an attribute, or may do so")
        reduction = Reduction(tuple(matched_patterns(trace.expressions, fields)), kinds, None)
        asked = [*chain.from_iterable(emission.slots), *accumulator_steps(traced.steps)]
        return _Plan(reduction, traced, emission, asks_running(reduction, asked))

    def _followed(
        self, trace: Trace, element: Any, timestamp: Symbol, kinds: Sequence[Kind]
    ) -> tuple[Traced, Emission]:
        assert self._on_event is not None
        written = {
            name: Symbol(trace, trace.expressions.accumulated(number, kind))
            for number, (name, kind) in enumerate(zip(self._names, kinds))
        }
        on_event = trace.writing(self._on_event, self._generator, written)

        def call(out: Emitting) -> tuple[Any, ...]:
            def emit(watermark: Any) -> None:
                shape, parts = taken_apart(trace, watermark)
                if shape != _WATERMARK:
                    raise trace.unsupported("emits something that is not a Watermark")
                out.collect(Symbol(trace, parts[0]))

            return on_event(element, timestamp, StandIn(trace, "output", emitWatermark=emit))

        traced, emitted = follow_emitting(trace, call, len(kinds))
        if traced.shape != tuple_shape([VALUE] * len(traced.columns)):
            raise Unsupported("stores something that is not a number or text")
        return traced, emitted[Channel(None, None)]

    def _explore(self) -> None:
        """Raises Unsupported if ``onEvent`` cannot be traced, whatever the elements are."""
        start = self._attributes(unset=True)
        if start is None:
            raise Unsupported("keeps its values elsewhere than in plain attributes")
        trace = Trace(exploring=True)
        element, (timestamp,) = _SIGNATURE.symbols(trace, None)
        kinds: list[Kind] = ["unknown" if value is None else _kind(value) for value in start]
        self._followed(trace, element, timestamp, kinds)


class _Plan(NamedTuple):
    """How the attributes of a generator change with a run of elements, and what it emits."""

    reduction: Reduction
    traced: Traced
    emission: Emission
    running: bool
    """Whether an effect depends on the attributes before its element."""


def _kind(value: Any) -> Kind:
    return kind_of_constant(value) or "opaque"
