"""``ExternalizedCheckpointRetention``: when the directory of checkpoints is removed."""

from __future__ import annotations

from enum import Enum


class ExternalizedCheckpointRetention(Enum):
    """Whether checkpoints stay when a job is cancelled (PyFlink: the class of this name)."""

    DELETE_ON_CANCELLATION = 0
    RETAIN_ON_CANCELLATION = 1
    NO_EXTERNALIZED_CHECKPOINTS = 2
