"""The interface of state backends: the keyed state and timers of one operator in one key group.

There are two implementations: the heap backend (harness, savepoint reader) and the paged backend
(Spark, local execution). They behave alike except for two orders: that of timers with equal
timestamps (``TimerQueue``), and that of the entries of a big map (``MapStateTable.items``).

Each entry has a key and a *namespace*, which separates several entries of one key. The window
operator uses the window as the namespace, so that each window of a key has its own contents; None
is the void namespace, for state that belongs to the key alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa

from flinkish.api.errors import IncompatibleCheckpointError
from flinkish.api.plan.state_form import goes_on
from flinkish.api.stored_names import stored_as
from flinkish.runtime.records.records import Hashes

Block: TypeAlias = dict[Any, Any]
"""Entries that are found together: value by key, or by (key, namespace)."""


class StoredBlock(Block):
    """A block that notes in ``touched`` the names of the entries that may have changed."""

    __slots__ = ("touched",)

    def __init__(self) -> None:
        super().__init__()
        self.touched: dict[Any, None] = {}
        """The names of the entries that may have changed."""


class StateTable(ABC):
    """The entries (key, namespace) -> value of one state (Flink: ``StateTable``). A value that was
    changed in place must be ``put`` again, or the change may be lost. An object that is put under
    two keys may be one object or two in the next batch."""

    __slots__ = ()

    @property
    @abstractmethod
    def void(self) -> Mapping[Any, StoredBlock] | None:
        """The block of any key in the void namespace, for callers that cannot afford a call for
        each look-up; None if the table has no blocks."""

    def find(self, keys: Sequence[Any], hashes: Hashes, named: bool = False) -> None:
        """Find the blocks of ``keys``, which have the hashes ``hashes``, at once, if the table has
        blocks. ``named``: those of other namespaces than the void one."""

    @abstractmethod
    def get(self, key: Any, namespace: Any, default: Any = None) -> Any:
        """The value, or ``default``."""

    @abstractmethod
    def put(self, key: Any, namespace: Any, value: Any) -> None:
        """Set the value."""

    @abstractmethod
    def remove(self, key: Any, namespace: Any) -> None:
        """Remove the entry, if there is one."""

    @abstractmethod
    def entries(self) -> Iterator[tuple[Any, Any, Any]]:
        """All (key, namespace, value); the table must not be changed during the iteration."""

    @abstractmethod
    def __len__(self) -> int:
        """The number of entries."""


class MapStateTable(ABC):
    """The maps (key, namespace) -> {map key -> value} of one map state. The entries of a map are
    read and written one by one; a map without entries does not exist."""

    __slots__ = ()

    @abstractmethod
    def get(self, key: Any, namespace: Any, mapKey: Any, default: Any = None) -> Any:
        """The value under ``mapKey``, or ``default``."""

    @abstractmethod
    def put(self, key: Any, namespace: Any, mapKey: Any, value: Any) -> None:
        """Set the value under ``mapKey``."""

    @abstractmethod
    def remove(self, key: Any, namespace: Any, mapKey: Any) -> None:
        """Remove the entry of ``mapKey``, if there is one."""

    @abstractmethod
    def items(self, key: Any, namespace: Any) -> Iterator[tuple[Any, Any]]:
        """The entries of the map, which may be changed during the iteration. They come in the order
        in which they were first put, or in any order if the map is too big for a page."""

    @abstractmethod
    def isEmpty(self, key: Any, namespace: Any) -> bool:
        """Whether the map has no entries."""

    @abstractmethod
    def clear(self, key: Any, namespace: Any) -> None:
        """Remove the whole map."""

    @abstractmethod
    def maps(self) -> Iterator[tuple[Any, Any]]:
        """The (key, namespace) of every map that has entries."""

    @abstractmethod
    def __len__(self) -> int:
        """The number of maps with entries."""


class WindowTable(ABC):
    """The contents of aligned windows: window -> {key -> value}. All keys share their windows, so a
    window is read, fired and removed as a whole. Its keys are divided into blocks by their
    hashes."""

    __slots__ = ()

    @abstractmethod
    def blocks(
        self, window: Any, keys: Sequence[Any], hashes: Hashes
    ) -> tuple[Sequence[Block], Sequence[int]]:
        """The blocks of ``window`` with ``keys``, which have the hashes ``hashes``, and the index
        of each key's block. Changes to the entries of these keys are stored. A block is valid until
        the table is next used."""

    @abstractmethod
    def windows(self) -> list[Any]:
        """The windows that have entries."""

    @abstractmethod
    def items(self, window: Any) -> Iterator[tuple[Any, Any]]:
        """All (key, value) of ``window``; they must not be changed during the iteration."""

    @abstractmethod
    def remove(self, window: Any) -> None:
        """Remove ``window`` with all its entries."""

    @abstractmethod
    def size(self, window: Any) -> int:
        """The number of keys of ``window``."""

    def __len__(self) -> int:
        return sum(map(self.size, self.windows()))


ColumnMerge = Callable[[Sequence[pa.RecordBatch], bool], Sequence[pa.RecordBatch] | None]
"""``merge(runs, whole)``: runs of a window merged in their order into one run, or one of each kind;
None if they have to stay apart. ``whole``: the first of ``runs`` is the window's first run."""


