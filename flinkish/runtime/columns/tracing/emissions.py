"""The results that a function emits on each path through its branches, and their columns for a
run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa

from flinkish.api.functions.adapt import results_of
from flinkish.api.output_tag import OutputTag
from flinkish.runtime.columns.tracing.checks import Positions
from flinkish.runtime.columns.tracing.expression_run import Run
from flinkish.runtime.columns.tracing.expressions import Constant, Expression
from flinkish.runtime.columns.tracing.externals import External
from flinkish.runtime.columns.tracing.guards import in_slot
from flinkish.runtime.columns.tracing.record_classes import Record
from flinkish.runtime.columns.tracing.symbolic_values import kept, taken_apart
from flinkish.runtime.columns.tracing.symbols import Symbol
from flinkish.runtime.columns.tracing.trace import Trace, Traced
from flinkish.runtime.columns.tracing.traced_runs import column_of_run
from flinkish.runtime.columns.tracing.unsupported import Unsupported
from flinkish.runtime.columns.tracing.values import Mask, plain
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.records.shapes import Shape

K = TypeVar("K")

Slot: TypeAlias = tuple[Expression, ...]
"""A condition, and the parts of what is emitted or registered where it is true."""

MOST_EFFECTS = 8
"""A function that emits more results, or registers more timers, for an element is not traced."""


class Channel(NamedTuple):
    """The destination of a result: a side output, by its id, or the main one; and the round of a
    loop over words, None outside of one."""

    sideOutput: str | None
    round: int | None


TIMERS = "timers"
"""The channel of timers: the index of each call in ``TIMER_CALLS``, and its time."""


class Written(NamedTuple):
    """The channel of what a state is set to, or of True where it is cleared."""

    state: int
    cleared: bool


AnyChannel: TypeAlias = Channel | Written | int | str
"""Also the index of a list or map, for what is added to it, or ``TIMERS``."""


class Emitting:
    """The collector of a function that is being traced."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.results: dict[AnyChannel, list[Any]] = {}

    def begin(self) -> None:
        self.results.clear()

    def collect(self, value: Any) -> None:
        self.collectSide(None, value)

    def collectSide(self, sideOutput: str | None, value: Any) -> None:
        """Collect a result for a side output; None: for the main one."""
        if value is None:
            raise self.trace.unsupported("emits None")
        loop = self.trace.rounds
        self.collectIn(Channel(sideOutput, None if loop is None else loop.current), value)

    def collectIn(self, channel: AnyChannel, value: Any) -> None:
        self.results.setdefault(channel, []).append(kept(self.trace, value))

    def output(self, outputTag: Any, value: Any) -> None:
        """``output`` of a context. Raises Unsupported unless ``outputTag`` stands for an
        OutputTag."""
        tag = outputTag._traced_object if isinstance(outputTag, External) else None
        if not isinstance(tag, OutputTag):
            raise self.trace.unsupported("emits to something that is not an OutputTag")
        self.collectSide(self.trace.guards.value(in_slot, tag, "id"), value)

    def collectReturned(self, returned: Any, tuples: bool = False, wrote: bool = True) -> None:
        """Collect the results that a function returns or yields, as ``results_of`` finds them.
        Raises Unsupported."""
        if isinstance(returned, (Symbol, Record, dict)):
            raise Unsupported("returns a value that is not a list of results")
        # results_of would compare each result with None
        if (
            wrote
            and isinstance(returned, (list, tuple))
            and not any(r is not None for r in returned)
        ):
            return
        for result in results_of(returned, tuples=tuples):
            self.collect(result)

    def __getattr__(self, attribute: str) -> Any:
        raise self.trace.unsupported(f"uses {attribute} of its collector")


class Emission(NamedTuple):
    """The possible emissions of a function for an element."""

    shape: Shape | None
    """The shape of a result; None if nothing is emitted."""
    slots: tuple[Slot, ...]


