"""Reads a key group's open windows, in any form in which operators keep them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from flinkish.api.errors import IllegalArgumentError, NotSupportedError
from flinkish.api.functions.adapt import reduce_call
from flinkish.api.functions.functions import AggregateFunction
from flinkish.api.time.elements import MAX_TIMESTAMP
from flinkish.api.windowing.evictors import TimestampedValue
from flinkish.runtime.columns.element_runs import (
    are_elements,
    are_tagged,
    elements_of,
    key_column,
    singly,
)
from flinkish.runtime.columns.open_sessions import OpenSession, OpenSessions
from flinkish.runtime.columns.panes import accumulators_of
from flinkish.runtime.columns.tracing.column_fold import ColumnFold
from flinkish.runtime.records.rows import python_values
from flinkish.runtime.state.accumulation import added, reduced
from flinkish.runtime.state.backend import ColumnTable, KeyedColumnTable, KeyedStateBackend
from flinkish.runtime.windowing.window_contents import MERGING_SETS, TABLE, element_fold, part_join

SavedWindow = tuple[Any, Any, Sequence[Any]]
"""A key, a window, and the values that a window function would get."""


def saved_windows(
    backend: KeyedStateBackend, aggregation: Any, operator: str
) -> Iterator[SavedWindow]:
    """The open windows in ``backend``, whose operator folds elements with ``aggregation`` (None: it
    keeps all elements). Raises IllegalArgumentError if ``aggregation`` is None but the operator
    folds."""
    contents = _Contents(aggregation, operator)
    actual = {
        (key, state_window): window
        for key, _, mapping in backend.table(MERGING_SETS).entries()
        for window, state_window in mapping
    }
    for key, namespace, kept in backend.table(TABLE).entries():
        if namespace is None:
            raise NotSupportedError(
                f"{operator}: its windows depend on elements to come. Read the state that it keeps"
                f" with readKeyedState(uid, ValueStateDescriptor({TABLE!r}))."
            )
        yield key, actual.get((key, namespace), namespace), contents.values(kept)
    windows = backend.windowTable(TABLE)
    for window in windows.windows():
        for key, kept in windows.items(window):
            if kept is not None:
                yield key, window, contents.values(kept)
    columns = backend.columnTable(TABLE)
    for window in columns.windows():
        for key, kept in contents.ofRuns(columns, window):
            yield key, window, contents.values(kept)
    for session in contents.ofSessions(backend.keyedColumnTable(TABLE)):
        yield session.key, session.window, contents.values(session.accumulator)


class _Contents:
    """Converts the contents of a window to the values that a window function would get."""

    def __init__(self, aggregation: Any, operator: str) -> None:
        self._aggregation = aggregation
        self._operator = operator
        self._fold = None if aggregation is None else ColumnFold(aggregation)
        self._add = _adding(aggregation)

    def values(self, kept: Any) -> Sequence[Any]:
        aggregation = self._aggregation
        if type(kept) is list and kept and isinstance(kept[0], TimestampedValue):
            # With an evictor, the operator keeps all elements
            return element_fold(aggregation)([element.getValue() for element in kept])
        if aggregation is None:
            if type(kept) is not list:
                raise self._refusal()
            return kept
        if isinstance(aggregation, AggregateFunction):
            return (aggregation.getResult(kept),)
        return (kept,)

    def ofRuns(self, table: ColumnTable, window: Any) -> Iterator[tuple[Any, Any]]:
        """The keys of a window that is kept as columns, each with its elements or accumulator."""
        found: dict[Any, Any] = {}
        runs = table.runs(window)
        if runs and are_tagged(runs[0]):
            for key, value in zip(*singly(runs)):
                found[key] = self._add(found.get(key), value)
            return iter(found.items())
        for run in runs:
            if are_elements(run):
                for key, value in zip(
                    python_values(run.column(key_column(run))), elements_of(run).rows()
                ):
                    found[key] = self._add(found.get(key), value)
                continue
            fold, folded = self._known_fold(), accumulators_of(run)
            for key, accumulator in zip(python_values(run.column(0)), fold.accumulators(folded)):
                if key in found:
                    joined = fold.joined(folded.schema, found[key], accumulator)
                    if joined is None:
                        joined = part_join(self._aggregation)(found[key], accumulator)
                    accumulator = joined
                found[key] = accumulator
        return iter(found.items())

    def ofSessions(self, table: KeyedColumnTable) -> Iterator[OpenSession]:
        """The open sessions that are kept as rows."""
        table.openDue(MAX_TIMESTAMP)
        for rows in table.rows():
            if rows.num_rows:
                yield from OpenSessions(rows, self._known_fold()).singly()

    def _known_fold(self) -> ColumnFold:
        if self._fold is None:
            raise self._refusal()
        return self._fold

    def _refusal(self) -> IllegalArgumentError:
        return IllegalArgumentError(
            f"{self._operator}: its windows keep the result of a function, and not their elements."
            " Pass the function of reduce or aggregate: readWindowState(uid, function)."
        )


def _adding(aggregation: Any) -> Callable[[Any, Any], Any]:
    """A function that adds a value to the elements or accumulator kept for a key, None at first."""
    if aggregation is None:
        return _appended
    if isinstance(aggregation, AggregateFunction):
        return lambda kept, value: added(
            aggregation, value, aggregation.createAccumulator() if kept is None else kept
        )
    call = reduce_call(aggregation)
    return lambda kept, value: value if kept is None else reduced(call, kept, value)


def _appended(kept: list[Any] | None, value: Any) -> list[Any]:
    if kept is None:
        return [value]
    kept.append(value)
    return kept
