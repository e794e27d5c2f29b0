"""``TimeDomain``: the time that a timer goes by."""

from __future__ import annotations

from enum import Enum


class TimeDomain(Enum):
    """The time that a timer goes by (PyFlink: ``TimeDomain``)."""

    EVENT_TIME = 0
    PROCESSING_TIME = 1
