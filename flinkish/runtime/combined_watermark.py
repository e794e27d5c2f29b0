"""Joins the watermarks and statuses of the inputs of one operator, or of the splits of a source."""

from __future__ import annotations

from flinkish.api.elements import MIN_TIMESTAMP


class IndexedCombinedWatermarkStatus:
    """The lowest watermark of the inputs that are not idle (Flink: the same name).

    If all are idle it is the highest. The joined watermark never goes back.
    """

    def __init__(self, inputs: int) -> None:
        self._watermarks = [MIN_TIMESTAMP] * inputs
        self._idle = [False] * inputs
        self.combinedWatermark = MIN_TIMESTAMP
        """The joined watermark, in ms."""
        self.idle = False
        """Whether all inputs are idle."""

    def add(self) -> int:
        """One more input, which has said nothing yet; gives its index."""
        self._watermarks.append(MIN_TIMESTAMP)
        self._idle.append(False)
        return len(self._idle) - 1

    def setWatermark(self, index: int, timestamp: int) -> bool:
        """Note a watermark of an input, which is active then. True if that input's rose."""
        self._idle[index] = False
        risen = timestamp > self._watermarks[index]
        if risen:
            self._watermarks[index] = timestamp
        return risen

    def setIdle(self, index: int, idle: bool) -> None:
        """Note that an input has become idle or active."""
        self._idle[index] = idle

    def isIdle(self, index: int) -> bool:
        """Whether an input is idle."""
        return self._idle[index]

    def updateCombinedWatermark(self) -> bool:
        """Join what was noted. True if the joined watermark rose."""
        active = [w for w, idle in zip(self._watermarks, self._idle) if not idle]
        self.idle = not active
        combined = min(active) if active else max(self._watermarks, default=MIN_TIMESTAMP)
        if combined <= self.combinedWatermark:
            return False
        self.combinedWatermark = combined
        return True

    def updateWatermark(self, index: int, timestamp: int) -> bool:
        """A watermark has come over an input, which is active then. True if the joined one rose."""
        self.setWatermark(index, timestamp)
        return self.updateCombinedWatermark()

    def updateStatus(self, index: int, idle: bool) -> bool:
        """An input has become idle or active. True if the joined watermark rose."""
        self.setIdle(index, idle)
        return self.updateCombinedWatermark()

    def snapshot(self) -> tuple[list[int], list[bool], int, bool]:
        """What ``restore`` takes."""
        return list(self._watermarks), list(self._idle), self.combinedWatermark, self.idle

    def restore(self, snapshot: tuple[list[int], list[bool], int, bool] | None) -> None:
        """Go on from a snapshot, or from the beginning if it is None."""
        if snapshot is None:
            inputs = len(self._watermarks)
            snapshot = [MIN_TIMESTAMP] * inputs, [False] * inputs, MIN_TIMESTAMP, False
        watermarks, idle, self.combinedWatermark, self.idle = snapshot
        self._watermarks, self._idle = list(watermarks), list(idle)
