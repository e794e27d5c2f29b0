"""The keyed state of one operator in one key group: what the operators ask of a state backend.

There are two: the heap backend (harness, tests) and the paged backend (Spark). They give the same
answers but for order: that of timers of one timestamp (``TimerQueue``) and that of the entries of a
big map (``MapStateTable.items``). A *namespace* tells entries of one key apart, most often by window;
None is the void one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from flinkish.api.errors import IncompatibleCheckpointError
from flinkish.api.stored_names import stored_as
from flinkish.runtime.records.elements import Hashes

Page: TypeAlias = dict[Any, Any]


class StateTable(ABC):
    """The entries (key, namespace) -> value of one state (Flink: ``StateTable``).

    A value changed in place counts only once it is ``put`` again.
    """

    __slots__ = ()

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
        """All (key, namespace, value); the table must not be changed meanwhile."""

    @abstractmethod
    def __len__(self) -> int:
        """How many entries there are."""


class MapStateTable(ABC):
    """The maps (key, namespace) -> {map key -> value} of one map state.

    Entries of a map are read and written one by one; a map without entries is not there.
    """

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
        """The entries of the map, which may be changed meanwhile: in the order they were first put, but
        in any order from a map that is too big for a page."""

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
        """How many maps have entries."""


class WindowTable(ABC):
    """The contents of aligned windows: window -> {key -> value}.

    All keys share their windows, so a window is read, fired and dropped as a whole. It comes in
    pages; which page a key is in follows from its hash.
    """

    __slots__ = ()

    @abstractmethod
    def pages(self, window: Any, hashes: Hashes) -> tuple[Sequence[Page], Sequence[int]]:
        """Pages of ``window`` to read and change, and for each hash the index of its page.

        What is changed in them is kept. They are good until the table is next used.
        """

    @abstractmethod
    def windows(self) -> list[Any]:
        """The windows that have entries."""

    @abstractmethod
    def items(self, window: Any) -> Iterator[tuple[Any, Any]]:
        """All (key, value) of ``window``; they must not be changed meanwhile."""

    @abstractmethod
    def remove(self, window: Any) -> None:
        """Drop ``window`` whole."""

    @abstractmethod
    def size(self, window: Any) -> int:
        """How many keys ``window`` has."""

    def __len__(self) -> int:
        """How many entries there are."""
        return sum(map(self.size, self.windows()))


@stored_as("Timer")
class Timer(NamedTuple):
    """A timer (Flink: ``InternalTimer``)."""

    timestamp: int
    key: Any
    namespace: Any


class TimerQueue(ABC):
    """The pending timers of one operator in one time domain, each there once.

    Timers of one timestamp come as they do in Flink's heap state (heap backend), or in the order they
    were registered (paged backend).
    """

    __slots__ = ()

    @abstractmethod
    def add(self, timestamp: int, key: Any, namespace: Any) -> None:
        """Register a timer; one that is there already stays as it is."""

    @abstractmethod
    def remove(self, timestamp: int, key: Any, namespace: Any) -> None:
        """Delete a timer, if it is there."""

    @abstractmethod
    def pollDue(self, until: int) -> Timer | None:
        """Take the first timer at or before ``until``, or None. Asked again after each callback,
        as that may have registered and deleted timers."""

    @abstractmethod
    def nextTimestamp(self) -> int | None:
        """No timer is earlier than this; None if there are none."""

    @abstractmethod
    def __len__(self) -> int:
        """How many timers there are."""


class NotedState(NamedTuple):
    """What a checkpoint notes of a state that a user function has asked for."""

    name: str
    kind: str
    """``ValueState``, ``MapState`` and so on, and whether its entries expire."""
    type: str
    """The type of its values, empty if it was not given."""


class KeyedStateBackend(ABC):
    """All keyed state and timers of one operator in one key group (Flink: the same name).

    Tables and queues are asked for by name once, when the operator opens, and stay the same
    objects while the backend goes from key group to key group.
    """

    def __init__(self) -> None:
        self.currentKey: Any = None
        """The key that user-facing states read and write under."""
        self.earlierStates: Collection[NotedState] = ()
        """The states that there were when the checkpoint was made that the job goes on from."""
        self.states: dict[NotedState, None] = {}
        """The states that user functions have asked for."""

    def note(self, state: NotedState) -> None:
        """A user function asks for ``state``. Raises IncompatibleCheckpointError if it was of another
        kind in the checkpoint."""
        earlier = [noted for noted in self.earlierStates if noted.name == state.name]
        if earlier and all(noted.kind != state.kind for noted in earlier):
            raise IncompatibleCheckpointError(
                f"the state {state.name!r} was a {earlier[0].kind} in the checkpoint and is a"
                f" {state.kind} now: one cannot be read as the other. Give the new state a name of its"
                " own, or begin anew with another checkpoint directory."
            )
        self.states[state] = None

    def noted(self) -> tuple[tuple[str, str, str], ...]:
        """The states that user functions have asked for, as plain tuples."""
        return tuple((state.name, state.kind, state.type) for state in self.states)

    @abstractmethod
    def table(self, name: str) -> StateTable:
        """The table of that name, new if there is none."""

    @abstractmethod
    def mapTable(self, name: str) -> MapStateTable:
        """The map table of that name, new if there is none."""

    @abstractmethod
    def windowTable(self, name: str) -> WindowTable:
        """The window table of that name, new if there is none."""

    @abstractmethod
    def timerQueue(self, name: str) -> TimerQueue:
        """The timer queue of that name, new if there is none."""

    @abstractmethod
    def numEntries(self) -> int:
        """Entries of all tables together; a map counts as one."""
