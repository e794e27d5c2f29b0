"""Answers the queries of a ``SavepointReader`` from the rows of a savepoint.

Most queries read the rows one by one. Reader functions and windows need all states of a key
together, so the states of a key group are put into a heap backend, in the way its task would have
them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any, ClassVar

from flinkish.api.errors import IllegalArgumentError, IncompatibleCheckpointError, NotSupportedError
from flinkish.api.functions.adapt import reduce_call, results_of
from flinkish.api.functions.functions import AggregateFunction, Collector
from flinkish.api.functions.process import TimeDomain
from flinkish.api.functions.runtime_context import KeyedStateStore, TaskInfo
from flinkish.api.functions.state import ListState, MapState, StateDescriptor, ValueState
from flinkish.api.savepoint.functions import KeyedStateReaderContext, WindowReaderContext
from flinkish.api.savepoint.queries import (
    KeyedFunctionQuery,
    KeyedStateQuery,
    OperatorStateQuery,
    StateQuery,
    TimersQuery,
    WindowStateQuery,
)
from flinkish.api.time.elements import MAX_TIMESTAMP
from flinkish.api.windowing.evictors import TimestampedValue
from flinkish.runtime.closing import closed_on_error
from flinkish.runtime.columns.element_lists import ElementLists
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
from flinkish.runtime.operators.base import OperatorContext
from flinkish.runtime.operators.keyed import KeyedOperator
from flinkish.runtime.operators.output import Output
from flinkish.runtime.operators.timers import EVENT_TIMERS, PROCESSING_TIMERS
from flinkish.runtime.records.rows import python_values
from flinkish.runtime.savepoint.capture import BROADCAST
from flinkish.runtime.savepoint.redistribution import restore_keyed
from flinkish.runtime.savepoint.saved_state import (
    KEYED,
    MAPS,
    OPERATOR,
    TIMERS,
    VALUES,
    SavedState,
    decoded,
)
from flinkish.runtime.state.accumulation import added, reduced
from flinkish.runtime.state.backend import (
    ColumnTable,
    KeyedColumnTable,
    KeyedStateBackend,
    NotedState,
)
from flinkish.runtime.state.heap import HeapKeyedStateBackend
from flinkish.runtime.state.keyed_states import KeyedStates
from flinkish.runtime.state.ttl import is_table_of
from flinkish.runtime.time.clock import ProcessingTimeService
from flinkish.runtime.windowing.pane_elements import PaneElements
from flinkish.runtime.windowing.window_contents import MERGING_SETS, TABLE, element_fold, part_join

_DOMAINS = {
    EVENT_TIMERS: TimeDomain.EVENT_TIME.name,
    PROCESSING_TIMERS: TimeDomain.PROCESSING_TIME.name,
}
"""The time domain by the name of a timer queue. Other queues are flinkish's own."""

_Timers = dict[tuple[str, Any, Any], set[int]]
"""The timestamps of a key group's timers, by queue, key and namespace."""


@dataclass
class StateReading(ABC):
    """Reads the state of one operator. ``noted`` are the operator's states, as the savepoint's
    metadata lists them. Whether state with a time to live has expired is decided at the time
    ``now`` (ms)."""

    grouped: ClassVar[bool] = False
    """Whether ``rows`` must be called with rows in the order of their key groups."""

    query: Any
    name: str
    noted: Iterable[tuple[str, str, str]]
    now: int

    def wants(self, saved: SavedState) -> bool:
        """Whether the query needs the row ``saved``."""
        return saved.operator == self.query.uid and self._wants(saved.table, saved.state)

    @abstractmethod
    def _wants(self, table: str, state: str) -> bool:
        """Whether the query needs the operator's rows of this kind and name of state."""

    @abstractmethod
    def rows(self, states: Iterable[SavedState]) -> Iterator[Any]:
        """The answer from ``states``: tuples of the query's columns, or emitted values."""

    def _operator(self) -> StateReadingOperator:
        backend = HeapKeyedStateBackend()
        backend.earlierStates = [NotedState(*state) for state in self.noted]
        clock = ProcessingTimeService(self.now)
        uid, name = self.query.uid, self.name
        context = OperatorContext(uid, name, backend, clock, Output(), TaskInfo(name))
        return StateReadingOperator(context)