def kind_of_run(schema: pa.Schema) -> bytes:
    """A digest of a schema with its metadata, which distinguishes runs with other columns."""
    return blake2b(schema.serialize(), digest_size=8).digest()


class ColumnTable(ABC):
    """The contents of aligned windows as columns: window -> runs of rows, in the order of their
    arrival. Appending writes only the new rows, however many a window has."""

    __slots__ = ()

    @abstractmethod
    def mergeBy(self, merge: ColumnMerge) -> None:
        """Use ``merge`` to merge runs when that is worth reading and writing them again."""

    @abstractmethod
    def append(self, window: Any, run: pa.RecordBatch) -> None:
        """Append ``run``, which must not be empty."""

    @abstractmethod
    def windows(self) -> list[Any]:
        """The windows that have rows."""

    @abstractmethod
    def runs(self, window: Any) -> list[pa.RecordBatch]:
        """All runs of ``window``."""

    @abstractmethod
    def kinds(self, window: Any) -> set[bytes]:
        """The kinds of the runs of ``window``, without reading them."""

    @abstractmethod
    def remove(self, window: Any) -> None:
        """Remove ``window`` with all its rows."""

    @abstractmethod
    def size(self, window: Any) -> int:
        """The number of rows of ``window`` in all runs; a key may have a row in several of them."""

    def __contains__(self, window: Any) -> bool:
        return self.size(window) > 0

    def __len__(self) -> int:
        return sum(map(self.size, self.windows()))


class KeyedColumnTable(ABC):
    """Rows of columns that are found by the hash of their key, or by the time at which they are
    due.

    The first two columns of a row are its ``hash`` (unsigned, 32 bits) and the time when it is
    ``due`` (ms, 64 bits). Rows have to be *opened* before they are read or replaced; others may be
    opened with them.
    """

    __slots__ = ()

    @abstractmethod
    def open(self, hashes: Hashes) -> None:
        """Open the rows whose hash is one of ``hashes``."""

    @abstractmethod
    def openDue(self, until: int) -> None:
        """Open the rows that are due at or before ``until``."""

    @abstractmethod
    def rows(self) -> list[pa.RecordBatch]:
        """The opened rows, a batch for each schema: usually one, unless a function has changed."""

    @abstractmethod
    def replace(self, rows: Sequence[pa.RecordBatch]) -> None:
        """Replace the opened rows with ``rows``. All their hashes must be open."""

    @abstractmethod
    def nextDue(self) -> int | None:
        """The time at which the first row is due; None if there are none."""

    @abstractmethod
    def __len__(self) -> int:
        """The number of rows."""


HASH, DUE = 0, 1
"""The columns that a ``KeyedColumnTable`` reads itself."""


def first_due(rows: pa.RecordBatch) -> int:
    """The time at which the first of ``rows``, which must not be empty, is due."""
    return int(rows.column(DUE).to_numpy().min())


@stored_as("Timer")
class Timer(NamedTuple):
    """A timer; ``timestamp`` is in ms (Flink: ``InternalTimer``)."""

    timestamp: int
    key: Any
    namespace: Any


