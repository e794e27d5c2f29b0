"""``WindowStagger``: spreads the ends of tumbling windows, so that not all tasks fire at once."""

from __future__ import annotations

import enum
import random

from flinkish.api.windowing.windows import window_start


class WindowStagger(enum.Enum):
    """By how much the windows of a task are moved (Flink: ``WindowStagger``)."""

    ALIGNED = "ALIGNED"
    """Not at all."""
    RANDOM = "RANDOM"
    """By a random part of their size."""
    NATURAL = "NATURAL"
    """So that they begin when the first element came."""

    def getStaggerOffset(self, currentProcessingTime: int, size: int) -> int:
        """By how many ms windows of ``size`` are moved that are first needed now."""
        if self is WindowStagger.RANDOM:
            return int(random.random() * size)
        if self is WindowStagger.NATURAL:
            start = window_start(currentProcessingTime, 0, size)
            return max(0, currentProcessingTime - start)
        return 0
