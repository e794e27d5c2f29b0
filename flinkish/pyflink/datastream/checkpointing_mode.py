"""``CheckpointingMode``: accepted for ported jobs, as each element counts exactly once anyway."""

from __future__ import annotations

from enum import Enum


class CheckpointingMode(Enum):
    """The guarantee for state after a crash (PyFlink: ``CheckpointingMode``)."""

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