class TimerQueue(ABC):
    """The pending timers of one operator in one time domain: a set, ordered by timestamp. Timers
    with equal timestamps fire in the order of Flink's heap state (heap backend), or in the order of
    their registration (paged backend)."""

    __slots__ = ()

    @abstractmethod
    def add(self, timestamp: int, key: Any, namespace: Any) -> None:
        """Register a timer; does nothing if it is registered already."""

    @abstractmethod
    def remove(self, timestamp: int, key: Any, namespace: Any) -> None:
        """Delete a timer; does nothing if it is not registered."""

    @abstractmethod
    def pollDue(self, until: int) -> Timer | None:
        """Remove and return the first timer at or before ``until``; None if there is none. Called
        again after each callback, which may have registered and deleted timers."""

    @abstractmethod
    def nextTimestamp(self) -> int | None:
        """A lower bound of all timestamps; None if there are no timers."""

    @abstractmethod
    def __len__(self) -> int:
        """The number of pending timers."""


class NotedState(NamedTuple):
    """A checkpoint's record of a state that a user function uses."""

    name: str
    kind: str
    """``ValueState``, ``MapState`` and so on."""
    type: str
    """The type of the values; empty if it was not given."""


EXPIRES = " that expires"
"""Earlier versions noted this behind the kind of a state with a time to live."""


class KeyedStateBackend(ABC):
    """All keyed state and timers of one operator in one key group (Flink: ``KeyedStateBackend``).
    An operator asks for its tables and queues by name once, when it is opened. They stay the same
    objects while the backend moves from key group to key group."""

    def __init__(self) -> None:
        self.currentKey: Any = None
        """The key under which user-facing states read and write."""
        self.earlierStates: Collection[NotedState] = ()
        """The states in the checkpoint from which the job was started."""
        self.states: dict[NotedState, None] = {}
        """The states that user functions use."""
        self.whenLoaded: list[Callable[[], None]] = []
        """Called when the backend has moved to a key group."""

    def note(self, state: NotedState) -> None:
        """Note that a user function uses ``state``. Raises IncompatibleCheckpointError if the state
        had another kind in the checkpoint, or a type whose values do not fit the new one."""
        earlier = [noted for noted in self.earlierStates if noted.name == state.name]
        kinds = [noted.kind.removesuffix(EXPIRES) for noted in earlier]
        if earlier and state.kind not in kinds:
            raise IncompatibleCheckpointError(
                f"the state {state.name!r} was a {kinds[0]} in the checkpoint and is a"
                f" {state.kind} now: one cannot be read as the other. Give the new state another"
                " name, or begin anew with another checkpoint directory."
            )
        if earlier and not any(goes_on(noted.type, state.type) for noted in earlier):
            raise IncompatibleCheckpointError(
                f"the state {state.name!r} has values of the type {earlier[0].type} in the checkpoint, and"
                f" is to have values of the type {state.type} now. Integers may become Float or Double; for"
                " other changes give the new state another name, read the old one in the function"
                " and write its values to the new one."
            )
        self.states |= {noted: None for noted in earlier if noted.kind.endswith(EXPIRES)}
        self.states[state] = None

    def noted(self) -> tuple[tuple[str, str, str], ...]:
        """The states that user functions use, as plain tuples."""
        return tuple((state.name, state.kind, state.type) for state in self.states)

    @abstractmethod
    def table(self, name: str) -> StateTable:
        """The table called ``name``, created if there is none."""

    @abstractmethod
    def mapTable(self, name: str) -> MapStateTable:
        """The map table called ``name``, created if there is none."""

    @abstractmethod
    def windowTable(self, name: str) -> WindowTable:
        """The window table called ``name``, created if there is none."""

    @abstractmethod
    def columnTable(self, name: str) -> ColumnTable:
        """The column table called ``name``, created if there is none."""

    @abstractmethod
    def keyedColumnTable(self, name: str) -> KeyedColumnTable:
        """The keyed column table called ``name``, created if there is none."""

    @abstractmethod
    def timerQueue(self, name: str) -> TimerQueue:
        """The timer queue called ``name``, created if there is none."""

    @abstractmethod
    def names(self) -> list[str]:
        """The names of all tables and timer queues that have entries, or had some when loaded."""

    @abstractmethod
    def numEntries(self) -> int:
        """The number of entries of all tables together; a map counts as one."""
