"""Joins the watermarks and statuses of the inputs of one operator, or of the splits of a source."""

from __future__ import annotations

from typing import Any

from flinkish.api.eventtime.watermarks import (
    AscendingTimestampsWatermarks,
    BoundedOutOfOrdernessWatermarks,
    NoWatermarksGenerator,
    WatermarkGeneratorContext,
    WatermarkOutput,
    WatermarkStrategy,
)
from flinkish.api.time.elements import MIN_TIMESTAMP, Watermark
from flinkish.runtime.time import clock as clock_references
from flinkish.runtime.time.clock import ProcessingTimeService


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


class IdlenessTimer:
    """Counts elements, and looks from time to time whether there were any since the last look.

    The time without elements begins at the first look that finds none (Flink:
    ``WatermarksWithIdleness.IdlenessTimer``).
    """

    def __init__(self, timeout: int) -> None:
        self._timeout = timeout
        self._counter = 0
        self._last_counter = 0
        self._since: int | None = None

    def activity(self) -> None:
        """An element has come."""
        self._counter += 1

    def isIdle(self, now: int) -> bool:
        """Look, at the time ``now`` (ms)."""
        if self._counter != self._last_counter:
            self._last_counter = self._counter
            self._since = None
            return False
        if self._since is None:
            self._since = now
            return False
        return now - self._since > self._timeout

    def due(self) -> int | None:
        """When a look can find the input idle, if nothing comes; None if not begun."""
        return None if self._since is None else self._since + self._timeout + 1

    def snapshot(self) -> tuple[int, int, int | None]:
        """What ``restore`` takes."""
        return self._counter, self._last_counter, self._since

    def restore(self, snapshot: tuple[int, int, int | None]) -> None:
        """Go on from there."""
        self._counter, self._last_counter, self._since = snapshot


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
