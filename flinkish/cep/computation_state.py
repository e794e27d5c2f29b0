"""``ComputationState``: the position of a partial match in the NFA, and its version number; and the
queue of those of a key."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from flinkish.api.time.elements import MAX_TIMESTAMP
from flinkish.cep.after_match import EventId

Version: TypeAlias = tuple[int, ...]
"""A Dewey number: one digit for each event of the match, to distinguish branches (Flink:
``DeweyNumber``)."""

NodeId: TypeAlias = tuple[EventId, str]
"""An event in the shared buffer, accepted by the stage of that name."""

LAST: EventId = (MAX_TIMESTAMP, 2**31 - 1)
"""Orders states without an event after all others."""

NO_TIME = -1
"""The times of a match that has no event, as in Flink."""


class ComputationState(NamedTuple):
    """A partial match (Flink: the class of this name). It is stored as a plain tuple.

    ``state`` is the name of the state that the match waits in, ``node`` the event that it accepted
    last. ``started`` is its first event; ``startTimestamp`` and ``previousTimestamp`` are the
    timestamps of its first and last event, in ms.
    """

    state: str
    node: NodeId | None
    version: Version
    started: EventId | None = None
    startTimestamp: int = NO_TIME
    previousTimestamp: int = NO_TIME

    @property
    def order(self) -> EventId:
        """The key by which partial matches are sorted."""
        return self.started or LAST


def increased(version: Version, by: int) -> Version:
    """``version`` with its last digit raised.

    >>> increased((1, 0), 2)
    (1, 2)
    """
    return (*version[:-1], version[-1] + by)


def compatible(version: Version, edge: Version) -> bool:
    """Whether a match with ``version`` may have come along an edge with the version ``edge``: that
    must be a prefix of ``version``, or equal to it except for a last digit that is not higher.

    >>> compatible((1, 0, 2), (1, 0))
    True
    >>> compatible((1, 0), (1, 1))
    False
    """
    length, other = len(version), len(edge)
    if length > other:
        return version[:other] == edge
    return length == other and version[:-1] == edge[:-1] and version[-1] >= edge[-1]


@dataclass(eq=False, slots=True)
class MatchQueue:
    """Computation states by the event that their match began with.

    Flink keeps them in Java's ``PriorityQueue`` and iterates over its array, so that array determines
    in which order the matches of one event are emitted. This is the same binary heap, with the same
    array, even where states are equal.
    """

    heap: list[ComputationState] = field(default_factory=list)

    def __iter__(self) -> Iterator[ComputationState]:
        return iter(self.heap)

    def __len__(self) -> int:
        return len(self.heap)

    def peek(self) -> ComputationState | None:
        return self.heap[0] if self.heap else None

    def add(self, state: ComputationState) -> None:
        heap, order = self.heap, state.order
        position = len(heap)
        heap.append(state)
        while position > 0:
            parent = (position - 1) >> 1
            above = heap[parent]
            if order >= above.order:
                break
            heap[position] = above
            position = parent
        heap[position] = state

    def poll(self) -> ComputationState:
        """Remove and return the first state."""
        heap = self.heap
        first, last = heap[0], heap.pop()
        if heap:
            self._sift_down(0, last)
        return first

    def removeIf(self, unwanted: Callable[[ComputationState], bool]) -> None:
        """Remove the states for which ``unwanted`` is true."""
        kept = [state for state in self.heap if not unwanted(state)]
        if len(kept) == len(self.heap):
            return
        self.heap = kept
        for position in range((len(kept) >> 1) - 1, -1, -1):
            self._sift_down(position, kept[position])

    def _sift_down(self, position: int, state: ComputationState) -> None:
        heap, order = self.heap, state.order
        size = len(heap)
        half = size >> 1
        while position < half:
            child = (position << 1) + 1
            below = heap[child]
            right = child + 1
            if right < size and below.order > heap[right].order:
                child, below = right, heap[right]
            if order <= below.order:
                break
            heap[position] = below
            position = child
        heap[position] = state
