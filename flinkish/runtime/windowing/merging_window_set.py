"""``MergingWindowSet``: the windows of a key while they merge, and where the contents of each are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from flinkish.api.errors import IllegalStateError
from flinkish.api.windowing.assigners import MergeCallback, MergingWindowAssigner, SessionWindows
from flinkish.runtime.state.backend import KeyedStateBackend, StateTable

MergeFunction = Callable[[Any, Sequence[Any], Any, Sequence[Any]], None]
"""``merge(mergeResult, mergedWindows, stateWindowResult, mergedStateWindows)``."""


class MergingWindowSet:
    """The windows of the current key, each with its *state window* (Flink: the same name).

    The contents of a merged window stay under one of the windows it was made of, so that a merge
    does not move them all.
    """

    __slots__ = ("_assigner", "_backend", "_changed", "_mapping", "_sessions", "_table", "isNew")

    def __init__(
        self,
        assigner: MergingWindowAssigner[Any, Any],
        table: StateTable,
        backend: KeyedStateBackend,
    ) -> None:
        self._assigner = assigner
        self._table = table
        self._backend = backend
        self._mapping: dict[Any, Any] = dict(table.get(backend.currentKey, None, ()))
        self._changed = False
        self.isNew = False
        """Whether ``addWindow`` returned a window last that was not there before."""
        # open sessions are apart from one another, which makes most merges simple
        self._sessions = type(assigner).mergeWindows is SessionWindows.mergeWindows

    def persist(self) -> None:
        """Write back what has changed."""
        if not self._changed:
            return
        self._changed = False
        if self._mapping:
            self._table.put(self._backend.currentKey, None, tuple(self._mapping.items()))
        else:
            self._table.remove(self._backend.currentKey, None)

    def getStateWindow(self, window: Any) -> Any:
        """The window under which the contents of ``window`` are, or None if it is not there."""
        return self._mapping.get(window)

    def windowOf(self, state_window: Any) -> Any:
        """The window whose contents are under ``state_window``, or None if there is none."""
        for window, state_window_of_it in self._mapping.items():
            if state_window_of_it == state_window:
                return window
        return None

    def retireWindow(self, window: Any) -> None:
        """Forget ``window``, which has ended or comes too late."""
        if self._mapping.pop(window, None) is None:
            raise IllegalStateError(
                f"the window {window} is not among the open windows of its key."
            )
        self._changed = True

    def addWindow(self, newWindow: Any, mergeFunction: MergeFunction) -> Any:
        """Add a window, merging it with those there as the assigner says.

        ``mergeFunction`` is called for every merge of windows that have state. Returns the window
        that ``newWindow`` has become part of.
        """
        self.isNew = False
        if self._sessions:
            touching = [window for window in self._mapping if window.intersects(newWindow)]
            if not touching:
                self._set(newWindow, newWindow)
                return newWindow
            if len(touching) == 1 and touching[0] != newWindow:
                return self._extend(touching[0], newWindow, mergeFunction)
        return self._add_window(newWindow, mergeFunction)

    def _extend(self, window: Any, newWindow: Any, mergeFunction: MergeFunction) -> Any:
        """What ``_add_window`` does for sessions if the new one touches just one."""
        cover = window.cover(newWindow)
        if cover != window:
            state_window = self._mapping.pop(window)
            self._set(cover, state_window)
            mergeFunction(cover, [window], state_window, ())
        return cover

    def _add_window(self, newWindow: Any, mergeFunction: MergeFunction) -> Any:
        merges = _Merges()
        self._assigner.mergeWindows([*self._mapping, newWindow], merges)
        result = newWindow
        merged_new = False
        for merge_result, merged in merges.found.items():
            if newWindow in merged:
                merged.remove(newWindow)
                merged_new = True
                result = merge_result
            # any of the merged windows will do; the new one never had any state
            kept_state_window = self._mapping.get(merged[0])
            state_windows = [
                state_window
                for window in merged
                if (state_window := self._mapping.pop(window, None)) is not None
            ]
            self._set(merge_result, kept_state_window)
            if kept_state_window in state_windows:
                state_windows.remove(kept_state_window)
            if merged != [merge_result]:
                mergeFunction(merge_result, merged, kept_state_window, state_windows)
        if not merges.found or (result == newWindow and not merged_new):
            self._set(result, result)
        return result

    def _set(self, window: Any, state_window: Any) -> None:
        self.isNew = window not in self._mapping
        self._mapping[window] = state_window
        self._changed = True


class _Merges(MergeCallback[Any]):
    """Notes what the assigner merges."""

    __slots__ = ("found",)

    def __init__(self) -> None:
        self.found: dict[Any, list[Any]] = {}

    def merge(self, toBeMerged: Iterable[Any], mergeResult: Any) -> None:
        self.found[mergeResult] = list(toBeMerged)