def state_reading(
    query: StateQuery, name: str, noted: Iterable[tuple[str, str, str]], now: int
) -> StateReading:
    """The reader that answers ``query``. ``name`` is the operator's name, for errors."""
    kind = next(kind for query_type, kind in _READINGS.items() if isinstance(query, query_type))
    return kind(query, name, noted, now)


class StateReadingOperator(KeyedOperator):
    """An operator in place of the one that is read: functions see its state, no elements."""


class _KeyedStateReading(StateReading):
    query: KeyedStateQuery

    def _wants(self, table: str, state: str) -> bool:
        return table in (VALUES, MAPS) and is_table_of(self.query.descriptor.name, state)

    def rows(self, states: Iterable[SavedState]) -> Iterator[Any]:
        for saved in states:
            operator = self._operator()
            state = operator.states.of(self.query.descriptor)
            backend = operator.backend
            restore_keyed(backend, saved.operator, saved.content)
            operator.states.settle()
            for key in state.keysIn(None):
                backend.currentKey = key
                value = _read(state)
                if value is not None:
                    yield key, value


def _read(state: Any) -> Any:
    """The value of a state for the current key; None if it has expired."""
    if isinstance(state, MapState):
        return dict(state.entries()) or None
    if isinstance(state, ListState):
        return list(state.get()) or None
    return state.value() if isinstance(state, ValueState) else state.get()


class _TimersReading(StateReading):
    query: TimersQuery

    def _wants(self, table: str, state: str) -> bool:
        return table == TIMERS and state in _DOMAINS

    def rows(self, states: Iterable[SavedState]) -> Iterator[Any]:
        for saved in states:
            domain = _DOMAINS[saved.state]
            for key, namespace, timestamp in _entries(saved):
                yield key, timestamp, domain, None if namespace is None else str(namespace)


class _OperatorStateReading(StateReading):
    query: OperatorStateQuery

    def _wants(self, table: str, state: str) -> bool:
        return table == OPERATOR

    def rows(self, states: Iterable[SavedState]) -> Iterator[Any]:
        name, mode = self.query.descriptor.name, self.query.mode
        for saved in states:
            (snapshot,) = decoded(saved.operator, saved.table, saved.state, saved.content)
            if mode == BROADCAST:
                yield from snapshot.get(BROADCAST, {}).get(name, {}).items()
                continue
            for function in snapshot.get("functions") or ():
                kept, values = function["lists"].get(name, (mode, ()))
                if kept != mode:
                    raise IncompatibleCheckpointError(
                        f"{self.name}: the state {name!r} is a {kept} and not a {mode}. Read it with"
                        f" {'readListState' if kept == 'list' else 'readUnionState'}."
                    )
                for value in values:
                    yield (value,)


# ---------------------------------------------------------------------- all states of a key


class _GroupReading(StateReading):
    """Reads one key group at a time, with all its state."""

    grouped = True

    def _wants(self, table: str, state: str) -> bool:
        return table in KEYED

    def rows(self, states: Iterable[SavedState]) -> Iterator[Any]:
        for _, members in groupby(states, key=lambda saved: saved.keyGroup):
            yield from self._rows_of_group(members)

    def _rows_of_group(self, states: Iterable[SavedState]) -> Iterator[Any]:
        operator = self._operator()
        timers: _Timers = defaultdict(set)
        for saved in states:
            if saved.table == TIMERS:
                for key, namespace, timestamp in _entries(saved):
                    timers[saved.state, key, namespace].add(timestamp)
            else:
                restore_keyed(operator.backend, saved.operator, saved.content)
        with closed_on_error(operator):
            yield from self._answers(operator, timers)
        operator.close()

    def _answers(self, operator: StateReadingOperator, timers: _Timers) -> Iterator[Any]:
        raise NotImplementedError


