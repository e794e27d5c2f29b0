"""The processing-time clock of a task. It only moves when it is told to.

The harness steps it by hand; on Spark it is the batch's timestamp, so that a replayed batch sees
the clock it saw before.
"""

from __future__ import annotations

import io
import pickle
from typing import Any

import cloudpickle

from flinkish.api.eventtime.clock import RelativeClock


class ProcessingTimeService(RelativeClock):
    """A clock in ms (Flink: ``ProcessingTimeService``)."""

    __slots__ = ("_now",)

    def __init__(self, now: int = 0) -> None:
        self._now = now

    def getCurrentProcessingTime(self) -> int:
        """The time now, in ms since the epoch."""
        return self._now

    def relativeTimeMillis(self) -> int:
        return self._now

    def begin(self, now: int) -> None:
        """Set the time of another batch, which may be earlier: that of a retried one."""
        self._now = now

    def advanceTo(self, now: int) -> None:
        """Set the time; it never goes back."""
        self._now = max(self._now, now)


_CLOCK = "clock"


def dumps(value: Any) -> bytes:
    """``value`` as bytes, clocks in it as references."""
    buffer = io.BytesIO()
    _Pickler(buffer).dump(value)
    return buffer.getvalue()


def loads(data: bytes, clock: ProcessingTimeService) -> Any:
    """What ``dumps`` made bytes of; references become ``clock``."""
    return _Unpickler(io.BytesIO(data), clock).load()


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]  # cloudpickle is not typed
    def persistent_id(self, value: Any) -> str | None:
        return _CLOCK if isinstance(value, ProcessingTimeService) else None


class _Unpickler(pickle.Unpickler):
    def __init__(self, data: io.BytesIO, clock: ProcessingTimeService) -> None:
        super().__init__(data)
        self._clock = clock

    def persistent_load(self, reference: str) -> ProcessingTimeService:
        return self._clock
