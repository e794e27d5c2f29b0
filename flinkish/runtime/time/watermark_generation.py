"""Runs watermark generators, and combines the watermarks of several inputs or splits into one.

The user-facing half is in ``flinkish.api.eventtime.watermarks``: what a watermark is and how a
strategy is written.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from flinkish.api.eventtime.watermarks import (
    AscendingTimestampsWatermarks,
    BoundedOutOfOrdernessWatermarks,
    NoWatermarksGenerator,
    WatermarkGenerator,
    WatermarkGeneratorContext,
    WatermarkOutput,
    WatermarkStrategy,
)
from flinkish.api.time.elements import MIN_TIMESTAMP, Watermark
from flinkish.runtime.time import clock as clock_references
from flinkish.runtime.time.clock import ProcessingTimeService


def combined(inputs: Iterable[tuple[int, bool]]) -> tuple[int, bool]:
    """Combine the watermark and idleness of several inputs, at least one: the lowest watermark of
    those that are not idle, or the highest if all are; and whether all are."""
    known = list(inputs)
    active = [watermark for watermark, idle in known if not idle]
    return (min(active), False) if active else (max(watermark for watermark, _ in known), True)


class IndexedCombinedWatermarkStatus:
    """Combines the watermarks of several inputs: the lowest of those that are not idle (Flink:
    ``IndexedCombinedWatermarkStatus``). If all are idle, the highest counts. The combined watermark
    never goes back."""

    def __init__(self, inputs: int) -> None:
        self.watermarks = [MIN_TIMESTAMP] * inputs
        """The watermark of each input (ms)."""
        self.areIdle = [False] * inputs
        self.combinedWatermark = MIN_TIMESTAMP
        """The combined watermark, in ms."""
        self.idle = False
        """Whether all inputs are idle."""

    def add(self) -> int:
        """Add an active input without a watermark yet, and return its index."""
        self.watermarks.append(MIN_TIMESTAMP)
        self.areIdle.append(False)
        return len(self.areIdle) - 1

    def setWatermark(self, index: int, timestamp: int) -> bool:
        """Note a watermark of an input, which makes it active. True if it rose for that input."""
        self.areIdle[index] = False
        risen = timestamp > self.watermarks[index]
        if risen:
            self.watermarks[index] = timestamp
        return risen

    def current(self) -> tuple[int, bool]:
        """Combine the watermarks noted so far, of one or more inputs, and whether all are idle."""
        return combined(zip(self.watermarks, self.areIdle))

    def updateCombinedWatermark(self) -> bool:
        """Combine the watermarks noted so far. True if the combined watermark rose."""
        if not self.watermarks:
            return False
        together, self.idle = self.current()
        if together <= self.combinedWatermark:
            return False
        self.combinedWatermark = together
        return True

    def snapshot(self) -> tuple[list[int], list[bool], int, bool]:
        return list(self.watermarks), list(self.areIdle), self.combinedWatermark, self.idle

    def restore(self, snapshot: tuple[list[int], list[bool], int, bool] | None) -> None:
        """Continue from a snapshot; None: start anew."""
        if snapshot is None:
            inputs = len(self.watermarks)
            snapshot = [MIN_TIMESTAMP] * inputs, [False] * inputs, MIN_TIMESTAMP, False
        watermarks, idle, self.combinedWatermark, self.idle = snapshot
        self.watermarks, self.areIdle = list(watermarks), list(idle)


class IdlenessTimer:
    """Decides whether an input is idle (Flink: ``WatermarksWithIdleness.IdlenessTimer``). It only
    counts elements, which is cheap, and compares the count at each periodic check. The idle time
    begins at the first check that finds no new elements."""

    def __init__(self, timeout: int) -> None:
        self._timeout = timeout
        self._counter = 0
        self._last_counter = 0
        self._since: int | None = None

    def activity(self) -> None:
        """Called when an element has come."""
        self._counter += 1

    def isIdle(self, now: int) -> bool:
        """Check at the time ``now`` (ms) whether the timeout has passed without elements."""
        if self._counter != self._last_counter:
            self._last_counter = self._counter
            self._since = None
            return False
        if self._since is None:
            self._since = now
            return False
        return now - self._since > self._timeout

    def due(self) -> int | None:
        """The earliest time (ms) at which the input can be found idle; None if it is active."""
        return None if self._since is None else self._since + self._timeout + 1

    def snapshot(self) -> tuple[int, int, int | None]:
        return self._counter, self._last_counter, self._since

    def restore(self, snapshot: tuple[int, int, int | None]) -> None:
        self._counter, self._last_counter, self._since = snapshot


_EMIT_ONLY_PERIODICALLY = (
    BoundedOutOfOrdernessWatermarks,
    AscendingTimestampsWatermarks,
    NoWatermarksGenerator,
)


def emits_only_periodically(generator: WatermarkGenerator[Any]) -> bool:
    """Whether a built-in ``generator`` only notes the highest timestamp in ``onEvent``."""
    return type(generator) in _EMIT_ONLY_PERIODICALLY


class WatermarkGeneration:
    """The running generator of one stream, or of one split of a source, with its idleness (Flink:
    ``WatermarksWithIdleness``). Continues from ``snapshot``; None: starts anew."""

    __slots__ = ("emitsOnlyPeriodically", "generator", "idleness", "lastTimestamp")

    def __init__(
        self, strategy: WatermarkStrategy[Any], clock: ProcessingTimeService, snapshot: Any
    ) -> None:
        timeout = strategy.idleTimeout
        self.idleness = None if timeout is None else IdlenessTimer(timeout)
        if snapshot is None:
            self.generator = strategy.createWatermarkGenerator(WatermarkGeneratorContext(clock))
        else:
            generator, idleness = snapshot
            self.generator = clock_references.loads(generator, clock)
            if self.idleness is not None and idleness is not None:
                self.idleness.restore(idleness)
        self.lastTimestamp: int | None = None
        """The highest timestamp since it was started or restored; None before the first element."""
        self.emitsOnlyPeriodically = emits_only_periodically(self.generator)
        """Whether ``onEvent`` only notes the highest timestamp: one call a run is enough."""

    def settings(self) -> str:
        """Identifies a new generator: its class, and the plain attributes of a built-in one.
        Attributes of a user's generator do not count, as they may be the current time or the
        like."""
        kind = type(self.generator)
        if not kind.__module__.startswith("flinkish."):
            return kind.__qualname__
        attributes = vars(self.generator) if hasattr(self.generator, "__dict__") else {}
        plain = {name: v for name, v in attributes.items() if type(v) in (int, float, str, bool)}
        return f"{kind.__qualname__} {sorted(plain.items())}"

    def snapshot(self) -> Any:
        """The snapshot for ``__init__``: the generator and its idleness."""
        idleness = None if self.idleness is None else self.idleness.snapshot()
        return clock_references.dumps(self.generator), idleness

    def onEvent(self, event: Any, timestamp: int, output: WatermarkOutput) -> None:
        """Called for every element after it was emitted."""
        self.generator.onEvent(event, timestamp, output)
        self.noteActivity(timestamp)

    def noteActivity(self, timestamp: int) -> None:
        """Note that elements have come, the highest at ``timestamp``."""
        if self.lastTimestamp is None or timestamp > self.lastTimestamp:
            self.lastTimestamp = timestamp
        if self.idleness is not None:
            self.idleness.activity()

    def onPeriodicEmit(self, output: WatermarkOutput, now: int) -> None:
        """Called when the auto-watermark interval has passed; ``now`` is the clock in ms."""
        if self.idleness is not None and self.idleness.isIdle(now):
            output.markIdle()
        else:
            self.generator.onPeriodicEmit(output)

    def nextPeriodicEmit(self) -> int | None:
        """The time (ms) at which to call ``onPeriodicEmit`` even without elements; None: never."""
        return self.generator.nextPeriodicEmit()


class WatermarkOutputMultiplexer:
    """Combines the watermarks of the splits of a source into one (Flink:
    ``WatermarkOutputMultiplexer``).

    Splits are read one after another, so without this class the watermark would follow the fastest
    split, and the elements of the others would be late. Watermarks emitted to an
    ``ImmediateOutput`` count at once, those emitted to a ``DeferredOutput`` at the next
    ``onPeriodicEmit``.
    """

    def __init__(self, underlying: WatermarkOutput) -> None:
        self._underlying = underlying
        self.status = IndexedCombinedWatermarkStatus(0)

    def onPeriodicEmit(self) -> None:
        """Emit the combined watermark if it rose, and idleness if all outputs are idle."""
        if self.status.updateCombinedWatermark():
            self._underlying.emitWatermark(Watermark(self.status.combinedWatermark))
        if self.status.idle:
            self._underlying.markIdle()


class JoinedSplits(NamedTuple):
    """The combined watermark and idleness of a source's splits in one key group."""

    watermark: int
    """The lowest watermark of the splits that are not idle, in ms; the highest if all are. It falls
    when a split begins or becomes active behind the others."""
    idle: bool
    """Whether all splits are idle."""
    emitted: tuple[int, bool]
    """The watermark and idleness that the operator has emitted; this watermark only rises."""


@dataclass(eq=False, repr=False, slots=True)
class DeferredOutput(WatermarkOutput):
    """Notes watermarks for the next ``onPeriodicEmit`` (Flink: ``DeferredOutput``)."""

    _multiplexer: WatermarkOutputMultiplexer
    _index: int

    def emitWatermark(self, watermark: Watermark) -> None:
        self._multiplexer.status.setWatermark(self._index, watermark.timestamp)

    def markIdle(self) -> None:
        self._multiplexer.status.areIdle[self._index] = True

    def markActive(self) -> None:
        self._multiplexer.status.areIdle[self._index] = False


class ImmediateOutput(DeferredOutput):
    """Combines watermarks at once (Flink: ``ImmediateOutput``)."""

    __slots__ = ()

    def emitWatermark(self, watermark: Watermark) -> None:
        status = self._multiplexer.status
        risen = status.setWatermark(self._index, watermark.timestamp)
        if risen and watermark.timestamp > status.combinedWatermark:
            self._multiplexer.onPeriodicEmit()

    def markIdle(self) -> None:
        super().markIdle()
        self._multiplexer.onPeriodicEmit()

    def markActive(self) -> None:
        super().markActive()
        self._multiplexer.onPeriodicEmit()
