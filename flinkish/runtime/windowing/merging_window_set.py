"""``MergingWindowSet``: the open windows of a key that merge, and the state window of each."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from flinkish.api.errors import IllegalStateError
from flinkish.api.windowing.assigners import MergeCallback, MergingWindowAssigner, SessionWindows
from flinkish.runtime.state.backend import KeyedStateBackend, StateTable

MergeFunction = Callable[[Any, Sequence[Any], Any, Sequence[Any]], None]
"""``merge(mergeResult, mergedWindows, stateWindowResult, mergedStateWindows)``."""


class MergingWindowSet:
    """The open windows of the current key, each with its *state window* (Flink:
    ``MergingWindowSet``).

    Contents are stored under a window. When a session grows, its window changes with every element;
    moving the contents each time would take time in proportion to the session's length. So they
    stay under the window that the session began with, its state window, and this set maps each open
    window to its state window. The mapping itself is keyed state: ``persist`` writes it back, once for
    all elements of a run.

    With a gap of 10 ms, elements at 0, 25, 7 and 16 make these sessions:

    ==============  ==================  ============  =========================================
    element at      its window          open window   state window
    ==============  ==================  ============  =========================================
    0               [0, 10)             [0, 10)       [0, 10)
    25              [25, 35)            [25, 35)      [25, 35)
    7               [7, 17)             [0, 17)       [0, 10): nothing is moved
    16              [16, 26)            [0, 35)       [0, 10): the contents of [25, 35) are moved
    ==============  ==================  ============  =========================================

    ``addWindow`` returns the open window that holds the new one: elements are added, and triggers
    called, for that window only. ``addWindow`` calls the merge function before it returns, so that
    the operator can merge trigger state, timers and contents.
    """

    __slots__ = (
        "_assigner",
        "_changed",
        "_key",
        "_looked",
        "_mapping",
        "_ordered",
        "_table",
        "isNew",
    )

    def __init__(
        self,
        assigner: MergingWindowAssigner[Any, Any],
        table: StateTable,
        backend: KeyedStateBackend,
    ) -> None:
        self._assigner = assigner
        self._table = table
        self._key = backend.currentKey
        self._mapping: dict[Any, Any] = dict(table.get(self._key, None, ()))
        self._changed = False
        self.isNew = False
        """Whether the last ``addWindow`` returned a window that was not open before."""
        self._ordered: list[Any] | None = None
        """The open windows in their order, once one is added, if they are sessions that do not touch one
        another."""
        self._looked = type(assigner).mergeWindows is not SessionWindows.mergeWindows
        """Whether ``_ordered`` has been looked for."""

    def persist(self) -> None:
        """Write the mapping back to keyed state if it has changed."""
        if not self._changed:
            return
        self._changed = False
        if self._mapping:
            self._table.put(self._key, None, tuple(self._mapping.items()))
        else:
            self._table.remove(self._key, None)

    def getStateWindow(self, window: Any) -> Any:
        """The window under which the contents of ``window`` are stored; None if it is not open."""
        return self._mapping.get(window)

    def windowOf(self, state_window: Any) -> Any:
        """The open window whose state window is ``state_window``; None if there is none."""
        return next((open_ for open_, at in self._mapping.items() if at == state_window), None)

    def retireWindow(self, window: Any) -> None:
        """Remove ``window``, ended or late; raises IllegalStateError if it is not open."""
        if self._pop(window) is None:
            raise IllegalStateError(
                f"the window {window} is not among the open windows of its key."
            )

    def addWindow(self, newWindow: Any, mergeFunction: MergeFunction) -> Any:
        """Add a window, merge it with the open windows as the assigner says, and return the open
        window that now holds it.

        ``mergeFunction`` is called for each merge that changes an open window. Its merged windows
        do not include ``newWindow``, which has no state yet, and its merged state windows do not
        include the one that is kept.
        """
        self.isNew = False
        if not self._looked:
            self._looked = True
            self._ordered = _in_order(self._mapping)
        if self._ordered is None or _wraps(newWindow):
            self._ordered = None
            return self._add_window([*self._mapping, newWindow], mergeFunction)
        touching = _touching(self._ordered, newWindow)
        if not touching:
            self._set(newWindow, newWindow)
            return newWindow
        if len(touching) == 1 and touching[0] != newWindow:
            return self._extend(touching[0], newWindow, mergeFunction)
        return self._add_window([*touching, newWindow], mergeFunction)

    def _extend(self, window: Any, newWindow: Any, mergeFunction: MergeFunction) -> Any:
        """``_add_window`` for a session that touches just one open session."""
        cover = window.cover(newWindow)
        if cover != window:
            state_window = self._pop(window)
            self._set(cover, state_window)
            mergeFunction(cover, [window], state_window, ())
        return cover

    def _add_window(self, windows: Sequence[Any], mergeFunction: MergeFunction) -> Any:
        """``addWindow`` for the last of ``windows``, which include all that it may be merged with."""
        merges, newWindow, before = Merges(), windows[-1], set(windows[:-1])
        self._assigner.mergeWindows(windows, merges)
        result = newWindow
        merged_new = False
        for merge_result, merged in merges.found.items():
            if newWindow in merged:
                merged.remove(newWindow)
                merged_new = True
                result = merge_result
            # Any merged window may lend its state window; the new one has no state
            kept_state_window = self._mapping.get(merged[0])
            state_windows = [
                state_window for window in merged if (state_window := self._pop(window)) is not None
            ]
            self._set(merge_result, kept_state_window)
            if kept_state_window in state_windows:
                state_windows.remove(kept_state_window)
            if merged != [merge_result]:
                mergeFunction(merge_result, merged, kept_state_window, state_windows)
        if not merges.found or (result == newWindow and not merged_new):
            self._set(result, result)
        self.isNew = result not in before
        return result

    def _set(self, window: Any, state_window: Any) -> None:
        self.isNew = window not in self._mapping
        self._mapping[window] = state_window
        self._changed = True
        if self.isNew and self._ordered is not None:
            insort(self._ordered, window)

    def _pop(self, window: Any) -> Any:
        """Remove ``window``. Returns its state window; None, with nothing done, if it is not open."""
        state_window = self._mapping.pop(window, None)
        if state_window is not None:
            self._changed = True
            if self._ordered is not None:
                del self._ordered[bisect_left(self._ordered, window)]
        return state_window


def _wraps(window: Any) -> bool:
    """Whether the end has passed the largest timestamp, as Java's sums do."""
    return bool(window.end < window.start)


def _in_order(sessions: Iterable[Any]) -> list[Any] | None:
    """``sessions`` in their order; None if any of them touch one another."""
    ordered = sorted(sessions)
    touch = any(one.intersects(other) for one, other in pairwise(ordered))
    return None if touch or any(map(_wraps, ordered)) else ordered


def _touching(ordered: Sequence[Any], window: Any) -> Sequence[Any]:
    """Those of ``ordered``, sessions that do not touch one another, which touch ``window``."""
    first = bisect_left(ordered, window)
    if first and ordered[first - 1].end >= window.start:
        first -= 1
    last = first
    while last < len(ordered) and ordered[last].start <= window.end:
        last += 1
    return ordered[first:last]


@dataclass(eq=False, repr=False, slots=True)
class Merges(MergeCallback[Any]):
    """Collects the merges that the assigner reports."""

    found: dict[Any, list[Any]] = field(default_factory=dict)

    def merge(self, toBeMerged: Iterable[Any], mergeResult: Any) -> None:
        self.found[mergeResult] = list(toBeMerged)
