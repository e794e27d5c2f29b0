"""Joins the watermarks that several generators make into those of one output."""

from __future__ import annotations

from typing import Any

from flinkish.api.elements import Watermark
from flinkish.api.watermarks import WatermarkOutput
from flinkish.runtime.combined_watermark import IndexedCombinedWatermarkStatus


class WatermarkOutputMultiplexer:
    """The lowest watermark of several outputs, those of a source's splits (Flink: the same name).

    What is emitted to an immediate output is joined at once, what is emitted to a deferred one with
    the next ``onPeriodicEmit``.
    """

    def __init__(self, underlying: WatermarkOutput) -> None:
        self._underlying = underlying
        self.status = IndexedCombinedWatermarkStatus(0)

    def registerNewOutput(self) -> int:
        """One more output; gives its number."""
        return self.status.add()

    def onPeriodicEmit(self) -> None:
        """Emit the joined watermark if it has risen, and that all outputs are idle if they are."""
        if self.status.updateCombinedWatermark():
            self._underlying.emitWatermark(Watermark(self.status.combinedWatermark))
        if self.status.idle:
            self._underlying.markIdle()

    def snapshot(self) -> Any:
        """What ``restore`` takes."""
        return self.status.snapshot()

    def restore(self, snapshot: Any) -> None:
        """Go on from a snapshot, or with no outputs if it is None."""
        self.status = IndexedCombinedWatermarkStatus(0)
        if snapshot is not None:
            self.status.restore(snapshot)


class DeferredOutput(WatermarkOutput):
    """Notes what a generator emits (Flink: the same name)."""

    __slots__ = ("_index", "_multiplexer")

    def __init__(self, multiplexer: WatermarkOutputMultiplexer, index: int) -> None:
        self._multiplexer = multiplexer
        self._index = index

    def emitWatermark(self, watermark: Watermark) -> None:
        self._multiplexer.status.setWatermark(self._index, watermark.timestamp)

    def markIdle(self) -> None:
        self._multiplexer.status.setIdle(self._index, True)

    def markActive(self) -> None:
        self._multiplexer.status.setIdle(self._index, False)


class ImmediateOutput(WatermarkOutput):
    """Joins what a generator emits at once (Flink: the same name)."""

    __slots__ = ("_index", "_multiplexer")

    def __init__(self, multiplexer: WatermarkOutputMultiplexer, index: int) -> None:
        self._multiplexer = multiplexer
        self._index = index

    def emitWatermark(self, watermark: Watermark) -> None:
        status = self._multiplexer.status
        risen = status.setWatermark(self._index, watermark.timestamp)
        if risen and watermark.timestamp > status.combinedWatermark:
            self._multiplexer.onPeriodicEmit()

    def markIdle(self) -> None:
        self._multiplexer.status.setIdle(self._index, True)
        self._multiplexer.onPeriodicEmit()

    def markActive(self) -> None:
        self._multiplexer.status.setIdle(self._index, False)
        self._multiplexer.onPeriodicEmit()
