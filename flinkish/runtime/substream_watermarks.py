"""The watermarks of substreams, and the lowest of them."""

from __future__ import annotations

import heapq
from typing import Any


class SubstreamWatermarks:
    """A watermark a key, in ms: each only rises. A heap that forgets lazily knows the lowest."""

    def __init__(self, watermarks: dict[Any, int]) -> None:
        self._watermarks = watermarks
        self._order()

    def __len__(self) -> int:
        return len(self._watermarks)

    def of(self, key: Any) -> int | None:
        """The watermark of ``key``, None if it has none yet."""
        return self._watermarks.get(key)

    def advance(self, key: Any, watermark: int) -> int:
        """Raise that of ``key``, unless it is there already; gives what it is then."""
        known = self._watermarks.get(key)
        if known is not None and known >= watermark:
            return known
        self._watermarks[key] = watermark
        self._entries += 1
        heapq.heappush(self._heap, (watermark, self._entries, key))
        if len(self._heap) > 2 * len(self._watermarks) + 16:
            self._order()
        return watermark

    def lowest(self) -> int:
        """The lowest of all; there must be one."""
        heap = self._heap
        while self._watermarks[heap[0][2]] != heap[0][0]:
            heapq.heappop(heap)
        return heap[0][0]

    def snapshot(self) -> dict[Any, int]:
        """What ``__init__`` takes."""
        return dict(self._watermarks)

    def _order(self) -> None:
        self._heap = [(w, i, key) for i, (key, w) in enumerate(self._watermarks.items())]
        self._entries = len(self._heap)
        heapq.heapify(self._heap)
