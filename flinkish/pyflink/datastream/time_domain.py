"""``TimeDomain``: whether a timer is in event time or in processing time."""

from __future__ import annotations

from enum import Enum


class TimeDomain(Enum):
    """Whether a timer is in event time or in processing time (PyFlink: ``TimeDomain``)."""

    EVENT_TIME = 0
    PROCESSING_TIME = 1
