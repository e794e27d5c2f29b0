"""``StatusWatermarkValve``: combines the watermarks and idleness of several channels into one."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from flinkish.api.time.elements import MIN_TIMESTAMP, WatermarkStatus
from flinkish.runtime.operators.output import Input
from flinkish.runtime.records.frames import Frame
from flinkish.runtime.records.records import Records


class StatusWatermarkValve:
    """Combines the channels of an input: its watermark is the lowest of those that are not idle
    (Flink: ``StatusWatermarkValve``).

    Each channel promises something about its own elements only, so the input as a whole can promise
    no more than the slowest channel. An idle channel does not count:

    =======================  =========  =========  ==================
    event                    channel 0  channel 1  combined watermark
    =======================  =========  =========  ==================
    channel 0 reaches 10     10         none       none
    channel 1 reaches 5      10         5          5
    channel 1 becomes idle   10         idle       10
    channel 1 active at 7    10         7          10: never goes back
    channel 0 reaches 20     20         7          20: channel 1 has not caught up
    channel 1 reaches 22     20         22         20: channel 1 counts again
    =======================  =========  =========  ==================

    When all channels are idle, the combined watermark rises to the highest of them and stays there.
    """

    def __init__(self, channels: int, target: Input) -> None:
        self._watermarks = [MIN_TIMESTAMP] * channels
        self._idle = [False] * channels
        self._target = target
        self.watermark = MIN_TIMESTAMP
        """The combined watermark, in ms."""
        self._all_idle = False

    def inputWatermark(self, channel: int, timestamp: int) -> None:
        """Handle a watermark of ``channel``, which is ignored while the channel is idle."""
        if not self._idle[channel] and timestamp > self._watermarks[channel]:
            self._watermarks[channel] = timestamp
            self._advance()

    def inputWatermarks(self, channel: int, timestamps: Sequence[int]) -> None:
        """Handle several rising watermarks of ``channel`` with no records between them."""
        if len(self._watermarks) == 1 and not self._idle[channel]:
            rising = timestamps[bisect_right(timestamps, self.watermark) :]
            if rising:
                self._watermarks[channel] = self.watermark = rising[-1]
                self._target.processWatermarks(rising)
        else:
            for timestamp in timestamps:
                self.inputWatermark(channel, timestamp)

    def inputFrame(self, frame: Frame) -> None:
        """Handle records of the only channel, which is not idle, with watermarks among them."""
        marks = frame.marks.above(self.watermark)
        if len(marks):
            self.watermark = int(marks.watermarks[-1])
            self._watermarks[0] = self.watermark
            self._target.processFrame(Frame(frame.records, marks))
        elif len(frame.records):
            self._target.processRecords(frame.records)

    def inputWatermarkStatus(self, channel: int, status: WatermarkStatus) -> None:
        """Handle ``channel`` becoming idle or active."""
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
        """The arguments of ``restore``: watermark and idleness by channel, the result."""
        return self._watermarks, self._idle, self.watermark

    def restore(self, watermarks: list[int], idle: list[bool], watermark: int) -> None:
        """Continue from a snapshot, without emitting anything."""
        self._watermarks, self._idle, self.watermark = list(watermarks), list(idle), watermark
        self._all_idle = bool(idle) and all(idle)

    def _advance(self) -> None:
        # As in Flink, a channel that was idle and lags behind the combined watermark counts again
        # only when it has caught up. A channel without a watermark yet does hold the others back.
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


@dataclass(eq=False)
class ValveInput(Input):
    """One channel of a valve, as an input; records go directly to the target."""

    valve: StatusWatermarkValve
    channel: int
    target: Input

    def processRecords(self, records: Records) -> None:
        self.target.processRecords(records)

    def processWatermark(self, timestamp: int) -> None:
        self.valve.inputWatermark(self.channel, timestamp)

    def processWatermarkStatus(self, status: WatermarkStatus) -> None:
        self.valve.inputWatermarkStatus(self.channel, status)
