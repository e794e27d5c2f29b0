"""``ProcessingTimeService``: the processing-time clock of a task, which moves only when it is set.

On Spark the clock shows the timestamp of the batch, so that a batch that is run again sees the same
time; in the harness a test sets it. Functions and generators may keep the clock in their state, so
``dumps`` pickles it as a reference, and ``loads`` replaces the reference with the running clock.
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
        """The current time, in ms since the epoch."""
        return self._now

    def relativeTimeMillis(self) -> int:
        return self._now

    def begin(self, now: int) -> None:
        """Set the time of a batch, which may be earlier if a failed batch is run again."""
        self._now = now

    def advanceTo(self, now: int) -> None:
        """Set the time; it never goes back."""
        self._now = max(self._now, now)


_CLOCK = "clock"


def dumps(value: Any) -> bytes:
    """``value`` pickled, with references in place of clocks."""
    buffer = io.BytesIO()
    _Pickler(buffer).dump(value)
    return buffer.getvalue()


def loads(data: bytes, clock: ProcessingTimeService) -> Any:
    """The value that ``dumps`` pickled, with ``clock`` in place of references."""
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
