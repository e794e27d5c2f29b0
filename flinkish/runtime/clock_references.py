"""Pickles what a user function keeps of the running clock as a reference to whatever clock runs.

A watermark generator may keep the clock it was made with; restored in another process it must read
the clock of the task there, not a copy that stands.
"""

from __future__ import annotations

import io
import pickle
from typing import Any

import cloudpickle

from flinkish.runtime.processing_time import ProcessingTimeService

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