class _KeyedFunctionReading(_GroupReading):
    """Calls a reader function for every key."""

    query: KeyedFunctionQuery

    def _rows_of_group(self, states: Iterable[SavedState]) -> Iterator[Any]:
        kept = list(states)
        self._keys = dict.fromkeys(key for saved in kept for key in _keys_of(saved))
        return super()._rows_of_group(kept)

    def _answers(self, operator: StateReadingOperator, timers: _Timers) -> Iterator[Any]:
        function = self.query.function
        operator.openFunction(function)
        context = _KeyContext(operator, timers)
        for key in self._keys:
            operator.backend.currentKey = key
            yield from _collected(operator, key, partial(function.readKey, key, context))


class _WindowReading(_GroupReading):
    """Reads open windows, with a function or without one."""

    query: WindowStateQuery

    def _answers(self, operator: StateReadingOperator, timers: _Timers) -> Iterator[Any]:
        function = self.query.function
        windows = saved_windows(operator.backend, self.query.aggregation, self.name)
        if function is None:
            for key, window, elements in windows:
                bounds = getattr(window, "start", None), getattr(window, "end", None)
                values = list(elements)
                yield key, *bounds, values if self.query.aggregation is None else values[0]
            return
        operator.openFunction(function)
        context = _WindowContext(operator, timers)
        for key, window, elements in windows:
            operator.backend.currentKey = key
            context.window = context.states.namespace = window
            call = partial(function.readWindow, key, context, elements)
            yield from _collected(operator, key, call)


_READINGS: dict[type[StateQuery], type[StateReading]] = {
    KeyedStateQuery: _KeyedStateReading,
    KeyedFunctionQuery: _KeyedFunctionReading,
    WindowStateQuery: _WindowReading,
    TimersQuery: _TimersReading,
    OperatorStateQuery: _OperatorStateReading,
}


class _TimersOfKey:
    """The timers of the current key, in the namespace ``window``."""

    def __init__(self, operator: StateReadingOperator, timers: _Timers) -> None:
        self._operator = operator
        self._timers = timers
        self.window: Any = None

    def registeredEventTimeTimers(self) -> set[int]:
        return self._of(EVENT_TIMERS)

    def registeredProcessingTimeTimers(self) -> set[int]:
        return self._of(PROCESSING_TIMERS)

    def _of(self, queue: str) -> set[int]:
        key = self._operator.backend.currentKey
        return set(self._timers.get((queue, key, self.window), ()))


class _KeyContext(_TimersOfKey, KeyedStateReaderContext):
    pass


class _WindowContext(_TimersOfKey, WindowReaderContext[Any]):
    def __init__(self, operator: StateReadingOperator, timers: _Timers) -> None:
        super().__init__(operator, timers)
        self.states = KeyedStates(operator.backend, operator.clock, ofWindows=True)

    def getWindow(self) -> Any:
        return self.window

    def triggerState(self, descriptor: StateDescriptor[Any]) -> Any:
        return self.states.of(descriptor)

    def windowState(self) -> KeyedStateStore:
        return self.states

    def globalState(self) -> KeyedStateStore:
        return self._operator.states


class _ListCollector(Collector[Any]):
    __slots__ = ("values",)

    def __init__(self) -> None:
        self.values: list[Any] = []

    def collect(self, value: Any) -> None:
        self.values.append(value)


def _collected(
    operator: StateReadingOperator, key: Any, call: Callable[[Collector[Any]], Any]
) -> Sequence[Any]:
    """The values a reader function emits for ``key``. An error names the operator and key."""
    out = _ListCollector()
    with operator.userCode(key):
        out.values.extend(results_of(call(out), "the reader function"))
    return out.values


def _keys_of(saved: SavedState) -> Iterator[Any]:
    """The keys that have state or a timer in a row, outside windows."""
    if saved.table in (VALUES, MAPS, TIMERS):
        for key, namespace, _ in _entries(saved):
            if namespace is None:
                yield key


def _entries(saved: SavedState) -> Iterator[tuple[Any, Any, Any]]:
    sections: list[Any] = decoded(saved.operator, saved.table, saved.state, saved.content)
    return zip(*sections)


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
        if isinstance(kept, PaneElements):
            kept = list(kept)
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
                listed = OpenSessions(rows, ElementLists())
                of_elements = ElementLists.hasMade(listed.accumulators)
                sessions = listed if of_elements else OpenSessions(rows, self._known_fold())
                yield from sessions.singly()

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
