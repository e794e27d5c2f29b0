"""A watermark generator as it runs: with the detection of idleness, and its snapshot."""

from __future__ import annotations

from typing import Any

from flinkish.api.watermarks import (
    AscendingTimestampsWatermarks,
    BoundedOutOfOrdernessWatermarks,
    NoWatermarksGenerator,
    WatermarkGeneratorContext,
    WatermarkOutput,
    WatermarkStrategy,
)
from flinkish.runtime import clock_references
from flinkish.runtime.idleness import IdlenessTimer
from flinkish.runtime.processing_time import ProcessingTimeService

_EMIT_ONLY_PERIODICALLY = (
    BoundedOutOfOrdernessWatermarks,
    AscendingTimestampsWatermarks,
    NoWatermarksGenerator,
)


class WatermarkGeneration:
    """The generator of one stream, or of one split of a source (Flink: ``WatermarksWithIdleness``).

    It goes on from ``snapshot``, or begins if that is None.
    """

    __slots__ = ("_generator", "emitsOnlyPeriodically", "idleness")

    def __init__(
        self, strategy: WatermarkStrategy[Any], clock: ProcessingTimeService, snapshot: Any
    ) -> None:
        timeout = strategy.idleTimeout
        self.idleness = None if timeout is None else IdlenessTimer(timeout)
        if snapshot is None:
            self._generator = strategy.createWatermarkGenerator(WatermarkGeneratorContext(clock))
        else:
            generator, idleness = snapshot
            self._generator = clock_references.loads(generator, clock)
            if self.idleness is not None:
                self.idleness.restore(idleness)
        self.emitsOnlyPeriodically = type(self._generator) in _EMIT_ONLY_PERIODICALLY
        """Whether ``onEvent`` only notes the highest timestamp, so that one call does for a run."""

    def snapshot(self) -> Any:
        """What ``__init__`` takes."""
        idleness = None if self.idleness is None else self.idleness.snapshot()
        return clock_references.dumps(self._generator), idleness

    def onEvent(self, event: Any, timestamp: int, output: WatermarkOutput) -> None:
        """An element has gone on, with that timestamp."""
        self._generator.onEvent(event, timestamp, output)
        if self.idleness is not None:
            self.idleness.activity()

    def onPeriodicEmit(self, output: WatermarkOutput, now: int) -> None:
        """The auto-watermark interval has passed; the clock is at ``now`` (ms)."""
        if self.idleness is not None and self.idleness.isIdle(now):
            output.markIdle()
        else:
            self._generator.onPeriodicEmit(output)

    def nextPeriodicEmit(self) -> int | None:
        """When the generator wants the clock, in ms, or None."""
        return self._generator.nextPeriodicEmit()