class Emissions:
    """The largest number of results that a function emits for an element, and their shape, by
    channel."""

    def __init__(self) -> None:
        self._most: dict[AnyChannel, tuple[Shape | None, int]] = {Channel(None, None): (None, 0)}

    def __contains__(self, channel: AnyChannel) -> bool:
        return channel in self._most

    def note(self, trace: Trace, out: Emitting) -> None:
        """Note the results of one path through the function. Raises Unsupported if they cannot be
        columns."""
        for channel, found in out.results.items():
            shape, count = self._most.get(channel, (None, 0))
            written = isinstance(channel, Written)
            for result in found:
                known, (shape, _) = shape, taken_apart(trace, result, lists=written)
                if known not in (None, shape):
                    where = "keeps {} in its state" if written else "emits {}"
                    raise Unsupported(where.format("values of different shapes"))
            if len(found) > MOST_EFFECTS:
                does = "registers and deletes" if channel == TIMERS else "emits"
                named = TIMERS if channel == TIMERS else "results"
                raise Unsupported(f"{does} more than {MOST_EFFECTS} {named}")
            self._most[channel] = shape, max(count, len(found))

    def filled(self, trace: Trace, out: Emitting) -> Iterator[Any]:
        """The results of one path, each after True, padded with False and None to the number of
        results of the path that emits most."""
        for channel, (shape, count) in self._most.items():
            results = out.results.get(channel, ())
            for number in range(count):
                emits = number < len(results)
                assert shape is not None
                yield emits
                yield from parts_of_value(trace, shape, results[number] if emits else None)

    def emitted(self, columns: Iterator[Expression]) -> dict[Any, Emission]:
        """Return the emission to each channel whose expressions are ``columns``, the trace of
        ``filled``."""
        return {
            channel: Emission(
                shape, tuple(tuple(islice(columns, 1 + shape.width)) for _ in range(count))
            )
            if shape is not None
            else Emission(None, ())
            for channel, (shape, count) in self._most.items()
        }


def follow_emitting(
    trace: Trace, call: Callable[[Emitting], tuple[Any, ...]], width: int
) -> tuple[Traced, dict[Any, Emission]]:
    """The trace of ``call``, which is given a collector and returns ``width`` values, and of what it
    emits. It is followed once to learn how much that is."""
    emissions = Emissions()

    def noted() -> tuple[Any, ...]:
        out = Emitting(trace)
        returned = call(out)
        emissions.note(trace, out)
        return returned

    def filled() -> tuple[Any, ...]:
        out = Emitting(trace)
        return *call(out), *emissions.filled(trace, out)

    trace.follow_all(noted)
    traced = trace.follow_all(filled)
    return traced, emissions.emitted(iter(traced.columns[width:]))


def parts_of_value(trace: Trace, shape: Shape, value: Any) -> list[Any]:
    """The parts of a value of ``shape``; for None, as many times None."""
    if value is None and shape.width != 1:
        return [None] * shape.width
    return [Symbol(trace, expression) for expression in taken_apart(trace, value, lists=True)[1]]


class Emitted(NamedTuple):
    """The results of elements, in the order of the elements."""

    results: RowColumns | None
    positions: Positions
    """For each result the position of the element that emits it."""


class EmittedColumns:
    """Gathers the results of elements, part by part."""

    def __init__(self) -> None:
        self._parts: list[tuple[Positions, list[pa.Array]]] = []
        self.shape: Shape | None = None
        """None as long as nothing is emitted."""

    def add(
        self, emission: Emission, run: Run, batch: pa.RecordBatch, positions: Positions
    ) -> None:
        """Add what the elements at ``positions``, whose rows are ``run`` and ``batch``, emit."""
        for condition, *columns in emission.slots:
            part, mask = elements_where(run, condition)
            if not part.count:
                continue
            chosen = batch if mask is None else batch.filter(pa.array(mask))
            made = [plain(column_of_run(part, chosen, column)) for column in columns]
            self._parts.append((positions if mask is None else positions[mask], made))
            self.shape = emission.shape

    def extend(self, other: EmittedColumns) -> None:
        self._parts += other._parts
        self.shape = self.shape or other.shape

    def joined(self) -> Emitted:
        """All results, in the order of the elements."""
        if not self._parts:
            return Emitted(None, np.zeros(0, dtype=np.intp))
        assert self.shape is not None
        positions, columns = self._parts[0]
        if len(self._parts) > 1:
            positions = np.concatenate([positions for positions, _ in self._parts])
            order = np.argsort(positions, kind="stable")
            indices, positions = pa.array(order), positions[order]
            parts = zip(*(made for _, made in self._parts))
            columns = [pa.concat_arrays(column).take(indices) for column in parts]
        names = list(self.shape.columnNames)
        results = RowColumns(pa.RecordBatch.from_arrays(columns, names), self.shape)
        return Emitted(results, positions)


def emitted_columns(
    emissions: Mapping[K, Emission],
    run: Run,
    batch: pa.RecordBatch,
    positions: Positions,
) -> dict[K, EmittedColumns]:
    """What the elements at ``positions``, whose rows are ``run`` and ``batch``, emit."""
    emitted = {channel: EmittedColumns() for channel in emissions}
    for channel, emission in emissions.items():
        emitted[channel].add(emission, run, batch, positions)
    return emitted


def elements_where(run: Run, condition: Expression) -> tuple[Run, Mask | None]:
    """The elements for which a condition is true, and their mask; None: all."""
    if isinstance(condition, Constant) and condition.value is True:
        return run, None
    mask = run.mask(condition)
    return (run, None) if mask.all() else (run.where(mask), mask)
