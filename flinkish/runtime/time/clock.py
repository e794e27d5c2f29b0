"""``ProcessingTimeService``: the processing-time clock of a task, which moves only when it is set.

On Spark it shows the timestamp of the batch, so that a batch which is run again sees the same time; the
harness sets it by hand. Functions and generators may keep the clock in their state, so ``dumps`` pickles
it as a reference and ``loads`` puts the running clock in its place.
"""

from __future__ import annotations

import io
from typing import Any

from flinkish.api.eventtime.clock import RelativeClock
from flinkish.api.program_classes import ProgramPickler
from flinkish.api.stored_values import StoredUnpickler


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
        """Set the time of another batch. It may be earlier, as a failed batch is run again."""
        self._now = now

    def advanceTo(self, now: int) -> None:
        """Set the time; it never goes back."""
        self._now = max(self._now, now)


_CLOCK = "clock"


def dumps(value: Any) -> bytes:
    """``value`` as bytes, with references in place of clocks."""
    buffer = io.BytesIO()
    _Pickler(buffer).dump(value)
    return buffer.getvalue()


def loads(data: bytes, clock: ProcessingTimeService) -> Any:
    """The value that ``dumps`` turned to bytes, with ``clock`` in place of references."""
    return _Unpickler(io.BytesIO(data), clock).load()


class _Pickler(ProgramPickler):
    def persistent_id(self, value: Any) -> str | None:
        return _CLOCK if isinstance(value, ProcessingTimeService) else None


class _Unpickler(StoredUnpickler):
    def __init__(self, data: io.BytesIO, clock: ProcessingTimeService) -> None:
        super().__init__(data)
        self._clock = clock

    def persistent_load(self, reference: str) -> ProcessingTimeService:
        return self._clock
