"""Joins the watermarks and statuses of several channels into those of one input."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from flinkish.api.time.elements import MIN_TIMESTAMP, WatermarkStatus
from flinkish.runtime.operators.output import Input
from flinkish.runtime.records.elements import Records


class StatusWatermarkValve:
    """The lowest watermark of the channels that are not idle (Flink: ``StatusWatermarkValve``).

    The joined watermark never goes back. When all channels are idle it stays, after it has first
    risen to the highest of them.
    """

    def __init__(self, channels: int, target: Input) -> None:
        self._watermarks = [MIN_TIMESTAMP] * channels
        self._idle = [False] * channels
        self._target = target
        self.watermark = MIN_TIMESTAMP
        """The joined watermark."""
        self._all_idle = False

    def inputWatermark(self, channel: int, timestamp: int) -> None:
        """A watermark has come over ``channel``. An idle channel's is not heard."""
        if not self._idle[channel] and timestamp > self._watermarks[channel]:
            self._watermarks[channel] = timestamp
            self._advance()

    def inputWatermarks(self, channel: int, timestamps: Sequence[int]) -> None:
        """A run of rising watermarks has come over ``channel``."""
        if len(self._watermarks) == 1 and not self._idle[channel]:
            rising = timestamps[bisect_right(timestamps, self.watermark) :]
            if rising:
                self._watermarks[channel] = self.watermark = rising[-1]
                self._target.processWatermarks(rising)
        else:
            for timestamp in timestamps:
                self.inputWatermark(channel, timestamp)

    def inputWatermarkStatus(self, channel: int, status: WatermarkStatus) -> None:
        """A status has come over ``channel``."""
        if status.isIdle() == self._idle[channel]:
            return
        self._idle[channel] = status.isIdle()
        if all(self._idle):
            if self._watermarks[channel] == self.watermark:
                self._emit(max(self._watermarks))
            self._all_idle = True
            self._target.processWatermarkStatus(WatermarkStatus.IDLE)
        elif status.isIdle():
            self._advance()
        elif self._all_idle:
            self._all_idle = False
            self._target.processWatermarkStatus(WatermarkStatus.ACTIVE)

    def snapshot(self) -> tuple[list[int], list[bool], int]:
        """What ``restore`` takes: watermark and idleness by channel, and the joined watermark."""
        return self._watermarks, self._idle, self.watermark

    def restore(self, watermarks: list[int], idle: list[bool], watermark: int) -> None:
        """Go on from there; nothing is emitted."""
        self._watermarks, self._idle, self.watermark = list(watermarks), list(idle), watermark
        self._all_idle = bool(idle) and all(idle)

    def _advance(self) -> None:
        # A channel that was idle and lags behind what was emitted counts again once it has caught
        # up, as in Flink: it does not hold the others back. One that has said nothing yet does.
        aligned = [
            watermark
            for watermark, idle in zip(self._watermarks, self._idle)
            if not idle and (watermark >= self.watermark or watermark == MIN_TIMESTAMP)
        ]
        if aligned:
            self._emit(min(aligned))

    def _emit(self, watermark: int) -> None:
        if watermark > self.watermark:
            self.watermark = watermark
            self._target.processWatermark(watermark)


class ValveInput(Input):
    """One channel into a valve; records go straight to the target."""

    __slots__ = ("_channel", "_target", "_valve")

    def __init__(self, valve: StatusWatermarkValve, channel: int, target: Input) -> None:
        self._valve = valve
        self._channel = channel
        self._target = target

    def processRecords(self, records: Records) -> None:
        self._target.processRecords(records)

    def processWatermark(self, timestamp: int) -> None:
        self._valve.inputWatermark(self._channel, timestamp)

    def processWatermarkStatus(self, status: WatermarkStatus) -> None:
        self._valve.inputWatermarkStatus(self._channel, status)
