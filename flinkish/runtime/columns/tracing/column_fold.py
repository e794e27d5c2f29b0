"""``ColumnFold``: folds the columns of a run by group, into the accumulators that Python would
compute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flinkish.api.errors import UnfitElementError
from flinkish.api.functions.adapt import reduce_call
from flinkish.api.functions.aggregations import FieldAggregator
from flinkish.api.functions.functions import AggregateFunction
from flinkish.runtime.columns.tracing.checks import (
    Positions,
    chosen,
    difference_of,
    elements_at,
)
from flinkish.runtime.columns.tracing.column_function import ColumnFunction
from flinkish.runtime.columns.tracing.combining import Combination
from flinkish.runtime.columns.tracing.expressions import Constant, Kind, Operation
from flinkish.runtime.columns.tracing.folding import Folding, arrow_type, normal
from flinkish.runtime.columns.tracing.reduction_patterns import (
    NEVER_RAISES,
    ReductionPattern,
    matched_patterns,
    needs_accumulator,
)
from flinkish.runtime.columns.tracing.running import RunningFold, next_of_group
from flinkish.runtime.columns.tracing.stand_ins import aggregated
from flinkish.runtime.columns.tracing.symbolic_values import Signature, symbolic
from flinkish.runtime.columns.tracing.symbols import Symbol
from flinkish.runtime.columns.tracing.trace import Trace, Traced
from flinkish.runtime.columns.tracing.traced_function import TracedFunction
from flinkish.runtime.columns.tracing.traced_runs import checked_run, run_of
from flinkish.runtime.columns.tracing.unsupported import Unsupported
from flinkish.runtime.columns.tracing.value_shapes import arrays_of, columns_of
from flinkish.runtime.columns.tracing.values import deoptimizing, kind_of, to_arrow
from flinkish.runtime.records.rows import RowColumns, concatenated
from flinkish.runtime.records.shapes import Shape, shape_of, with_shape

_MOST_MEMBERS = 16
"""Of a group with more elements, this many of the first, and special ones, are folded again for the
check."""

_LOOKED_AT = 1 << 12


@dataclass(frozen=True)
class FoldPlan:
    """How columns of a given schema are folded into accumulators."""

    shape: Shape
    """The shape of an accumulator."""
    schema: pa.Schema
    """The schema of the folded columns, which notes the combination if elements can be folded in
    parts."""
    combination: Combination
    """How the fields change, and how parts that were folded separately are combined."""
    traced: Traced

    def mayBecomeNone(self, batch: pa.RecordBatch) -> bool:
        """Whether an accumulator of these elements may itself be None, not just a field of it."""
        return self.shape.kind is None and any(batch.column(c).null_count for c in self.columns)

    def isMergedBy(self, merge: FoldPlan) -> bool:
        """Whether the elements may come in any order, and ``merge``, a reduction of accumulators, gives
        the accumulator of all elements of both."""
        own = self.combination
        if own.start is None or not own.commutes or merge.combination.kinds != own.kinds:
            return False
        for _, operation in merge.traced.steps:
            if not isinstance(operation, Operation) or operation.kind == "str":
                return False
            if operation.name not in NEVER_RAISES:
                return False
        return all(
            pattern.joins(merging, number) and (pattern.way != "sum" or start == 0)
            for number, (pattern, merging, start) in enumerate(
                zip(own.patterns, merge.combination.patterns, own.start)
            )
        )

    @property
    def columns(self) -> set[int]:
        own = self.combination
        read = set(range(len(own.kinds))) if own.start is None else set()
        return read.union(self.traced.reading, *(pattern.columns for pattern in own.patterns))


class ColumnFold(TracedFunction[FoldPlan]):
    """An AggregateFunction, a ReduceFunction or f(a, b), over columns.

    The accumulators of all groups are a batch, *the folded columns*, with a row for each group.
    """

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        self._function = function
        self._reduces = not isinstance(function, AggregateFunction)
        self._get_result: ColumnFunction | None = None
        self._merge: ColumnFold | None = None
        if isinstance(function, AggregateFunction):
            self._get_result = ColumnFunction(function.getResult)
            self._merge = ColumnFold(function.merge)

    # ------------------------------------------------------------------ properties

    def plan(self, values: RowColumns) -> FoldPlan | None:
        """How elements like ``values`` are folded; None if they cannot be."""
        return self._traced(values)

    def follows(self, values: RowColumns) -> bool:
        """Whether elements like ``values`` can be folded as columns."""
        return self.plan(values) is not None

    def mergesInAnyOrder(self, values: RowColumns) -> bool:
        """Whether ``combine`` may combine accumulators of parts of elements like ``values`` in any
        order, with the result of the function's ``merge``."""
        plan = self.plan(values)
        if plan is None or self._merge is None:
            return False
        merge = self._merge.plan(_no_accumulators(plan))
        return merge is not None and plan.isMergedBy(merge)

    def merges(self, values: RowColumns) -> bool:
        """Whether accumulators of elements like ``values`` can be ``merged`` as columns."""
        plan = self.plan(values)
        if plan is None:
            return False
        merge = (self._merge or self).plan(_no_accumulators(plan))
        return merge is not None and merge.schema.types == plan.schema.types

    def reads(self, values: RowColumns) -> set[int] | None:
        """The indices of the columns that the fold reads of elements like ``values``; None if it
        cannot be traced, or if it may read any column."""
        plan = self.plan(values)
        if plan is None or plan.traced.testsNone:
            return None
        return plan.columns

    # ------------------------------------------------------------------ folding

    def fold(
        self,
        values: Sequence[Any],
        groups: Positions,
        count: int,
        start: pa.RecordBatch | None = None,
        started: NDArray[np.bool_] | None = None,
        *,
        checks: bool = True,
    ) -> pa.RecordBatch | None:
        """The accumulator of each group's values, in their order, for the groups from 0 to before
        ``count``, of which none is empty.

        With ``start``, a group begins with its row of ``start`` where ``started`` is true; None:
        everywhere. Other groups begin with ``createAccumulator()``, or for a reduction with the
        first value. Without ``checks``, the run is neither counted nor checked.
        """

        def folded() -> pa.RecordBatch | None:
            if not isinstance(values, RowColumns) or not len(values) or values.mayDiffer:
                return None
            plan = self.plan(values)
            if plan is None or (
                start is not None and not start.schema.equals(plan.schema, check_metadata=True)
            ):
                return None
            batch = values.columns
            if plan.mayBecomeNone(batch):
                return None  # called for each element, which raises an error for None
            run = checked_run(plan.traced, batch)
            folding = Folding(run, batch, groups, count, plan.combination, start, started)
            return _batch(folding.fields(), plan.schema)

        if not checks:
            return deoptimizing(folded)()
        return self.runs.counted(
            values,
            folded,
            lambda answer: self._difference(answer, values, groups, count, start, started),
        )

    @deoptimizing
    def foldAfter(
        self,
        values: RowColumns,
        groups: Positions,
        count: int,
        places: Positions,
        start: pa.RecordBatch | None = None,
        started: NDArray[np.bool_] | None = None,
    ) -> pa.RecordBatch | None:
        """The accumulators after each element at ``places``, and below them those of ``fold``."""
        folded = self.fold(values, groups, count, start, started)
        plan = None if folded is None else self.plan(values)
        if folded is None or plan is None:
            return None
        reduction = plan.combination
        run = run_of(values.columns)
        folding = Folding(run, values.columns, groups, count, reduction, start, started)
        added = folding.added()
        added = np.ones(len(groups), dtype=np.bool_) if added is None else added
        numbers = range(len(reduction.kinds))
        begun = _batch(list(map(folding.initial_column, numbers)), plan.schema)
        adding = run.where(added)
        running = RunningFold(adding, groups[added], begun, reduction)
        before = [running.field(number).array(adding.count) for number in numbers]
        both = concatenated([_batch(before, plan.schema), folded])
        # The accumulator after an element is that before the next one of its group
        following = next_of_group(groups, count)[places]
        after = np.where(
            following < 0, adding.count + groups[places], np.cumsum(added)[following] - 1
        )
        return both.take(pa.array(np.r_[after, adding.count + np.arange(count)]))

    @deoptimizing
    def combine(
        self, parts: pa.RecordBatch, groups: Positions, count: int
    ) -> pa.RecordBatch | None:
        """Combine ``parts``, which were folded separately and without a start, into an accumulator
        for each group, in the order of the parts. Only for folds that are exact in any grouping."""
        combination = Combination.of(parts.schema)
        if combination is None or self.runs.difference is not None:
            return None
        with self.runs.working():
            combined = _batch(combination.columns(parts, groups, count), parts.schema)
        if self._reduces and self.runs.due():
            with self.runs.checking():
                difference = self._difference(combined, self._elements(parts), groups, count)
            if difference is not None:
                self.runs.leave(difference)
                return None
        return combined

    def merged(self, parts: pa.RecordBatch, groups: Positions, count: int) -> pa.RecordBatch | None:
        """The accumulators of each group merged by the function, one after the other: a reduction takes
        the other accumulator for an element. None if it has to be called."""
        found = (self._merge or self).fold(self._elements(parts), groups, count)
        if found is None or found.schema.types != parts.schema.types:
            return None
        return pa.RecordBatch.from_arrays(found.columns, schema=parts.schema)

    def joined(self, folded: pa.Schema, one: Any, other: Any) -> Any:
        """The accumulator of the elements of ``one`` followed by those of ``other``. ``other`` was
        folded to columns of the schema ``folded``; ``one`` may be any accumulator of Python. None
        if it is not proved that adding the elements of ``other`` one by one gives the same."""
        shape, combination = shape_of(folded), Combination.of(folded)
        assert combination is not None
        columns = columns_of(shape, (one, other))
        parts = [] if columns is None else list(zip(*columns))
        if not parts or not all(map(combination.proves, parts)):
            return None
        (joined,) = shape.made([[field] for field in combination.joined(*parts)])
        if self._reduces and self.runs.checks:
            # An accumulator of a reduction is an element, so the function itself can be called
            reduce = reduce_call(self._function)
            difference = difference_of(
                1, lambda _: (one, other), lambda _: joined, lambda _: reduce(one, other)
            )
            if difference is not None:
                self.runs.leave(difference)
                return None
        return joined

    def reduced(self, one: Any, element: Any) -> Any:
        """A reduction's result for an accumulator and ``element``. None for an AggregateFunction:
        the element cannot be recovered from its accumulator."""
        return reduce_call(self._function)(one, element) if self._reduces else None

    # ------------------------------------------------------------------ accumulators

    @deoptimizing
    def folded(self, accumulators: Sequence[Any], values: RowColumns) -> pa.RecordBatch | None:
        """Python accumulators as the folded columns of elements like ``values``; None if columns
        cannot hold them."""
        plan = self.plan(values)
        if plan is None:
            return None
        arrays = arrays_of(plan.shape, plan.schema.types, accumulators)
        return pa.RecordBatch.from_arrays(arrays, schema=plan.schema)

    def accumulators(self, folded: pa.RecordBatch) -> list[Any]:
        """The accumulators as Python objects."""
        return self._elements(folded).rows()

    def _elements(self, folded: pa.RecordBatch) -> RowColumns:
        return RowColumns(folded, shape_of(folded.schema))

    def results(self, folded: pa.RecordBatch) -> RowColumns | None:
        """``getResult`` of each accumulator, as columns; None if it has to be called for each."""
        elements = self._elements(folded)
        if self._get_result is None:
            return elements
        results = self._get_result.results(elements)
        if results is None or (results.shape.kind is None and results.batch.column(0).null_count):
            return None  # a result of None is not emitted: leave that to the caller
        return results

    # ------------------------------------------------------------------ checks

    def _difference(
        self,
        folded: pa.RecordBatch,
        values: Sequence[Any],
        groups: Positions,
        count: int,
        start: pa.RecordBatch | None = None,
        started: Any = None,
    ) -> str | None:
        """The first difference in the accumulators ``folded`` of a run; None if there is none. Of large
        groups a few elements are folded again, over columns and by the function."""
        assert isinstance(values, RowColumns)
        plan = self.plan(values)
        if plan is None:
            return None
        read = plan.columns
        positions, whole = self._members(values, groups, count, read)
        numbers, of = np.unique(groups[positions], return_inverse=True)
        begun: list[Any] = [None] * len(numbers)
        begins = np.zeros(len(numbers), dtype=np.bool_)
        before = None
        if start is not None:
            before = start.take(pa.array(numbers))
            begins = np.ones(len(numbers), np.bool_) if started is None else started[numbers]
            begun = self.accumulators(before)
        if whole:
            after: pa.RecordBatch | None = folded.take(pa.array(numbers))
        else:
            part = values.take(positions)
            begins_of = None if before is None else begins
            after = self.fold(part, of, len(numbers), before, begins_of, checks=False)
        if after is None:
            return None
        elements = elements_at(values, positions, read)
        made = self.accumulators(after)
        function = self._function
        reduce = reduce_call(function) if self._reduces else None

        def called(number: int) -> Any:
            own = [elements[place] for place in np.flatnonzero(of == number).tolist()]
            if begins[number]:
                accumulator = begun[number]
            elif reduce is None:
                accumulator = function.createAccumulator()
            else:
                accumulator, *own = own
            for element in own:
                if reduce is None:
                    accumulator = function.add(element, accumulator)
                else:
                    accumulator = reduce(accumulator, element)
                if accumulator is None:
                    raise UnfitElementError("the accumulator is None")
            return accumulator

        def shown_elements(number: int) -> Any:
            return [elements[place] for place in np.flatnonzero(of == number).tolist()]

        return difference_of(len(numbers), shown_elements, made.__getitem__, called)

    def _members(
        self, values: RowColumns, groups: Positions, count: int, read: set[int]
    ) -> tuple[Positions, bool]:
        """The ascending positions of elements of some groups, among them the smallest if the run is
        short, and whether they are all elements of these groups."""
        special = chosen(values, max(1, self.runs.checks // 2), self.runs.seed, read)
        rows = len(values)
        begin, end = 0, rows
        if rows > _LOOKED_AT:
            begin = max(0, min(int(special[-1]) - _LOOKED_AT // 2, rows - _LOOKED_AT))
            end = begin + _LOOKED_AT
        near = groups[begin:end]
        wanted: list[int] = groups[special].tolist()
        whole = end - begin == rows
        if whole:
            wanted.append(int(np.bincount(near, minlength=count).argmin()))
        found: list[Positions] = [special]
        for group in dict.fromkeys(wanted):
            places = begin + np.flatnonzero(near == group)
            if len(places) > _MOST_MEMBERS:
                whole = False
                places = places[:_MOST_MEMBERS]
            found.append(places)
        return np.unique(np.concatenate(found)), whole

    # ------------------------------------------------------------------ tracing

    def _created(self) -> Traced:
        """The trace of ``createAccumulator``. Raises Unsupported if its results may differ."""
        created = Trace(lists=True).follow(self._function.createAccumulator)
        if not all(isinstance(column, Constant) for column in created.columns):
            raise Unsupported("creates accumulators that differ")
        return created

    def _trace(self, values: RowColumns) -> FoldPlan:
        if self._reduces:
            kinds = [kind_of(kind) for kind in values.schema.types]
            return self._traced_plan(values, values.shape, kinds, None)
        created = self._created()
        kinds = [column.kind for column in created.columns]
        if not set(kinds) <= {"int", "float", "bool", "str"}:
            raise Unsupported(
                "starts with an accumulator that is not made of numbers, texts and bools"
            )
        start = tuple(column.value for column in created.columns if isinstance(column, Constant))
        plan = self._traced_plan(values, created.shape, kinds, start)
        guards = (*plan.traced.guards, *created.guards)
        return replace(plan, traced=plan.traced._replace(guards=guards))

    def _traced_plan(
        self, values: RowColumns, shape: Shape, kinds: list[Kind], start: tuple[Any, ...] | None
    ) -> FoldPlan:
        trace = Trace(lists=True)
        traced = self._follow(trace, Signature().symbols(trace, values)[0], shape, kinds)
        if traced.shape != shape:
            raise Unsupported("returns an accumulator of another shape than it is given")
        patterns = matched_patterns(trace.expressions, traced.columns)
        if any(needs_accumulator(step.operation) for step in traced.steps):
            raise Unsupported(
                "computes more of the accumulator than sums, counts, minima and maxima"
            )
        after = [e.kind for e in traced.columns]
        if after != kinds:
            assert len(after) == len(kinds)
            if start is None or not all(map(_becomes_float, kinds, after, patterns)):
                raise Unsupported("changes the type of a field of the accumulator, or may do so")
            start = tuple(float(v) if k == "float" else v for v, k in zip(start, after))
            return self._traced_plan(values, shape, after, start)
        types = [
            arrow_type(kind, pattern, values.columns, number)
            for number, (kind, pattern) in enumerate(zip(kinds, patterns))
        ]
        names = values.schema.names if start is None else None
        schema = _schema(shape, types, names)
        combination = Combination(tuple(patterns), tuple(kinds), start, traced.testsNone)
        if combination.exactInAnyGrouping:
            schema = combination.noted(schema)
        return FoldPlan(shape, schema, combination, traced)

    def _follow(self, trace: Trace, element: Any, shape: Shape, kinds: list[Kind]) -> Traced:
        symbols = [
            Symbol(trace, trace.expressions.accumulated(number, kind))
            for number, kind in enumerate(kinds)
        ]
        accumulator = symbolic(trace, shape, symbols)
        if self._reduces:
            return self._follow_reduce(trace, accumulator, element)
        return trace.follow(self._function.add, element, changing=accumulator)

    def _follow_reduce(self, trace: Trace, so_far: Any, element: Any) -> Traced:
        if isinstance(self._function, FieldAggregator):
            return trace.follow_all(lambda: aggregated(trace, self._function, so_far, element))
        return trace.follow(reduce_call(self._function), so_far, element)

    def _explore(self) -> None:
        trace = Trace(exploring=True, lists=True)
        element, (so_far,) = Signature(extra=1).symbols(trace, None)
        if self._reduces:
            self._follow_reduce(trace, so_far, element)
            return
        created = self._created()
        self._follow(trace, element, created.shape, [column.kind for column in created.columns])


def _becomes_float(before: Kind, after: Kind, pattern: ReductionPattern) -> bool:
    """Whether a field keeps its type, or is an int that becomes a float with the first element."""
    return before == after or (
        before == "int" and after == "float" and pattern.way == "sum" and pattern.only is None
    )


# ---------------------------------------------------------------------- values and columns


def _batch(columns: Sequence[Any], schema: pa.Schema) -> pa.RecordBatch:
    arrays = [normal(to_arrow(column), kind) for column, kind in zip(columns, schema.types)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _no_accumulators(plan: FoldPlan) -> RowColumns:
    return RowColumns(pa.RecordBatch.from_pylist([], schema=plan.schema), plan.shape)


def _schema(
    shape: Shape, types: Sequence[pa.DataType], names: Sequence[str] | None = None
) -> pa.Schema:
    return with_shape(pa.schema(list(zip(names or shape.columnNames, types))), shape)
