"""Emits a watermark after every element, so that results depend on the order of elements alone."""

from __future__ import annotations

from flinkish import Watermark, WatermarkGenerator, WatermarkOutput


class WatermarkAfterEveryElement(WatermarkGenerator[object]):
    """For elements in the order of their timestamps: the next one may have the same timestamp."""

    def onEvent(self, event: object, eventTimestamp: int, output: WatermarkOutput) -> None:
        output.emitWatermark(Watermark(eventTimestamp - 1))

    def onPeriodicEmit(self, output: WatermarkOutput) -> None:
        """Nothing: all has been said in ``onEvent``."""
