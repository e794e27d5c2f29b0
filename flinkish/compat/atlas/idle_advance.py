"""A watermark that advances with the clock once its input has been idle for long enough: an idle
input closes windows, where Flink's ``withIdleness`` only stops holding others back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

from flinkish.api.arguments import instance
from flinkish.api.errors import IllegalArgumentError
from flinkish.api.eventtime.clock import RelativeClock
from flinkish.api.eventtime.watermarks import WatermarkGenerator, WatermarkOutput, WatermarkStrategy
from flinkish.api.time.durations import TimeLike, to_milliseconds
from flinkish.api.time.elements import MIN_TIMESTAMP, Watermark, earliest

T = TypeVar("T")


def withIdleAdvance(
    strategy: WatermarkStrategy[T],
    idleTimeout: TimeLike,
    every: TimeLike,
    offset: TimeLike = 0,
    allowedLateness: TimeLike = 0,
) -> WatermarkStrategy[T]:
    """``strategy``, whose watermark advances when the input is idle: once no element has come for
    ``idleTimeout`` of processing time, it goes to where the last window closes that ended at least
    ``idleTimeout`` ago by the clock. All lengths are Durations or ms.

    Windows end at ``offset`` and every ``every`` from there, and close ``allowedLateness`` later.
    For this event time has to keep up with the clock: elements that come after an idle stretch
    may be late. An input that had no element yet is not idle.

    Raises IllegalArgumentError for a length out of range, or a strategy with ``withIdleness``.
    """
    given = "Pass one, such as WatermarkStrategy.forMonotonousTimestamps()."
    if instance("withIdleAdvance: strategy", strategy, WatermarkStrategy, given).idleTimeout:
        raise _not_both()
    lengths = map(to_milliseconds, (idleTimeout, every, offset, allowedLateness))
    advance = IdleAdvance(*lengths)
    if advance.idleTimeout <= 0 or advance.every <= 0 or advance.allowedLateness < 0:
        raise IllegalArgumentError(
            f"withIdleAdvance: idleTimeout is {advance.idleTimeout} ms, every {advance.every} ms"
            f" and allowedLateness {advance.allowedLateness} ms, but the first two must be"
            " greater than zero and the last not negative."
        )
    supplier = strategy.generatorSupplier
    return IdleAdvanceStrategy(
        lambda context: WatermarksWithIdleAdvance(
            advance, supplier(context), context.getInputActivityClock()
        ),
        strategy.timestampAssigner,
    )


class IdleAdvanceStrategy(WatermarkStrategy[T]):
    """A strategy whose watermark advances when the input is idle, so that it cannot stop too."""

    def withIdleness(self, idleTimeout: TimeLike) -> NoReturn:
        raise _not_both()


def _not_both() -> IllegalArgumentError:
    return IllegalArgumentError(
        "withIdleness stops the watermark of an idle input and withIdleAdvance lets it go on: use"
        " one of the two."
    )


@dataclass(frozen=True)
class IdleAdvance:
    """The settings of ``withIdleAdvance``, in ms."""

    idleTimeout: int
    every: int
    offset: int
    allowedLateness: int

    def endAt(self, time: int) -> int:
        """The last end of a window at or before ``time``."""
        return time - (time - self.offset) % self.every


class WatermarksWithIdleAdvance(WatermarkGenerator[Any]):
    """A generator whose watermark advances with the clock when its input is idle."""

    def __init__(
        self, advance: IdleAdvance, generator: WatermarkGenerator[Any], clock: RelativeClock
    ) -> None:
        self._advance = advance
        self._generator = generator
        self._clock = clock
        self._last: int | None = None
        """The time of the last element."""
        self._watermark = MIN_TIMESTAMP

    def onEvent(self, event: Any, eventTimestamp: int, output: WatermarkOutput) -> None:
        self._last = self._clock.relativeTimeMillis()
        self._generator.onEvent(event, eventTimestamp, _Noting(self, output))

    def onPeriodicEmit(self, output: WatermarkOutput) -> None:
        noting = _Noting(self, output)
        self._generator.onPeriodicEmit(noting)
        now = self._clock.relativeTimeMillis()
        advance = self._advance
        if self._last is not None and now - self._last >= advance.idleTimeout:
            ended = advance.endAt(now - advance.idleTimeout)
            noting.emitWatermark(Watermark(ended + advance.allowedLateness - 1))

    def nextPeriodicEmit(self) -> int | None:
        return earliest((self._due(), self._generator.nextPeriodicEmit()))

    def note(self, watermark: int) -> None:
        """A watermark has been emitted."""
        self._watermark = max(watermark, self._watermark)

    def _due(self) -> int | None:
        """The time at which the next window to close has been over for long enough, if nothing
        comes."""
        if self._last is None:
            return None
        advance = self._advance
        closed = advance.endAt(self._watermark - advance.allowedLateness + 1)
        return max(closed + advance.every, self._last) + advance.idleTimeout


class _Noting(WatermarkOutput):
    """Lets the generator know what is emitted."""

    __slots__ = ("_generator", "_output")

    def __init__(self, generator: WatermarksWithIdleAdvance, output: WatermarkOutput) -> None:
        self._generator = generator
        self._output = output

    def emitWatermark(self, watermark: Watermark) -> None:
        self._generator.note(watermark.timestamp)
        self._output.emitWatermark(watermark)

    def markIdle(self) -> None:
        self._output.markIdle()

    def markActive(self) -> None:
        self._output.markActive()
