"""``MatchQueue``: computation states by the event that their match began with.

Flink keeps them in Java's ``PriorityQueue`` and iterates over its array, so that array determines
in which order the matches of one event are emitted. This is the same binary heap, with the same
array.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from flinkish.cep.computation_state import ComputationState


class MatchQueue:
    """A binary heap that behaves like ``java.util.PriorityQueue``, even where states are equal."""

    __slots__ = ("heap",)

    def __init__(self, states: Iterable[ComputationState] = ()) -> None:
        self.heap: list[ComputationState] = []
        for state in states:
            self.add(state)

    @staticmethod
    def of(heap: list[ComputationState]) -> MatchQueue:
        """The queue with that heap, such as the first states of another queue's heap."""
        queue = MatchQueue()
        queue.heap = heap
        return queue

    def __iter__(self) -> Iterator[ComputationState]:
        return iter(self.heap)

    def __len__(self) -> int:
        return len(self.heap)

    def peek(self) -> ComputationState | None:
        """The first state, None if there is none."""
        return self.heap[0] if self.heap else None

    def add(self, state: ComputationState) -> None:
        """Add ``state``."""
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
