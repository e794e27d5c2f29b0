"""``RuntimeExecutionMode``: whether a job emits every result or only the last."""

from __future__ import annotations

from enum import Enum


class RuntimeExecutionMode(Enum):
    """Whether a job emits every result or only the last (PyFlink: ``RuntimeExecutionMode``)."""

    STREAMING = 0
    BATCH = 1
    AUTOMATIC = 2
