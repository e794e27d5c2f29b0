"""Base class and output for operators that generate their own watermarks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from flinkish.api.errors import IllegalArgumentError
from flinkish.api.eventtime.watermarks import WatermarkOutput
from flinkish.api.time.elements import MAX_TIMESTAMP, MIN_TIMESTAMP, Watermark, WatermarkStatus
from flinkish.runtime.operators.base import OneInputOperator, OperatorContext
from flinkish.runtime.operators.output import Output
from flinkish.runtime.records.frames import Marks, MarksBuilder
from flinkish.runtime.time.watermark_generation import JoinedSplits


class HeldMarks:
    """The watermarks and statuses among the elements of a run."""

    def __init__(self) -> None:
        self.position = 0
        """The number of elements so far."""
        self.marks = MarksBuilder()

    def emitWatermark(self, timestamp: int) -> None:
        self.marks.addWatermark(self.position, timestamp)

    def emitWatermarkStatus(self, status: WatermarkStatus) -> None:
        self.marks.addStatus(self.position, status)


class WatermarkEmitter(WatermarkOutput):
    """Lets only rising watermarks through, and statuses that change (Flink: same name)."""

    def __init__(self, output: Output) -> None:
        self._output: Output | HeldMarks = output
        self.watermark = MIN_TIMESTAMP
        self.idle = False

    @contextmanager
    def held(self) -> Iterator[HeldMarks]:
        """Inside the block, hold watermarks and statuses instead of emitting them."""
        output, held = self._output, HeldMarks()
        self._output = held
        try:
            yield held
        finally:
            self._output = output

    def emitWatermark(self, watermark: Watermark) -> None:
        if watermark.timestamp > self.watermark:
            if watermark.timestamp > MAX_TIMESTAMP:
                raise IllegalArgumentError(
                    f"the generator emitted {watermark}. Emit milliseconds since the epoch, 2**63 - 1 at most."
                )
            self.watermark = watermark.timestamp
            self.markActive()
            self._output.emitWatermark(watermark.timestamp)

    def passing(self, marks: Marks) -> Marks:
        """The rising watermarks of ``marks``, from a generator that is not idle."""
        rising = marks.above(self.watermark)
        if len(rising):
            self.watermark = int(rising.watermarks[-1])
        return rising

    def markIdle(self) -> None:
        if not self.idle:
            self.idle = True
            self._output.emitWatermarkStatus(WatermarkStatus.IDLE)

    def markActive(self) -> None:
        if self.idle:
            self.idle = False
            self._output.emitWatermarkStatus(WatermarkStatus.ACTIVE)

    def joined(self, current: tuple[int, bool]) -> JoinedSplits:
        """Combine ``current``, the watermark and idleness of splits, with the emitted ones."""
        return JoinedSplits(*current, self.snapshot())

    def snapshot(self) -> tuple[int, bool]:
        return self.watermark, self.idle

    def restore(self, watermark: int, idle: bool) -> None:
        self.watermark, self.idle = watermark, idle


class WatermarkAssignerOperator(OneInputOperator):
    """Base class for operators that generate their own watermarks. Watermarks from upstream are
    dropped, except the last one, which says that the input has ended. If ``onPeriodicEmit`` is
    called at the end of each slice, the last one is emitted there, after the watermarks of the last
    elements.
    """

    def __init__(self, context: OperatorContext) -> None:
        super().__init__(context)
        self.autoWatermarkInterval = context.autoWatermarkInterval
        self.emitsAfterSlices = context.emitsAfterSlices
        self.emitter = WatermarkEmitter(self.output)

    def restore(self, snapshot: dict[str, Any] | None) -> None:
        super().restore(snapshot)
        self.inputEnded = False
        self.emitter.restore(*((MIN_TIMESTAMP, False) if snapshot is None else snapshot["emitter"]))

    def snapshot(self) -> dict[str, Any]:
        return {**super().snapshot(), "emitter": self.emitter.snapshot()}

    def processWatermark(self, timestamp: int) -> None:
        if timestamp == MAX_TIMESTAMP:
            self.inputEnded = True
            if not self.emitsAfterSlices:
                self.emitEnd()

    def processWatermarks(self, timestamps: Sequence[int]) -> None:
        self.processWatermark(timestamps[-1])

    def processWatermarkStatus(self, status: WatermarkStatus) -> None:
        """The input's status is dropped too: this operator derives its own from elements."""

    def emitEnd(self) -> None:
        """Emit the last watermark, if the input has ended."""
        if self.inputEnded:
            self.emitter.emitWatermark(Watermark.MAX_WATERMARK)

    @property
    def reportedWatermark(self) -> int:
        return self.emitter.watermark
